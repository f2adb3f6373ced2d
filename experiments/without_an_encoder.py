"""Translating with a decoder alone, against encoder and decoder.

The decoder alone reads source, mark and target in a row, under a causal mask
or with a source that sees itself both ways. It has as many layers as give it
the parameters of two and two. Each kind has the best of three rates, chosen
by the validation loss of seed 0, and three other seeds are scored at it.
"again" is encoder and decoder with seeds of its own: it says what chance
does. With "wrong sources" each target is learned, and predicted, from the
source of the next pair.
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

FEWER = {"steps": 500, "warmup": 100}
RATES = {"grammar": (0.003, 0.006, 0.012), "captions": (0.002, 0.004, 0.008)}
CHOOSES, SEEDS, AGAIN = 0, (1, 2, 3), (4, 5, 6)
LAYERS = 5  # of a decoder alone; 2 + 2 have as many parameters
PHOTOS = replace(
    captions.BASE,
    train=replace(captions.BASE.train, **FEWER),
    vocab_size=2000,
)
RECIPE = {
    "grammar": grammar.RECIPE,
    "captions": {
        "model": captions.RECIPE["model"],
        "train": captions.RECIPE["train"] | FEWER,
        "vocab_size": PHOTOS.vocab_size,
    },
    "rates": RATES,
    "chooses": CHOOSES,
}


class Kind(NamedTuple):
    """What is built, of how many layers, and what it reads."""

    build: Callable = transformer
    layers: int = 2
    wrong: bool = False  # is a source that of the next pair?


with_prefix = partial(SourceAndTarget, prefix=True)
KINDS = {
    "encoder and decoder": Kind(),
    "causal": Kind(SourceAndTarget, LAYERS),
    "prefix": Kind(with_prefix, LAYERS),
}
WRONG = Kind(with_prefix, LAYERS, wrong=True)


class Task(NamedTuple):
    """What is learned, by which recipe, and what is translated for BLEU."""

    base: Recipe
    text: Corpus
    pieces: Tokenizer
    held_out: list[Pair]


@cache
def tasks() -> dict[str, Task]:
    """Both texts; the captions in fewer subwords than those of Table 3."""
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
    """Train and score at the rate that is best for a kind by another seed."""

    def loss(rate: float) -> float:
        return trained(text, like, rate, CHOOSES)["loss"]

    return trained(text, kind, min(RATES[text], key=loss), seed)


def runs_of(text: str) -> Runs:
    """The runs on a text: each kind at each rate, then those that decide."""
    rates = {rate: {"text": text, "rate": rate} for rate in RATES[text]}
    kinds = {name: {"kind": kind} for name, kind in KINDS.items()}
    scored = {
        name: {"text": text, "kind": kind, "like": kind}
        for name, kind in KINDS.items()
    }
    wrong = {"text": text, "kind": WRONG, "like": KINDS["prefix"]}
    again = {"again": scored["encoder and decoder"]}
    key = f"{text}, {{name}}"
    return {
        **grid(
            at_rate,
            f"{key}, rate {{rate}} seed={{seed}}",
            seed=[CHOOSES],
            rate=rates,
            name=kinds,
        ),
        **grid(
            at_best_rate,
            f"{key} seed={{seed}}",
            seed=SEEDS,
            name=scored | {"wrong sources": wrong},
        ),
        **grid(at_best_rate, f"{key} seed={{seed}}", seed=AGAIN, name=again),
    }


RUNS = runs_of("grammar") | runs_of("captions")
