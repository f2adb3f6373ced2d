"""The ledger: verdicts follow from measurements, and each can turn."""

import json
import re
from configparser import ConfigParser
from math import inf, nan
from pathlib import Path

import chapters
import pytest
import yaml

from annotated_transformer.teaching import claims as ledger
from annotated_transformer.teaching.claims import (
    OURS,
    VERDICTS,
    as_estimate,
    bounds,
    claim,
    find_book,
    judge,
    place,
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
}
QUOTED = {"source": "a2020", "place": "section 1", "quote": "It is four."}
BLEU = {"rests_on": "record", "records": ["r"], "metric": "bleu"}


def entry(**changes):
    """A claim with changes; None takes a field away."""
    found = CLAIM | changes
    return {key: value for key, value in found.items() if value is not None}


def of_bleu(demands, **more):
    """A claim about a difference in BLEU."""
    given = BLEU | {"demands": demands} | more
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
    claim("C", measured=4, control=5)
    assert capsys.readouterr().out == (
        "claim C holds: 4, expected exactly 4; control 5\n"
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
    assert place(of_bleu(demands), found) == verdict


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
    assert judge(made, as_estimate(good), as_estimate(bad)) == "holds"
    assert judge(made, as_estimate(bad), as_estimate(good)) == (
        "contradicted here"
    )


WIDE = Estimate(0, -9, 9, 3, 9.0)
GOOD, BAD = (Estimate(x, x - 1, x + 1, 3, 0.5) for x in (5, -5))


@pytest.mark.parametrize("source", [{}, QUOTED])
@pytest.mark.parametrize(
    ("measured", "control", "verdict"),
    [
        (GOOD, BAD, "holds"),
        (BAD, GOOD, "contradicted here"),
        (GOOD, GOOD, "undecided here"),
        (BAD, BAD, "contradicted here"),
        (BAD, WIDE, "contradicted here"),
        (WIDE, BAD, "undecided here"),
        (GOOD, WIDE, "undecided here"),
        (WIDE, GOOD, "undecided here"),
    ],
)
def test_a_verdict_is_computed_alike_for_all(
    book, capsys, source, measured, control, verdict
):
    """Ours can be contradicted; what holds needs a control that does not."""
    book(C=of_bleu("more", **source))
    claim("C", measured=measured, control=control)
    said = capsys.readouterr().out
    assert said.startswith(f"claim C {verdict}: ")
    reason = "; the control, which should miss the bound, "
    same = verdict == "undecided here" and control != BAD
    assert (reason in said) == same
    assert (f"{reason}meets it" in said) == (same and control == GOOD)


def test_a_changed_verdict_fails_a_chapter_and_a_changed_digit_does_not():
    """What nbval compares of a claim: its name and its verdict."""
    config = ConfigParser(interpolation=None)
    config.read(BOOK.parent / "tests" / "sanitize.cfg")
    rule = config["figures of a claim"]

    def compared(line):
        return re.sub(rule["regex"], rule["replace"], line)

    lines = [
        f"claim C {verdict}: {figure}, expected at least 1; control 0"
        for figure in ("2 [1, 3]", "2.1 [1.2, 3]")
        for verdict in VERDICTS
    ]
    assert len({*map(compared, lines)}) == len(VERDICTS)


EXPERIMENT = {"equals": None, "rests_on": "experiment", "at_least": 4}
SEEDS = entry(**EXPERIMENT)


def test_what_chance_cannot_change_or_seeds_have_settled(book, capsys):
    known = {"no_chance": "one set of weights", "caveat": "on captions"}
    book(C=SEEDS, D=of_bleu("more", **known))
    claim("D", measured=4.0, control=0.0)
    claim("C", measured=[5.1, 5.5, 5.9], control=0)
    told = capsys.readouterr().out
    assert told.startswith("claim D holds with a caveat: ")
    assert ": 5.5 [4.83, 6.17], expected" in told
    assert place(of_bleu("more"), as_estimate(nan)) == "undecided here"


def test_misuse_is_refused(book):
    book(C=of_bleu("more"))
    with pytest.raises(ValueError, match="no_chance"):
        claim("C", measured=4.0, control=0.0)
    with pytest.raises(ValueError, match="2 seeds"):
        claim("C", measured=[4.0, 5.0], control=0.0)
    with pytest.raises(KeyError, match="D is not in"):
        claim("D", measured=4.0, control=0.0)


@pytest.mark.parametrize(
    ("demands", "interval", "deviation", "said"),
    [
        ("same", (-1.5, 1.1), 1.8, "57 seeds a side would be needed"),
        ("more", (0.5, 2.5), 0.57, "9 seeds a side would be needed"),
        ("less", (-2.5, -0.5), 0.57, "9 seeds a side would be needed"),
        ("more", (0.0, 2.0), 1, "too close to the bound for seeds to decide"),
    ],
)
def test_undecided_says_how_many_seeds_it_would_take(
    book, capsys, demands, interval, deviation, said
):
    book(C=of_bleu(demands))
    low, high = interval
    found = Estimate((low + high) / 2, low, high, 3, deviation, 2, 2.0)
    claim("C", measured=found, control=GOOD if demands == "less" else BAD)
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
        ({"statement": "word " * 31}, "statement of more than 30 words"),
        ({"metric": "bleu"}, "needs demands"),
        ({"metric": "rouge", "demands": "more"}, "needs a metric"),
        ({"metric": "bleu", "demands": "more"}, "equals too"),
        ({"rests_on": "faith"}, "'faith'"),
        ({"rests_on": "record"}, "records"),
        ({"source": "a2020"}, "no place, quote"),
        ({**QUOTED, "quote": "word " * 61}, "quote of more than 60 words"),
        ({**QUOTED, "quote": "它是四"}, "no translation"),
        ({"verdict": "holds"}, "unknown fields verdict"),
    ],
)
def test_a_malformed_claim_is_refused(book, fault, message):
    book(C=entry(**fault))
    with pytest.raises(ValueError, match=f"page.yml: C .*{message}"):
        claim("C", measured=4, control=5)


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
def test_every_claim_holds_at_its_bound_and_not_beyond(name):
    """No claim of the ledger is decided beforehand."""
    found, (low, high) = CLAIMS[name], bounds(CLAIMS[name])
    for end, beyond in ((low, low - 1), (high, high + 1)):
        if abs(end) < inf:
            assert place(found, as_estimate(end)) == "holds"
            assert place(found, as_estimate(beyond)) == "contradicted here"
    assert min(abs(low), abs(high)) < inf


def test_a_claim_that_left_is_not_in_the_ledger_and_says_why():
    text = (BOOK / "withdrawn_claims.yml").read_text("utf-8")
    for name, left in yaml.safe_load(text).items():
        assert name not in CLAIMS
        assert left.get("verdict", VERDICTS[0]) in VERDICTS and left["why"]


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
    """In few cells: a cell that compares the rows of a table may have more."""
    for path in chapters.BOOK.glob("[0-9]*.ipynb"):
        told = [
            bool(ledger_calls(cell))
            for cell in chapters.read(path).cells
            if "hide-cell" not in cell.metadata.get("tags", [])
        ]
        assert sum(told) <= 7, path
