"""Attention without the softmax: a state in place of a cache, and its recall.

Linear attention weighs by products of positive numbers. So the sums over all
keys can be kept as one matrix, which has the same size after any text.

"recall": of some words, each with a value, name the value of the one that is
asked for. One attention reads them all. The more words there are, the more
its state has to hold. It has four heads of 16 numbers, or one of 64, whose
state is four times as large.

"plays": the ladder's model of 2017 with linear attention in each layer. Its
rate is chosen and its loss is measured as there, and the ladder's record has
the model with a softmax.

All have as many parameters, and each learns at its own rate.
"""

from collections.abc import Callable
from functools import cache, partial
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.heads import MultiHeadAttention
from annotated_transformer.model import ModelConfig
from annotated_transformer.writing import LanguageModel

from .ladder import (
    LEARNING,
    SIZES,
    VOCABULARY,
    held_out_loss,
    letters,
    on_plays,
    tuned_rate,
)
from .ladder import corpus as corpus
from .shared.grid import Result, grid
from .shared.lookups import RECIPE as LOOKUPS
from .shared.lookups import Lookups, answered, questions
from .shared.training_loops import best

WORDS = (4, 8, 16, 32, 64)  # to be remembered
TASK: Lookups = {**LOOKUPS, "vocabulary": 128, "steps": 1500}
TRIED = (1e-3, 2e-3, 4e-3)
TUNED = LEARNING["tuned_with_seed"]
WIDTH = TASK["width"]


def linear_attention(
    query: Float[Tensor, "*heads queries d_k"],
    keys: Float[Tensor, "*heads keys d_k"],
    values: Float[Tensor, "*heads keys d_v"],
    attn_mask: Bool[Tensor, "..."] | None = None,
    dropout_p: float = 0.0,
) -> Float[Tensor, "*heads queries d_v"]:
    """Weights are products of positive numbers; there is no dropout."""
    query, keys = F.elu(query) + 1, F.elu(keys) + 1
    weights = query @ keys.mT
    if attn_mask is not None:
        weights = weights.masked_fill(~attn_mask, 0)
    return weights @ values / weights.sum(-1, keepdim=True)


class Kind(NamedTuple):
    """An attention: its name, how it computes, and its heads in recall."""

    attend: Callable[..., Tensor]
    heads: int = 4


KINDS = {
    "softmax": Kind(F.scaled_dot_product_attention),
    "linear": Kind(linear_attention),
    "linear, one head": Kind(linear_attention, 1),
}


class Recall(nn.Module):
    """One attention from a word that is asked for to words with values."""

    def __init__(self, kind: Kind):
        super().__init__()
        self.asked = nn.Embedding(TASK["vocabulary"], WIDTH)
        self.word = nn.Embedding(TASK["vocabulary"], WIDTH)
        self.value = nn.Embedding(TASK["values"], WIDTH)
        self.attention = MultiHeadAttention(WIDTH, kind.heads)
        self.attention.attention_fn = kind.attend
        self.output = nn.Linear(WIDTH, TASK["values"])

    def forward(
        self,
        asked: Int[Tensor, "batch picks"],
        words: Int[Tensor, "batch words"],
        values: Int[Tensor, "batch words"],
    ) -> Float[Tensor, "batch picks values"]:
        """Logits of the values of the words that are asked for."""
        memory = self.word(words) + self.value(values)
        return self.output(self.attention(self.asked(asked), memory))


def recalled(
    name: str, words: int, seed: int, rate: float
) -> tuple[float, list[float]]:
    """Train; the share of new questions answered right, and the losses."""
    torch.manual_seed(seed)
    recipe: Lookups = {**TASK, "rate": rate, "words": words}
    ask = partial(questions, picks=1, recipe=recipe)
    right, losses = answered(Recall(KINDS[name]), ask, recipe)
    return right.float().mean().item(), losses


@cache
def recall_rate(name: str, words: int) -> float:
    """The rate of those tried whose last losses are lowest."""

    def last(rate: float) -> float:
        _, losses = recalled(name, words, TUNED, rate)
        return sum(losses[-50:])

    return best(TRIED, last)


def recall(name: str, words: int, seed: int) -> Result:
    """Train at its own rate; what is recalled of so many words."""
    rate = recall_rate(name, words)
    right, losses = recalled(name, words, seed, rate)
    last = round(sum(losses[-50:]) / 50, 4)
    return {"right": round(right, 4), "rate": rate, "loss": last}


def build(name: str) -> LanguageModel:
    """The ladder's model of 2017, with this attention in each layer."""
    model = LanguageModel(ModelConfig(VOCABULARY, **SIZES))
    for layer in model.decoder.layers:
        layer.self_attention.attention_fn = KINDS[name].attend
    return model


@cache
def plays_rate(name: str) -> float:
    """The learning rate of an attention on the plays."""
    _, tuned, _ = letters()
    train = partial(on_plays, partial(build, name))
    return tuned_rate(train, partial(held_out_loss, text=tuned))


def write(name: str, seed: int) -> Result:
    """Train on the plays at its own rate, and test."""
    rate = plays_rate(name)
    model, took = on_plays(partial(build, name), seed, rate)
    _, _, tested = letters()
    loss = round(held_out_loss(model, tested), 4)
    return {"loss": loss, "rate": rate} | took


RECIPE = {
    "words": [*WORDS],
    "recall": TASK,
    "tried": [*TRIED],
    "plays": {
        "model": {"vocab_size": VOCABULARY, **SIZES},
        "train": LEARNING,
    },
}
RUNS = grid(
    recall,
    "recall {name} words={words} seed={seed}",
    name=[*KINDS],
    words=WORDS,
    seed=range(3),
)
RUNS |= grid(write, "plays {name} seed={seed}", name=["linear"], seed=range(3))
