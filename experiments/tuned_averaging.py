"""Averaging by the rate's schedule, tuned: rates, two warm-ups, a pilot.

For `registered_averaging`. The last checkpoint's loss chooses.
"""

from functools import partial

from .averaging_by_schedule import APART, LEARNING, run
from .averaging_by_schedule import RECIPE as RECIPE
from .shared.grid import Result
from .shared.registering import Comparison, around, recorded, tuning
from .shared.small_translator import corpus as corpus


def learned(schedule: str, rate: float, warmup: int, seed: int) -> Result:
    """Train; the loss of the last checkpoint, and what both means gain."""
    found = run(schedule, seed, rate=rate, warmup=warmup)
    loss = found["last loss"]
    gains = {f"{name} gain": loss - found[f"{name} loss"] for name in APART}
    return found | gains | {"loss": loss}


COMPARED = [
    Comparison(
        claims=[claim],
        rows={schedule: partial(learned, schedule)},
        rates=around(LEARNING["peak_lr"], above=3),
        warmups=(LEARNING["warmup"], 3 * LEARNING["warmup"]),
        figures=[figure],
        margin="nats",
    )
    for claim, schedule, figure in (
        ("averaging-root", "inverse_sqrt", "near gain"),
        ("averaging-linear", "linear", "far gain"),
    )
]
RUNS = tuning(COMPARED, recorded("tuned_averaging"))
