"""Lookups and far letters, tuned: rates, two warm-ups, a pilot.

For `registered_lookups`, which trains the rows at what is found here. Each
row, and each row of its control, tries rates and two warm-ups with one
seed, and takes what ends with the least loss; then four other seeds show how
far figures lie apart. None of these five seeds counts. After the warm-up all
rates fall to zero, whatever the recipe of the task says.
"""

from functools import partial
from statistics import fmean
from typing import Any, NamedTuple

from . import heads_for_two_lookups, path_lengths, score_functions
from .shared.grid import Result, Runs, grid
from .shared.lookups import corpus

__all__ = ["RECIPE", "RUNS", "corpus"]


class Task(NamedTuple):
    """What rows of a comparison have in common."""

    run: Any  # of the experiment that has the task
    share: str  # what its results call that of right answers
    warmups: tuple[int, int]
    rates: tuple[float, ...]


# Each 1.5 times the one before; of these as many as put no compared row's best
# at an end, unless it learns all, or nothing, at several. The controls at
# d_k = 4 are at the last: both, at a loss that still falls a little.
RATES = tuple(2e-3 * 1.5**i for i in range(-1, 8))
SCALE = Task(score_functions.run, "accuracy", (30, 90), RATES)
HEADS = Task(heads_for_two_lookups.for_one, "all right", (80, 240), RATES[:7])
PATHS = Task(path_lengths.run, "right", (60, 180), RATES[:6])
ROWS: dict[str, tuple[Task, dict[str, Any]]] = {
    **{
        f"{score}, d_k={d_k}": (SCALE, {"score": score, "d_k": d_k})
        for d_k in (256, 4)
        for score in ("scaled", "dot")
    },
    **{
        f"heads={heads}, picks={picks}": (
            HEADS,
            {"heads": heads, "picks": picks},
        )
        for picks in (2, 1)
        for heads in (2, 1)
    },
    **{
        f"{name}, {place}": (
            PATHS,
            {"name": name, "place": place, "around": 28},
        )
        for place in ("middle", "first")
        for name in ("recurrent", "unattended")
    },
}
TUNING, PILOT = 100, range(101, 105)
CHOSEN = {  # rate and warm-up, by TUNING
    "scaled, d_k=256": (RATES[3], 90),
    "dot, d_k=256": (RATES[4], 30),
    "scaled, d_k=4": (RATES[8], 90),
    "dot, d_k=4": (RATES[8], 30),
    "heads=2, picks=2": (RATES[5], 80),
    "heads=1, picks=2": (RATES[4], 80),
    "heads=2, picks=1": (RATES[3], 80),
    "heads=1, picks=1": (RATES[2], 80),
    "recurrent, middle": (RATES[5], 60),
    "unattended, middle": (RATES[5], 60),
    "recurrent, first": (RATES[3], 60),
    "unattended, first": (RATES[1], 180),
}
RECIPE = {
    "scores": score_functions.RECIPE,
    "heads": heads_for_two_lookups.RECIPE,
    "paths": path_lengths.RECIPE,
}


def learned(row: str, rate: float, warmup: int, seed: int) -> Result:
    """Train a row; the share of right answers, and the loss at the end."""
    task, given = ROWS[row]
    found = task.run(**given, rate=rate, warmup=warmup, seed=seed)
    return {"right": found[task.share], "loss": fmean(found["loss"][-5:])}


RUNS: Runs = {}
for row, (task, _) in ROWS.items():
    RUNS |= grid(
        partial(learned, row),
        f"{row}, rate={{rate:.2g}} warmup={{warmup}} seed={{seed}}",
        rate=task.rates,
        warmup=task.warmups,
        seed=[TUNING],
    )
for row, (rate, warmup) in CHOSEN.items():
    RUNS |= grid(
        partial(learned, row, rate, warmup), f"{row} seed={{seed}}", seed=PILOT
    )
