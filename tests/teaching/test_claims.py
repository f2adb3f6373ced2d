"""The ledger: verdicts follow from measurements, and each can turn."""

import json
import re
from math import inf, nan
from pathlib import Path

import chapters
import pytest
import yaml

from annotated_transformer.teaching import claims as ledger
from annotated_transformer.teaching.claims import (
    OURS,
    as_estimate,
    bounds,
    claim,
    find_book,
    judge,
    read_claims,
)
from annotated_transformer.teaching.intervals import Estimate

BOOK = Path(__file__).parents[2] / "book"
CLAIMS = read_claims(BOOK)
CLAIM = {
    "statement": "Two and two are four.",
    "source": OURS,
    "rests_on": "arithmetic",
    "quantity": "the sum of two and two",
    "equals": 4,
    "why": "counting",
    "control": "two and three",
    "falsified_by": 5,
}
QUOTED = {"source": "a2020", "place": "section 1", "quote": "It is four."}
BLEU = {"rests_on": "record", "records": ["r"], "metric": "bleu"}


def entry(**changes):
    """A claim with changes; None takes a field away."""
    found = CLAIM | changes
    return {key: value for key, value in found.items() if value is not None}


def of_bleu(demands, falsified_by=-9.0, **more):
    """A claim about a difference in BLEU."""
    given = BLEU | {"demands": demands, "falsified_by": falsified_by} | more
    return entry(equals=None, why=None, **given)


@pytest.fixture
def book(tmp_path, monkeypatch):
    """Write claims where `claim` finds them."""
    (tmp_path / "claims").mkdir()

    def write(**claims):
        path = tmp_path / "claims" / "page.yml"
        path.write_text(yaml.safe_dump(claims), "utf-8")
        read_claims.cache_clear()
        monkeypatch.setattr(ledger, "find_book", lambda: tmp_path)

    yield write
    read_claims.cache_clear()


def test_a_claim_prints_its_verdict_and_its_control(book, capsys):
    book(C=entry())
    claim("C", 4, 5)
    assert capsys.readouterr().out == (
        "claim C holds: the sum of two and two: 4 (expected exactly 4)\n"
        "claim C control: two and three: 5\n"
    )


@pytest.mark.parametrize(
    ("demands", "interval", "verdict"),
    [
        ("more", (1.0, 3.0), "holds"),
        ("more", (0.9, 3.0), "undecided here"),
        ("more", (-3.0, 0.9), "contradicted here"),
        ("less", (-3.0, -1.0), "holds"),
        ("less", (-3.0, -0.9), "undecided here"),
        ("less", (-0.9, 3.0), "contradicted here"),
        ("same", (-1.0, 1.0), "holds"),
        ("same", (-1.1, 0.0), "undecided here"),
        ("same", (-2.0, 2.0), "undecided here"),
        ("same", (1.1, 2.0), "contradicted here"),
        ("same", (-2.0, -1.1), "contradicted here"),
        ("not more", (-9.0, 1.0), "holds"),
        ("not more", (0.0, 1.1), "undecided here"),
        ("not more", (1.1, 9.0), "contradicted here"),
        ("not less", (-1.0, 9.0), "holds"),
        ("not less", (-9.0, -1.1), "contradicted here"),
    ],
)
def test_the_verdict_is_where_the_interval_lies(demands, interval, verdict):
    low, high = interval
    found = Estimate((low + high) / 2, low, high, 3, 9.0)
    assert judge(of_bleu(demands), found) == verdict


@pytest.mark.parametrize(
    ("form", "good", "bad"),
    [
        ({"at_least": 4}, 4.0, 3.99),
        ({"at_most": 4}, 4.0, 4.01),
        ({"at_least": 3, "at_most": 5}, 3.0, 5.1),
        ({"equals": 4}, 4, 5),
    ],
)
def test_each_bound_accepts_its_edge_and_refuses_beyond(form, good, bad):
    made = entry(**{"equals": None, **form, **QUOTED})
    assert judge(made, as_estimate(good)) == "holds"
    assert judge(made, as_estimate(bad)) == "contradicted here"


def test_a_control_must_be_decided_and_against_the_claim(book):
    """Of what is undecided, too: there it shows that a decision can be had."""
    book(C=of_bleu("more"))
    wide, good = Estimate(0, -9, 9, 3, 9.0), Estimate(5, 4, 6, 3, 0.5)
    for control in (wide, good):
        for measured in (wide, good):
            with pytest.raises(AssertionError, match="cannot tell"):
                claim("C", measured, control)
    claim("C", wide, -5.0)
    claim("C", good, -5.0)


EXPERIMENT = {"equals": None, "rests_on": "experiment", "at_least": 4}
SEEDS = entry(**EXPERIMENT, falsified_by=0)


def test_what_chance_cannot_change_or_seeds_have_settled(book, capsys):
    known = {"no_chance": "one set of weights", "caveat": "on captions"}
    book(C=SEEDS, D=of_bleu("more", **known))
    claim("D", 4.0, 0.0)
    claim("C", [5.1, 5.5, 5.6, 5.7, 5.8], 0)
    told = capsys.readouterr().out
    assert told.startswith("claim D holds with a caveat: ")
    assert ": 5.54 [4.4, 6.5] (" in told
    assert judge(of_bleu("more"), as_estimate(nan)) == "undecided here"


@pytest.mark.parametrize(
    ("made", "measured", "control", "message"),
    [
        (entry(), 5, 4, "it is ours"),
        (entry(), 4, 4, "cannot tell the two apart"),
        (of_bleu("more"), 4.0, 0.0, "no_chance"),
        (SEEDS, [9.0, 9.1], 0, "at least 5"),
        (SEEDS, [4.1, 4.5, 4.6, 4.7, 5.0], 0, "make a record"),
        *(
            (
                of_bleu(demands),
                Estimate(middle, middle - 0.7, middle + 0.7, 3, 0.5),
                -9.0,
                "6 seeds would decide",
            )
            for demands, middle in (("same", 0.5), ("more", 1.5))
        ),
    ],
)
def test_what_decides_nothing_is_refused(
    book, made, measured, control, message
):
    book(C=made)
    with pytest.raises((AssertionError, ValueError), match=message):
        claim("C", measured, control)


@pytest.mark.parametrize(
    ("demands", "interval", "said"),
    [
        ("same", (-1.5, 1.1), "57 seeds would be needed"),
        ("more", (0.5, 2.5), "9 seeds would be needed"),  # half as wide
        ("less", (-2.5, -0.5), "9 seeds would be needed"),
        ("more", (0.0, 2.0), "too close to the bound for seeds to decide"),
    ],
)
def test_undecided_says_how_many_seeds_it_would_take(
    book, capsys, demands, interval, said
):
    falsified_by = 9.0 if demands == "less" else -9.0
    book(C=of_bleu(demands, falsified_by))
    low, high = interval
    found = Estimate((low + high) / 2, low, high, 3, 1.8, 4.0)
    claim("C", found, falsified_by)
    line = capsys.readouterr().out.splitlines()[0]
    assert line.startswith("claim C undecided here: ")
    assert line.endswith(f"; {said}")


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ({"statement": ""}, "no statement"),
        ({"control": None}, "no control"),
        ({"why": None}, "why"),
        ({"equals": None}, "demands nothing"),
        ({"at_least": 1}, "another bound"),
        ({"equals": None, "at_least": 2, "at_most": 1}, "never hold"),
        ({"falsified_by": 4}, "would hold at 4"),
        ({"metric": "bleu"}, "needs demands"),
        ({"metric": "rouge", "demands": "more"}, "needs a metric"),
        ({"metric": "bleu", "demands": "more"}, "equals too"),
        ({"rests_on": "faith"}, "'faith'"),
        ({"rests_on": "record"}, "records"),
        ({"source": "a2020"}, "no place, quote"),
        ({**QUOTED, "quote": "word " * 61}, "more than 60 words"),
        ({**QUOTED, "quote": "它是四"}, "no translation"),
        ({"verdict": "holds"}, "unknown fields verdict"),
    ],
)
def test_a_malformed_claim_is_refused(book, fault, message):
    book(C=entry(**fault))
    with pytest.raises(ValueError, match=f"page.yml: C .*{message}"):
        claim("C", 4, 5)


@pytest.mark.parametrize(
    ("text", "key", "lines"),
    [
        ("C: {}\n\nD: {}\nC: {}\n", "C", (1, 4)),
        ("C:\n  source: a\n  verdict: b\n  source: a\n", "source", (2, 4)),
        ("C:\n  expected: {at: 1,\n    at: 2}\n", "at", (2, 3)),
    ],
)
def test_a_key_that_stands_twice_is_refused(tmp_path, text, key, lines):
    (tmp_path / "claims").mkdir()
    (tmp_path / "claims" / "page.yml").write_text(text)
    message = f"page.yml, line {lines[1]}: {key} stands in line {lines[0]} "
    with pytest.raises(ValueError, match=message):
        read_claims(tmp_path)


def test_an_id_that_two_pages_use_is_refused(tmp_path):
    (tmp_path / "claims").mkdir()
    for page in ("a.yml", "b.yml"):
        (tmp_path / "claims" / page).write_text(yaml.safe_dump({"C": entry()}))
    with pytest.raises(ValueError, match="C stands in a.yml already"):
        read_claims(tmp_path)


def test_no_book_is_an_error_that_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(ledger, "__file__", str(tmp_path / "a" / "b" / "c.py"))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match="clone the repository"):
        find_book()


def test_every_claim_has_its_page_and_every_page_claims_what_is_listed():
    called = {}
    for path in chapters.find_chapters():
        for cell in chapters.read(path).cells:
            for name in ledger_calls(cell):
                assert name not in called, f"{name} is claimed twice"
                called[name] = path.stem
    assert called == {name: found["page"] for name, found in CLAIMS.items()}


def ledger_calls(cell) -> list[str]:
    """The claims that a code cell makes."""
    if cell.cell_type != "code":
        return []
    return re.findall(r'\bclaim\(\s*"([^"]+)"', cell.source)


@pytest.mark.parametrize("name", CLAIMS)
def test_every_claim_turns_at_its_falsifying_value(name):
    """And holds at its bound: no claim of the ledger is decided beforehand."""
    found = CLAIMS[name]
    assert judge(found, as_estimate(found["falsified_by"])) == (
        "contradicted here"
    )
    ends = [x for x in bounds(found) if abs(x) < inf]
    assert ends
    for end in ends:
        assert judge(found, as_estimate(end)).startswith("holds")


def test_margins_are_older_than_the_measurement_or_say_when_they_changed():
    for name, found in CLAIMS.items():
        now = [x if abs(x) < inf else None for x in bounds(found)]
        for record in found.get("records", ()):
            path = BOOK / "runs" / f"{record}.json"
            stored = json.loads(path.read_text("utf-8")).get("margins", {})
            assert stored.get(name) == now or found.get("history"), (
                f"{record}.json asked for {stored.get(name)}, {name} now asks "
                f"for {now}: say since when and why (history)"
            )


def test_sources_are_in_the_bibliography():
    keys = (BOOK / "references.bib").read_text("utf-8")
    for name, found in CLAIMS.items():
        source = found["source"]
        assert source == OURS or f"{{{source}," in keys, (name, source)


def test_a_chapter_tells_a_story_of_few_claims():
    """Its companions, and its folded solutions, may have a claim a cell."""
    for path in chapters.BOOK.glob("[0-9]*.ipynb"):
        told = [
            len(ledger_calls(cell))
            for cell in chapters.read(path).cells
            if "hide-cell" not in cell.metadata.get("tags", [])
        ]
        assert sum(told) <= 7, path
