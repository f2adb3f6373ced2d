"""Narrow keys, and scores that do more than a dot product.

The task: of sixteen words, each with a value, name the value of the one that
is asked for. Queries and keys are learned, and two numbers wide. They are
compared by the scaled dot product, by a matrix between them (bilinear), by
one layer (additive), or by a network of two layers that reads both. The
control is the dot product of wide keys, which must find the task easy.
"""

import math
from collections.abc import Callable
from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from .shared.lookups import RECIPE as LOOKUPS
from .shared.lookups import answered, corpus, questions

__all__ = ["RECIPE", "RUNS", "corpus"]

NARROW = 2
RECIPE = LOOKUPS | {"hidden": 32, "rate": 5e-3}
WIDE = RECIPE["width"]


def dot(d_k: int) -> nn.Module:
    """q k / sqrt(d_k)."""
    return Score(lambda q, k: (q * k).sum(-1) / math.sqrt(d_k))


class Score(nn.Module):
    """A function of queries and keys, and what it has learned."""

    def __init__(self, compare: Callable, *parts: nn.Module):
        super().__init__()
        self.compare, self.parts = compare, nn.ModuleList(parts)

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """A number for each key; query and keys broadcast."""
        return self.compare(query, keys, *self.parts)


def bilinear(d_k: int) -> nn.Module:
    """q W k, over sqrt(d_k)."""
    return Score(
        lambda q, k, W: (W(q) * k).sum(-1) / math.sqrt(d_k),
        nn.Linear(d_k, d_k, bias=False),
    )


def additive(d_k: int) -> nn.Module:
    """v tanh(q + k): the projections that make q and k are W_q and W_k."""
    return Score(
        lambda q, k, v: v((q + k).tanh())[..., 0],
        nn.Linear(d_k, 1, bias=False),
    )


def deep(d_k: int) -> nn.Module:
    """A network of two layers, with a tanh after the first, reads [q; k]."""
    n = RECIPE["hidden"]
    network = nn.Sequential(nn.Linear(2 * d_k, n), nn.Tanh(), nn.Linear(n, 1))
    return Score(
        lambda q, k, f: f(torch.cat([q.expand_as(k), k], -1))[..., 0], network
    )


SCORES = {"dot": dot, "bilinear": bilinear, "additive": additive, "deep": deep}


class Lookup(nn.Module):
    """Attention from a word to words that carry values."""

    def __init__(self, score: str, d_k: int):
        super().__init__()
        self.query = nn.Embedding(RECIPE["vocabulary"], d_k)
        self.key = nn.Embedding(RECIPE["vocabulary"], d_k)
        self.score = SCORES[score](d_k)
        self.value = nn.Embedding(RECIPE["values"], WIDE)
        self.output = nn.Linear(WIDE, RECIPE["values"])

    def forward(
        self,
        asked: Int[Tensor, "batch 1"],
        words: Int[Tensor, "batch words"],
        values: Int[Tensor, "batch words"],
    ) -> Float[Tensor, "batch 1 values"]:
        """Logits of the value of the word that is asked for."""
        weights = self.score(self.query(asked), self.key(words)).softmax(-1)
        answer = (weights[..., None] * self.value(values)).sum(1)
        return self.output(answer)[:, None]


def run(score: str, d_k: int, seed: int) -> dict:
    """Train one attention; the share of new questions answered right."""
    torch.manual_seed(seed)
    model = Lookup(score, d_k)
    right, losses = answered(model, partial(questions, picks=1), RECIPE)
    return {
        "right": right.float().mean().item(),
        "loss": [round(loss, 4) for loss in losses[49::50]],
    }


RUNS: dict[str, Callable[[], dict]] = {
    f"score={score} d_k={d_k} seed={seed}": partial(
        run, score=score, d_k=d_k, seed=seed
    )
    for score, d_k in (*((name, NARROW) for name in SCORES), ("dot", WIDE))
    for seed in range(3)
}
