"""Records: complete, and added to without loss."""

import json
import platform
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from annotated_transformer.errors import UserError
from annotated_transformer.model import ModelConfig, parameter_count
from annotated_transformer.storage.history import (
    environment,
    model_card,
    read_metrics,
    record,
)

LINE = {"step": 1, "seconds": 0.5, "valid_loss": 2.0}


def test_environment_is_plain_and_true():
    found = json.loads(json.dumps(environment()))
    assert found["versions"]["python"] == platform.python_version()
    assert found["versions"]["torch"] == torch.__version__
    assert found["machine"]["threads"] == torch.get_num_threads()
    assert found["machine"]["processor"]


def test_a_cut_last_line_of_metrics_is_left_out(tmp_path):
    path = tmp_path / "metrics.jsonl"
    assert read_metrics(tmp_path) == []
    path.write_text(f'{json.dumps(LINE)}\n{{"st')
    assert read_metrics(tmp_path) == [LINE]


@pytest.mark.parametrize(
    "line",
    [
        *("", "{", "7", "{}", "[" * 9999, '{"step": "1"}', "\0\0"),
        json.dumps({**LINE, "valid_bleu": "high"}),
        json.dumps({**LINE, "valid_bleu": None}),
    ],
)
def test_other_lines_of_metrics_are_named(tmp_path, line):
    path = tmp_path / "metrics.jsonl"
    path.write_text(f"{json.dumps(LINE)}\n{line}\n")
    with pytest.raises(UserError, match=r"jsonl, line 2: not a line of"):
        read_metrics(tmp_path)


@pytest.fixture
def folder(tmp_path):
    about = {"command": "train it", "seed": 1}
    (tmp_path / "config.json").write_text(json.dumps({"about": about}))
    (tmp_path / "metrics.jsonl").write_text(json.dumps(LINE) + "\n")
    return tmp_path


def test_scores_are_added(folder):
    path = folder / "deep" / "record.json"
    record(folder, path, {"one": {"bleu": 1.0}})
    record(folder, path, {"two": {"bleu": 2.0}})
    assert json.loads(path.read_text()) == {
        "command": "train it",
        "seed": 1,
        "curve": [LINE],
        "scores": {"one": {"bleu": 1.0}, "two": {"bleu": 2.0}},
    }


def test_scores_that_are_added_at_once_are_all_there(folder):
    path, names = folder / "record.json", [f"test {n}" for n in range(8)]
    barrier = threading.Barrier(len(names))

    def add(name):
        barrier.wait()
        for _ in range(5):
            record(folder, path, {name: {"bleu": 1.0}})

    with ThreadPoolExecutor(len(names)) as threads:
        assert [*threads.map(add, names)] == [None] * len(names)
    assert sorted(json.loads(path.read_text())["scores"]) == names
    assert not list(folder.glob(".*"))


def test_a_lock_that_a_kill_has_left_locks_nothing(folder):
    path = folder / "record.json"
    (folder / ".record.json.lock").touch()
    record(folder, path, {"one": {"bleu": 1.0}})
    assert not list(folder.glob(".*"))


def test_two_texts_of_one_name_do_not_share_a_record(folder):
    path = folder / "record.json"
    record(folder, path, {"test": {"bleu": 1.0}}, {"test": "12"})
    record(folder, path, {"test": {"bleu": 2.0}}, {"test": "12"})
    before = path.read_text()
    for scores in ({}, {"test": {"bleu": 3.0}}):
        with pytest.raises(UserError, match="another text named test"):
            record(folder, path, scores, {"test": "34"})
    assert path.read_text() == before
    found = json.loads(before)["scores"]
    assert found == {"test": {"bleu": 2.0, "sha256": "12"}}


@pytest.mark.parametrize(
    "text",
    [
        *("{", "[1]", '{"command": "other"}'),
        '{"command": "train it", "scores": [1]}',
        '{"command": "train it", "scores": {"one": "high"}}',
        '{"command": "train it", "scores": null}',
        '{"command": "train it", "result": 3}',
    ],
)
def test_other_files_are_not_written_over(folder, text):
    path = folder / "record.json"
    path.write_text(text)
    with pytest.raises(UserError, match="not a record of this run"):
        record(folder, path, {})
    assert path.read_text() == text


def test_two_averages_of_a_run_have_a_record_each(folder):
    """They have one command; what they are the mean of tells them apart."""
    path, config = folder / "record.json", folder / "config.json"
    about = {"command": "train it", "result": {"averaged": 3}}
    config.write_text(json.dumps({"about": about}))
    record(folder, path, {"one": {"bleu": 1.0}})
    about["result"] |= {"one, bleu": "1.00"}  # as a packed model has it
    config.write_text(json.dumps({"about": about}))
    record(folder, path, {"two": {"bleu": 2.0}})
    about["result"]["averaged"] = 2
    config.write_text(json.dumps({"about": about}))
    with pytest.raises(UserError, match="not a record of this run"):
        record(folder, path, {"one": {"bleu": 3.0}})
    assert json.loads(path.read_text())["scores"].keys() == {"one", "two"}


def test_the_card_has_command_licence_and_size():
    config = ModelConfig(layers=2)
    about = {
        "command": "annotated-transformer train x",
        "recipe": {"train": {"seed": 7}, "tokenizer": "char"},
        "data": {
            "name": "multi30k",
            "source": "en",
            "target": "de",
            "pairs": 29000,
        },
        "machine": {"processor": "abacus"},
        "result": {"averaged": 8},
    }
    card = model_card(about, config)
    assert f"{parameter_count(config) / 1e6:.2f} million" in card
    assert "| command | `annotated-transformer train x` |" in card
    assert "29,000 sentence pairs of multi30k" in card
    assert "Flickr30k" in card and "| averaged | 8 |" in card
    assert "| start |" not in card
    about["start"] = {"command": "annotated-transformer train first"}
    continued = model_card(about, config)
    assert "| start | `annotated-transformer train first` |" in continued
    about["start"]["start"] = {"command": "annotated-transformer train zero"}
    first, second = (
        f"| start | `annotated-transformer train {name}` |"
        for name in ("zero", "first")
    )
    assert f"{first}\n{second}\n| command |" in model_card(about, config)
    about["data"]["name"] = "recipes"  # a reader's own text
    about["start"]["data"] = {"name": "multi30k"}
    own = model_card(about, config)
    assert "Flickr30k" in own and "licence of recipes is for its owner" in own
    assert own.count("Flickr30k") == 1
