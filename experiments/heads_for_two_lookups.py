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
made for one learns at four rates, and has three more seeds at the one that the
first three chose by the loss of the last updates. The longest trainings have
four times the updates at one of three rates. The shortest stop before one word
is always found.
"""

from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from annotated_transformer.heads import MultiHeadAttention

from .shared.grid import Result, grid
from .shared.lookups import RECIPE as RECIPE
from .shared.lookups import Lookups, answered, questions
from .shared.lookups import corpus as corpus

WIDTH = RECIPE["width"]
SEEDS = range(3)
MORE = range(3, 6)  # further seeds at the rate that these three chose
LONGER = 4 * RECIPE["steps"]
SHORTER = 75  # updates: for one word, one or two heads still make mistakes
TRIED = (1e-3, 2e-3, 4e-3)
OTHERS = (1e-3, 4e-3, 8e-3)  # beside the rate of the recipe


class Picker(nn.Module):
    """Attention from a question to words that carry values."""

    def __init__(self, heads: int, picks: int, reader: str, scale: float):
        super().__init__()
        asked = [
            nn.Embedding(RECIPE["vocabulary"], WIDTH) for _ in range(picks)
        ]
        for embed in asked:
            embed.weight.data *= scale
        self.asked = nn.ModuleList(asked)
        self.word = nn.Embedding(RECIPE["vocabulary"], WIDTH)
        self.value = nn.Embedding(RECIPE["values"], WIDTH)
        self.attention = MultiHeadAttention(WIDTH, heads)
        logits = picks * RECIPE["values"]
        self.output: nn.Module
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
    warmup: int = 0,
) -> Result:
    """Train one attention; the share of new questions answered right."""
    torch.manual_seed(seed)
    model = Picker(heads, picks, reader, scale)
    recipe: Lookups = {**RECIPE, "rate": rate, "steps": steps}
    ask = partial(questions, picks=picks)
    right, losses = answered(model, ask, recipe, warmup)
    return {
        "all right": right.all(1).float().mean().item(),
        "each right": right.float().mean().item(),
        "loss": [round(loss, 4) for loss in losses[49::50]],
    }


KEY = "heads={heads} picks={picks} seed={seed}"
for_one = partial(run, reader="network", scale=0.3)
RUNS = grid(run, KEY, picks=(1, 2), heads=(1, 2, 4), seed=SEEDS)
for reader, scale in (("linear", 0.3), ("network", 1.0)):
    RUNS |= grid(
        partial(run, reader=reader, scale=scale),
        f"reader={reader} scale={scale} {KEY}",
        heads=(1, 2),
        picks=[2],
        seed=SEEDS,
    )
RUNS |= grid(
    for_one,
    f"made for one, {KEY}",
    picks=(1, 2),
    heads=(1, 2),
    seed=[*SEEDS, *MORE],
)
RUNS |= grid(
    partial(for_one, steps=LONGER),
    "longer rate={rate} " + KEY,
    heads=(1, 2),
    picks=[2],
    rate=TRIED,
    seed=SEEDS,
)
RUNS |= grid(
    for_one,
    "made for one, rate={rate} " + KEY,
    picks=(1, 2),
    heads=(1, 2),
    rate=OTHERS,
    seed=SEEDS,
)
RUNS |= grid(
    partial(for_one, steps=SHORTER),
    f"made for one, updates={SHORTER} {KEY}",
    picks=[1],
    heads=(1, 2),
    seed=SEEDS,
)
