"""Table 3 in miniature: one thing changed at a time, all else as in BASE.

Rows A to E of the paper's Table 3 at a size that a processor trains in half
a minute, and the ablations that readers of the paper ask for, each under three
seeds, which say what a difference is worth. All runs share one recipe, one
tokenizer and one order of batches for each seed; the corpus is the built-in
one. Without positions the model must be clearly worse: the negative control.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial

import torch
from torch import Tensor, nn

from annotated_transformer.attention import MultiHeadAttention
from annotated_transformer.corpora.corpus import Corpus, Pair, builtin
from annotated_transformer.data import Tokenizer, encode_pairs
from annotated_transformer.layers import AddNorm
from annotated_transformer.model import ModelConfig, Transformer
from annotated_transformer.runs.feeding import fixed_batches
from annotated_transformer.runs.recipes import Recipe
from annotated_transformer.runs.setup import learn_tokenizer
from annotated_transformer.training import TrainConfig, validate
from annotated_transformer.translation import Translator, score

from .shared.training_loops import updates_on

SIZES = {
    "layers": 2,
    "d_model": 64,
    "d_ff": 128,
    "heads": 4,
    "dropout": 0.1,
    "pre_norm": True,
    "max_length": 128,
}
LEARNING = {
    "steps": 500,
    "batch_tokens": 768,
    "schedule": "linear",
    "warmup": 100,
    "peak_rate": 6e-3,
    "label_smoothing": 0.1,
    "clip": 1.0,
    "max_length": 128,
}
RECIPE = {"model": SIZES, "train": LEARNING, "vocab_size": 1000}
BASE = Recipe(
    ModelConfig(**SIZES), TrainConfig(**LEARNING), RECIPE["vocab_size"]
)
TRANSLATED = 250  # test sentences, for BLEU
FEW = 1000  # pairs, for the rows on small data


class Unscaled(MultiHeadAttention):
    """Dot products without the division by sqrt(d_k)."""

    def keys_values(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Keys so much longer that the division is undone."""
        keys, values = super().keys_values(memory)
        return keys * math.sqrt(self.d_k), values


class TwoProjections(MultiHeadAttention):
    """Two input projections for the three of queries, keys and values."""

    def __init__(self, d_model: int, *sizes: object):
        super().__init__(d_model, *sizes)
        self.key_value = nn.Linear(d_model, self.heads * self.d_v)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Glorot initialisation."""
        for layer in (self.query, self.key_value, self.output):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)


class QueryIsKey(TwoProjections):
    """One projection for queries and keys."""

    def keys_values(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Keys made as queries are, and values."""
        values = self.key_value(memory)
        return self.split(self.query(memory)), self.split(values)


class KeyIsValue(TwoProjections):
    """One projection for keys and values."""

    def keys_values(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """The same vectors twice."""
        both = self.split(self.key_value(memory))
        return both, both


class NoProjections(MultiHeadAttention):
    """Heads are slices of the vectors as they are; nothing is learned."""

    def reset_parameters(self) -> None:
        """Take the projections out."""
        self.query = self.key_value = self.output = nn.Identity()

    def keys_values(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """The memory, cut into heads, twice."""
        both = self.split(memory)
        return both, both


class NoResidual(AddNorm):
    """Add & Norm without the addition."""

    def after(self, x: Tensor, y: Tensor) -> Tensor:
        """What the sub-layer wrote, alone."""
        y = self.dropout(y)
        return y if self.pre_norm else self.norm(y)


class NoFeedForward(nn.Module):
    """Writes nothing: the residual connection leads around it."""

    def forward(self, x: Tensor) -> Tensor:
        """Zeros of x's shape."""
        return torch.zeros_like(x)


class NoPositions(nn.Module):
    """Adds nothing."""

    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        """Give x back."""
        return x


def no_residuals(model: Transformer) -> None:
    """Replace every Add & Norm by one that adds nothing."""
    sizes = model.config.d_model, model.config.dropout, model.config.pre_norm
    for layer in (*model.encoder, *model.decoder):
        for name, part in layer.named_children():
            if isinstance(part, AddNorm):
                setattr(layer, name, NoResidual(*sizes))


def no_feed_forward(model: Transformer) -> None:
    """Leave the attention sub-layers alone with each other."""
    for layer in (*model.encoder, *model.decoder):
        layer.feed_forward = NoFeedForward()


def no_positions(model: Transformer) -> None:
    """Let both stacks see sets instead of sequences."""
    model.source_positions = model.target_positions = NoPositions()


@cache
def corpus() -> Corpus:
    """The built-in corpus: 20,000 pairs, 500 to validate, 500 to translate."""
    return builtin()


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
    sizes: dict | None = None,
    learning: dict | None = None,
    attention: Callable = MultiHeadAttention,
    change: Callable[[Transformer], None] | None = None,
    build: Callable[[ModelConfig], Transformer] | None = None,
) -> dict:
    """Train a variation of the base; its size, its perplexity and its BLEU.

    Perplexities are of the validation sentences, in tokens of the shared
    vocabulary; BLEU is that of greedy translations of the sentences held out.
    """
    config = replace(base.model, vocab_size=len(pieces), **(sizes or {}))
    recipe = replace(base.train, seed=seed, **(learning or {}))
    torch.manual_seed(seed)
    model = build(config) if build else Transformer(config, attention)
    if change:
        change(model)
    examples, _ = encode_pairs(text.train, pieces, recipe.max_length)
    losses = [
        update.loss.item()
        for update in updates_on(examples, model, recipe, config.d_model)
    ]
    valid, _ = encode_pairs(text.valid, pieces, recipe.max_length)
    found = validate(model, fixed_batches(valid, 2048))
    sources, references = zip(*held_out, strict=True)
    outputs = Translator(model, pieces)(list(sources), beam=1)
    return {
        "parameters": sum(p.numel() for p in model.parameters()),
        "perplexity": found.perplexity,
        "accuracy": found.accuracy,
        "bleu": score(outputs, references).bleu,
        "curve": [round(loss, 4) for loss in losses[49::50]],
    }


def train(seed: int, pairs: int | None = None, **variation) -> dict:
    """Measure a variation on the built-in corpus, or on its first pairs."""
    text = replace(corpus(), train=corpus().train[:pairs])
    held_out = text.tests["test"][:TRANSLATED]
    return measured(BASE, text, tokenizer(), held_out, seed, **variation)


# The letters are the rows of Table 3; what has none is asked by its readers.
VARIATIONS: dict[str, dict] = {
    "base": {},
    "A heads=1": {"sizes": {"heads": 1}},
    "A heads=2": {"sizes": {"heads": 2}},
    "A heads=8": {"sizes": {"heads": 8}},
    "A heads=16": {"sizes": {"heads": 16}},
    "B d_k=1": {"sizes": {"d_k": 1}},
    "B d_k=4": {"sizes": {"d_k": 4}},
    "B d_k=8": {"sizes": {"d_k": 8}},
    "C layers=1": {"sizes": {"layers": 1}},
    "C layers=4": {"sizes": {"layers": 4}},
    "C d_model=32": {"sizes": {"d_model": 32}},
    "C d_model=128": {"sizes": {"d_model": 128}},
    "C d_ff=64": {"sizes": {"d_ff": 64}},
    "C d_ff=256": {"sizes": {"d_ff": 256}},
    "D dropout=0.0": {"sizes": {"dropout": 0.0}},
    "D dropout=0.2": {"sizes": {"dropout": 0.2}},
    "D smoothing=0.0": {"learning": {"label_smoothing": 0.0}},
    "D smoothing=0.2": {"learning": {"label_smoothing": 0.2}},
    "E learned positions": {"sizes": {"positions": "learned"}},
    "few pairs, dropout=0.0": {"pairs": FEW, "sizes": {"dropout": 0.0}},
    "few pairs, dropout=0.1": {"pairs": FEW},
    "no residuals": {"change": no_residuals},
    "no positions": {"change": no_positions},
    "no scale": {"attention": Unscaled},
    "no feed-forward": {"change": no_feed_forward},
    "Q = K": {"attention": QueryIsKey},
    "K = V": {"attention": KeyIsValue},
    "no projections": {"attention": NoProjections},
}
SEEDS = (0, 1, 2)

RUNS: dict[str, Callable[[], dict]] = {
    f"{name} seed={seed}": partial(train, seed=seed, **variation)
    for name, variation in VARIATIONS.items()
    for seed in SEEDS
}
