"""Corpora that are made here: the built-in grammar's, and the copy task's."""

import re

from annotated_transformer.corpora.corpus import Corpus, pairs_sha256

__all__ = ["builtin_corpus", "copy_corpus", "pronoun_corpus"]

# The sentence that the book follows, and all that differ in noun or quality.
FOLLOWED = re.compile(r"The \w+ ate the \w+ because it was \w+\.")


Pairs = list[tuple[str, str]]


def builtin_corpus(
    train: int = 20000, valid: int = 500, test: int = 500, seed: int = 0
) -> Corpus:
    """Make the built-in English-German corpus; the numbers count pairs."""
    from annotated_transformer.corpora.builtin import example_splits

    splits = example_splits(train, valid, test, seed)
    pairs = [[(one.source, one.target) for one in split] for split in splits]
    return _corpus("builtin", "en", "de", *pairs)


def _corpus(
    name: str,
    source: str,
    target: str,
    train: Pairs,
    valid: Pairs,
    test: Pairs,
) -> Corpus:
    splits = {"train": train, "valid": valid, "test": test}
    sums = {split: pairs_sha256(splits[split]) for split in splits}
    return Corpus(train, valid, {"test": test}, name, source, target, sums)


def pronoun_corpus() -> Corpus:
    """More of the built-in corpus, but for the sentence of the book.

    About 70,000 pairs, of which none reads "The dog ate the soup because it
    was hungry.", whatever the animal, the food and the quality.
    """
    made = builtin_corpus(70_000)
    splits = [
        [pair for pair in split if not FOLLOWED.fullmatch(pair[0])]
        for split in (made.train, made.valid, made.tests["test"])
    ]
    return _corpus("pronouns", "en", "de", *splits)


def copy_corpus() -> Corpus:
    """Make the corpus of the copy task: distinct strings of letters."""
    from annotated_transformer.data import copy_task

    pairs = copy_task(21_000)
    splits = pairs[1000:], pairs[:500], pairs[500:1000]
    return _corpus("copy", "letters", "letters", *splits)
