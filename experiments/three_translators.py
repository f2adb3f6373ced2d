"""Recurrence, convolution and attention, each at a rate of its own choice.

The translators and the text of `recurrence_convolution_attention`. A rate is
the best of four for one seed, by the loss on the validation sentences, in
trainings of full length; other seeds are compared, on the test sentences. With
"pairs=1000" the text is small.
"""

from functools import cache

from torch import nn

from annotated_transformer.corpora.builtin import example_splits
from annotated_transformer.data import Example, encode_pairs, make_batch
from annotated_transformer.training import validate

from .recurrence_convolution_attention import (
    LENGTHS,
    pairs_of,
    predicted,
)
from .shared import translators
from .shared.grid import Runs, grid
from .shared.small_translator import corpus as corpus
from .shared.small_translator import tokenizer
from .shared.training_loops import best
from .shared.translators import TRAIN, models, trained

PARTS = ("train", "valid", "test")
TRIED = (6e-3, 9e-3, 1.2e-2, 1.8e-2)
CHOOSES, SEEDS = 3, (4, 5, 6, 7, 8)
FEW = 1000  # pairs, for the runs on a small text
UPDATES = {None: TRAIN.steps, FEW: 400}  # by the pairs; None: all
RECIPE = translators.RECIPE | {
    "rates": [*TRIED],
    "rate_chosen_by_seed": CHOOSES,
}


@cache
def examples(part: str) -> list[Example]:
    """The pairs to learn from, to tune on or to be tested on, as ids."""
    some = example_splits()[PARTS.index(part)]
    return encode_pairs(pairs_of(some), tokenizer(), 64)[0]


@cache
def learned(
    name: str,
    rate: float,
    seed: int,
    pairs: int | None = None,
    warmup: int = TRAIN.warmup,
) -> nn.Module:
    """A translator after its training."""
    build = models(len(tokenizer()))[name]
    some = examples("train")[:pairs]
    model, _ = trained(build, some, seed, rate, UPDATES[pairs], warmup)
    return model


def loss_on(part: str, model: nn.Module) -> float:
    """The loss on the pairs of a part."""
    return round(validate(model, [make_batch(examples(part))]).loss, 4)


def try_rate(
    name: str, rate: float, seed: int, pairs: int | None = None
) -> dict[str, float]:
    """The loss on the validation sentences, which chooses a rate."""
    return {"valid_loss": loss_on("valid", learned(name, rate, seed, pairs))}


@cache
def best_rate(name: str, pairs: int | None) -> float:
    """The best of the rates that are tried, for the seed that chooses."""

    def loss(rate: float) -> float:
        return try_rate(name, rate, CHOOSES, pairs)["valid_loss"]

    return best(TRIED, loss)


def compare(
    name: str, seed: int, pairs: int | None = None
) -> dict[str, float]:
    """Train at the best rate, and test."""
    rate = best_rate(name, pairs)
    model = learned(name, rate, seed, pairs)
    return {"rate": rate} | shares(model) | {"loss": loss_on("test", model)}


def shares(model: nn.Module) -> dict[str, float]:
    """Of target tokens predicted right, by length of the source."""
    right = predicted(model, examples("test"))
    lengths = [len(x.source.split()) for x in example_splits()[2]]
    result = {}
    for kind, few, many in (("", 0, 99), *LENGTHS):
        here = [i for i, n in enumerate(lengths) if few <= n <= many]
        hits = [hit for i in here for hit in right[i]]
        result[f"{kind}accuracy"] = round(sum(hits) / len(hits), 4)
    return result


THREE = ("transformer", "recurrent", "convolutional")
RUNS: Runs = {}
for names, text in ((THREE, {}), (THREE[:2], {"pairs": [FEW]})):
    key = "".join(f"{x}={{{x}}} " for x in text) + "{name} seed={seed}"
    RUNS |= grid(
        try_rate,
        "rate={rate} " + key,
        name=names,
        rate=TRIED,
        seed=(CHOOSES,),
        **text,
    )
    RUNS |= grid(compare, key, name=names, seed=SEEDS, **text)
