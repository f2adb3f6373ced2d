"""Corpora that are made here: the built-in grammar's, and the copy task's."""

import re

from annotated_transformer.corpora.corpus import Corpus, pairs_sha256

__all__ = ["builtin_corpus", "copy_corpus", "pronoun_corpus"]

# The sentence that the book follows, and all that differ in noun or quality.
FOLLOWED = re.compile(r"The \w+ ate the \w+ because it was \w+\.")


def builtin_corpus(
    train: int = 20000,
    valid: int = 500,
    test: int = 500,
    seed: int = 0,
    *,
    name: str = "builtin",
    without: re.Pattern[str] | None = None,
) -> Corpus:
    """Make the built-in English-German corpus; the numbers count pairs.

    Pairs whose source matches `without` are left out, afterwards.
    """
    from annotated_transformer.corpora.builtin import example_splits

    pairs = [
        [
            (example.source, example.target)
            for example in split
            if not (without and without.fullmatch(example.source))
        ]
        for split in example_splits(train, valid, test, seed)
    ]
    names = ("train", "valid", "test")
    sums = dict(zip(names, map(pairs_sha256, pairs), strict=True))
    tests = {"test": pairs[2]}
    return Corpus(pairs[0], pairs[1], tests, name, "en", "de", sums)


def pronoun_corpus() -> Corpus:
    """More of the built-in corpus, but for the sentence of the book.

    About 70,000 pairs, of which none reads "The dog ate the soup because it
    was hungry.", whatever the animal, the food and the quality.
    """
    return builtin_corpus(70_000, name="pronouns", without=FOLLOWED)


def copy_corpus() -> Corpus:
    """Make the corpus of the copy task: distinct strings of letters."""
    from annotated_transformer.data import copy_task

    pairs = copy_task(21_000)
    splits = {
        "valid": pairs[:500],
        "test": pairs[500:1000],
        "train": pairs[1000:],
    }
    sums = {name: pairs_sha256(split) for name, split in splits.items()}
    tests = {"test": splits["test"]}
    train, valid = splits["train"], splits["valid"]
    return Corpus(train, valid, tests, "copy", "letters", "letters", sums)
