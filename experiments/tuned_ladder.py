"""Four rows of the ladder, tuned: rates, two warm-ups, a pilot.

For `registered_ladder`. As on the ladder, the first half of the held-out text
chooses the rate, and the second is claimed.
"""

from functools import partial

from .ladder import LEARNING, ROWS, held_out_loss, letters, train
from .ladder import RECIPE as RECIPE
from .ladder import corpus as corpus
from .shared.grid import Result
from .shared.registering import Comparison, around, recorded, tuning


def climbed(row: str, rate: float, warmup: int, seed: int) -> Result:
    """Train a row; its losses on both halves of the held-out text."""
    model, took = train(seed, rate, warmup=warmup, **ROWS[row])
    _, *halves = letters()
    loss, tested = (
        held_out_loss(model, x, "cap" in ROWS[row]) for x in halves
    )
    return took | {"loss": loss, "tested": tested}


NAMES = ("2017", "alone: rotary positions", "alone: Muon", "added: soft cap")
COMPARED = [
    Comparison(
        claims=["ladder-rotary", "ladder-muon", "ladder-all"],
        rows={row: partial(climbed, row) for row in NAMES},
        rates=around(LEARNING["first_rate"], above=3),
        warmups=(LEARNING["warmup"], 3 * LEARNING["warmup"]),
        figures=["tested"],
        margin="nats",
    )
]
RUNS = tuning(COMPARED, recorded("tuned_ladder"))
