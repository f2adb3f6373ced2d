"""The ladder's changes in an encoder and decoder that translate captions.

From English to German, on Multi30k. Those changes that moved the loss on the
plays are made alone, and so is the squared ReLU; all ten are made together,
with SwiGLU and with its rival. Each row has its own learning rate, found as on
the ladder, on the validation captions; the seeds that count are measured on
the test captions of 2016. "again" is the model of 2017 with other seeds.
"""

from dataclasses import replace
from functools import cache, partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from annotated_transformer.data import (
    Batch,
    Example,
    Tokenizer,
    encode_pairs,
    training_batches,
)
from annotated_transformer.model import ModelConfig, Transformer, transformer
from annotated_transformer.runs.batches import fixed_batches
from annotated_transformer.runs.prepare import learn_tokenizer
from annotated_transformer.runs.recipes import Recipe
from annotated_transformer.training import TrainConfig, predict

from .ladder import (
    ADDED,
    CHANGES,
    RIVAL,
    Schedule,
    learn,
    softly_capped,
    split,
    tuned_rate,
)
from .ladder import LEARNING as LETTERS
from .shared.grid import Arguments, Result, grid
from .shared.settings import Sizes
from .table3_captions import HELD_OUT, corpus

LONGEST = 128  # tokens
SIZES: Sizes = {
    "layers": 2,
    "d_model": 64,
    "d_ff": 256,
    "heads": 4,
    "dropout": 0.0,
    "max_length": LONGEST,
}


class Learning(Schedule):
    """How much is read at once, too."""

    batch_tokens: int  # at most, on each side


LEARNING: Learning = {
    "steps": 480,
    "batch_tokens": 1024,
    "warmup": 48,
    "decay": 96,
    "first_rate": LETTERS["first_rate"],
    "tuned_with_seed": LETTERS["tuned_with_seed"],
}
PIECES = 2000
RECIPE = {"model": SIZES, "train": LEARNING, "vocab_size": PIECES}
BASE = Recipe(ModelConfig(**SIZES), TrainConfig(), PIECES, normalize=False)
# Two groups save a matrix of each attention, of which a decoder has two.
TEN = ADDED["soft cap"] | {"d_ff": SIZES["d_ff"] + 3 * SIZES["d_model"] // 4}
ALONE = ("rotary positions", "SwiGLU", "QK-norm", "stable, then decay", "Muon")
ROWS: dict[str, Arguments] = {
    "2017": {},
    **{f"alone: {name}": CHANGES[name] for name in ALONE},
    "alone: squared ReLU": RIVAL,
    "all ten": TEN,
    "all ten, squared ReLU for SwiGLU": TEN | RIVAL,
}
SEEDS = (0, 1, 2)


@cache
def tokenizer() -> Tokenizer:
    """The one vocabulary of all rows."""
    return learn_tokenizer(corpus(), BASE)


@cache
def examples(part: str) -> list[Example]:
    """The pairs to learn from, to tune on or to be tested on, as ids."""
    text = corpus()
    pairs = {"train": text.train, "valid": text.valid} | text.tests
    found, _ = encode_pairs(pairs[part], tokenizer(), LONGEST)
    return found


def summed_loss(model: Transformer, batch: Batch, cap: bool) -> Tensor:
    """Nats of a batch's targets, without smoothing."""
    logits = predict(model, batch)
    logits = softly_capped(logits) if cap else logits
    return F.cross_entropy(logits, batch.targets, reduction="sum")


def train(
    seed: int, rate: float, cap: bool = False, **change: Any
) -> tuple[Transformer, Result]:
    """Train a model, and say what it took."""
    torch.manual_seed(seed)
    how, parts = split(change)
    sizes = replace(BASE.model, vocab_size=len(tokenizer()), **parts)
    model = transformer(sizes)
    made = training_batches(examples("train"), LEARNING["batch_tokens"], seed)

    def next_loss() -> Tensor:
        batch = next(made)
        return summed_loss(model, batch, cap) / len(batch.targets)

    took = learn(model, next_loss, rate, LEARNING, **how)
    return model.eval(), took


@torch.no_grad()
def held_out_loss(model: Transformer, part: str, cap: bool) -> float:
    """Nats per token of the targets of a part of the text."""
    made = [*fixed_batches(examples(part), 2048)]
    losses = [summed_loss(model, batch, cap).item() for batch in made]
    return sum(losses) / sum(len(batch.targets) for batch in made)


@cache
def best_rate(row: str) -> float:
    """The learning rate of a row."""
    loss = partial(held_out_loss, part="valid", cap="cap" in ROWS[row])
    return tuned_rate(partial(train, **ROWS[row]), loss)


def climb(seed: int, row: str) -> Result:
    """Tune a row's rate, train it with a seed, and test it."""
    rate = best_rate(row)
    model, took = train(seed, rate, **ROWS[row])
    loss = held_out_loss(model, HELD_OUT, "cap" in ROWS[row])
    return {"loss": round(loss, 4), "rate": rate} | took


def again(seed: int) -> Result:
    """The model of 2017 with another seed."""
    return climb(seed + 100, "2017")


RUNS = grid(climb, "{row} seed={seed}", row=[*ROWS], seed=SEEDS)
RUNS |= grid(again, "again seed={seed}", seed=SEEDS)
