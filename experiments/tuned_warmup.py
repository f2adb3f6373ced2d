"""A full rate and a warm-up to the same rate: a pilot.

For `registered_warmup`: six layers of `warmup_and_norms` with the norm after
each sum. There is no grid, since rate and warm-up are what is claimed.
"""

from functools import partial

from .shared.grid import Result
from .shared.registering import Comparison, recorded, tuning
from .shared.small_translator import corpus as corpus
from .warmup_and_norms import RECIPE as RECIPE
from .warmup_and_norms import RISE, STEPS, run


def learned(
    start: str, rate: float, warmup: int, seed: int, steps: int = STEPS
) -> Result:
    """Train; how much alike the decoder's vectors are in the end."""
    found = run("after", 6, start, rate, seed, steps, rise=warmup)
    return {"loss": found["loss"], "alike": found["alike"][-1]}


COMPARED = [
    Comparison(
        claims=["warmup-alike"],
        rows={x: partial(learned, x) for x in ("full", "rising")},
        rates=[2.5e-3],
        warmups=[RISE],
        figures=["alike"],
        margin="accuracy",
    )
]
RUNS = tuning(COMPARED, recorded("tuned_warmup"))
