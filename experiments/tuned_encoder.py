"""Encoder-decoder and decoder alone, tuned: rates, two warm-ups, a pilot.

For `registered_encoder`: those of `without_an_encoder` on the built-in corpus,
the decoder alone with a prefix mask.
"""

from functools import partial
from math import log

from .shared.grid import Result
from .shared.registering import Comparison, around, recorded, tuning
from .shared.small_translator import BASE, train
from .shared.small_translator import RECIPE as RECIPE
from .shared.small_translator import corpus as corpus
from .without_an_encoder import BOTH, PREFIX, Kind


def learned(kind: Kind, rate: float, warmup: int, seed: int) -> Result:
    """Train and score a model; its loss on the validation sentences."""
    found = train(
        seed,
        sizes={"layers": kind.layers},
        learning={"peak_lr": rate, "warmup": warmup},
        build=kind.build,
    )
    return found | {"loss": log(found["perplexity"])}


WARMUP = BASE.train.warmup
COMPARED = [
    Comparison(
        claims=["both-grammar"],
        rows={
            "encoder-decoder": partial(learned, BOTH),
            "prefix": partial(learned, PREFIX),
        },
        rates=around(9e-3, above=4),
        warmups=(WARMUP, 3 * WARMUP),
        figures=["loss"],
        margin="nats",
    )
]
RUNS = tuning(COMPARED, recorded("tuned_encoder"))
