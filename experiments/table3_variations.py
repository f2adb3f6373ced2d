"""Table 3 in miniature: one thing changed at a time, all else as in BASE.

Rows A to E of the paper's Table 3 at a size that a processor trains in half
a minute, and the ablations that readers of the paper ask for, each under three
seeds, which say what a difference is worth. All runs share one recipe, one
tokenizer and one order of batches for each seed; the corpus is the built-in
one. Without positions the model must be clearly worse: the negative control.
"""

import math
from typing import Any

import torch
from torch import Tensor, nn

from annotated_transformer.heads import MultiHeadAttention
from annotated_transformer.layers import AddNorm
from annotated_transformer.model import EncoderDecoder

from .shared.grid import grid
from .shared.small_translator import RECIPE as RECIPE
from .shared.small_translator import Variation, no_positions
from .shared.small_translator import corpus as corpus
from .shared.small_translator import train as train

FEW = 1000  # pairs, for the rows on small data


class Unscaled(MultiHeadAttention):
    """Dot products without the division by sqrt(d_k)."""

    def keys_values(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Keys so much longer that the division is undone."""
        keys, values = super().keys_values(memory)
        return keys * math.sqrt(self.d_k), values


class TwoProjections(MultiHeadAttention):
    """Two input projections for the three of queries, keys and values."""

    def __init__(self, d_model: int, *sizes: Any):
        super().__init__(d_model, *sizes)
        self.key_value = nn.Linear(d_model, self.heads * self.d_v)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Glorot initialisation."""
        for layer in (self.query, self.key_value, self.output):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)


class QueryIsKey(TwoProjections):
    """One projection for queries and keys."""

    def keys_values(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Keys made as queries are, and values."""
        values = self.key_value(memory)
        return self.split(self.query(memory)), self.split(values)


class KeyIsValue(TwoProjections):
    """One projection for keys and values."""

    def keys_values(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """The same vectors twice."""
        both = self.split(self.key_value(memory))
        return both, both


class NoProjections(MultiHeadAttention):
    """Heads are slices of the vectors as they are; nothing is learned."""

    def reset_parameters(self) -> None:
        """Take the projections out."""
        for name in ("query", "key_value", "output"):
            setattr(self, name, nn.Identity())

    def keys_values(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """The memory, cut into heads, twice."""
        both = self.split(memory)
        return both, both


class NoResidual(AddNorm):
    """Add & Norm without the addition."""

    def after(self, x: Tensor, y: Tensor) -> Tensor:
        """What the sub-layer wrote, alone."""
        y = self.dropout(y)
        return y if self.pre_norm else self.norm(y)


class NoFeedForward(nn.Module):
    """Writes nothing: the residual connection leads around it."""

    def forward(self, x: Tensor) -> Tensor:
        """Zeros of x's shape."""
        return torch.zeros_like(x)


def no_residuals(model: EncoderDecoder) -> None:
    """Replace every Add & Norm by one that adds nothing."""
    sizes = model.config.d_model, model.config.dropout, model.config.pre_norm
    for layer in (*model.encoder.layers, *model.decoder.layers):
        for name, part in layer.named_children():
            if isinstance(part, AddNorm):
                setattr(layer, name, NoResidual(*sizes))


def no_feed_forward(model: EncoderDecoder) -> None:
    """Leave the attention sub-layers alone with each other."""
    for layer in (*model.encoder.layers, *model.decoder.layers):
        layer.feed_forward = NoFeedForward()


class Row(Variation, total=False):
    """What a row of the table changes."""

    pairs: int  # so many alone


# The letters are the rows of Table 3; what has none is asked by its readers.
VARIATIONS: dict[str, Row] = {
    "base": {},
    "A heads=1": {"sizes": {"heads": 1}},
    "A heads=2": {"sizes": {"heads": 2}},
    "A heads=8": {"sizes": {"heads": 8}},
    "A heads=16": {"sizes": {"heads": 16}},
    "B d_k=1": {"sizes": {"d_k": 1}},
    "B d_k=4": {"sizes": {"d_k": 4}},
    "B d_k=8": {"sizes": {"d_k": 8}},
    "C layers=1": {"sizes": {"layers": 1}},
    "C layers=4": {"sizes": {"layers": 4}},
    "C d_model=32": {"sizes": {"d_model": 32}},
    "C d_model=128": {"sizes": {"d_model": 128}},
    "C d_ff=64": {"sizes": {"d_ff": 64}},
    "C d_ff=256": {"sizes": {"d_ff": 256}},
    "D dropout=0.0": {"sizes": {"dropout": 0.0}},
    "D dropout=0.2": {"sizes": {"dropout": 0.2}},
    "D smoothing=0.0": {"learning": {"label_smoothing": 0.0}},
    "D smoothing=0.2": {"learning": {"label_smoothing": 0.2}},
    "E learned positions": {"sizes": {"positions": "learned"}},
    "few pairs, dropout=0.0": {"pairs": FEW, "sizes": {"dropout": 0.0}},
    "few pairs, dropout=0.1": {"pairs": FEW},
    "no residuals": {"change": no_residuals},
    "no positions": {"change": no_positions},
    "no scale": {"attention": Unscaled},
    "no feed-forward": {"change": no_feed_forward},
    "Q = K": {"attention": QueryIsKey},
    "K = V": {"attention": KeyIsValue},
    "no projections": {"attention": NoProjections},
}
SEEDS = (0, 1, 2)

RUNS = grid(train, "{name} seed={seed}", name=VARIATIONS, seed=SEEDS)
