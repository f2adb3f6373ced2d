"""Preparation: what a run needs first: a device, subwords, batches."""

import torch

from annotated_transformer.corpora import Corpus, Pair
from annotated_transformer.data import (
    Batch,
    Example,
    Tokenizer,
    bucket,
    encode_pairs,
    make_batch,
    train_tokenizer,
)
from annotated_transformer.errors import UserError
from annotated_transformer.recipes import Recipe
from annotated_transformer.terminal import console

__all__ = ["choose_device", "encode", "fixed_batches", "learn_tokenizer"]


def choose_device(name: str | None = None) -> str:
    """The device of that name, or the fastest at hand; UserError if absent."""
    here = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    if name is None:
        return next(kind for kind in here if here[kind])
    if not here.get(name.partition(":")[0]):
        raise UserError(
            f"device {name!r} is not at hand; choose from "
            f"{', '.join(kind for kind in here if here[kind])}"
        )
    return name


def learn_tokenizer(corpus: Corpus, recipe: Recipe) -> Tokenizer:
    """Learn subwords from the training text, both languages together."""
    texts = [side for pair in corpus.train for side in pair]
    try:
        return train_tokenizer(texts, recipe.vocab_size, recipe.tokenizer)
    except UserError as error:
        raise UserError(f"--vocab-size: {error}") from error


def encode(
    name: str, pairs: list[Pair], tokenizer: Tokenizer, recipe: Recipe
) -> list[Example]:
    """Pairs as ids; says which ones are over the limit and left out.

    The limit is max_length of the training, or the number of learned
    positions where that is less.
    """
    limit, why = recipe.train.max_length, "--max-length raises the limit"
    sizes = recipe.model
    if sizes.positions == "learned" and sizes.max_length < limit:
        limit, why = sizes.max_length, "as many positions are learned"
    examples, too_long = encode_pairs(pairs, tokenizer, limit)
    if too_long:
        console.out(
            f"{name} text: {len(too_long)} of {len(pairs)} pairs have more "
            f"than {limit} tokens on a side and are left out, the first in "
            f"line {too_long[0] + 1} ({why})"
        )
    if not examples:
        raise UserError(
            f"{name} text: none of its {len(pairs)} sentence pairs can be "
            f"used; it needs one of at most {limit} tokens a side"
        )
    return examples


def fixed_batches(examples: list[Example], max_tokens: int) -> list[Batch]:
    """Examples as batches in one order: what validation runs over."""
    lengths = [(len(source), len(target)) for source, target in examples]
    places = bucket(lengths, max_tokens)
    return [make_batch([examples[i] for i in some]) for some in places]
