"""Lookups and far letters, registered: three claims by seeds of their own.

The rows of `tuned_lookups`, at the rate and the warm-up that each found best
there. `book/claims` said of P-3.2.1-g, P-2-c and short-paths what was asked
before the first of these runs. "again" is the repetition: the rows that a
claim compares, with as many other seeds.
"""

from functools import partial

from .shared.grid import Runs, grid
from .tuned_lookups import (
    CHOSEN,
    HEADS,
    PATHS,
    RECIPE,
    ROWS,
    SCALE,
    corpus,
    learned,
)

__all__ = ["RECIPE", "RUNS", "corpus"]

SEEDS = {SCALE: 24, HEADS: 8, PATHS: 17}  # a side, as the pilots ask for
COMPARED = ("d_k=256", "picks=2", "middle")  # the others are the controls
RUNS: Runs = {}
for row, (rate, warmup) in CHOSEN.items():
    number, run = SEEDS[ROWS[row][0]], partial(learned, row, rate, warmup)
    RUNS |= grid(run, f"{row} seed={{seed}}", seed=range(200, 200 + number))
    if row.endswith(COMPARED):
        again = range(300, 300 + number)
        RUNS |= grid(run, f"again, {row} seed={{seed}}", seed=again)
