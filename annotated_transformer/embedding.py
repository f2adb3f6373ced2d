"""Embedding: tokens and positions become vectors (3.4, 3.5).

Written in book/03_embedding.ipynb: edit the chapter, then `make package`.
"""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

__all__ = [
    "PAD",
    "BOS",
    "EOS",
    "UNK",
    "TokenEmbedding",
    "sinusoids",
    "SinusoidalPositions",
    "LearnedPositions",
]


PAD, BOS, EOS, UNK = range(4)


class TokenEmbedding(nn.Module):
    """One matrix for tokens in and logits out, scaled by sqrt(d_model).

    A token's vector is its row times sqrt(d_model); the logit of a token is
    the dot product of its row with a decoder output (3.4).
    """

    def __init__(self, vocab_size: int, d_model: int):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocab_size, d_model))
        self.scale = math.sqrt(d_model)
        nn.init.normal_(self.weight, std=d_model**-0.5)

    def forward(
        self, tokens: Int[Tensor, "batch length"]
    ) -> Float[Tensor, "batch length d_model"]:
        """Look up each token's row and scale it."""
        return F.embedding(tokens, self.weight) * self.scale

    def logits(
        self, x: Float[Tensor, "*batch d_model"]
    ) -> Float[Tensor, "*batch vocab_size"]:
        """Compare x with every row: the linear map before the softmax."""
        return F.linear(x, self.weight)


def sinusoids(length: int, d_model: int) -> Float[Tensor, "length d_model"]:
    """PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos (3.5).

    The angles are computed in float64: in float32 they would be off by
    3e-4 at position 5000.
    """
    position = torch.arange(length, dtype=torch.float64)[:, None]
    even = torch.arange(0, d_model, 2, dtype=torch.float64)
    angle = position / 10_000 ** (even / d_model)
    waves = torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)
    return waves[:, :d_model].float()


class SinusoidalPositions(nn.Module):
    """Adds sinusoids to each position: nothing to learn, no length limit."""

    table: Tensor

    def __init__(self, d_model: int, length: int = 128):
        super().__init__()
        table = sinusoids(length, d_model)
        self.register_buffer("table", table, persistent=False)

    def forward(
        self, x: Float[Tensor, "batch length d_model"], start: int = 0
    ) -> Float[Tensor, "batch length d_model"]:
        """Add positions start, start + 1, ... to x."""
        end = start + x.size(1)
        self.reserve(end)
        return x + self.table[start:end]

    def reserve(self, length: int) -> None:
        """Extend the table if it has fewer than `length` positions."""
        if length > len(self.table):
            length = max(length, 2 * len(self.table))
            longer = sinusoids(length, self.table.size(1))
            self.table = longer.to(self.table)


class LearnedPositions(nn.Module):
    """Adds a trained vector to each of at most max_length positions."""

    def __init__(self, d_model: int, max_length: int):
        super().__init__()
        self.max_positions = max_length
        self.weight = nn.Parameter(torch.empty(max_length, d_model))
        nn.init.normal_(self.weight, std=d_model**-0.5)

    def forward(
        self, x: Float[Tensor, "batch length d_model"], start: int = 0
    ) -> Float[Tensor, "batch length d_model"]:
        """Add positions start, start + 1, ...; ValueError past the last."""
        end = start + x.size(1)
        if end > len(self.weight):
            raise ValueError(
                f"a sequence reaches position {end}, but only "
                f"{len(self.weight)} positions were learned: shorten it, or "
                "train with a larger max_length or sinusoidal positions"
            )
        return x + self.weight[start:end]
