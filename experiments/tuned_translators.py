"""Recurrence, convolution and attention, tuned: rates, two warm-ups, a pilot.

For `registered_translators`: those of `three_translators` on the whole text.
The validation sentences choose, and the test sentences are claimed.
"""

from functools import partial

from .shared.grid import Result
from .shared.registering import Comparison, around, recorded, tuning
from .shared.translators import TRAIN
from .three_translators import RECIPE as RECIPE
from .three_translators import THREE, learned, loss_on, shares
from .three_translators import corpus as corpus


def tested(name: str, rate: float, warmup: int, seed: int) -> Result:
    """Train a translator, and test."""
    model = learned(name, rate, seed, warmup=warmup)
    return {"loss": loss_on("valid", model)} | shares(model)


COMPARED = [
    Comparison(
        claims=["convolution-early", "lstm-longer"],
        rows={name: partial(tested, name) for name in THREE},
        rates=around(9e-3),
        warmups=(TRAIN.warmup, 3 * TRAIN.warmup),
        figures=["accuracy", "long_accuracy"],
        margin="accuracy",
    )
]
RUNS = tuning(COMPARED, recorded("tuned_translators"))
