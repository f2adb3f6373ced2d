"""Histories: read as they were written, or refused by the field."""

import copy
import json
import math
from collections.abc import Iterator
from dataclasses import asdict, replace

import pytest
from histories import HISTORY

from annotated_transformer.runs.recipes import Recipe, flat
from annotated_transformer.storage.dataclass_json import from_plain
from annotated_transformer.storage.history import (
    Data,
    Environment,
    History,
    Origin,
    Result,
    Search,
    SourceLines,
)
from annotated_transformer.storage.pretrained import find_model, pretrained

LONG = replace(
    HISTORY,
    data=Data(
        *("text", "en", "de", 3),
        shares={"x": 0.5},
        sha256={"x": "56"},
        lines=SourceLines(0.95, 90, 1.5),
    ),
    start=Origin("train one", start=Origin("train zero"), files={"a": "12"}),
    tokenizer_sha256="34",
    result=Result(updates=3, seconds=1.5, scores={"test, bleu": "38.13"}),
    search=Search(3, 1.0, 2),
    resumed=[Environment({"torch": "2.14.0"}, HISTORY.machine)],
)


@pytest.mark.parametrize("history", [HISTORY, LONG], ids=["short", "long"])
def test_a_history_comes_back_from_json(history):
    text = json.dumps(asdict(history), allow_nan=False)
    assert from_plain(History, json.loads(text)) == history


@pytest.mark.parametrize("name", pretrained())
def test_a_shipped_history_comes_back(name):
    path = find_model(name) / "config.json"
    known = json.loads(path.read_text())["history"]
    found = flat(asdict(from_plain(History, known)))
    assert found == found | flat(known)
    assert Recipe.from_json(known["recipe"]).model  # also an old one


Path = tuple[str | int, ...]


def parts(
    plain: dict | list, path: Path = ()
) -> Iterator[tuple[Path, object]]:
    """Every value of JSON by its path, but inside of the recipe."""
    each = plain.items() if isinstance(plain, dict) else enumerate(plain)
    for name, value in each:
        yield (*path, name), value
        if isinstance(value, dict | list) and name != "recipe":
            yield from parts(value, (*path, name))


def refused(path: Path, value: object) -> None:
    """Assert that LONG with that value there is refused, naming its field."""
    plain = copy.deepcopy(asdict(LONG))
    part = plain
    for name in path[:-1]:
        part = part[name]
    part[path[-1]] = value
    with pytest.raises(ValueError, match="must be|no field") as told:
        from_plain(History, plain)
    assert str(path[-1]) in str(told.value) and len(str(told.value)) < 300


WRONG = {  # whatever stands where such a value belongs
    int: [True, -1, 10**13, 2.5, "x", [], {"a": 1}],
    float: [False, "x", [1.5], {}],
    str: [3, True, ["x"], {}],
    bool: [1, "yes"],
    dict: [3, "x", []],
    list: [3, "x", {}],
}
BESIDE = {  # further fields, and values that are out of bounds
    ("search", "beam"): [0, 10**9],
    ("search", "alpha"): [math.nan, -1.0, 51],
    ("wings",): [2],
    ("data", "wings"): [2],
}


def test_a_field_that_is_wrong_is_named():
    """Every one, by its path, whatever stands in its place."""
    for path, value in parts(asdict(LONG)):
        for wrong in WRONG.get(type(value), []):
            refused(path, wrong)
    for path, values in BESIDE.items():
        for wrong in values:
            refused(path, wrong)
    for plain in (None, [], 3, "x"):
        with pytest.raises(ValueError, match="`History="):
            from_plain(History, plain)


def test_only_what_is_known_of_both_differs():
    one, other = (
        replace(HISTORY, versions=known).environment
        for known in ({"torch": "2.12", "numpy": "2"}, {"torch": "2.12"})
    )
    assert one.differences(other) == one.differences(one) == ("", "")
    machine = replace(HISTORY.machine, threads=2)
    other = Environment({"torch": "2.13", "numpy": "2"}, machine)
    expected = "torch 2.12, threads 1", "torch 2.13, threads 2"
    assert one.differences(other) == expected


def test_a_field_that_is_missing_is_named():
    for name in ("command", "recipe", "data", "date", "versions", "machine"):
        plain = asdict(HISTORY)
        del plain[name]
        with pytest.raises(ValueError, match=f"{name} is missing"):
            from_plain(History, plain)


def test_lines_are_split_where_single_sentences_were_learned():
    assert LONG.data.split == "en" and HISTORY.data.split == ""
    few = replace(LONG.data, lines=SourceLines(0.94, 90, 1.5))
    assert few.split == ""
