"""The small translator of many experiments, and how it is measured."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import TypedDict, Unpack

from torch import nn

from annotated_transformer.corpora.corpus import Corpus
from annotated_transformer.corpora.generated import builtin_corpus
from annotated_transformer.data import Pair, Tokenizer
from annotated_transformer.model import (
    EncoderDecoder,
    ModelConfig,
    transformer,
)
from annotated_transformer.runs.prepare import learn_tokenizer
from annotated_transformer.runs.recipes import Recipe
from annotated_transformer.training import TrainConfig

from .grid import Result
from .settings import Learning, Sizes
from .training_loops import begun, greedy_bleu, validated

SIZES: Sizes = {
    "layers": 2,
    "d_model": 64,
    "d_ff": 128,
    "heads": 4,
    "dropout": 0.1,
    "pre_norm": True,
    "max_length": 128,
}
LEARNING: Learning = {
    "steps": 500,
    "batch_tokens": 768,
    "schedule": "linear",
    "warmup": 100,
    "peak_lr": 6e-3,
    "label_smoothing": 0.1,
    "clip": 1.0,
    "max_length": 128,
}
PIECES = 1000
RECIPE = {"model": SIZES, "train": LEARNING, "vocab_size": PIECES}
BASE = Recipe(ModelConfig(**SIZES), TrainConfig(**LEARNING), PIECES)
TRANSLATED = 250  # test sentences, for BLEU


class Variation(TypedDict, total=False):
    """What a run changes; see measured."""

    sizes: Sizes
    learning: Learning
    attention: Callable[..., nn.Module]
    change: Callable[[EncoderDecoder], None]
    build: Callable[[ModelConfig], EncoderDecoder]


def no_positions(model: EncoderDecoder) -> None:
    """Let both stacks see sets instead of sequences."""
    model.source.positions = model.target.positions = None


@cache
def corpus() -> Corpus:
    """The built-in corpus: 20,000 pairs, 500 to validate, 500 to translate."""
    return builtin_corpus()


@cache
def tokenizer() -> Tokenizer:
    """The one vocabulary of all runs."""
    return learn_tokenizer(corpus(), BASE)


def measured(
    base: Recipe,
    text: Corpus,
    pieces: Tokenizer,
    held_out: list[Pair],
    seed: int,
    sizes: Sizes | None = None,
    learning: Learning | None = None,
    attention: Callable[..., nn.Module] | None = None,
    change: Callable[[EncoderDecoder], None] | None = None,
    build: Callable[[ModelConfig], EncoderDecoder] | None = None,
) -> Result:
    """Train a variation of the base; its size, its perplexity and its BLEU.

    Perplexities are of the validation sentences, in tokens of the shared
    vocabulary; BLEU is that of greedy translations of the sentences held out.
    """
    base = replace(
        base,
        model=replace(base.model, **(sizes or {})),
        train=replace(base.train, **(learning or {})),
    )

    def made(config: ModelConfig) -> EncoderDecoder:
        model = build(config) if build else transformer(config, attention)
        if change:
            change(model)
        return model

    model, turns = begun(base, seed, text.train, pieces, made)
    losses = [update.loss.item() for update in turns]
    found = validated(model, pieces, text.valid, base.train.max_length)
    return {
        "parameters": sum(p.numel() for p in model.parameters()),
        "perplexity": found.perplexity,
        "accuracy": found.accuracy,
        "bleu": greedy_bleu(model, pieces, held_out),
        "curve": [round(loss, 4) for loss in losses[49::50]],
    }


def train(
    seed: int, pairs: int | None = None, **variation: Unpack[Variation]
) -> Result:
    """Measure a variation on the built-in corpus, or on its first pairs."""
    text = replace(corpus(), train=corpus().train[:pairs])
    held_out = text.tests["test"][:TRANSLATED]
    return measured(BASE, text, tokenizer(), held_out, seed, **variation)
