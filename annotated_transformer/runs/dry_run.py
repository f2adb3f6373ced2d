"""A plan: what a training would need and do, before anything is trained."""

from pathlib import Path

from rich.filesize import decimal

from annotated_transformer.corpora.corpus import Corpus
from annotated_transformer.runs.batches import TrainingText, encode_text
from annotated_transformer.runs.prepare import (
    learn_tokenizer,
    start_from,
    warn_of_overlap,
    with_subwords,
)
from annotated_transformer.runs.recipes import Recipe
from annotated_transformer.storage.builders import parameters_of

__all__ = ["plan"]

FLOAT = 4  # bytes


def plan(
    recipe: Recipe,
    corpus: Corpus,
    start: Path | str | None = None,
    new_subwords: bool = False,
) -> str:
    """A table of what a run of the recipe would need and do.

    The model is built without memory, the subwords are learned, or taken from
    the start, and the first epoch is cut into batches as in the run. Other
    epochs are shuffled anew, so what is said of all epochs is an estimate, and
    marked by "about".
    """
    if start is not None:
        _, tokenizer, recipe = start_from(start, recipe, new_subwords)
    if start is None or new_subwords:
        tokenizer = learn_tokenizer(corpus, recipe)
    text = TrainingText(corpus, tokenizer, recipe)
    encode_text("validation text", corpus.valid, tokenizer, recipe)
    warn_of_overlap(corpus)
    count = parameters_of(with_subwords(recipe, tokenizer).model)
    rows = {
        "parameters": f"{count:,}",
        "subwords": f"{len(tokenizer):,}",
        **memory(recipe, count, len(tokenizer)),
        "pairs": f"{len(text.examples):,}",
        **batches(recipe, text),
    }
    width = max(map(len, rows))
    return "".join(f"{name:{width}}  {rows[name]}\n" for name in rows)


def memory(recipe: Recipe, count: int, vocab_size: int) -> dict[str, str]:
    """What parameters need in memory and on disk; activations come on top."""
    weights, config = FLOAT * count, recipe.train
    several = recipe.processes > 1  # then the gradients are summed in a copy
    passes = config.risk or (2 if config.r_drop else 1)
    logits = FLOAT * passes * config.batch_tokens * vocab_size
    kept = config.average + 2  # those averaged, the last, the best
    return {
        "weights": decimal(weights),
        "gradients": decimal(weights * (1 + several)),
        "Adam's moments": decimal(2 * weights),
        "logits": f"about {decimal(logits)}, and their gradient as much",
        "a checkpoint": f"{decimal(3 * weights)}, kept: at most {kept}",
    }


def batches(recipe: Recipe, text: TrainingText) -> dict[str, str]:
    """How the first epoch's batches make updates, and how many epochs."""
    config, epoch = recipe.train, text.first_epoch()
    tokens, padding = [], []
    for side in (0, 1):
        lengths = [[len(example[side]) for example in x] for x in epoch]
        tokens.append(sum(map(sum, lengths)))
        cells = sum(len(batch) * max(batch) for batch in lengths)
        padding.append(1 - tokens[side] / cells)
    group = config.accumulation_steps * recipe.processes
    updates = len(epoch) / group
    source, target = (round(side / updates) for side in tokens)
    return {
        "pairs an epoch": f"{sum(map(len, epoch)):,}",
        "tokens an epoch": f"{tokens[0]:,} source, {tokens[1]:,} target",
        "padding": f"{padding[0]:.1%} source, {padding[1]:.1%} target",
        "batches an epoch": f"{len(epoch):,}",
        "batches an update": f"{group} = {config.accumulation_steps} "
        f"accumulated x {recipe.processes} processes",
        "tokens an update": f"about {source:,} source, {target:,} target",
        "updates": f"{config.steps:,}",
        "updates an epoch": f"about {updates:,.1f}",
        "epochs": f"about {config.steps / updates:,.1f}",
    }
