"""The text that everything is measured on: as token ids, in batches."""

import os
from dataclasses import dataclass

from annotated_transformer.corpora.corpus import Corpus
from annotated_transformer.corpora.generated import builtin_corpus
from annotated_transformer.corpora.multi30k import DATA_VARIABLE, multi30k
from annotated_transformer.data import (
    Example,
    bucket,
    encode_pairs,
    train_tokenizer,
)
from annotated_transformer.errors import UserError

VOCABULARY = 8000


@dataclass(frozen=True)
class Text:
    """A corpus as ids, and its name."""

    name: str
    examples: list[Example]
    sources: list[list[int]]  # of the test set

    def batches(self, tokens: int, number: int) -> list[list[Example]]:
        """The first batches of a training, of at most so many cells."""
        lengths = [(len(a), len(b)) for a, b in self.examples]
        places = bucket(lengths, tokens)[:number]
        return [[self.examples[place] for place in row] for row in places]


def text() -> Text:
    """Multi30k where the variable says where it is, else the built-in."""
    return ids_of(
        multi30k() if os.environ.get(DATA_VARIABLE) else builtin_corpus()
    )


def ids_of(corpus: Corpus) -> Text:
    """A corpus as ids, by subwords that are learned from it."""
    lines = [line for pair in corpus.train for line in pair]
    try:
        tokenizer = train_tokenizer(lines, VOCABULARY)
    except UserError:  # a small corpus has no more subwords than this
        tokenizer = train_tokenizer(lines, 1500)
    examples, _ = encode_pairs(corpus.train, tokenizer, 256)
    test = next(iter(corpus.tests.values()))
    tests, _ = encode_pairs(test, tokenizer, 256)
    return Text(corpus.name, examples, [source for source, _ in tests])
