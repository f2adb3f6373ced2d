"""The ledger: a claim is printed when it is met and stops us when not."""

from pathlib import Path

import chapters
import numpy as np
import pytest
import torch
import yaml

from annotated_transformer.teaching import claims as ledger
from annotated_transformer.teaching.claims import VERDICTS, claim, read_claims

LEDGER = Path(__file__).parents[2] / "book" / "claims.yml"
CLAIM = {
    "statement": "two and two are",
    "source": "arithmetic",
    "chapter": "01_attention",
    "rests_on": "arithmetic",
    "verdict": "holds",
}


@pytest.fixture
def book(tmp_path, monkeypatch):
    """Write claims where `claim` finds them."""
    path = tmp_path / "claims.yml"

    def write(**claims):
        path.write_text(yaml.safe_dump(claims), "utf-8")
        read_claims.cache_clear()
        monkeypatch.setattr(ledger, "find_ledger", lambda: path)

    yield write
    read_claims.cache_clear()


def test_a_claim_prints_one_line(book, capsys):
    book(C=CLAIM | {"expected": 4, "tolerance": 0.5})
    claim("C", 4.25)
    assert capsys.readouterr().out == (
        "claim C holds: two and two are: 4.25 (expected 4 ± 0.5; arithmetic)\n"
    )


@pytest.mark.parametrize(
    ("form", "good", "bad"),
    [
        ({"expected": 4, "tolerance": 0.5}, 3.5, 3.49),
        ({"expected": 4, "tolerance": 0.5}, 4.5, float("nan")),
        ({"at_least": 4}, 4.0, 3.99),
        ({"at_most": 4}, 4.0, 4.01),
        ({"at_most": 4}, 4.0, float("nan")),
        ({"equals": 4}, 4, 5),
        ({"equals": True}, True, False),
    ],
)
def test_each_form_accepts_its_edge_and_refuses_beyond(
    book, capsys, form, good, bad
):
    book(C=CLAIM | form)
    claim("C", good)
    assert capsys.readouterr().out.startswith("claim C holds: ")
    with pytest.raises(AssertionError, match="claim C does not agree"):
        claim("C", bad)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("kind", [torch.tensor, np.float32])
def test_a_measurement_may_be_a_tensor_or_a_numpy_number(book, capsys, kind):
    book(C=CLAIM | {"expected": 4, "tolerance": 0.5})
    claim("C", kind(4.25))
    assert ": 4.25 (" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ({"verdict": "true"}, "'true'"),
        ({"statement": ""}, "no statement"),
        ({"at_least": 1, "at_most": 2}, "exactly one"),
        ({}, "exactly one"),
        ({"expected": 1}, "tolerance"),
        ({"equals": 1, "tolerance": 1}, "tolerance"),
    ],
)
def test_a_malformed_ledger_is_refused(book, fault, message):
    book(C=CLAIM | fault)
    with pytest.raises(ValueError, match=f"C.*{message}"):
        claim("C", 1)


@pytest.mark.parametrize(
    ("text", "key", "lines"),
    [
        ("C: {}\n\nD: {}\nC: {}\n", "C", (1, 4)),
        ("C:\n  source: a\n  verdict: b\n  source: a\n", "source", (2, 4)),
        ("C:\n  expected: {at: 1,\n    at: 2}\n", "at", (2, 3)),
    ],
)
def test_a_key_that_stands_twice_is_refused(tmp_path, text, key, lines):
    path = tmp_path / "claims.yml"
    path.write_text(text)
    message = f"claims.yml, line {lines[1]}: {key} stands in line {lines[0]} "
    with pytest.raises(ValueError, match=message):
        read_claims(path)


def test_a_claim_that_is_not_yet_measured_cannot_be_met(book):
    book(C=CLAIM | {"verdict": "not yet measured"})
    with pytest.raises(ValueError, match="not yet measured"):
        claim("C", 1)


def test_an_unknown_claim_is_an_error(book):
    book()
    with pytest.raises(KeyError, match="C is not in"):
        claim("C", 1)


def test_no_ledger_is_an_error_that_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(ledger, "__file__", str(tmp_path / "a" / "b" / "c.py"))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match="clone the repository"):
        ledger.find_ledger()


def test_the_ledger_is_found_above_the_working_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(ledger, "__file__", str(tmp_path / "x/a/b/c.py"))
    path = tmp_path / "book" / "claims.yml"
    path.parent.mkdir()
    path.touch()
    below = tmp_path / "book" / "deep"
    below.mkdir()
    monkeypatch.chdir(below)
    assert ledger.find_ledger() == path


def test_the_book_s_own_ledger():
    claims = read_claims(LEDGER)
    assert claims
    for entry in claims.values():
        assert (LEDGER.parent / f"{entry['chapter']}.ipynb").exists()
        plain = entry["verdict"] in ("holds", VERDICTS[4])
        assert plain != bool(entry.get("caveat"))


def test_a_chapter_tells_a_story_of_few_claims():
    """Its companions, and its folded solutions, may have a claim a cell."""
    for path in chapters.BOOK.glob("[0-9]*.ipynb"):
        told = [
            cell.source.count("claim(")
            for cell in chapters.read(path).cells
            if "hide-cell" not in cell.metadata.get("tags", [])
        ]
        assert sum(told) <= 7, path
