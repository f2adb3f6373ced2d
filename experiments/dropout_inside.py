"""Dropout inside the feed-forward network, which the paper does not have.

Others put it on the numbers between the two linear maps, as their programs
do. The recipe, the text and the order of batches are those of
`table3_variations`.
"""

from torch import nn

from annotated_transformer.model import EncoderDecoder

from .shared.grid import grid
from .table3_variations import RECIPE as RECIPE
from .table3_variations import corpus as corpus
from .table3_variations import train


def dropout_inside(model: EncoderDecoder) -> None:
    """Drop inner numbers, at the rate of all other places.

    After the clipping at zero, or before it: a number that is dropped or
    scaled is clipped alike.
    """
    for layer in (*model.encoder.layers, *model.decoder.layers):
        inner = nn.Sequential(
            layer.feed_forward.inner, nn.Dropout(model.config.dropout)
        )
        layer.feed_forward.inner = inner


ROWS = {"base": {}, "inside": {"change": dropout_inside}}
RUNS = grid(train, "{name} seed={seed}", name=ROWS, seed=range(4))
