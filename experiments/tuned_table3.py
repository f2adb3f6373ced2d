"""Rows of Table 3 on the grammar, tuned: rates, two warm-ups, a pilot.

For `registered_table3`: those of `table3_variations` that a claim compares
with its base.
"""

from collections.abc import Callable, Iterable
from functools import partial
from math import log

from .shared.grid import Result
from .shared.registering import (
    Comparison,
    Learn,
    around,
    recorded,
    tuning,
)
from .shared.settings import Learning
from .shared.small_translator import BASE, train
from .shared.small_translator import RECIPE as RECIPE
from .shared.small_translator import corpus as corpus
from .table3_variations import VARIATIONS, Row

ROWS = (
    "base",
    "A heads=1",
    "A heads=16",
    "D smoothing=0.0",
    "E learned positions",
    "Q = K",
)
# What else could explain what they show.
CONTROLS = "B d_k=4", "B d_k=8", "no positions"


def learned(
    train: Callable[..., Result],
    row: Row,
    rate: float,
    warmup: int,
    seed: int,
) -> Result:
    """Train and score a row; its loss on the validation sentences."""
    changed = row.get("learning", {})
    learning: Learning = {**changed, "peak_lr": rate, "warmup": warmup}
    tuned: Row = {**row, "learning": learning}
    found = train(seed, **tuned)
    return found | {"loss": log(found["perplexity"])}


def rows_of(
    train: Callable[..., Result], names: Iterable[str]
) -> dict[str, Learn]:
    """Rows of Table 3 by their names, for a text's own training."""
    return {name: partial(learned, train, VARIATIONS[name]) for name in names}


WARMUP = BASE.train.warmup
COMPARED = [
    Comparison(
        claims=[
            "one-head-grammar",
            "many-heads-grammar",
            "smoothing-perplexity-grammar",
            "P-3.5-g-trained-grammar",
            "S3-l",
        ],
        rows=rows_of(train, ROWS),
        controls=rows_of(train, CONTROLS),
        rates=around(9e-3, above=3),
        warmups=(WARMUP, 3 * WARMUP),
        figures=["loss"],
        margin="nats",
    )
]
RUNS = tuning(COMPARED, recorded("tuned_table3"))
