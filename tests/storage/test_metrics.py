"""metrics.jsonl: whole lines are read, others are named."""

import json

import pytest

from annotated_transformer.errors import UserError
from annotated_transformer.storage.metrics import read_metrics, write_metrics

LINE = {"step": 1, "seconds": 0.5, "valid_loss": 2.0}


def test_what_is_written_is_read(tmp_path):
    assert read_metrics(tmp_path) == []
    write_metrics(tmp_path, [LINE, {**LINE, "step": 2}])
    assert read_metrics(tmp_path) == [LINE, {**LINE, "step": 2}]


@pytest.mark.parametrize(
    "line",
    [
        *("", "{", "7", "{}", "[" * 9999, '{"step": "1"}', "\0\0", '{"st'),
        json.dumps({**LINE, "valid_bleu": "high"}),
        json.dumps({**LINE, "valid_bleu": None}),
    ],
)
def test_other_lines_of_metrics_are_named(tmp_path, line):
    path = tmp_path / "metrics.jsonl"
    path.write_text(f"{json.dumps(LINE)}\n{line}\n")
    with pytest.raises(UserError, match=r"jsonl, line 2: .*; delete the line"):
        read_metrics(tmp_path)
