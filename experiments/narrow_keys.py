"""Narrow keys, and scores that do more than a dot product.

The task: of sixteen words, each with a value, name the value of the one that
is asked for. Queries and keys are learned, and two numbers wide. They are
compared by the scaled dot product, by a matrix between them (bilinear), by
one layer (additive), or by a network of two layers that reads both. The
control is the dot product of wide keys, which must find the task easy.

The rows with a rate are trained longer, at each of four rates, and have two
more: an additive score of as many units as the network has, and the dot
product of keys five numbers wide, a model with as many parameters as the
network's. The three that are compared have eight seeds at the rate that the
first three chose by the loss of the last updates. Two of them stop early, too,
at a rate that the first three chose by the last loss.
"""

import math
from collections.abc import Callable
from functools import partial
from itertools import product

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from .shared.grid import Result, grid
from .shared.lookups import RECIPE as LOOKUPS
from .shared.lookups import Lookups, answered, questions
from .shared.lookups import corpus as corpus

NARROW = 2
HIDDEN = 32
TASK: Lookups = {**LOOKUPS, "rate": 5e-3}
RECIPE = TASK | {"hidden": HIDDEN}
WIDE = TASK["width"]
SEEDS = range(3)
AS_MANY = 5  # numbers of a key whose dot product has the network's parameters
LONGER = 3000  # updates
SHORTER = 100
TRIED = (5e-3, 1e-2, 2e-2, 4e-2)
CHOSEN = {
    ("dot", NARROW): 2e-2,
    ("deep", NARROW): 1e-2,
    ("dot", AS_MANY): 2e-2,
}
SOONER = (*TRIED, 8e-2)  # rates of the runs that stop early
CHOSEN_SOONER = {("deep", NARROW): 4e-2, ("dot", AS_MANY): 8e-2}
MORE = range(3, 8)  # further seeds at the rates that these three chose


def dot(d_k: int) -> nn.Module:
    """q k / sqrt(d_k)."""
    return Score(lambda q, k: (q * k).sum(-1) / math.sqrt(d_k))


class Score(nn.Module):
    """A function of queries and keys, and what it has learned."""

    def __init__(self, compare: Callable[..., Tensor], *parts: nn.Module):
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


def hidden(d_k: int) -> nn.Module:
    """v tanh(W_q q + W_k k), of as many units as the network has."""
    n = HIDDEN
    return Score(
        lambda q, k, W_q, W_k, v: v((W_q(q) + W_k(k)).tanh())[..., 0],
        nn.Linear(d_k, n, bias=False),
        nn.Linear(d_k, n, bias=False),
        nn.Linear(n, 1, bias=False),
    )


def deep(d_k: int) -> nn.Module:
    """A network of two layers, with a tanh after the first, reads [q; k]."""
    n = HIDDEN
    network = nn.Sequential(nn.Linear(2 * d_k, n), nn.Tanh(), nn.Linear(n, 1))
    return Score(
        lambda q, k, f: f(torch.cat([q.expand_as(k), k], -1))[..., 0], network
    )


SCORES: dict[str, Callable[[int], nn.Module]] = {
    "dot": dot,
    "bilinear": bilinear,
    "additive": additive,
    "deep": deep,
    "additive 32": hidden,
}


class Lookup(nn.Module):
    """Attention from a word to words that carry values."""

    def __init__(self, score: str, d_k: int):
        super().__init__()
        self.query = nn.Embedding(TASK["vocabulary"], d_k)
        self.key = nn.Embedding(TASK["vocabulary"], d_k)
        self.score = SCORES[score](d_k)
        self.value = nn.Embedding(TASK["values"], WIDE)
        self.output = nn.Linear(WIDE, TASK["values"])

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


def run(
    score: str,
    d_k: int,
    seed: int,
    rate: float = TASK["rate"],
    steps: int = TASK["steps"],
) -> Result:
    """Train one attention; the share of new questions answered right."""
    torch.manual_seed(seed)
    model = Lookup(score, d_k)
    recipe: Lookups = {**TASK, "rate": rate, "steps": steps}
    right, losses = answered(model, partial(questions, picks=1), recipe)
    return {
        "right": right.float().mean().item(),
        "parameters": sum(p.numel() for p in model.parameters()),
        "loss": [round(loss, 4) for loss in losses[49::50]],
    }


KEY = "score={score} d_k={d_k} seed={seed}"
FIRST = ("dot", "bilinear", "additive", "deep")
RUNS = grid(run, KEY, score=FIRST, d_k=[NARROW], seed=SEEDS)
RUNS |= grid(run, KEY, score=["dot"], d_k=[WIDE], seed=SEEDS)
ROWS = [*((name, NARROW) for name in SCORES), ("dot", AS_MANY)]
for before, steps, rates, chosen, rows in (
    ("", LONGER, TRIED, CHOSEN, ROWS),
    (f"updates={SHORTER} ", SHORTER, SOONER, CHOSEN_SOONER, CHOSEN_SOONER),
):
    for (score, d_k), rate in product(rows, rates):
        RUNS |= grid(
            partial(run, score=score, d_k=d_k, rate=rate, steps=steps),
            f"{before}rate={rate} score={score} d_k={d_k} seed={{seed}}",
            seed=[*SEEDS, *(MORE if rate == chosen.get((score, d_k)) else ())],
        )
