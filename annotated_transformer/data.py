"""Data: subwords, the copy task, and batches sized by tokens (5.1).

Written in book/06_data.ipynb: edit the chapter, then `make package`.
"""

import io
import random
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, count, islice, pairwise
from typing import Any

import numpy as np
import sentencepiece
import torch
from jaxtyping import Bool, Int
from torch import Tensor
from torch.nn import functional as F

from annotated_transformer.embedding import BOS, EOS, PAD, UNK
from annotated_transformer.errors import UserError, check_kind
from annotated_transformer.text.normalization import normalized, with_rules

__all__ = [
    "well_formed",
    "Tokenizer",
    "OPTIONS",
    "smallest_vocabulary",
    "train_tokenizer",
    "Pair",
    "Example",
    "encode_pairs",
    "Ragged",
    "pad",
    "Batch",
    "Examples",
    "make_batch",
    "ORDERS",
    "bucket",
    "training_batches",
    "copy_task",
    "BPEDropout",
]


def well_formed(text: str) -> str:
    """The text, with a question mark in place of each lone surrogate."""
    return text.encode("utf-8", "replace").decode()


class Tokenizer:
    """Turns text into subword ids and back, with a sentencepiece model."""

    def __init__(self, model: bytes):
        self.model = model
        self.pieces = sentencepiece.SentencePieceProcessor(model_proto=model)

    def __len__(self) -> int:
        return self.pieces.vocab_size()

    @property
    def vocabulary(self) -> list[str]:
        """All subwords, in the order of their ids."""
        return self.pieces.id_to_piece([*range(len(self))])

    def encode(self, text: str) -> list[int]:
        """The ids of the text's subwords, followed by EOS."""
        return [*self.pieces.encode(well_formed(text)), EOS]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of the ids before the first EOS."""
        ids = list(ids)
        end = ids.index(EOS) if EOS in ids else len(ids)
        return self.pieces.decode([i for i in ids[:end] if i > EOS])

    def split(self, text: str) -> list[str]:
        """The subwords as strings, for labelling attention maps."""
        return self.pieces.encode(well_formed(text), out_type=str)


OPTIONS: dict[str, Any] = {
    "normalization_rule_name": "identity",  # we apply our own rules
    "remove_extra_whitespaces": False,
    "unk_surface": "⁇",  # shown for unknown tokens, without spaces
    "character_coverage": 1.0,  # every character is a subword
    "max_sentence_length": 1_000_000,  # bytes; longer lines would be skipped
    "num_threads": 1,
    "minloglevel": 2,  # errors are raised; the rest is noise
    "pad_id": PAD,
    "bos_id": BOS,
    "eos_id": EOS,
    "unk_id": UNK,
}


def smallest_vocabulary(lines: Iterable[str]) -> int:
    """The fewest subwords a text needs: reserved ids and characters."""
    characters = set().union(*(line.rstrip("\r\n") for line in lines))
    characters -= {" ", "\0"}  # a space has its own symbol, NUL has none
    if not characters:
        raise UserError("there is no text to learn a vocabulary from")
    return UNK + 1 + len(characters | {"▁"})  # the symbol for a space


def train_tokenizer(
    lines: Iterable[str],
    vocab_size: int,
    kind: str = "bpe",
    normalize: bool = True,
    running: bool = False,
    exact: bool = True,
) -> Tokenizer:
    """Learn subwords from text. Kinds: bpe, char, unigram (a pruned list).

    For a text of few words there is word, which knows these and no others.
    The tokenizer normalizes all text that it reads, or leaves it unchanged.
    Lines of running text end with a subword of their own and get no leading
    space, so that a text can be read line by line. UserError if the
    characters need more subwords, or the text yields fewer; unless exact,
    the vocabulary is then as large as it can be.
    """
    lines = normalized(lines) if normalize else list(lines)
    model = io.BytesIO()
    smallest = smallest_vocabulary(lines) + running
    if vocab_size < smallest and kind != "word":
        raise UserError(
            f"a vocabulary of {vocab_size} subwords is too small: the "
            "reserved ids and the characters of the text need at least "
            f"{smallest}"
        )
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines),
            model_writer=model,
            vocab_size=vocab_size,
            model_type=kind,
            hard_vocab_limit=kind != "char",
            add_dummy_prefix=not running,
            user_defined_symbols=["\n"] if running else [],
            **OPTIONS,
        )
    except RuntimeError as error:
        if not (largest := re.search(r"<= (\d+)", str(error))):
            raise
        if not exact:
            size = int(largest[1])
            return train_tokenizer(lines, size, kind, normalize, running)
        raise UserError(
            f"a vocabulary of {vocab_size} subwords is too large for this "
            f"text: the largest possible is {largest[1]}; choose far fewer, "
            "or leave the number out for as many as the text allows"
        ) from error
    learned = model.getvalue()
    return Tokenizer(with_rules(learned) if normalize else learned)


Pair = tuple[str, str]
Example = tuple[list[int], list[int]]


def encode_pairs(
    pairs: Iterable[Pair], tokenizer: Tokenizer, max_length: int
) -> tuple[list[Example], list[int]]:
    """Pairs as ids, and the indices of those too long, which are left out."""
    examples, too_long = [], []
    for place, (source, target) in enumerate(pairs):
        example = tokenizer.encode(source), tokenizer.encode(target)
        if max(map(len, example)) > max_length:
            too_long.append(place)
        else:
            examples.append(example)
    return examples, too_long


class Ragged:
    """Rows of ids of different lengths, end to end in one array.

    Row n is from offset n to the next one. The last id of all is PAD, which
    cells beyond the end of a row read.
    """

    def __init__(self, ids: np.ndarray, offsets: np.ndarray):
        self.ids, self.offsets = ids, offsets

    @classmethod
    def of(cls, rows: Iterable[list[int]]) -> "Ragged":
        """The rows in two new arrays."""
        rows = list(rows)
        ids = np.fromiter(chain(*rows, [PAD]), np.int32)
        return cls(ids, np.cumsum([0, *map(len, rows)]))

    def matrix(
        self, places: Sequence[int] | np.ndarray
    ) -> Int[Tensor, "batch length"]:
        """The rows at these indices, padded on the right with PAD."""
        rows = np.asarray(places)[:, None]
        starts, ends = self.offsets[rows], self.offsets[rows + 1]
        cells = starts + np.arange((ends - starts).max())
        ids = self.ids[np.where(cells < ends, cells, -1)]
        return torch.from_numpy(ids.astype(np.int64))


def pad(rows: Iterable[list[int]]) -> Int[Tensor, "batch length"]:
    """Rows of ids as one matrix, padded on the right with PAD."""
    rows = list(rows)
    return Ragged.of(rows).matrix(range(len(rows)))


@dataclass(frozen=True)
class Batch:
    """Padded sentences: the decoder reads inputs and predicts labels."""

    source: Int[Tensor, "batch source_length"]  # subwords, EOS
    inputs: Int[Tensor, "batch target_length"]  # BOS, subwords
    labels: Int[Tensor, "batch target_length"]  # subwords, EOS
    places: Int[Tensor, "tokens"]  # in labels.flatten(), without padding
    targets: Int[Tensor, "tokens"]  # the labels there

    @classmethod
    def of(
        cls,
        source: Int[Tensor, "batch source_length"],
        labels: Int[Tensor, "batch target_length"],
    ) -> "Batch":
        """A batch from source and labels, from which the rest follows."""
        shifted, flat = F.pad(labels, (1, -1), value=BOS), labels.flatten()
        inputs = shifted.masked_fill(labels == PAD, PAD)
        places = (flat != PAD).nonzero().flatten()
        return cls(source, inputs, labels, places, flat[places])

    @property
    def tokens(self) -> int:
        """The number of labels to predict."""
        return len(self.places)

    @property
    def where(self) -> Bool[Tensor, "batch target_length"]:
        """True where there is a label to predict."""
        return self.labels != PAD

    def duplicated(self) -> "Batch":
        """The same batch with each sentence in it twice."""
        places = torch.cat([self.places, self.places + self.labels.numel()])
        return Batch(
            self.source.repeat(2, 1),
            self.inputs.repeat(2, 1),
            self.labels.repeat(2, 1),
            places,
            self.targets.repeat(2),
        )

    def to(
        self, device: torch.device | str, non_blocking: bool = False
    ) -> "Batch":
        """The same batch on another device."""
        tensors = vars(self).values()
        moved = (x.to(device, non_blocking=non_blocking) for x in tensors)
        return Batch(*moved)


class Examples:
    """Pairs of ids in two arrays; their rows are source, target, source, ...

    lengths has the tokens of each side, [pairs, 2].
    """

    def __init__(self, rows: Ragged):
        self.rows = rows
        lengths = np.diff(rows.offsets).reshape(-1, 2)
        smallest = np.min_scalar_type(lengths.max(initial=0))
        self.lengths = lengths.astype(smallest)

    @classmethod
    def of(cls, examples: "Iterable[Example] | Examples") -> "Examples":
        """The examples in two new arrays, unless they are in such."""
        if isinstance(examples, Examples):
            return examples
        return cls(Ragged.of(chain.from_iterable(examples)))

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, place: int) -> Example:
        if not 0 <= place < len(self):
            raise IndexError(place)
        start, middle, end = self.rows.offsets[2 * place : 2 * place + 3]
        ids = self.rows.ids
        return ids[start:middle].tolist(), ids[middle:end].tolist()

    def batch(self, places: Sequence[int] | np.ndarray) -> Batch:
        """The examples at these indices, padded on the right."""
        rows = 2 * np.asarray(places)
        return Batch.of(self.rows.matrix(rows), self.rows.matrix(rows + 1))


def make_batch(examples: Iterable[Example]) -> Batch:
    """Examples as a batch, padded on the right."""
    text = Examples.of(examples)
    return text.batch(range(len(text)))


# what sorts pairs, from their lengths [sides, pairs]: keys, the first first
ORDERS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "target": lambda lengths: lengths[::-1],  # then by the source
    "longest": lambda lengths: np.stack([lengths.max(0), *lengths[::-1]]),
}


def bucket(
    lengths: Sequence[tuple[int, ...]] | np.ndarray,
    max_tokens: int,
    seed: str = "0",
    order: str = "target",
) -> list[np.ndarray]:
    """Batches of indices of similar length, at most max_tokens per side.

    Padding counts: a batch has at most max_tokens cells in its source
    matrix, and as many in its target matrix. A text longer than that has a
    batch of its own. Ties and batches are shuffled. Texts without targets have
    lengths for one side only.
    """
    if len(lengths) == 0:
        return []
    rng, sides = random.Random(seed), np.asarray(lengths).T
    places = array("I", range(len(lengths)))
    rng.shuffle(places)
    shuffled = np.asarray(places)
    keys = ORDERS[order](sides[:, shuffled])
    by_length = shuffled[np.lexsort(keys[::-1])]  # which leaves ties as drawn
    longest = sides.max(0)[by_length]
    batches: list[np.ndarray] = []
    start = 0
    while start < len(longest):
        some = longest[start : start + max_tokens // int(longest[start]) + 1]
        cells = np.maximum.accumulate(some) * np.arange(1, len(some) + 1)
        end = start + max(1, int((cells <= max_tokens).sum()))
        batches.append(by_length[start:end])
        start = end
    rng.shuffle(batches)
    return batches


def training_batches(
    examples: Sequence[Example] | Examples,
    max_tokens: int,
    seed: int,
    skip: int = 0,
    every: int = 1,
    resplit: Callable[[list[Example], str], list[Example]] | None = None,
    order: str = "target",
    epoch: Callable[[int], np.ndarray] | None = None,
) -> Iterator[Batch]:
    """Endless batches: each epoch is a function of the seed and its number.

    skip passes over the first batches, and every=n takes one batch in n,
    without building the others. resplit cuts a batch's text into other
    subwords, chosen by a seed; max_tokens still counts the usual ones. epoch
    gives the indices that the epoch of a number reads, in place of all.
    """
    if len(examples) == 0:
        raise UserError("there is no sentence pair to make batches of")
    text = Examples.of(examples)

    def batches() -> Iterator[np.ndarray]:
        for number in count():
            read = epoch(number) if epoch else np.arange(len(text))
            lengths, key = text.lengths[read], f"{seed} {number}"
            for some in bucket(lengths, max_tokens, key, order):
                yield read[some]

    for number, places in islice(enumerate(batches()), skip, None, every):
        if resplit:
            chosen = [text[place] for place in places.tolist()]
            yield make_batch(resplit(chosen, f"{seed} {number}"))
        else:
            yield text.batch(places)


def copy_task(
    size: int,
    seed: int = 0,
    letters: str = "abcdefghij",
    lengths: tuple[int, int] = (3, 10),
) -> list[Pair]:
    """Distinct random strings, each to be translated into itself."""
    shortest, longest = lengths
    check_kind("lengths[0]", shortest, int, (1, longest))
    possible = sum(
        len(set(letters)) ** n for n in range(shortest, longest + 1)
    )
    if size > possible:
        raise UserError(
            f"there are only {possible} different strings of {shortest} to "
            f"{longest} letters out of {letters!r}, not {size}"
        )
    rng = random.Random(seed)
    strings: dict[str, None] = {}
    while len(strings) < size:
        length = rng.randint(shortest, longest)
        strings["".join(rng.choices(letters, k=length))] = None
    return [(string, string) for string in strings]


class BPEDropout:
    """BPE-dropout: splits a text into different subwords at each reading."""

    ways = 64  # to split a word

    def __init__(self, pieces: list[str], dropout: float, max_length: int):
        self.pieces, self.dropout = pieces, dropout
        self.max_length = max_length  # tokens; longer texts stay unchanged
        # merges first, in the order of their ids, then characters
        self.ids = {piece: i for i, piece in enumerate(pieces) if i > UNK}
        self.cached_cut = lru_cache(2**20)(self.cut)  # most words recur

    def __call__(
        self, examples: Iterable[Example], seed: str
    ) -> list[Example]:
        """The examples in subwords chosen by the seed."""
        rng = random.Random(seed)
        return [(self.split(a, rng), self.split(b, rng)) for a, b in examples]

    def split(self, ids: list[int], rng: random.Random) -> list[int]:
        """The ids of the same text, split again, unless a token is unknown."""
        if UNK in ids or ids == [EOS]:
            return ids
        text = "".join(self.pieces[i] for i in ids[:-1])
        again = []
        for word in re.findall("▁[^▁]*", text):
            again += self.cached_cut(word, rng.randrange(self.ways))
        return [*again, EOS] if len(again) < self.max_length else ids

    def cut(self, word: str, way: int) -> list[int]:
        """The ids of a word's subwords, split in one of the ways."""
        parts, rng = list(word), random.Random(f"{word} {way}")
        while merges := [
            (self.ids[a + b], place)
            for place, (a, b) in enumerate(pairwise(parts))
            if a + b in self.ids and rng.random() >= self.dropout
        ]:
            _, place = min(merges)
            parts[place : place + 2] = ["".join(parts[place : place + 2])]
        return [self.ids[part] for part in parts]
