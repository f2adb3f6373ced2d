"""The ledger: what is claimed, by whom, and whether the measurement agrees.

Claims are listed in book/claims.yml. A chapter calls `claim` where it has
measured one.
"""

from functools import cache
from pathlib import Path
from typing import Any, NotRequired, TypedDict

import numpy as np
import yaml
from torch import Tensor

__all__ = ["VERDICTS", "claim", "find_ledger", "read_claims"]

VERDICTS = (
    "holds",
    "holds with a caveat",
    "false as stated",
    "not at this scale",
    "not yet measured",
)
FORMS = ("expected", "equals", "at_least", "at_most")
FIELDS = ("statement", "source", "chapter", "rests_on", "verdict")

Number = int | float


class Claim(TypedDict):
    """An entry of the ledger, whose head says what its fields are."""

    statement: str
    source: str
    chapter: str
    rests_on: str
    verdict: str
    caveat: NotRequired[str]
    expected: NotRequired[Number]
    tolerance: NotRequired[Number]
    equals: NotRequired[Number]
    at_least: NotRequired[Number]
    at_most: NotRequired[Number]


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


def find_ledger() -> Path:
    """The claims of this book: beside the package, or above where we are."""
    here = Path.cwd()
    for folder in (Path(__file__).parents[2], here, *here.parents):
        path = folder / "book" / "claims.yml"
        if path.exists():
            return path
    raise FileNotFoundError(
        "book/claims.yml is neither beside the package nor in a folder above "
        f"{here}: clone the repository and run inside it"
    )


@cache
def read_claims(path: Path) -> dict[str, Claim]:
    """The claims of a ledger by their id; ValueError where one is malformed.

    A claim has a statement, its source, the chapter that measures it, what it
    rests on, a verdict, and at most one of: expected (with tolerance),
    equals, at_least, at_most.
    """
    with path.open(encoding="utf-8") as file:
        claims: dict[str, Claim] = yaml.load(file, UniqueKeys)
    for name, entry in claims.items():
        missing = [field for field in FIELDS if not entry.get(field)]
        if missing:
            raise ValueError(f"{path}: {name} has no {', '.join(missing)}")
        if entry["verdict"] not in VERDICTS:
            raise ValueError(
                f"{path}: {name} has the verdict {entry['verdict']!r}; "
                f"choose from {', '.join(VERDICTS)}"
            )
        forms = [form for form in FORMS if form in entry]
        measured = entry["verdict"] != "not yet measured"
        if len(forms) > 1 or (measured and not forms):
            raise ValueError(
                f"{path}: {name} needs exactly one of {', '.join(FORMS)}"
            )
        if ("expected" in entry) != ("tolerance" in entry):
            raise ValueError(
                f"{path}: {name}: expected and tolerance go together"
            )
    return claims


def claim(name: str, measured: Number | np.generic | Tensor) -> None:
    """Print the claim with what was measured; AssertionError if it fails."""
    path = find_ledger()
    claims = read_claims(path)
    if name not in claims:
        raise KeyError(f"{name} is not in {path}")
    entry = claims[name]
    if hasattr(measured, "item"):  # a number in a tensor or an array
        measured = measured.item()
    agrees, demand = compare(entry, measured)
    line = (
        f"{entry['statement']}: {show(measured)} "
        f"({demand}; {entry['rests_on']})"
    )
    if not agrees:
        raise AssertionError(
            f"claim {name} does not agree with its measurement: {line}"
        )
    print(f"claim {name} {entry['verdict']}: {line}")


def compare(entry: Claim, measured: Number) -> tuple[bool, str]:
    """Whether a measurement meets a claim, and in words what it must meet."""
    if "expected" in entry:
        expected, tolerance = entry["expected"], entry["tolerance"]
        return (
            abs(measured - expected) <= tolerance,
            f"expected {show(expected)} ± {show(tolerance)}",
        )
    if "at_least" in entry:
        least = entry["at_least"]
        return measured >= least, f"expected at least {show(least)}"
    if "at_most" in entry:
        most = entry["at_most"]
        return measured <= most, f"expected at most {show(most)}"
    if "equals" in entry:
        value = entry["equals"]
        return measured == value, f"expected exactly {show(value)}"
    raise ValueError("a claim that is not yet measured has no figure to meet")


def show(number: Number) -> str:
    """A number as it is read: yes or no, whole with commas, or 4 digits."""
    if isinstance(number, bool):
        return "yes" if number else "no"
    if float(number).is_integer() and abs(number) < 1e15:
        return f"{int(number):,}"
    return f"{float(number):.4g}"
