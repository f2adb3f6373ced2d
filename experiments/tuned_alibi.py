"""Sinusoids and ALiBi, tuned: rates, two warm-ups, a pilot.

For `registered_alibi`: the readers of `modern_parts`. The loss of the first
tokens chooses, as many as a window of training has; that of the last is
claimed. The recipe's warm-up is a third of all updates, so that the other is a
third of it.
"""

from functools import partial

from .modern_parts import RECIPE as RECIPE
from .modern_parts import read
from .shared.grid import Result
from .shared.registering import Comparison, around, recorded, tuning
from .shared.small_translator import LEARNING
from .shared.small_translator import corpus as corpus


def learned(positions: str, rate: float, warmup: int, seed: int) -> Result:
    """Train a reader; the losses of the first and of the last tokens."""
    found = read(seed, positions, rate, warmup)
    first, *_, last = found["losses"]
    return found | {"loss": first, "last": last}


COMPARED = [
    Comparison(
        claims=["M-alibi"],
        rows={x: partial(learned, x) for x in ("sinusoidal", "alibi")},
        rates=around(LEARNING["peak_lr"], above=5),
        warmups=(LEARNING["warmup"] // 3, LEARNING["warmup"]),
        figures=["last"],
        margin="nats",
    )
]
RUNS = tuning(COMPARED, recorded("tuned_alibi"))
