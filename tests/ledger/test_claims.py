"""The ledger: words follow from measurements by one rule, for all alike."""

import json
import random
import re
from configparser import ConfigParser
from math import nan

import chapters
import pytest
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from ledger import BOOK
from ledger import claims as ledger
from ledger.claims import (
    MARGINS,
    NEEDS,
    OURS,
    VERDICTS,
    as_registered,
    bounds,
    claim,
    found_of,
    p_of,
    place,
    read_claims,
    show,
    words,
)
from ledger.intervals import Estimate, difference, draws

CLAIMS = read_claims(BOOK)
CLAIM = {
    "statement": "Two and two are four.",
    "source": OURS,
    "computed": "arithmetic",
    "quantity": "the sum of two and two",
    "equals": 4,
    "why": "counting",
}
QUOTED = {"source": "a2020", "place": "section 1", "quote": "It is four."}
PLAIN = {
    "computed": None,
    "equals": None,
    "why": None,
    "records": ["r"],
    "setting": "captions",
}
REGISTERED = {
    "text": "captions",
    "rates": [0.002, 0.003, 0.0045],
    "stop": "1,500 updates",
    "pilot": 0.5,
    "seeds": 8,
}


def entry(**changes):
    """A claim with changes; None takes a field away."""
    found = CLAIM | changes
    return {key: value for key, value in found.items() if value is not None}


def of_bleu(needs, **more):
    """A claim about a difference in BLEU."""
    return entry(**PLAIN | {"needs": needs, "margin": "bleu"} | more)


def between(low, high):
    """An estimate with this interval."""
    far = stats.t.ppf(0.95, 4)
    return Estimate((low + high) / 2, (high - low) / 2 / far, 4.0, (3, 3))


@pytest.fixture
def book(tmp_path, monkeypatch):
    """Write claims, and the record r, where `claim` finds them."""
    (tmp_path / "claims").mkdir()
    (tmp_path / "runs").mkdir()

    def write(record=None, **claims):
        path = tmp_path / "claims" / "page.yml"
        path.write_text(yaml.safe_dump(claims), "utf-8")
        (tmp_path / "runs" / "r.json").write_text(json.dumps(record or {}))
        read_claims.cache_clear()
        monkeypatch.setattr(ledger, "BOOK", tmp_path)

    yield write
    read_claims.cache_clear()


def test_a_claim_prints_all_that_its_line_in_the_ledger_has(book, capsys):
    book(
        C=entry(),
        D=of_bleu("direction"),
        E=entry(**PLAIN | {"at_most": 9, "why": "a"}),
    )
    claim("C", measured=4, control=5)
    claim("D", measured=between(1.5, 2.5), control=[0.0, 1.0, 2.0])
    claim("E", measured=[9.4, 9.5, 9.6])
    assert capsys.readouterr().out.splitlines() == [
        "claim C: true; equals 4; 4; control 5",
        "claim D: shown; needs direction; 2 [1.5, 2.5]; direction shown, size "
        "beyond 1; p 0.00052; 3 seeds a side; explored; control 1 [-0.686, "
        "2.69]",
        "claim E: the opposite shown; at most 9; 9.5 [9.33, 9.67]; p 0.99; "
        "3 seeds; explored",
    ]


@pytest.mark.parametrize(
    ("interval", "direction", "size", "stated"),
    [
        ((0.1, 0.9), "shown", "within", "soss"),
        ((1.1, 3.0), "shown", "beyond", "ssos"),
        ((0.9, 3.0), "shown", "open at", "stts"),
        ((-0.1, 0.9), "open", "within", "toss"),
        ((-0.1, 1.1), "open", "open at", "ttts"),
        ((-2.0, 2.0), "open", "open at", "tttt"),
        ((-0.9, -0.1), "the opposite shown", "within", "ooss"),
        ((-3.0, -0.9), "the opposite shown", "open at", "oott"),
        ((-3.0, -1.1), "the opposite shown", "beyond", "oooo"),
    ],
)
def test_words_are_where_the_interval_lies(interval, direction, size, stated):
    """Both words, and what each kind of statement comes to."""
    found = between(*interval)
    said = words(of_bleu("direction"), found)
    assert said == f"direction {direction}, size {size} 1"
    known = {"s": "shown", "o": "the opposite shown", "t": "open"}
    for needs, letter in zip(NEEDS, stated, strict=True):
        assert place(found, *bounds(of_bleu(needs))) == known[letter], needs


rows = st.lists(
    st.floats(-3, 3).map(lambda x: round(x, 3)), min_size=3, max_size=12
)


@given(rows, rows, st.sampled_from([*NEEDS]), st.integers(0, 9))
def test_words_do_not_change_if_seeds_are_numbered_anew(
    first, second, needs, seed
):
    assume(max(first) > min(first))
    asked, rng = of_bleu(needs), random.Random(seed)
    shuffled = [rng.sample(row, len(row)) for row in (first, second)]
    found, again = difference(first, second), difference(*shuffled)
    assert again == found and found_of(asked, found, None) == found_of(
        asked, again, None
    )


@given(rows, rows)
def test_swapped_sides_turn_the_direction_and_leave_the_size(first, second):
    assume(max(first) > min(first))
    asked = of_bleu("direction")
    one, other = (
        words(asked, difference(*sides)).split(", ")
        for sides in ((first, second), (second, first))
    )
    turned = {
        "direction shown": "direction the opposite shown",
        "direction the opposite shown": "direction shown",
        "direction open": "direction open",
    }
    assert other == [turned[one[0]], one[1]]


@given(rows, rows, st.sampled_from([*NEEDS]))
def test_p_is_that_of_scipy_and_below_five_percent_if_it_is_shown(
    first, second, needs
):
    """Of *within* the larger of two one-sided tests, done here by hand."""
    assume(max(first) > min(first) + 0.01)
    found, asked = difference(first, second), of_bleu(needs)

    def p_of_test(bound, side):
        moved = [x - bound for x in first]
        return stats.ttest_ind(
            moved, second, equal_var=False, alternative=side
        ).pvalue

    expected = {
        "direction": p_of_test(0, "greater"),
        "beyond": p_of_test(1, "greater"),
        "within": max(p_of_test(-1, "greater"), p_of_test(1, "less")),
        "not worse": p_of_test(-1, "greater"),
    }[needs]
    assert p_of(asked, found) == pytest.approx(expected, abs=1e-12)
    shown = place(found, *bounds(asked)) == "shown"
    assert shown == (expected < 0.05) or abs(expected - 0.05) < 1e-9


@pytest.mark.parametrize(
    ("form", "true", "false"),
    [
        ({"at_least": 4}, 4.0, 3.99),
        ({"at_most": 4}, 4.0, 4.01),
        ({"at_least": 3, "at_most": 5}, 3.0, 5.1),
        ({"equals": 4}, 4, 5),
    ],
)
def test_what_is_computed_is_true_up_to_its_edge_and_false_beyond(
    form, true, false
):
    made = entry(**{"equals": None, **form, **QUOTED})
    assert found_of(made, true, None).startswith("true; ")
    assert found_of(made, false, None).startswith("false; ")


def test_a_figure_is_printed_on_its_own_side_of_a_bound():
    made = entry(equals=None, at_least=1)
    assert found_of(made, 0.9996, None) == "false; at least 1; 0.9996"
    made = entry(equals=None, at_least=0.985, at_most=1.015)
    said = found_of(made, 0.995, None)
    assert said == "true; at least 0.985 and at most 1.015; 0.995"
    said = found_of(of_bleu("beyond"), between(0.99996, 3), None)
    assert "2 [0.99996, 3]" in said and said.startswith("open")


@given(
    st.floats(-1e6, 1e6).filter(lambda x: abs(x) > 1e-6),
    st.floats(0.01, 1e3).map(lambda x: round(x, 2)),
)
def test_what_is_shown_lies_where_the_number_lies(number, bound):
    shown = float(show(number, bound, 0, -bound).replace(",", ""))
    for end in (bound, 0, -bound):
        assert (shown > end, shown < end) == (number > end, number < end)
    assert shown == pytest.approx(number, rel=0.005)


def test_another_verdict_fails_a_chapter_and_another_digit_does_not():
    """What nbval compares of a claim: name, verdict and what it asks."""
    config = ConfigParser(interpolation=None)
    config.read(BOOK.parent / "tests" / "sanitize.cfg")
    rule = config["figures of a claim"]

    def compared(line):
        return re.sub(rule["regex"], rule["replace"], line)

    lines = [
        f"claim C: {verdict}; {asked}; {figure}; p 0.01; 3 seeds; explored"
        for figure in ("2 [1, 3]", "2.1 [1.2, 3]")
        for verdict in VERDICTS
        for asked in ("needs direction", "needs within 1")
    ]
    assert len({*map(compared, lines)}) == 2 * len(VERDICTS)
    assert compared("claim C: true; equals 4; 4") == "claim C: true; equals 4"


ONE_TEXT = draws([1.5, 2.0, 2.5, 2.1])


@pytest.mark.parametrize(
    ("name", "measured", "message"),
    [
        ("C", 4.0, "one figure, where chance"),
        ("C", [4.0, 5.0], "2 seeds"),
        ("C", [4.0, nan, 5.0], "NaN"),
        ("C", difference([4.0, nan, 5.0], [1.0, 2.0, 3.0]), "NaN"),
        ("C", [4.0, 4.0, 4.0], "equal figures"),
        ("C", ONE_TEXT, "these weights"),
        ("D", [4.0, 4.1, 4.2], "computed"),
        ("D", ONE_TEXT, "computed"),
    ],
)
def test_misuse_is_refused_with_the_claim_s_name(
    book, name, measured, message
):
    book(C=of_bleu("direction"), D=entry())
    with pytest.raises(ValueError, match=f"claim {name}: .*{message}"):
        claim(name, measured=measured)
    with pytest.raises(ValueError, match="claim D: NaN"):
        claim("D", measured=4, control=[1.0, nan, 2.0])
    with pytest.raises(KeyError, match="E is not in"):
        claim("E", measured=4.0)


def test_one_set_of_weights_is_called_these_weights(book, capsys):
    named = "These weights gain with a beam."
    book(C=of_bleu("direction", statement=named), D=of_bleu("direction"))
    claim("C", measured=ONE_TEXT)
    claim("D", measured=draws(*[[x, x + 1, x + 2] for x in (1.0, 2.0, 4.0)]))
    one, three = capsys.readouterr().out.splitlines()
    assert "; 4 draws, these weights; explored" in one
    assert "; 3 draws, 3 weights; explored" in three


def given_with(**changes):
    """What makes a claim a registered one, with changes of it."""
    asked = {"needs": "direction", "margin": "bleu"}
    return PLAIN | asked | {"registered": REGISTERED | changes}


def registered(**changes):
    return entry(**given_with(**changes))


EIGHT = [0.2 * i for i in range(8)]
HIGH = difference([x + 2 for x in EIGHT], EIGHT)
LOW = difference(EIGHT[::-1], EIGHT)


@pytest.mark.parametrize(
    ("again", "verdict", "figures"),
    [
        (None, "shown", "2 [1.57, 2.43]"),
        (HIGH, "shown", "2 [1.57, 2.43], again 2 [1.57, 2.43]"),
        (LOW, "not repeated", "2 [1.57, 2.43], again 0 [-0.431, 0.431]"),
    ],
)
def test_what_was_registered_and_shown_is_repeated(
    book, capsys, again, verdict, figures
):
    """Both figures stand."""
    made = registered()
    record = {"registered": {"claims": {"C": as_registered(made)}}}
    book(record, C=made)
    claim("C", measured=HIGH, again=again)
    said = capsys.readouterr().out
    assert said.startswith(f"claim C: {verdict}; needs direction; {figures}; ")
    assert said.endswith("; registered\n")


@pytest.mark.parametrize(
    "change",
    [
        {"statement": "Something else."},
        {"margin": "nats", "registered": REGISTERED | {"seeds": 24}},
        {"needs": "beyond"},
        {"quantity": "another"},
        {"registered": REGISTERED | {"stop": "later"}},
    ],
)
def test_what_was_changed_after_its_registration_is_refused(book, change):
    made = registered()
    book(
        {"registered": {"claims": {"C": as_registered(made)}}}, C=made | change
    )
    with pytest.raises(ValueError, match="C: r.json has not kept it"):
        claim("C", measured=HIGH)
    book(C=made)  # its record has kept nothing
    with pytest.raises(ValueError, match="C: r.json has not kept it"):
        claim("C", measured=HIGH)


def test_more_or_fewer_seeds_than_registered_are_refused(book):
    made = registered()
    book({"registered": {"claims": {"C": as_registered(made)}}}, C=made)
    more = difference([*EIGHT, 1.0], EIGHT)
    for measured, again in ((more, None), (HIGH, more)):
        with pytest.raises(ValueError, match="C: registered with 8 seeds"):
            claim("C", measured=measured, again=again)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ({"statement": ""}, "no statement"),
        ({"quantity": None}, "no quantity"),
        ({"why": None}, "why"),
        ({"equals": None}, "asks for nothing"),
        (
            {"computed": None, "equals": None, "at_least": 4},
            "does not say which text",
        ),
        ({"at_least": 1}, "has equals"),
        ({"computed": None}, "has equals"),
        ({"equals": None, "at_least": 2, "at_most": 1}, "can never be"),
        ({"statement": "word " * 31}, "statement of more than 30 words"),
        ({"needs": "direction"}, "and a number or computed too"),
        (PLAIN | {"needs": "direction"}, "needs a margin"),
        (PLAIN | {"needs": "luck", "margin": "bleu"}, "needs one of"),
        (PLAIN | {"needs": "within", "margin": "rouge"}, "needs a margin"),
        ({"computed": "faith"}, "'faith'"),
        ({"tuned": "well"}, "'well'"),
        ({"source": "a2020"}, "no place, quote"),
        ({**QUOTED, "quote": "word " * 61}, "quote of more than 60 words"),
        ({**QUOTED, "quote": "它是四"}, "no translation"),
        ({"verdict": "holds"}, "unknown fields verdict"),
        ({"registered": REGISTERED}, "no margin, or no records"),
        (given_with(seeds=7), "its pilot asks for"),
        (given_with(pilot=5.0), "its pilot asks for"),
        (given_with(colour="red"), "is registered with"),
    ],
)
def test_a_malformed_claim_is_refused(book, fault, message):
    book(C=entry(**fault))
    with pytest.raises(ValueError, match=f"page.yml: C .*{message}"):
        claim("C", measured=4, control=5)


@pytest.mark.parametrize(
    ("pilot", "seeds"), [(0.1, 8), (1.0, 18), (1.1, 22), (5.0, 24)]
)
def test_seeds_are_those_that_the_pilot_asks_for_from_8_to_24(pilot, seeds):
    assert ledger.fault_of(registered(pilot=pilot, seeds=seeds)) is None
    for other in (seeds - 1, seeds + 1):
        assert ledger.fault_of(registered(pilot=pilot, seeds=other))


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


def test_a_claim_that_left_is_not_in_the_ledger_and_says_why():
    text = (BOOK / "withdrawn_claims.yml").read_text("utf-8")
    histories = yaml.safe_load(
        (BOOK / "runs" / "claim_histories.yml").read_text("utf-8")
    )
    left = yaml.safe_load(text)
    assert histories.keys() <= left.keys() | CLAIMS.keys()
    for name, entry in left.items():
        assert name not in CLAIMS
        assert entry.keys() - {"source"} == {"statement", "why"}
        assert entry.get("source") != OURS  # which it is without one
        assert histories[name]["withdrawn"] and histories[name]["printed"]
    for found in histories.values():
        for change in found.get("changes", ()):
            assert change.keys() == {"date", "commit", "word", "text"}


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


def test_margins_are_those_of_the_ledger_s_page():
    page = " ".join((BOOK / "ledger.md").read_text("utf-8").split())
    assert MARGINS == {"bleu": 1.0, "nats": 0.05, "accuracy": 0.01}
    for margin in ("one point of BLEU", "$0.05$ nats", "$0.01$ of a share"):
        assert margin in page
