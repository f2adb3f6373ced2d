"""An adapter, until `feeding` has these names itself: then this file goes."""

from collections.abc import Generator
from contextlib import nullcontext
from functools import partial

from annotated_transformer.corpora.corpus import Corpus
from annotated_transformer.data import Batch, Tokenizer, training_batches
from annotated_transformer.runs.bpe_dropout import elsewhere
from annotated_transformer.runs.feeding import (
    ahead,
    encode,
    fixed_batches,
    most_tokens,
    resplit_of,
)
from annotated_transformer.runs.recipes import Recipe

__all__ = [
    "TrainingText",
    "encode",
    "fixed_batches",
    "most_tokens",
    "prefetch",
]

prefetch = ahead


class TrainingText:
    """A corpus's training pairs as ids, and the batches of a recipe."""

    def __init__(self, corpus: Corpus, tokenizer: Tokenizer, recipe: Recipe):
        self.config = recipe.train
        self.examples, self.mixture = encode(
            "training", corpus.train, tokenizer, recipe, corpus.extras
        )
        self.resplit = resplit_of(tokenizer, recipe)

    def batches(self, skip: int, every: int) -> Generator[Batch, None, None]:
        """The batches from a place on, each so-many-th, for ever."""
        config = self.config
        own = elsewhere(self.resplit) if self.resplit else nullcontext()
        with own as resplit:
            yield from training_batches(
                self.examples,
                config.batch_tokens,
                config.seed,
                skip,
                every,
                resplit,
                config.order,
                partial(self.mixture.places, config.seed),
            )
