"""Scores are added to the record of their model, and to no other."""

import json
import sys
from dataclasses import replace

import pytest
import record_scores
import torch
from histories import HISTORY
from record_scores import record

from annotated_transformer.data import train_tokenizer
from annotated_transformer.errors import UserError
from annotated_transformer.model import ModelConfig, transformer
from annotated_transformer.storage.history import Result
from annotated_transformer.storage.model_folder import load_model, save_model

LINE = {"step": 1, "seconds": 0.5, "valid_loss": 2.0}
ONE, TWO = {"one": {"bleu": 1.0}}, {"two": {"bleu": 2.0}}
TEXTS = {"one": "12", "two": "34"}


@pytest.fixture
def folder(tmp_path):
    """A model of random weights, and the curve of its run."""
    tokenizer = train_tokenizer(["a small dog", "ein kleiner Hund"], 24)
    sizes = ModelConfig(len(tokenizer), 1, 8, 16, 2)
    torch.manual_seed(0)
    folder = tmp_path / "model"
    save_model(folder, transformer(sizes), tokenizer, HISTORY)
    (folder / "metrics.jsonl").write_text(json.dumps(LINE) + "\n")
    return folder


def reached(folder, **result):
    """Give a model another result."""
    model, tokenizer, history = load_model(folder)
    history = replace(history, result=Result(**result))
    save_model(folder, model, tokenizer, history)


def test_scores_are_added(folder):
    path = folder / "deep" / "record.json"
    record(folder, path, ONE, TEXTS)
    record(folder, path, TWO, TEXTS)
    assert json.loads(path.read_text()) == {
        **HISTORY.as_json(),
        "curve": [LINE],
        "scores": {
            "one": {"bleu": 1.0, "sha256": "12"},
            "two": {"bleu": 2.0, "sha256": "34"},
        },
    }


def test_a_curve_that_is_recorded_stays(folder):
    path = folder / "record.json"
    record(folder, path, ONE, TEXTS)
    (folder / "metrics.jsonl").unlink()  # as where the model is a copy
    record(folder, path, TWO, TEXTS)
    assert json.loads(path.read_text())["curve"] == [LINE]


def test_two_texts_of_one_name_do_not_share_a_record(folder):
    path = folder / "record.json"
    record(folder, path, ONE, {"one": "12"})
    before = path.read_text()
    for scores in ({}, {"one": {"bleu": 3.0}}):
        with pytest.raises(UserError, match="another text named one"):
            record(folder, path, scores, {"one": "34"})
    assert path.read_text() == before


@pytest.mark.parametrize(
    "change",
    [
        *("{", "[1]", '{"command": "other"}', {"command": "other"}),
        *({"scores": x} for x in ([1], {"one": "high"}, {"a": 1}, [], None)),
        *({"result": x} for x in (3, {"updates": 8})),
    ],
)
def test_other_files_are_not_written_over(folder, change):
    path = folder / "record.json"
    if isinstance(change, dict):
        change = json.dumps(HISTORY.as_json() | change)
    path.write_text(change)
    with pytest.raises(UserError, match="not a record of this model"):
        record(folder, path, {}, {})
    assert path.read_text() == change


def test_two_averages_of_a_run_have_a_record_each(folder):
    """They have one command; what they are the mean of tells them apart."""
    path = folder / "record.json"
    reached(folder, averaged=3)
    record(folder, path, ONE, TEXTS)
    reached(folder, averaged=3, scores={"one, bleu": "1.00"})  # as if packed
    record(folder, path, TWO, TEXTS)
    reached(folder, averaged=2)
    with pytest.raises(UserError, match="not a record of this model"):
        record(folder, path, ONE, TEXTS)
    assert json.loads(path.read_text())["scores"].keys() == {"one", "two"}


def main(monkeypatch, *words):
    """Run the tool; its exit status."""
    monkeypatch.setattr(sys, "argv", ["record_scores.py", *map(str, words)])
    try:
        record_scores.main()
    except SystemExit as end:
        return end.code


def test_the_tool_scores_and_records(folder, monkeypatch, capsys):
    text = folder.parent / "test.en"
    text.write_text("a small dog\na dog\n")
    path = folder.parent / "records" / "run.json"
    words = (folder, text, text, path)
    assert main(monkeypatch, *words, "--beam=2", "--no-repeat=3") is None
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


def test_what_cannot_be_recorded_is_told_before_the_search(
    folder, monkeypatch
):
    monkeypatch.setattr(
        record_scores, "scores_of", lambda *_: pytest.fail("searches")
    )
    text = folder.parent / "test.en"
    text.write_text("a small dog\n")
    for path, told in (
        (text / "x", "move away"),
        (folder, "not a record"),
        (folder / "config.json", "not a record"),
    ):
        status = main(monkeypatch, folder, text, text, path)
        assert status.startswith("error: ") and told in status
    status = main(monkeypatch, folder, text, text, path, "--beam=0")
    assert "`beam=0`: must be from 1" in status
