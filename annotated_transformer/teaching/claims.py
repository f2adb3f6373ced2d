"""The ledger: what is claimed, by whom, and whether the measurement agrees.

The claims of a page are listed in book/claims/PAGE.yml, and the rules by which
they are judged stand on the ledger's page. A chapter calls `claim` where it
has measured one.
"""

import re
from collections.abc import Sequence
from functools import cache
from math import inf, isfinite
from pathlib import Path
from typing import Any, NotRequired, TypedDict

import numpy as np
import yaml
from torch import Tensor

from annotated_transformer.teaching.intervals import (
    Estimate,
    mean,
    seeds_needed,
    seeds_to_reach,
)
from annotated_transformer.teaching.rounding import below

HOLDS, CAVEAT, CONTRADICTED, UNDECIDED = VERDICTS = (
    "holds",
    "holds with a caveat",
    "contradicted here",
    "undecided here",
)
GROUNDS = ("arithmetic", "identity", "experiment", "record")
OURS = "this book"  # the source of a claim that nobody else makes

# Differences that no reader would care about, fixed before any measurement:
# BLEU in points, the loss in nats per token, shares of right answers.
MARGINS = {"bleu": 1.0, "nats": 0.05, "accuracy": 0.01}
DEMANDS: dict[str, tuple[int | None, int | None]] = {  # in margins
    "more": (1, None),
    "less": (None, -1),
    "same": (-1, 1),
    "not more": (None, 1),
    "not less": (-1, None),
}
FIELDS = ("statement", "source", "rests_on", "quantity", "control")
OPTIONAL = (
    *("place", "quote", "translation", "why", "metric", "demands"),
    *("at_least", "at_most", "equals", "records", "no_chance", "known"),
    *("caveat", "note", "history"),
)
CHINESE = re.compile(r"[\u3400-\u9fff]")
WORDS = {"statement": 30, "quote": 60}  # at most

Number = int | float
Measured = Number | np.generic | Tensor | Sequence[float] | Estimate


class Claim(TypedDict):
    """An entry of the ledger; CONTRIBUTING.md says what its fields are."""

    statement: str
    source: str  # a key of references.bib, or "this book"
    rests_on: str
    quantity: str
    control: str
    page: str  # from the name of its file
    place: NotRequired[str]
    quote: NotRequired[str]
    translation: NotRequired[str]
    metric: NotRequired[str]
    demands: NotRequired[str]
    at_least: NotRequired[Number]
    at_most: NotRequired[Number]
    equals: NotRequired[Number]
    why: NotRequired[str]
    records: NotRequired[list[str]]
    no_chance: NotRequired[str]
    known: NotRequired[str]  # of the figure, when the bound was set
    caveat: NotRequired[str]  # what could turn the verdict
    note: NotRequired[str]
    history: NotRequired[str]


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


def find_book() -> Path:
    """The folder of this book: beside the package, or above where we are."""
    here = Path.cwd()
    for folder in (Path(__file__).parents[2], here, *here.parents):
        path = folder / "book" / "claims"
        if path.is_dir():
            return path.parent
    raise FileNotFoundError(
        "book/claims is neither beside the package nor in a folder above "
        f"{here}: clone the repository and run inside it"
    )


@cache
def read_claims(book: Path) -> dict[str, Claim]:
    """The claims of a book by their id; ValueError where one is malformed."""
    found: dict[str, Claim] = {}
    for path in sorted((book / "claims").glob("*.yml")):
        with path.open(encoding="utf-8") as file:
            claims = yaml.load(file, UniqueKeys)
        for name, entry in (claims or {}).items():
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
    if missing := [x for x in FIELDS if entry.get(x) in (None, "")]:
        return f"has no {', '.join(missing)}"
    if unknown := entry.keys() - {*FIELDS, *OPTIONAL}:
        return f"has the unknown fields {', '.join(sorted(unknown))}"
    if entry["rests_on"] not in GROUNDS:
        return f"rests on {entry['rests_on']!r}: not {', '.join(GROUNDS)}"
    if entry["rests_on"] == "record" and not entry.get("records"):
        return "rests on a record and does not name it (records)"
    if entry["source"] != OURS:
        if missing := [x for x in ("place", "quote") if not entry.get(x)]:
            return f"names a source and has no {', '.join(missing)}"
        if CHINESE.search(entry["quote"]) and not entry.get("translation"):
            return "quotes Chinese and has no translation"
    for field, most in WORDS.items():
        if len(entry.get(field, "").split()) > most:
            return f"has a {field} of more than {most} words"
    return fault_of_bound(entry)


def fault_of_bound(entry: dict[str, Any]) -> str | None:
    """What is wrong with what an entry demands of its quantity."""
    if "metric" in entry or "demands" in entry:
        if entry.get("metric") not in MARGINS:
            return f"needs a metric of {', '.join(MARGINS)}"
        if entry.get("demands") not in DEMANDS:
            return f"needs demands of {', '.join(DEMANDS)}"
        extra = [x for x in ("at_least", "at_most", "equals") if x in entry]
        if extra:
            return f"has a metric, and {', '.join(extra)} too"
    elif "equals" in entry:
        if "at_least" in entry or "at_most" in entry:
            return "has equals and another bound too"
    elif "at_least" not in entry and "at_most" not in entry:
        return "demands nothing: metric and demands, at_least, at_most, equals"
    if "metric" not in entry and not entry.get("why"):
        return "does not say why its bound is what it is (why)"
    low, high = bounds(entry)
    if low > high:
        return f"can never hold: at least {low} and at most {high}"
    return None


def bounds(entry: Claim | dict[str, Any]) -> tuple[float, float]:
    """From where to where the quantity of a claim may be; the ends hold."""
    if "metric" in entry:
        margin = MARGINS[entry["metric"]]
        least, most = DEMANDS[entry["demands"]]
        return (
            -inf if least is None else least * margin,
            inf if most is None else most * margin,
        )
    if "equals" in entry:
        return float(entry["equals"]), float(entry["equals"])
    low, high = entry.get("at_least", -inf), entry.get("at_most", inf)
    return float(low), float(high)


def place(entry: Claim, found: Estimate) -> str:
    """Where an interval lies: inside the bounds, outside, or on both sides."""
    low, high = bounds(entry)
    if low <= found.low and found.high <= high:
        return HOLDS
    if found.high < low or found.low > high:
        return CONTRADICTED
    return UNDECIDED


def judge(entry: Claim, found: Estimate, control: Estimate) -> str:
    """The verdict on a claim, whoever makes it.

    A claim that lies inside its bounds is undecided, too, where the control
    is not outside: then the measurement cannot tell the two apart.
    """
    said = place(entry, found)
    if said != HOLDS:
        return said
    if place(entry, control) != CONTRADICTED:
        return UNDECIDED
    return CAVEAT if entry.get("caveat") else HOLDS


def claim(name: str, *, measured: Measured, control: Measured) -> None:
    """Print the verdict of a claim on what was measured, and its control.

    A figure is a number, an Estimate (`intervals`), or the figures of three
    seeds or more. The control is the same quantity where the statement must
    come out false. KeyError for an id that
    book/claims does not have; ValueError for one figure where chance plays a
    part.
    """
    book = find_book()
    claims = read_claims(book)
    if name not in claims:
        raise KeyError(f"{name} is not in {book / 'claims'}")
    entry = claims[name]
    found, other = as_estimate(measured), as_estimate(control)
    chance = entry["rests_on"] in ("experiment", "record")
    if chance and found.runs == 1 and not entry.get("no_chance"):
        raise ValueError(
            f"claim {name}: one figure for what chance plays a part in; give "
            "those of several seeds, or say why there is none (no_chance)"
        )
    print(
        f"claim {name} {judge(entry, found, other)}: {figures(found)}, "
        f"{demand(entry)}; control {figures(other)}"
        f"{needs(entry, found, other)}"
    )


def as_estimate(measured: Measured) -> Estimate:
    """A figure with its interval; of a number, the number."""
    if isinstance(measured, Estimate):
        return measured
    if isinstance(measured, Sequence):
        return mean(measured)
    value = float(measured)  # of a tensor or an array's number, too
    return Estimate(value, value, value)


def seeds_to_decide(entry: Claim, found: Estimate) -> Number:
    """How many seeds would probably decide what these do not.

    To show that two are the same it takes `seeds_needed` on each side;
    otherwise as many as make the interval end at the bound that it is nearest
    to, if its middle stays where it is.
    """
    low, high = bounds(entry)
    if entry.get("demands") == "same" and low <= found.value <= high:
        return seeds_needed(found.deviation, MARGINS[entry["metric"]])
    ends = [end for end in bounds(entry) if isfinite(end)]
    far = min(abs(found.value - end) for end in ends)
    return seeds_to_reach(found, far) if far else inf


def demand(entry: Claim) -> str:
    """What the quantity of a claim must meet, in words."""
    low, high = bounds(entry)
    least, most = show(low, 4), show(high, 4)
    if low == high:
        return f"expected exactly {least}"
    if low == -inf:
        return f"expected at most {most}"
    if high == inf:
        return f"expected at least {least}"
    return f"expected {least} to {most}"


def needs(entry: Claim, found: Estimate, control: Estimate) -> str:
    """What would decide that this leaves undecided; "" if it is decided."""
    if judge(entry, found, control) != UNDECIDED:
        return ""
    if (other := place(entry, control)) != CONTRADICTED:
        meets = "meets it" if other == HOLDS else "may meet it"
        return f"; the control, which should miss the bound, {meets}"
    if not found.deviation:
        return ""
    number = seeds_to_decide(entry, found)
    if number <= found.runs or number > 1000:
        return "; too close to the bound for seeds to decide"
    side = " a side" if found.rows > 1 else ""
    return f"; {number} seeds{side} would be needed"


def figures(found: Estimate) -> str:
    """A figure and its interval as they are read."""
    if found.low == found.high:
        return show(found.value)
    return f"{show(found.value)} [{show(found.low)}, {show(found.high)}]"


def show(number: Number, digits: int = 3) -> str:
    """A number as it is read: whole with commas, or with so many digits."""
    if float(number).is_integer() and abs(number) < 1e15:
        return f"{int(number):,}"
    if abs(number) < 1e-9:
        return below(1e-9, number)
    return f"{float(number):.{digits}g}"
