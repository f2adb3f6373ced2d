"""Which score, and how wide: dot product, scaled or additive, d_k 4 or 256.

The task: each word of a small language has a random vector that stays as it
is; of several words, each with a value, name the value of the word that the
query is. One attention with learned projections does it. Narrow is the
easier task of 4 words and 8 values, wide that of 16 words and 32 values.

The rows with a rate compare the scores fairly: both widths have the task and
the updates of the wide one, each score learns at five rates, and seed 0
chooses one of them, by the loss of the last 50 updates. Eight other
seeds, which decide, learn at that rate alone.
"""

import math
from functools import partial
from typing import TypedDict

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from .shared.grid import Result, Runs, grid
from .shared.lookups import Practice, answered
from .shared.lookups import corpus as corpus


class Task(TypedDict):
    """What is looked up, and how it is learned."""

    words: int
    values: int
    steps: int
    rate: float


TASKS: dict[int, Task] = {  # by d_k
    4: {"words": 4, "values": 8, "steps": 800, "rate": 1e-2},
    256: {"words": 16, "values": 32, "steps": 300, "rate": 1e-3},
}
BATCH, TESTED = 64, 2000
RECIPE = {
    "optimizer": "Adam",
    "batch": BATCH,
    "tested": TESTED,
    **{f"d_k={d_k}": task for d_k, task in TASKS.items()},
}


class Lookup(nn.Module):
    """Attention from a query to keys, by one of three scores."""

    def __init__(self, score: str, d_k: int, values: int):
        super().__init__()
        self.score = score
        self.words: Tensor
        self.register_buffer("words", torch.randn(values, d_k))
        self.query = nn.Linear(d_k, d_k, bias=False)
        self.key = nn.Linear(d_k, d_k, bias=False)
        for layer in (self.query, self.key):
            nn.init.xavier_uniform_(layer.weight)
        self.v = nn.Parameter(torch.randn(d_k) / math.sqrt(d_k))
        self.value = nn.Embedding(values, 32)
        self.output = nn.Linear(32, values)

    def scores(
        self,
        query: Float[Tensor, "batch 1 d_k"],
        key: Float[Tensor, "batch keys d_k"],
    ) -> Float[Tensor, "batch keys"]:
        """How well each key fits the query."""
        if self.score == "additive":
            return (query + key).tanh() @ self.v
        scores = (query * key).sum(-1)
        return scores / math.sqrt(
            key.size(-1) if "scaled" in self.score else 1
        )

    def forward(
        self,
        asked: Int[Tensor, "batch"],
        words: Int[Tensor, "batch keys"],
        values: Int[Tensor, "batch keys"],
    ) -> Float[Tensor, "batch values"]:
        """Logits of the value of the word that is asked for."""
        query, key = self.query(self.words[asked]), self.key(self.words[words])
        weights = self.scores(query[:, None], key).softmax(-1)
        return self.output((weights[..., None] * self.value(values)).sum(1))


def questions(count: int, words: int, values: int) -> tuple[Tensor, ...]:
    """The word asked for, the words shown, their values, and the answer."""
    shown = torch.rand(count, values).argsort(1)[:, :words]
    given = torch.randint(values, (count, words))
    right = torch.randint(words, (count, 1))
    return (
        shown.gather(1, right)[:, 0],
        shown,
        given,
        given.gather(1, right)[:, 0],
    )


def run(
    score: str,
    d_k: int,
    seed: int,
    rate: float | None = None,
    warmup: int = 0,
) -> Result:
    """Train one lookup; the share of new questions that it answers right.

    With a rate, the task is that of the wide ones.
    """
    torch.manual_seed(seed)
    task = TASKS[d_k if rate is None else 256]
    recipe: Practice = {
        "rate": task["rate"] if rate is None else rate,
        "batch": BATCH,
        "steps": task["steps"],
        "tested": TESTED,
    }
    model = Lookup(score, d_k, task["values"])
    ask = partial(questions, words=task["words"], values=task["values"])
    right, losses = answered(model, ask, recipe, warmup)
    return {
        "accuracy": right.float().mean().item(),
        "loss": [round(loss, 4) for loss in losses[9::10]],
    }


SEEDS = {4: range(8), 256: range(3)}  # narrow ones must be told apart finely
RATES = (3e-4, 1e-3, 3e-3, 1e-2, 3e-2)
CHOSEN = {  # by seed 0
    ("dot", 4): 1e-2,
    ("scaled", 4): 1e-2,
    ("dot", 256): 3e-3,
    ("scaled", 256): 1e-3,
    ("additive", 4): 1e-2,
    ("additive", 256): 3e-2,
}
KEY = "score={score} d_k={d_k} seed={seed}"
RUNS: Runs = {}
for d_k, seeds in SEEDS.items():
    scores = ("dot", "scaled", "additive")
    RUNS |= grid(run, KEY, score=scores, d_k=[d_k], seed=seeds)
for (score, d_k), chosen in CHOSEN.items():
    for rate in RATES:
        found = partial(run, score=score, d_k=d_k, rate=rate)
        key = f"rate={rate} score={score} d_k={d_k} seed={{seed}}"
        RUNS |= grid(found, key, seed=range(9 if rate == chosen else 1))
