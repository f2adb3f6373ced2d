"""The dry run: what a run would need and do, without training."""

import timeit
from pathlib import Path

import torch
from rich.filesize import decimal
from torch import nn

from ..corpora.corpus import Corpus
from ..corpora.running_text import RunningText
from ..optimizer import layer_matrices
from ..storage.builders import outline
from ..system.cache import CACHE, Cache
from .prepare import prepare
from .recipes import Recipe
from .windows import read_corpus

FLOAT = 4  # bytes


def plan(
    recipe: Recipe,
    corpus: Corpus | RunningText,
    start: Path | str | None = None,
    new_subwords: bool = False,
    cache: Cache = CACHE,
) -> str:
    """A table of what a run of the recipe would need and do.

    The model is built without memory, the subwords are learned, or taken from
    the start, and the first epoch is cut into batches as in the run. Other
    epochs are shuffled anew, so what is said of all epochs is an estimate, and
    marked by "about".
    """
    recipe, tokenizer, _ = prepare(
        recipe, corpus, start, new_subwords, cache=cache
    )
    text, _, _ = read_corpus(corpus, tokenizer, recipe, cache)
    update, read = text.reading(recipe)
    rows = memory(recipe) | read | work(recipe, *update)
    width = max(map(len, rows))
    return "".join(f"{name:{width}}  {rows[name]}\n" for name in rows)


def work(recipe: Recipe, source: int, target: int) -> dict[str, str]:
    """The operations of a run, by the tokens of an update on either side.

    6 for each parameter that a token meets; attention's own come on top.
    """
    model, x = outline(recipe.model), torch.ones(512, 512)
    sides = (source, [model.encoder]), (target, [model.decoder, model.output])
    update = sum(
        tokens * sum(p.numel() for p in nn.ModuleList(parts).parameters())
        for tokens, parts in sides
    )
    total = 6 * passes(recipe) * update * recipe.train.steps
    product = min(timeit.repeat(lambda: x @ x, number=1, repeat=20))
    minutes = total / recipe.processes * product / (2 * 512**3) / 60
    return {
        "operations": f"about {total:.1e}",
        "as one product, on this CPU": f"at least {minutes:,.1f} minutes",
    }


def passes(recipe: Recipe) -> int:
    """How often an update reads each of its targets."""
    return recipe.labs.risk or (2 if recipe.labs.r_drop else 1)


def memory(recipe: Recipe) -> dict[str, str]:
    """What parameters need in memory and on disk; activations come on top."""
    model, config = outline(recipe.model), recipe.train
    count = sum(p.numel() for p in model.parameters())
    moments = 2 * count
    if config.optimizer == "muon":  # which keeps one of its matrices
        moments -= sum(p.numel() for p in layer_matrices(model))
    kept = 2 * count + moments
    logits = passes(recipe) * config.batch_tokens * recipe.model.vocab_size
    return {
        "parameters": f"{count:,}",
        "subwords": f"{recipe.model.vocab_size:,}",
        "weights, gradients, moments": decimal(FLOAT * kept),
        "logits and their gradients": f"about {decimal(2 * FLOAT * logits)}",
        "a checkpoint": decimal(FLOAT * (count + moments)),
    }
