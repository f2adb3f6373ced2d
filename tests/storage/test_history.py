"""Histories: read as they were written, or refused by the field."""

import copy
import json
import math
from dataclasses import asdict, replace

import pytest
from histories import HISTORY

from annotated_transformer.storage.history import (
    Data,
    History,
    Result,
    Search,
    Start,
)
from annotated_transformer.storage.shipped import find_model, shipped

LONG = replace(
    HISTORY,
    start=Start("train one", start=Start("train zero"), files={"a": "12"}),
    tokenizer_sha256="34",
    result=Result(updates=3, seconds=1.5, scores={"test, bleu": "38.13"}),
    search=Search(3, 1.0, 2),
)


@pytest.mark.parametrize("history", [HISTORY, LONG])
def test_a_history_comes_back_from_json(history):
    text = json.dumps(history.as_json(), allow_nan=False)
    assert History.from_json(json.loads(text)) == history


def test_a_history_as_json():
    """Flat where its parts have names of their own; nothing that is unset."""
    plain = LONG.as_json()
    assert plain["start"] == {
        "command": "train one",
        "start": {"command": "train zero"},
        "a": "12",
    }
    assert plain["result"] == {
        "updates": 3,
        "seconds": 1.5,
        "test, bleu": "38.13",
    }
    assert plain["recipe"]["train"]["clip"] is None  # infinity
    assert {"start", "signs", "search"}.isdisjoint(HISTORY.as_json())


@pytest.mark.parametrize("name", shipped())
def test_a_shipped_history_comes_back(name):
    path = find_model(name) / "config.json"
    known = json.loads(path.read_text())["history"]
    found = History.from_json(known).as_json()
    assert found == {"fast": True} | known  # a field that came later


def changed(path, value):
    """A history as JSON with another value at a dotted path."""
    plain = copy.deepcopy(LONG.as_json())
    *folders, last = path.split(".")
    part = plain
    for name in folders:
        part = part[name]
    part[last] = value
    return plain


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("command", 3),
        ("command", "\ud800"),
        ("recipe", []),
        ("recipe.model", None),
        ("recipe.train", None),
        ("recipe.train.seed", -1),
        ("recipe.train.seed", True),
        ("recipe.tokenizer", None),
        ("data.pairs", 3.5),
        ("data.target", ["de"]),
        ("data.sha256", {"train": 1}),
        ("data.sha256", {"\ud800": "12"}),
        ("result", {"\ud800": "12"}),
        ("versions", "none"),
        ("machine.threads", "one"),
        ("start.command", None),
        ("start.a", 12),
        ("start.start.start", 3),
        ("result.updates", "many"),
        ("result.valid_perplexity", {}),
        ("search.beam", "5"),
        ("search.beam", 0),
        ("search.beam", 10**9),
        ("search.alpha", math.nan),
        ("search.no_repeat", 2.5),
        ("wings", 2),
        ("data.wings", 2),
    ],
)
def test_a_field_that_is_wrong_is_named(path, value):
    with pytest.raises(ValueError) as told:
        History.from_json(changed(path, value))
    assert path.rpartition(".")[2] in str(told.value)
    assert len(str(told.value)) < 300


@pytest.mark.parametrize("name", ["command", "recipe", "data", "machine"])
def test_a_field_that_is_missing_is_named(name):
    plain = HISTORY.as_json()
    del plain[name]
    with pytest.raises(ValueError, match=f"{name} is missing"):
        History.from_json(plain)


@pytest.mark.parametrize("plain", [None, [], 3, "x"])
def test_what_is_no_history(plain):
    with pytest.raises(ValueError, match="`History=.*`: must be an object"):
        History.from_json(plain)


def test_a_history_without_end_is_refused():
    start = {"command": "x"}
    for _ in range(100_000):
        start = {"command": "x", "start": start}
    with pytest.raises(ValueError, match="start.*nested too deeply"):
        History.from_json(HISTORY.as_json() | {"start": start})


def test_trainings_come_in_their_order():
    assert [one.command for one in LONG.starts()] == [
        "train zero",
        "train one",
    ]
    assert HISTORY.starts() == []


def test_a_search_that_cannot_be_does_not_exist():
    for wrong in ({"beam": 0}, {"alpha": -0.1}, {"no_repeat": 5000}):
        (name,) = wrong
        with pytest.raises(ValueError, match=f"`{name}=.*must be from"):
            Search(**wrong)
    assert asdict(Search()) == {"beam": 5, "alpha": 0.6, "no_repeat": 0}


def test_a_text_may_be_named_in_any_script():
    data = Data("語", "zh", "\U0001f600", 3)
    history = replace(HISTORY, data=data)
    assert History.from_json(history.as_json()) == history
