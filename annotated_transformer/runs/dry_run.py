"""The dry run: what a training would need and do, without training."""

import timeit
from pathlib import Path

import torch
from rich.filesize import decimal
from torch import nn

from annotated_transformer.corpora.corpus import Corpus
from annotated_transformer.corpora.running_text import RunningText
from annotated_transformer.data import Example
from annotated_transformer.runs.batches import TrainingText
from annotated_transformer.runs.prepare import prepare
from annotated_transformer.runs.recipes import Recipe
from annotated_transformer.runs.windows import TextWindows, read_corpus
from annotated_transformer.storage.builders import outline, parameters_of

__all__ = ["plan", "reading"]

FLOAT = 4  # bytes


def plan(
    recipe: Recipe,
    corpus: Corpus | RunningText,
    start: Path | str | None = None,
    new_subwords: bool = False,
) -> str:
    """A table of what a run of the recipe would need and do.

    The model is built without memory, the subwords are learned, or taken from
    the start, and the first epoch is cut into batches as in the run. Other
    epochs are shuffled anew, so what is said of all epochs is an estimate, and
    marked by "about".
    """
    recipe, tokenizer, _ = prepare(recipe, corpus, start, new_subwords)
    text, _, _ = read_corpus(corpus, tokenizer, recipe)
    rows = memory(recipe) | reading(recipe, text)
    rows |= work(recipe, *tokens_of_update(recipe, text))
    width = max(map(len, rows))
    return "".join(f"{name:{width}}  {rows[name]}\n" for name in rows)


def reading(
    recipe: Recipe, text: TrainingText | TextWindows
) -> dict[str, str]:
    """How much of its text a run reads; the first row is the text's size."""
    if isinstance(text, TextWindows):
        return windows(recipe, text)
    return batches(recipe, text.first_epoch())


def tokens_of_update(
    recipe: Recipe, text: TrainingText | TextWindows
) -> tuple[int, int]:
    """How many tokens of source and target an update reads, on average."""
    number = recipe.train.accumulation_steps * recipe.processes
    if isinstance(text, TextWindows):
        return 0, number * text.rows * text.length
    epoch = text.first_epoch()
    source, target = (
        round(sum(map(len, side)) * number / len(epoch))
        for side in zip(*(x for some in epoch for x in some), strict=True)
    )
    return source, target


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
    count, config = parameters_of(recipe.model), recipe.train
    copies = 4 + (recipe.processes > 1)  # which sum their gradients in one
    logits = passes(recipe) * config.batch_tokens * recipe.model.vocab_size
    return {
        "parameters": f"{count:,}",
        "subwords": f"{recipe.model.vocab_size:,}",
        "weights, gradients, moments": decimal(FLOAT * copies * count),
        "logits and their gradients": f"about {decimal(2 * FLOAT * logits)}",
        "a checkpoint": decimal(FLOAT * 3 * count),
    }


def batches(recipe: Recipe, epoch: list[list[Example]]) -> dict[str, str]:
    """How the first epoch's batches make updates, and how many epochs."""
    tokens, padding = [], []
    for side in (0, 1):
        lengths = [[len(example[side]) for example in x] for x in epoch]
        tokens.append(sum(map(sum, lengths)))
        cells = sum(len(batch) * max(batch) for batch in lengths)
        padding.append(1 - tokens[side] / cells)
    config = recipe.train
    updates = len(epoch) / (config.accumulation_steps * recipe.processes)
    source, target = (round(side / updates) for side in tokens)
    return {
        "pairs an epoch": f"{sum(map(len, epoch)):,}",
        "tokens an epoch": f"{tokens[0]:,} source, {tokens[1]:,} target",
        "padding": f"{padding[0]:.1%} source, {padding[1]:.1%} target",
        "batches an epoch": f"{len(epoch):,}",
        "tokens an update": f"about {source:,} source, {target:,} target",
        "updates an epoch": f"about {updates:,.1f}",
        "epochs": f"about {config.steps / updates:,.1f}",
    }


def windows(recipe: Recipe, text: TextWindows) -> dict[str, str]:
    """How much of a running text an update reads."""
    config, tokens = recipe.train, len(text.ids) - 1
    _, update = tokens_of_update(recipe, text)
    return {
        "tokens in the text": f"{tokens:,}",
        "tokens a window": f"{text.length:,}",
        "tokens an update": f"{update:,}",
        "epochs": f"about {config.steps * update / tokens:,.1f}",
    }
