"""Running text as windows of tokens, which a language model learns from."""

import math
import random
import tempfile
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, count

import numpy as np
import torch

from ..corpora.running_text import RunningText
from ..data import Batch, Tokenizer
from ..embedding import EOS, UNK
from ..model import EncoderDecoder
from ..system.cache import CACHE, Cache
from ..text.documents import DocumentReader, ends_document
from ..training import Validation, validate
from .encoding import dtype, in_files
from .recipes import Recipe

VALID_TOKENS = 4096  # of a batch without gradients
LARGE = 50_000_000  # bytes of a text; the ids of a smaller one are not kept
WINDOW = 256  # tokens, for a model of your own whose context has no end
# The tokens that an update reads of source and target, on average, and a table
# of the text; its first row is the text's size, the last how often it is read.
Amount = tuple[tuple[int, int], dict[str, str]]


def token_ids(
    text: RunningText,
    tokenizer: Tokenizer,
    held_out: bool | None = None,
    cache: Cache = CACHE,
) -> np.ndarray:
    """The ids of a text or of a part of it, with EOS around each document.

    They are kept in a file without a name or, of a large text, in the cache,
    so that the text may be larger than memory.
    """
    kind = dtype(tokenizer)
    if text.size >= LARGE and type(tokenizer) is Tokenizer:
        lines = text.lines(held_out)
        texts = ("" if ends_document(x, text.mark) else x for x in lines)
        known = [*text.checksums.values(), text.mark, str(text.held_out)]
        rows = in_files(
            chain([""], texts),
            [*known, str(held_out)],
            tokenizer,
            "running",
            cache,
        )
        return rows.ids[:-1]  # the last one is padding
    reader = DocumentReader(tokenizer, text.mark)
    with tempfile.TemporaryFile() as file:
        file.write(np.array([EOS], kind).tobytes())
        for line in text.lines(held_out):
            file.write(np.array(reader.line(line), kind).tobytes())
        file.flush()
        return np.memmap(file, kind, "r")


def window_batch(rows: Iterable[np.ndarray]) -> Batch:
    """Windows as a batch: each token but the last is asked for the next."""
    tokens = torch.from_numpy(np.stack([*rows]).astype(np.int64))
    labels = tokens[:, 1:].contiguous()
    places = torch.arange(labels.numel())
    inputs = tokens[:, :-1].contiguous()
    return Batch(tokens[:, :0], inputs, labels, places, labels.flatten())


@dataclass(frozen=True)
class TextWindows:
    """Windows that begin anywhere in a text, or follow each other."""

    ids: np.ndarray
    length: int  # tokens that a window asks for
    rows: int  # windows of a batch
    seed: int = 0

    def batches(
        self, skip: int = 0, every: int = 1
    ) -> Generator[Batch, None, None]:
        """Batches for ever: each is a function of the seed and its number."""
        begins, length = range(len(self.ids) - self.length), self.length + 1
        for number in count(skip, every):
            rng = random.Random(f"{self.seed} {number}")
            starts = rng.choices(begins, k=self.rows)
            yield window_batch(self.ids[i : i + length] for i in starts)

    def __iter__(self) -> Iterator[Batch]:
        """Each token of the text once, but the first; the last are fewer."""
        whole = (len(self.ids) - 1) // self.length
        rows = [
            self.ids[i * self.length : (i + 1) * self.length + 1]
            for i in range(whole + 1)
        ]
        for i in range(0, whole, self.rows):
            yield window_batch(rows[i : min(i + self.rows, whole)])
        if len(rows[-1]) > 1:
            yield window_batch(rows[-1:])

    def amount(self, recipe: Recipe) -> Amount:
        """What an update reads, without a source, and how often it is all."""
        config, tokens = recipe.train, len(self.ids) - 1
        update = recipe.batches_of_update * self.rows * self.length
        return (0, update), {
            "tokens in the text": f"{tokens:,}",
            "tokens a window": f"{self.length:,}",
            "tokens an update": f"{update:,}",
            "epochs": f"about {config.steps * update / tokens:,.1f}",
        }


@dataclass(frozen=True)
class TextScore(Validation):
    """How well a language model predicts a text."""

    tokens: int
    bytes: int
    unknown: int  # tokens that stand for what the model has no piece for

    @property
    def bits_per_byte(self) -> float:
        """The loss in bits, spread over the bytes: it compares tokenizers."""
        return self.loss * self.tokens / self.bytes / math.log(2)


def score_text(
    model: EncoderDecoder,
    tokenizer: Tokenizer,
    text: RunningText,
) -> TextScore:
    """How well a model predicts a text, in windows as long as its context.

    The first token of a window has only the one before it to go by.
    """
    ids = token_ids(text, tokenizer)
    length = model.max_positions or WINDOW
    windows = TextWindows(ids, length, max(VALID_TOKENS // length, 1))
    found, unknown = validate(model, windows), int((ids == UNK).sum())
    sizes = len(ids) - 1, text.size, unknown
    return TextScore(found.loss, found.accuracy, *sizes)
