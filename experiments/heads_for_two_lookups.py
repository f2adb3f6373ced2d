"""Two things at once: one attention, of one, two or four heads.

The task: of sixteen words, each with a value, name the values of the two that
are asked for, the first and the second. One attention of the model does it,
64 wide in all, however many heads share that width. A head has one set of
weights, so a single head must mix both values or leave one out. In the
control one word is asked for, which needs no more than one head.

A mixture can still be told apart if the two weights are unequal and what
reads the answer is not linear. The further rows are made for a single head:
the answer is read by a network of two layers ("reader=network"), the
questions begin small ("scale=0.3"), so that the softmax begins flat. What is
made for one learns at four rates, and the longest trainings have four times
the updates at one of three.
"""

from collections.abc import Callable
from functools import partial
from itertools import product

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from annotated_transformer.heads import MultiHeadAttention

from .shared.lookups import RECIPE, answered, corpus, questions

__all__ = ["RECIPE", "RUNS", "corpus"]

WIDTH = RECIPE["width"]
SEEDS = range(3)
LONGER = 4 * RECIPE["steps"]
TRIED = (1e-3, 2e-3, 4e-3)
OTHERS = (1e-3, 4e-3, 8e-3)  # beside the rate of the recipe


class Picker(nn.Module):
    """Attention from a question to words that carry values."""

    def __init__(self, heads: int, picks: int, reader: str, scale: float):
        super().__init__()
        self.asked = nn.ModuleList(
            nn.Embedding(RECIPE["vocabulary"], WIDTH) for _ in range(picks)
        )
        for embed in self.asked:
            embed.weight.data *= scale
        self.word = nn.Embedding(RECIPE["vocabulary"], WIDTH)
        self.value = nn.Embedding(RECIPE["values"], WIDTH)
        self.attention = MultiHeadAttention(WIDTH, heads)
        logits = picks * RECIPE["values"]
        if reader == "linear":
            self.output = nn.Linear(WIDTH, logits)
        else:
            inner = nn.Linear(WIDTH, 4 * WIDTH)
            outer = nn.Linear(4 * WIDTH, logits)
            self.output = nn.Sequential(inner, nn.ReLU(), outer)

    def forward(
        self,
        asked: Int[Tensor, "batch picks"],
        words: Int[Tensor, "batch words"],
        values: Int[Tensor, "batch words"],
    ) -> Float[Tensor, "batch picks values"]:
        """Logits of the values of the words that are asked for."""
        columns = zip(self.asked, asked.unbind(1), strict=True)
        query = sum(embed(column) for embed, column in columns)
        memory = self.word(words) + self.value(values)
        answer = self.attention(query[:, None], memory)[:, 0]
        return self.output(answer).unflatten(1, (-1, RECIPE["values"]))


def run(
    heads: int,
    picks: int,
    seed: int,
    reader: str = "linear",
    scale: float = 1.0,
    rate: float = RECIPE["rate"],
    steps: int = RECIPE["steps"],
) -> dict:
    """Train one attention; the share of new questions answered right."""
    torch.manual_seed(seed)
    model = Picker(heads, picks, reader, scale)
    recipe = RECIPE | {"rate": rate, "steps": steps}
    right, losses = answered(model, partial(questions, picks=picks), recipe)
    return {
        "all right": right.all(1).float().mean().item(),
        "each right": right.float().mean().item(),
        "loss": [round(loss, 4) for loss in losses[49::50]],
    }


FOR_ONE = {"reader": "network", "scale": 0.3}
RUNS: dict[str, Callable[[], dict]] = (
    {
        f"heads={heads} picks={picks} seed={seed}": partial(
            run, heads=heads, picks=picks, seed=seed
        )
        for picks in (1, 2)
        for heads in (1, 2, 4)
        for seed in SEEDS
    }
    | {
        f"reader={reader} scale={scale} heads={heads} picks=2 seed={seed}": (
            partial(
                run,
                heads=heads,
                picks=2,
                seed=seed,
                reader=reader,
                scale=scale,
            )
        )
        for reader, scale in (("linear", 0.3), ("network", 1.0))
        for heads in (1, 2)
        for seed in SEEDS
    }
    | {
        f"made for one, heads={heads} picks={picks} seed={seed}": partial(
            run, heads=heads, picks=picks, seed=seed, **FOR_ONE
        )
        for picks in (1, 2)
        for heads in (1, 2)
        for seed in SEEDS
    }
    | {
        f"longer rate={rate} heads={heads} picks=2 seed={seed}": partial(
            run,
            heads=heads,
            picks=2,
            seed=seed,
            rate=rate,
            steps=LONGER,
            **FOR_ONE,
        )
        for heads, rate in product((1, 2), TRIED)
        for seed in SEEDS
    }
    | {
        f"made for one, rate={rate} heads={heads} picks={picks} seed={seed}": (
            partial(
                run, heads=heads, picks=picks, seed=seed, rate=rate, **FOR_ONE
            )
        )
        for picks, heads, rate in product((1, 2), (1, 2), OTHERS)
        for seed in SEEDS
    }
)
