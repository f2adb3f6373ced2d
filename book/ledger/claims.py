"""The ledger: what is claimed, by whom, and what the measurement shows.

The claims of a page are listed in book/claims/PAGE.yml, and the rule by which
all are judged stands on the ledger's page. A chapter calls `claim` where it
has measured one.
"""

import json
import re
from collections.abc import Sequence
from functools import cache
from math import inf, isfinite
from pathlib import Path
from typing import Any, NotRequired, TypedDict

import numpy as np
import yaml
from torch import Tensor

from ledger import BOOK
from ledger.intervals import Estimate, mean, seeds_needed
from ledger.rounding import below

SHOWN, OPPOSITE, OPEN, NOT_REPEATED, TRUE, FALSE = VERDICTS = (
    *("shown", "the opposite shown", "open", "not repeated"),
    *("true", "false"),  # of what is computed
)
OURS = "this book"  # the source of a claim that nobody else makes

# Differences that no reader would care about, fixed before any measurement:
# BLEU in points, the loss in nats per token, shares of right answers.
MARGINS = {"bleu": 1.0, "nats": 0.05, "accuracy": 0.01}
NEEDS = {  # from where to where the truth must lie, in margins
    "direction": (0.0, inf),
    "beyond": (1.0, inf),
    "within": (-1.0, 1.0),
    "not worse": (-1.0, inf),
}
NUMBERS = ("at_least", "at_most", "equals")
TUNED = ("yes", "rates", "no")  # both sides, where something is trained
SEEDS = (8, 24)  # of a registered claim, at least and at most
CHINESE = re.compile(r"[\u3400-\u9fff]")
WORDS = {"statement": 30, "quote": 60}  # at most

Number = int | float
Measured = Number | np.generic | Tensor | Sequence[float] | Estimate


class Registered(TypedDict):
    """What was written down before the first run."""

    text: str  # that the models learn, and are tested on
    rates: list[float]  # the grid that both sides are tuned on
    stop: str  # when training stops
    pilot: float  # the deviation of four other seeds
    seeds: int  # a side


class Claim(TypedDict):
    """An entry of the ledger; CONTRIBUTING.md says what its fields are."""

    statement: str
    source: str  # a key of references.bib, or "this book"
    quantity: str  # positive where it is as the statement says
    page: str  # from the name of its file
    place: NotRequired[str]
    quote: NotRequired[str]
    translation: NotRequired[str]
    computed: NotRequired[str]  # by arithmetic, or as an identity
    records: NotRequired[list[str]]
    tuned: NotRequired[str]
    setting: NotRequired[str]  # text, model, length of training
    needs: NotRequired[str]
    margin: NotRequired[str]
    repeated: NotRequired[str]  # what its figures are of, if not seeds
    at_least: NotRequired[Number]
    at_most: NotRequired[Number]
    equals: NotRequired[Number]
    why: NotRequired[str]
    control: NotRequired[str]
    note: NotRequired[str]
    registered: NotRequired[Registered]


FIELDS = Claim.__required_keys__ - {"page"}
REGISTERED = Registered.__required_keys__


class UniqueKeys(yaml.SafeLoader):
    """YAML without PyYAML's habit of keeping the last of equal keys."""

    def construct_mapping(
        self, node: yaml.MappingNode, deep: bool = False
    ) -> dict[Any, Any]:
        """A mapping; ValueError that names a key which stands there twice."""
        lines: dict[str, int] = {}
        for key, _ in node.value:
            mark = key.start_mark
            if key.value in lines:
                raise ValueError(
                    f"{mark.name}, line {mark.line + 1}: {key.value} stands "
                    f"in line {lines[key.value]} already; rename or drop one"
                )
            lines[key.value] = mark.line + 1
        return super().construct_mapping(node, deep)


@cache
def read_claims(book: Path) -> dict[str, Claim]:
    """The claims of a book by their id; ValueError where one is malformed."""
    found: dict[str, Claim] = {}
    for path in sorted((book / "claims").glob("*.yml")):
        with path.open(encoding="utf-8") as file:
            claims = yaml.load(file, UniqueKeys)
        for name, given in (claims or {}).items():
            entry = {"source": OURS} | given
            if name in found:
                raise ValueError(
                    f"{path}: {name} stands in {found[name]['page']}.yml "
                    "already; rename or drop one"
                )
            if fault := fault_of(entry):
                raise ValueError(f"{path}: {name} {fault}")
            found[name] = entry | {"page": path.stem}
    return found


def fault_of(entry: dict[str, Any]) -> str | None:
    """What is wrong with an entry, in words that go on from its name."""
    if missing := sorted(x for x in FIELDS if not entry.get(x)):
        return f"has no {', '.join(missing)}"
    if unknown := entry.keys() - {*FIELDS, *Claim.__optional_keys__}:
        return f"has the unknown fields {', '.join(sorted(unknown))}"
    if entry["source"] != OURS:
        if missing := [x for x in ("place", "quote") if not entry.get(x)]:
            return f"names a source and has no {', '.join(missing)}"
        if CHINESE.search(entry["quote"]) and not entry.get("translation"):
            return "quotes Chinese and has no translation"
    for field, most in WORDS.items():
        if len(entry.get(field, "").split()) > most:
            return f"has a {field} of more than {most} words"
    if entry.get("tuned", "no") not in TUNED:
        return f"is tuned {entry['tuned']!r}: not {', '.join(TUNED)}"
    if fault := fault_of_need(entry) or fault_of_registration(entry):
        return fault
    if not entry.get("computed") and not entry.get("setting"):
        return "does not say which text and which model (setting)"
    return None


def fault_of_need(entry: dict[str, Any]) -> str | None:
    """What is wrong with what an entry asks of its quantity."""
    computed = entry.get("computed")
    if computed not in (None, "arithmetic", "identity"):
        return f"is computed by {computed!r}: not arithmetic, identity"
    numbers = [x for x in NUMBERS if x in entry]
    if "needs" not in entry and "margin" not in entry:
        if not numbers:
            return "asks for nothing: needs and margin, or a number"
        if "equals" in entry and (len(numbers) > 1 or not computed):
            return "has equals, which only what is computed can meet, alone"
        if not entry.get("why"):
            return "does not say why its number is what it is (why)"
        low, high = bounds(entry)
        return f"can never be: {low} to {high}" if low > high else None
    if computed or numbers:
        return "has needs and margin, and a number or computed too"
    if entry.get("needs") not in NEEDS:
        return f"needs one of {', '.join(NEEDS)} (needs)"
    if entry.get("margin") not in MARGINS:
        return f"needs a margin of {', '.join(MARGINS)} (margin)"
    return None


def fault_of_registration(entry: dict[str, Any]) -> str | None:
    """What is missing in what was written down before the first run."""
    if "registered" not in entry:
        return None
    given = entry["registered"]
    if given.keys() != REGISTERED:
        return (
            f"is registered with {', '.join(sorted(REGISTERED))}, and no more"
        )
    if "margin" not in entry or not entry.get("records"):
        return "is registered and has no margin, or no records"
    least, most = SEEDS
    needed = seeds_needed(given["pilot"], MARGINS[entry["margin"]])
    if given["seeds"] != min(max(needed, least), most):
        return (
            f"is registered with {given['seeds']} seeds; its pilot asks for "
            f"{needed}, and {least} to {most} are trained"
        )
    return None


def bounds(entry: Claim | dict[str, Any]) -> tuple[float, float]:
    """From where to where the truth must lie for the statement to hold."""
    if "needs" in entry:
        margin = MARGINS[entry["margin"]]
        low, high = NEEDS[entry["needs"]]
        return low * margin, high * margin
    low = entry.get("equals", entry.get("at_least", -inf))
    high = entry.get("equals", entry.get("at_most", inf))
    return float(low), float(high)


def place(found: Estimate, low: float, high: float) -> str:
    """Where an interval lies: inside the bounds, outside, or on both sides."""
    if low < found.low and found.high < high:
        return SHOWN
    if found.high < low or found.low > high:
        return OPPOSITE
    return OPEN


def words(entry: Claim, found: Estimate) -> str:
    """Direction and size of a difference, whatever its statement needs."""
    margin = MARGINS[entry["margin"]]
    size = place(found, -margin, margin)
    said = {SHOWN: "within", OPPOSITE: "beyond", OPEN: "open at"}[size]
    direction = place(found, 0, inf)
    return f"direction {direction}, size {said} {margin:g}"


def p_of(entry: Claim, found: Estimate) -> float:
    """One-sided p of what the statement needs, the larger of two tests."""
    low, high = bounds(entry)
    return max(
        found.p_above(low) if isfinite(low) else 0.0,
        found.p_below(high) if isfinite(high) else 0.0,
    )


def claim(
    name: str,
    *,
    measured: Measured,
    control: Measured | None = None,
    again: Measured | None = None,
) -> None:
    """Print what was measured of a claim, and what it shows.

    A figure is a number, where it is computed, and else an Estimate
    (`intervals`) or the figures of three seeds or more. `again` is the same
    of as many new seeds, for what was registered and shown. KeyError for an
    id that book/claims does not have; ValueError that names the claim where
    nothing can be said: of one figure, equal ones or NaN, or where it was not
    measured as it was registered.
    """
    claims = read_claims(BOOK)
    if name not in claims:
        raise KeyError(f"{name} is not in {BOOK / 'claims'}")
    entry = claims[name]
    try:
        said = found_of(entry, measured, again)
        if "registered" in entry:
            check_registration(name, entry, measured, again)
        if control is not None:
            chance = isinstance(control, Sequence | Estimate)
            other = (estimate_of if chance else number)(control)
            said += f"; control {figures(other)}"
    except ValueError as error:
        raise ValueError(f"claim {name}: {error}") from error
    print(f"claim {name}: {said}")


def found_of(entry: Claim, measured: Measured, again: Measured | None) -> str:
    """Verdict, what was asked for, figure, words, p, seeds and status."""
    if "computed" in entry:
        value = number(measured)
        low, high = bounds(entry)
        verdict = TRUE if low <= value <= high else FALSE
        return f"{verdict}; {asked(entry)}; {figures(value, low, high)}"
    found = estimate_of(measured)
    ends: tuple[float, ...] = bounds(entry)
    one = found.finished and found.seen[0] == 1
    if one and "these weights" not in entry["statement"].lower():
        raise ValueError("one model speaks of “these weights”: say so")
    if not found.error:
        raise ValueError("equal figures, which do not say what chance does")
    if "needs" in entry:
        margin = MARGINS[entry["margin"]]
        ends = -margin, 0.0, margin
    verdict, figure = place(found, *bounds(entry)), figures(found, *ends)
    status = "registered" if "registered" in entry else "explored"
    if again is not None:
        second = estimate_of(again)
        figure += f", again {figures(second, *ends)}"
        if verdict == SHOWN:
            held = place(second, *bounds(entry)) == SHOWN
            verdict = SHOWN if held else NOT_REPEATED
    parts = [verdict, asked(entry), figure]
    if "needs" in entry:
        parts.append(words(entry, found))
    p = p_of(entry, found)
    shown = "< 0.0001" if p < 1e-4 else f"{p:.2g}"
    return "; ".join([*parts, f"p {shown}", seen(entry, found), status])


# A line of `claim`, whose parts found_of joins, as the ledger's page reads it.
PRINTED = re.compile(
    rf"^claim (?P<name>\S+): (?P<verdict>{'|'.join(VERDICTS)}); "
    r"(?P<asked>(?:needs|at|equals)[^;]+); (?P<figure>[^;\n]+)"
    r"(?:; direction (?P<direction>[^;,]+), size (?P<size>[^;]+))?"
    r"(?:; p (?P<p>[^;]+); (?P<seen>[^;]+); (?P<status>[^;\n]+))?"
    r"(?:; control (?P<control>[^;\n]+))?$",
    re.MULTILINE,
)


def as_registered(entry: Claim) -> dict[str, Any]:
    """What must stand in a commit before the first run, and stay."""
    kept = ("statement", "quantity", "needs", "margin", "registered")
    return {x: entry[x] for x in kept if x in entry}  # type: ignore[literal-required]


def check_registration(
    name: str,
    entry: Claim,
    measured: Measured,
    again: Measured | None,
) -> None:
    """ValueError where it was not measured as it was registered."""
    for record in entry["records"]:
        path = BOOK / "runs" / f"{record}.json"
        kept = json.loads(path.read_text("utf-8")).get("registered", {})
        if kept.get("claims", {}).get(name) != as_registered(entry):
            raise ValueError(
                f"{path.name} has not kept it as it is registered"
            )
    asked_for = entry["registered"]["seeds"]
    for row in (measured, *([] if again is None else [again])):
        if any(seeds != asked_for for seeds in estimate_of(row).seen):
            raise ValueError(f"registered with {asked_for} seeds a side")


def number(measured: Measured) -> float:
    """A computed figure, of a tensor or an array's number, too."""
    if isinstance(measured, Sequence | Estimate):
        raise ValueError("several figures of what is computed, not drawn")
    return float(measured)


def estimate_of(measured: Measured) -> Estimate:
    """A figure with its interval; ValueError where chance is unknown."""
    if not isinstance(measured, Estimate):
        if not isinstance(measured, Sequence):
            raise ValueError(
                "one figure, where chance plays a part; give several seeds'"
            )
        measured = mean(measured)
    if not isfinite(measured.value) or not isfinite(measured.error):
        raise ValueError("NaN or infinite figures among its seeds")
    return measured


def asked(entry: Claim) -> str:
    """What a statement asks of its quantity, in words."""
    if "needs" in entry:
        margin = f"{MARGINS[entry['margin']]:g}"
        size = {"direction": "", "not worse": f" by {margin}"}
        return (
            f"needs {entry['needs']}{size.get(entry['needs'], f' {margin}')}"
        )
    low, high = bounds(entry)
    if low == high:
        return f"equals {low:g}"
    parts = [f"at least {low:g}"] if isfinite(low) else []
    parts += [f"at most {high:g}"] if isfinite(high) else []
    return " and ".join(parts)


def seen(entry: Claim, found: Estimate) -> str:
    """Of how many seeds a figure is, or of which weights."""
    if found.finished:
        weights, draws = found.seen
        which = "these" if weights == 1 else weights
        return f"{draws} draws, {which} weights"
    each = dict.fromkeys(found.seen)
    sides = " a side" if len(found.seen) > len(each) else ""
    what = entry.get("repeated", "seeds")
    return f"{' and '.join(map(str, each))} {what}{sides}"


def figures(found: Number | Estimate, *bounds: float) -> str:
    """A figure and its interval as they are read, on their side of bounds."""
    if not isinstance(found, Estimate):
        return show(found, *bounds)
    value, low, high = (
        show(x, *bounds) for x in (found.value, found.low, found.high)
    )
    return value if low == high else f"{value} [{low}, {high}]"


def show(number: Number, *bounds: float) -> str:
    """A number as it is read: whole with commas, or with three digits.

    It has more digits where with three it would seem to lie on another side
    of a bound, or on it.
    """
    number = float(number)  # of NumPy, too
    if number.is_integer() and abs(number) < 1e15:
        return f"{int(number):,}"
    if abs(number) < 1e-9:
        return below(1e-9, number)

    def side(value: float) -> list[int]:
        return [(value > bound) - (value < bound) for bound in bounds]

    each = (f"{number:.{digits}g}" for digits in range(3, 18))
    return next(x for x in each if side(float(x)) == side(number))
