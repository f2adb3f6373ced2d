"""Translating with a decoder-only model, against an encoder-decoder.

The decoder-only model reads source, mark and target in a row, under a causal
mask or with a source that sees itself both ways. It has as many layers as give
it the parameters of two and two. The encoder-decoder, and the decoder-only
model with a prefix mask, have the best of four rates, chosen by the mean loss
of three seeds, and are scored at it by ten others; the causal mask has the
rate of the prefix mask, and five. Both texts have the recipe of the small
translator.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from math import log
from statistics import fmean
from typing import NamedTuple

from annotated_transformer.corpora.corpus import Corpus
from annotated_transformer.data import Pair, Tokenizer
from annotated_transformer.decoder_only import SourceAndTarget
from annotated_transformer.model import (
    EncoderDecoder,
    ModelConfig,
    transformer,
)
from annotated_transformer.runs.prepare import learn_tokenizer
from annotated_transformer.runs.recipes import Recipe

from . import table3_captions as captions
from .shared import small_translator as grammar
from .shared.grid import Result, grid
from .shared.small_translator import measured
from .shared.training_loops import best

RATES = (0.006, 0.009, 0.012, 0.018)
CHOOSING, SEEDS, FURTHER = (0, 1, 2), (3, 4, 5, 6, 7), (8, 9, 10, 11, 12)
LAYERS = 5  # of a decoder-only model; 2 + 2 have as many parameters
PHOTOS = replace(grammar.BASE, vocab_size=2000, normalize=False)
RECIPE = grammar.RECIPE | {"captions": PHOTOS.vocab_size, "rates": [*RATES]}
corpus = captions.corpus  # what the others read comes with the package


class Kind(NamedTuple):
    """What is built, and of how many layers."""

    build: Callable[[ModelConfig], EncoderDecoder]
    layers: int


BOTH = Kind(transformer, 2)
PREFIX = Kind(partial(SourceAndTarget, prefix=True), LAYERS)
CAUSAL = Kind(SourceAndTarget, LAYERS)


class Task(NamedTuple):
    """What is learned, by which recipe, and what is translated for BLEU."""

    base: Recipe
    text: Corpus
    pieces: Tokenizer
    held_out: list[Pair]


@cache
def tasks() -> dict[str, Task]:
    """The built-in grammar and the captions."""
    small, photos = grammar.corpus(), captions.corpus()
    return {
        "grammar": Task(
            grammar.BASE,
            small,
            grammar.tokenizer(),
            small.tests["test"][: grammar.TRANSLATED],
        ),
        "captions": Task(
            PHOTOS,
            photos,
            learn_tokenizer(photos, PHOTOS),
            photos.tests[captions.HELD_OUT][: grammar.TRANSLATED],
        ),
    }


@cache
def trained(text: str, kind: Kind, rate: float, seed: int) -> Result:
    """Train and score a model at a rate."""
    task = tasks()[text]
    found = measured(
        *task,
        seed,
        sizes={"layers": kind.layers},
        learning={"peak_lr": rate},
        build=kind.build,
    )
    return found | {"rate": rate, "loss": round(log(found["perplexity"]), 4)}


def at_rate(seed: int, text: str, kind: Kind, rate: float) -> Result:
    """Train and score; where a kind's rate is chosen, it is not repeated."""
    return trained(text, kind, rate, seed)


def at_best_rate(seed: int, text: str, kind: Kind, like: Kind) -> Result:
    """Train and score at the rate that is best for a kind."""

    def loss(rate: float) -> float:
        return fmean(trained(text, like, rate, x)["loss"] for x in CHOOSING)

    return trained(text, kind, best(RATES, loss), seed)


TEXTS = ("grammar", "captions")
RATED = {"encoder-decoder": {"kind": BOTH}, "prefix": {"kind": PREFIX}}
SCORED = {
    "encoder-decoder": {"kind": BOTH, "like": BOTH},
    "prefix": {"kind": PREFIX, "like": PREFIX},
    "causal": {"kind": CAUSAL, "like": PREFIX},
}
RUNS = grid(
    at_rate,
    "{text}, {name}, rate {rate} seed={seed}",
    text=TEXTS,
    seed=CHOOSING,
    rate=RATES,
    name=RATED,
)
RUNS |= grid(
    at_best_rate,
    "{text}, {name} seed={seed}",
    text=TEXTS,
    seed=SEEDS,
    name=SCORED,
)
RUNS |= grid(
    at_best_rate,
    "{text}, {name} seed={seed}",
    text=TEXTS,
    seed=FURTHER,
    name={x: SCORED[x] for x in RATED},
)
