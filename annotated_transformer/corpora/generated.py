"""Corpora that are made here: the built-in grammar's, and the copy task's."""

import re

from .corpus import Corpus

# The sentence that the book follows, and all that differ in noun or quality.
FOLLOWED = re.compile(r"The \w+ ate the \w+ because it was \w+\.")


def builtin_corpus(
    train: int = 20000, valid: int = 500, test: int = 500, seed: int = 0
) -> Corpus:
    """Make the built-in English-German corpus; the numbers count pairs."""
    from .builtin import example_splits

    learned, chosen, tried = (
        [(one.source, one.target) for one in split]
        for split in example_splits(train, valid, test, seed)
    )
    tests = {"test": tried}
    return Corpus.from_pairs(learned, chosen, tests=tests, name="builtin")


def pronoun_corpus() -> Corpus:
    """More of the built-in corpus, but for the sentence of the book.

    About 70,000 pairs, of which none reads "The dog ate the soup because it
    was hungry.", whatever the animal, the food and the quality.
    """
    made = builtin_corpus(70_000)
    train, valid, test = (
        [pair for pair in split if not FOLLOWED.fullmatch(pair[0])]
        for split in (made.train, made.valid, made.tests["test"])
    )
    tests = {"test": test}
    return Corpus.from_pairs(train, valid, tests=tests, name="pronouns")


def copy_corpus() -> Corpus:
    """Make the corpus of the copy task: distinct strings of letters."""
    from ..data import copy_task

    pairs, of = copy_task(21_000), "letters"
    tests = {"test": pairs[500:1000]}
    return Corpus.from_pairs(pairs[1000:], pairs[:500], of, of, tests, "copy")


def parsing_corpus() -> Corpus:
    """Sentences of the parsing lab's grammar, and their trees as strings.

    They have one to three modifiers.
    """
    from ..parsing import leaves, linearise, treebank

    drawn = treebank(2800, seed=0)
    pairs = [(" ".join(leaves(tree)), linearise(tree)) for tree in drawn]
    tests = {"test": pairs[:500]}
    valid, train = pairs[500:800], pairs[800:]
    return Corpus.from_pairs(train, valid, "en", "trees", tests, "parsing")
