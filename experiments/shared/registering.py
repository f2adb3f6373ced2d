"""Registered comparisons: a table of rows is all that one needs.

`tuned_NAME` has the runs of `tuning`: the grid of each row, by a seed that
does not count, and, once its record has the whole grid, a pilot of four other
seeds at the best setting. `registered_NAME` has those of `registered`: as many
seeds as the pilot asks for, and for what is compared as many again. Both read
what was found in the record of the first.

    python -m experiments.shared.registering tuned_NAME

prints what each row found best, and what a claim's `registered` is to say.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from itertools import product
from statistics import stdev
from types import ModuleType

from ledger.claims import MARGINS, SEEDS
from ledger.intervals import seeds_needed
from ledger.records import read_run

from .grid import Arguments, Result, Runs, grid
from .training_loops import best

TUNING, PILOT = 100, range(101, 105)  # seeds that do not count
COUNTED, AGAIN = 200, 300  # the first of those that do

Learn = Callable[..., Result]  # of a rate, a warm-up and a seed
Known = Mapping[str, Result]  # the results of tuning, by their keys


def around(rate: float, below: int = 1, above: int = 1) -> tuple[float, ...]:
    """A rate among others, each 1.5 times the one before."""
    return tuple(rate * 1.5**i for i in range(-below, above + 1))


@dataclass(frozen=True)
class Comparison:
    """Rows with one grid and as many seeds, and the claims made of them.

    A result has the figures that are claimed, and the `loss` that chooses.
    """

    claims: Sequence[str]
    rows: Mapping[str, Learn]  # by their names in a record
    rates: Sequence[float]
    warmups: Sequence[int]  # updates
    figures: Sequence[str]
    margin: str  # of the figures
    controls: Mapping[str, Learn] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len(self.settings) < len(self.rates) * len(self.warmups):
            raise ValueError(
                f"{self.claims}: two rates are the same in two digits, which "
                "is all that a record names; choose others"
            )

    @property
    def all_rows(self) -> Mapping[str, Learn]:
        """Those of the controls, too, which are not trained again."""
        return {**self.rows, **self.controls}

    @property
    def settings(self) -> Mapping[str, Arguments]:
        """All rates with all warm-ups, by their names in a record."""
        return {
            f"rate={rate:.2g} warmup={warmup}": {
                "rate": rate,
                "warmup": warmup,
            }
            for rate, warmup in product(self.rates, self.warmups)
        }

    def tried(self) -> Runs:
        """The grid of each row; where it has but one point, none."""
        runs: Runs = {}
        if len(self.settings) > 1:
            for row, learn in self.all_rows.items():
                key = f"{row}, {{setting}} seed={{seed}}"
                seed = [TUNING]
                runs |= grid(learn, key, setting=self.settings, seed=seed)
        return runs

    def at_best(self, known: Known) -> Mapping[str, Learn]:
        """The rows, each with the setting that ended with the least loss."""

        def loss(row: str, setting: str) -> float:
            return float(known[f"{row}, {setting} seed={TUNING}"]["loss"])

        chosen = {}
        for row, learn in self.all_rows.items():
            setting, *others = self.settings
            if others:
                setting = best(self.settings, partial(loss, row))
            chosen[row] = partial(learn, **self.settings[setting])
        return chosen

    def pilot(self, known: Known) -> float:
        """The largest deviation of a figure among a row's four seeds."""
        deviations = [
            stdev(known[f"{row} seed={seed}"][figure] for seed in PILOT)
            for row in self.rows
            for figure in self.figures
        ]
        return float(f"{max(deviations):.3g}")

    def seeds(self, known: Known) -> int:
        """How many a side the pilot asks for, within what is trained."""
        needed = seeds_needed(self.pilot(known), MARGINS[self.margin])
        least, most = SEEDS
        return min(max(needed, least), most)


def recorded(name: str) -> Known:
    """What the record of a module has found; nothing, if there is none."""
    try:
        found: Known = read_run(name)["results"]
    except FileNotFoundError:
        return {}
    return found


def tuning(compared: Sequence[Comparison], known: Known) -> Runs:
    """The grids, and the pilots once all of the grids are known."""
    runs: Runs = {}
    for one in compared:
        runs |= one.tried()
    if runs.keys() <= known.keys():
        for one in compared:
            for row, learn in one.at_best(known).items():
                runs |= grid(learn, f"{row} seed={{seed}}", seed=PILOT)
    return runs


def counted(compared: Sequence[Comparison], known: Known) -> Runs:
    """The runs that count; none before tuning has its whole record."""
    runs: Runs = {}
    if not known or not tuning(compared, known).keys() <= known.keys():
        return runs
    for one in compared:
        number = one.seeds(known)
        for row, learn in one.at_best(known).items():
            seeds = range(COUNTED, COUNTED + number)
            runs |= grid(learn, f"{row} seed={{seed}}", seed=seeds)
            if row in one.rows:
                seeds = range(AGAIN, AGAIN + number)
                runs |= grid(learn, f"again, {row} seed={{seed}}", seed=seeds)
    return runs


def registered(tuned: ModuleType) -> tuple[list[str], Runs]:
    """The claims that a module has tuned for, and the runs that count."""
    name = tuned.__name__.rpartition(".")[2]
    claims = [claim for one in tuned.COMPARED for claim in one.claims]
    return claims, counted(tuned.COMPARED, recorded(name))


def main(name: str) -> None:
    """Print what tuning found, and what is to be registered."""
    known = recorded(name)
    for one in import_module(f"experiments.{name}").COMPARED:
        for row, learn in one.at_best(known).items():
            rate, warmup = (learn.keywords[x] for x in ("rate", "warmup"))
            ends = one.rates[1:] and rate in (one.rates[0], one.rates[-1])
            at_end = ", at an end of the rates" if ends else ""
            print(f"{row}: rate {rate:.3g}, warm-up {warmup}{at_end}")
        rates = ", ".join(f"{rate:.3g}" for rate in one.rates)
        print(f"registered, of {', '.join(one.claims)}:")
        print(f"  rates: [{rates}]")
        print(f"  pilot: {one.pilot(known):g}\n  seeds: {one.seeds(known)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
