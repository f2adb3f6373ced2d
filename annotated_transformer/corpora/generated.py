"""Corpora that are made here: the built-in grammar's, and the copy task's."""

from annotated_transformer.corpora.corpus import Corpus, pairs_sha256

__all__ = ["builtin_corpus", "copy_corpus"]


def builtin_corpus(
    train: int = 20000, valid: int = 500, test: int = 500, seed: int = 0
) -> Corpus:
    """Make the built-in English-German corpus; the numbers count pairs."""
    from annotated_transformer.corpora.builtin import example_splits

    splits = example_splits(train, valid, test, seed)
    pairs = [[(x.source, x.target) for x in split] for split in splits]
    names = ("train", "valid", "test")
    sums = dict(zip(names, map(pairs_sha256, pairs), strict=True))
    tests = {"test": pairs[2]}
    return Corpus(pairs[0], pairs[1], tests, "builtin", "en", "de", sums)


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
