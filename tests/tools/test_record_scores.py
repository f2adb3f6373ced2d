"""Scores are added to the record of their model, and to no other."""

import json
import sys
from dataclasses import asdict, replace

import pytest
import record_scores
from histories import HISTORY
from record_scores import record
from tiny_models import tiny_folder

from annotated_transformer.errors import UserError
from annotated_transformer.storage.history import Result
from annotated_transformer.storage.model_folder import load_model, save_model

LINE = {"step": 1, "seconds": 0.5, "valid_loss": 2.0}


@pytest.fixture
def folder(tmp_path):
    """A model of random weights, and the curve of its run."""
    folder = tiny_folder(tmp_path)
    (folder / "metrics.jsonl").write_text(json.dumps(LINE) + "\n")
    return folder


def reached(folder, **result):
    """Give a model another result."""
    model, tokenizer, history = load_model(folder)
    history = replace(history, result=Result(**result))
    save_model(folder, model, tokenizer, history)


def test_scores_are_added_and_the_curve_stays(folder):
    path = folder / "deep" / "record.json"
    record(folder, path, "one", {"bleu": 1.0})
    (folder / "metrics.jsonl").unlink()  # as where the model is a copy
    record(folder, path, "two", {"bleu": 2.0})
    assert json.loads(path.read_text()) == {
        **asdict(HISTORY),
        "curve": [LINE],
        "scores": {"one": {"bleu": 1.0}, "two": {"bleu": 2.0}},
    }


def test_another_models_record_is_not_written_over(folder):
    """Two averages of a run have one command, and a record each."""
    path = folder / "record.json"
    reached(folder, averaged=3)
    record(folder, path, "one", {"bleu": 1.0})
    before = path.read_text()
    reached(folder, averaged=2)
    with pytest.raises(UserError, match="record of another model"):
        record(folder, path, "one", {"bleu": 1.0})
    assert path.read_text() == before
    with pytest.raises(UserError, match="model: not a record"):
        record(folder, folder / "tokenizer.model", "one", {})


def test_the_tool_scores_and_records(folder, monkeypatch, capsys):
    text = folder.parent / "test.en"
    text.write_text("a small dog\na dog\n")
    path = folder.parent / "records" / "run.json"
    words = [*map(str, (folder, text, text, path))]
    argv = ["record_scores.py", *words, "--beam=2", "--no-repeat=3"]
    monkeypatch.setattr(sys, "argv", argv)
    record_scores.main()
    scores = json.loads(path.read_text())["scores"]
    assert [*scores] == ["test"]
    search = {"beam": 2, "alpha": 0.6, "no_repeat": 3}
    assert search.items() <= scores["test"].items()
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 4
    for line in printed:
        name, number, signature = line.split()
        assert scores["test"][name] == pytest.approx(float(number), abs=0.01)
        assert scores["test"]["signatures"][name] == signature
