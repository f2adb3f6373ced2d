"""Rows of Table 3 on real captions, tuned: rates, two warm-ups, a pilot.

For `registered_captions`: those of `table3_captions` that a claim compares
with its base.
"""

from .shared.registering import Comparison, around, recorded, tuning
from .table3_captions import LEARNING, train
from .table3_captions import RECIPE as RECIPE
from .table3_captions import corpus as corpus
from .tuned_table3 import rows_of

ROWS = (
    "base",
    "A heads=1",
    "A heads=16",
    "C d_model=128",
    "D smoothing=0.0",
    "E learned positions",
)
WARMUP = LEARNING["warmup"]
COMPARED = [
    Comparison(
        claims=[
            "one-head",
            "many-heads",
            "larger-better",
            "smoothing-perplexity",
            "P-3.5-g-trained",
        ],
        rows=rows_of(train, ROWS),
        # which learned positions are to be better than
        controls=rows_of(train, ["no positions"]),
        rates=around(9e-3, below=2),
        warmups=(WARMUP, 3 * WARMUP),
        figures=["loss"],
        margin="nats",
    )
]
RUNS = tuning(COMPARED, recorded("tuned_captions"))
