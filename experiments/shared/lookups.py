"""Lookups: of words that each have a value, name the values of those asked."""

from collections.abc import Callable
from typing import TypedDict

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .grid import no_text
from .training_loops import fit


class Practice(TypedDict):
    """How long a model of lookups learns, and on how many it is tested."""

    rate: float
    batch: int
    steps: int
    tested: int


class Lookups(Practice):
    """Which lookups, too."""

    width: int
    vocabulary: int
    words: int  # shown
    values: int
    optimizer: str


RECIPE: Lookups = {
    "width": 64,
    "vocabulary": 32,
    "words": 16,
    "values": 32,
    "optimizer": "Adam",
    "rate": 2e-3,
    "batch": 64,
    "steps": 800,
    "tested": 2000,
}
corpus = no_text("random lookups")


def questions(
    count: int, picks: int, recipe: Lookups = RECIPE
) -> tuple[Tensor, ...]:
    """The words asked for, the words shown, their values, and the answers."""
    order = torch.rand(count, recipe["vocabulary"]).argsort(1)
    shown = order[:, : recipe["words"]]
    given = torch.randint(recipe["values"], shown.shape)
    right = torch.rand(shown.shape).argsort(1)[:, :picks]
    return shown.gather(1, right), shown, given, given.gather(1, right)


def answered(
    model: nn.Module,
    ask: Callable[[int], tuple[Tensor, ...]],
    recipe: Practice,
    warmup: int = 0,
) -> tuple[Tensor, list[float]]:
    """Train; which of new questions are answered right, and all losses.

    ask(count) gives what the model reads and, last, the answers, for
    each of which the model gives logits. The rate stays as it is or, with a
    warm-up, rises for so many updates and falls to zero.
    """

    def loss() -> Tensor:
        *asked, answers = ask(recipe["batch"])
        logits = model(*asked)
        return F.cross_entropy(logits.flatten(0, -2), answers.flatten())

    optimizer = torch.optim.Adam(model.parameters(), lr=recipe["rate"])
    peak = recipe["rate"] if warmup else None
    losses = fit(loss, optimizer, recipe["steps"], peak, warmup)
    with torch.no_grad():
        *asked, answers = ask(recipe["tested"])
        return model(*asked).argmax(-1) == answers, losses
