"""Lookups and far letters, tuned: rates, two warm-ups, a pilot.

For `registered_lookups`. After the warm-up all rates fall to zero, whatever
the recipe of the task says.
"""

from functools import partial
from statistics import fmean
from typing import Any

from . import heads_for_two_lookups, path_lengths, score_functions
from .shared.grid import Result
from .shared.lookups import corpus as corpus
from .shared.registering import Comparison, Learn, around, recorded, tuning

RECIPE = {
    "scores": score_functions.RECIPE,
    "heads": heads_for_two_lookups.RECIPE,
    "paths": path_lengths.RECIPE,
}
# Of these as many as put no compared row's best at an end, unless it learns
# all, or nothing, at several. The controls at d_k = 4 are at the last: both,
# at a loss that still falls a little.
RATES = around(2e-3, above=7)


def learned(run: Learn, share: str, **given: Any) -> Result:
    """Train a row; the share of right answers, and the loss at the end."""
    found = run(**given)
    return {"right": found[share], "loss": fmean(found["loss"][-5:])}


def scores(d_k: int) -> dict[str, Learn]:
    """Dot products, scaled and not."""
    learn = partial(learned, score_functions.run, "accuracy", d_k=d_k)
    names = ("scaled", "dot")
    return {f"{x}, d_k={d_k}": partial(learn, score=x) for x in names}


def heads(picks: int) -> dict[str, Learn]:
    """Two heads and one, asked for so many words."""
    run = heads_for_two_lookups.for_one
    learn = partial(learned, run, "all right", picks=picks)
    return {
        f"heads={x}, picks={picks}": partial(learn, heads=x) for x in (2, 1)
    }


def paths(place: str) -> dict[str, Learn]:
    """With attention and without it, two letters at a place."""
    learn = partial(learned, path_lengths.run, "right", place=place, around=28)
    names = ("recurrent", "unattended")
    return {f"{x}, {place}": partial(learn, name=x) for x in names}


COMPARED = [
    Comparison(
        claims=["P-3.2.1-g"],
        rows=scores(256),
        controls=scores(4),
        rates=RATES,
        warmups=(30, 90),
        figures=["right"],
        margin="accuracy",
    ),
    Comparison(
        claims=["P-2-c"],
        rows=heads(2),
        controls=heads(1),
        rates=RATES[:7],
        warmups=(80, 240),
        figures=["right"],
        margin="accuracy",
    ),
    Comparison(
        claims=["short-paths"],
        rows=paths("middle"),
        controls=paths("first"),
        rates=RATES[:6],
        warmups=(60, 180),
        figures=["right"],
        margin="accuracy",
    ),
]
RUNS = tuning(COMPARED, recorded("tuned_lookups"))
