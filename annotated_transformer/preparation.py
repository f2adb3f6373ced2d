"""Preparation: from the text of a corpus to the batches of a run."""

import re

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
from annotated_transformer.progress import console
from annotated_transformer.recipes import Recipe

__all__ = ["encode", "fixed_batches", "learn_tokenizer"]


def learn_tokenizer(corpus: Corpus, recipe: Recipe) -> Tokenizer:
    """Learn subwords from the training text, both languages together.

    UserError says the largest or the smallest vocabulary that is possible.
    """
    size, kind = recipe.vocab_size, recipe.tokenizer
    texts = [side for pair in corpus.train for side in pair]
    if kind == "char":
        needed = 5 + len(set().union(*texts) - {" "})
        if size < needed:
            raise too_small(size, needed)
    try:
        return train_tokenizer(texts, size, kind)
    except UserError as error:
        reason = f"{error} {error.__cause__}"
        if found := re.search(r"too high .*<= (\d+)", reason):
            raise UserError(
                f"--vocab-size {size} is more than the training text allows: "
                f"the largest possible is {found[1]}"
            ) from error
        if found := re.search(r"required_chars\. \d+ vs (\d+)", reason):
            raise too_small(size, int(found[1])) from error
        raise


def too_small(size: int, needed: int) -> UserError:
    """The error for a vocabulary that lacks room for every character."""
    return UserError(
        f"--vocab-size {size} is too small: the characters of the training "
        f"text and four special tokens are {needed}; choose at least that"
    )


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
