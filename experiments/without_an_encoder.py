"""Translating with a decoder alone, against encoder and decoder.

The decoder alone reads source, mark and target in a row, under a causal mask
or with a source that sees itself both ways. It has as many layers as give it
the parameters of two and two. Encoder and decoder, and the decoder alone with
a prefix mask, have the best of three rates, chosen by the validation loss of
seed 0, and are scored at it by three seeds; the causal mask has the rate of
the prefix mask. "again" is encoder and decoder with three other seeds: it says
what chance does. With "wrong sources" each target is learned, and predicted,
from the source of the next pair. Both texts have the recipe of the small
translator.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from math import log
from typing import NamedTuple

from annotated_transformer.corpora.corpus import Corpus
from annotated_transformer.data import Pair, Tokenizer
from annotated_transformer.decoder_only import SourceAndTarget
from annotated_transformer.model import transformer
from annotated_transformer.runs.prepare import learn_tokenizer
from annotated_transformer.runs.recipes import Recipe

from . import table3_captions as captions
from .shared import small_translator as grammar
from .shared.grid import Runs, grid
from .shared.small_translator import measured

RATES = {"grammar": (0.003, 0.006, 0.012), "captions": (0.002, 0.004, 0.008)}
SEEDS, AGAIN = (0, 1, 2), (3, 4, 5)  # the first one chooses the rates
LAYERS = 5  # of a decoder alone; 2 + 2 have as many parameters
PHOTOS = replace(grammar.BASE, vocab_size=2000, normalize=False)
RECIPE = grammar.RECIPE | {"captions": PHOTOS.vocab_size, "rates": RATES}


class Kind(NamedTuple):
    """What is built, of how many layers, and what it reads."""

    build: Callable = transformer
    layers: int = 2
    wrong: bool = False  # is a source that of the next pair?


with_prefix = partial(SourceAndTarget, prefix=True)
BOTH, PREFIX = Kind(), Kind(with_prefix, LAYERS)
TUNED = {"encoder and decoder": BOTH, "prefix": PREFIX}
LIKE_PREFIX = {
    "causal": Kind(SourceAndTarget, LAYERS),
    "wrong sources": PREFIX._replace(wrong=True),
}


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


def corpus() -> Corpus:
    """The captions; what the others read comes with the package."""
    return captions.corpus()


def shifted(pairs: list[Pair]) -> list[Pair]:
    """Each target with the source of the next pair."""
    sources, targets = zip(*pairs, strict=True)
    return list(zip(sources[1:] + sources[:1], targets, strict=True))


@cache
def trained(text: str, kind: Kind, rate: float, seed: int) -> dict:
    """Train and score a model at a rate."""
    task = tasks()[text]
    read = task.text
    if kind.wrong:
        both = {"train": shifted(read.train), "valid": shifted(read.valid)}
        read = replace(read, **both)
    found = measured(
        task.base,
        read,
        task.pieces,
        task.held_out,
        seed,
        sizes={"layers": kind.layers},
        learning={"peak_lr": rate},
        build=kind.build,
    )
    return found | {"rate": rate, "loss": round(log(found["perplexity"]), 4)}


def at_rate(seed: int, text: str, kind: Kind, rate: float) -> dict:
    """Train and score; where a kind's rate is chosen, it is not repeated."""
    return trained(text, kind, rate, seed)


def at_best_rate(seed: int, text: str, kind: Kind, like: Kind) -> dict:
    """Train and score at the rate that is best for a kind, by one seed."""

    def loss(rate: float) -> float:
        return trained(text, like, rate, SEEDS[0])["loss"]

    return trained(text, kind, min(RATES[text], key=loss), seed)


def runs_of(text: str) -> Runs:
    """The runs on a text: at each rate, and those that decide."""
    rates = {rate: {"text": text, "rate": rate} for rate in RATES[text]}
    kinds = {name: {"kind": kind} for name, kind in TUNED.items()}
    likes = {name: (kind, kind) for name, kind in TUNED.items()}
    likes |= {name: (kind, PREFIX) for name, kind in LIKE_PREFIX.items()}
    scored = {
        name: {"text": text, "kind": kind, "like": like}
        for name, (kind, like) in likes.items()
    }
    again = {"again": scored["encoder and decoder"]}
    chosen, key = f"{text}, {{name}}, rate {{rate}}", f"{text}, {{name}}"
    seeds = " seed={seed}"
    return {
        **grid(
            at_rate, chosen + seeds, seed=SEEDS[:1], rate=rates, name=kinds
        ),
        **grid(at_best_rate, key + seeds, seed=SEEDS, name=scored),
        **grid(at_best_rate, key + seeds, seed=AGAIN, name=again),
    }


RUNS = runs_of("grammar") | runs_of("captions")
