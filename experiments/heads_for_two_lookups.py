"""Two things at once: one attention, of one, two or four heads.

The task: of sixteen words, each with a value, name the values of the two that
are asked for, the first and the second. One attention of the model does it,
64 wide in all, however many heads share that width. A head has one set of
weights, so a single head must mix both values or leave one out. In the
control one word is asked for, which needs no more than one head.
"""

from collections.abc import Callable
from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from annotated_transformer.attention import MultiHeadAttention

from .shared.lookups import RECIPE, answered, corpus, questions

__all__ = ["RECIPE", "RUNS", "corpus"]

WIDTH = RECIPE["width"]


class Picker(nn.Module):
    """Attention from a question to words that carry values."""

    def __init__(self, heads: int, picks: int):
        super().__init__()
        self.asked = nn.ModuleList(
            nn.Embedding(RECIPE["vocabulary"], WIDTH) for _ in range(picks)
        )
        self.word = nn.Embedding(RECIPE["vocabulary"], WIDTH)
        self.value = nn.Embedding(RECIPE["values"], WIDTH)
        self.attention = MultiHeadAttention(WIDTH, heads)
        self.output = nn.Linear(WIDTH, picks * RECIPE["values"])

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


def run(heads: int, picks: int, seed: int) -> dict:
    """Train one attention; the share of new questions answered right."""
    torch.manual_seed(seed)
    model = Picker(heads, picks)
    right, losses = answered(model, partial(questions, picks=picks), RECIPE)
    return {
        "all right": right.all(1).float().mean().item(),
        "each right": right.float().mean().item(),
        "loss": [round(loss, 4) for loss in losses[49::50]],
    }


RUNS: dict[str, Callable[[], dict]] = {
    f"heads={heads} picks={picks} seed={seed}": partial(
        run, heads=heads, picks=picks, seed=seed
    )
    for picks in (1, 2)
    for heads in (1, 2, 4)
    for seed in range(3)
}
