"""Word and position in a sum: what two linear maps read out of it.

The encoder receives, for each subword, a row of the shipped model's embedding
times sqrt(d_model), plus the sinusoids of its position. By least squares one
matrix is fitted to give the word's vector back, and another the position's;
what is nearest to the answer counts as read, among all words of the vocabulary
and all positions of the text. Each fifth of the validation captions is tested
with matrices that are fitted on the other four, and a seed draws captions, as
many as there are, with replacement. "shuffled order"
puts the subwords of each caption into random order, so that no word tells its
position. The controls: random rows, as long as the trained ones and as long
as before training; positions that belong to another subword of the caption
while the matrix is fitted; and a second word in place of the position.
"""

import math
import random
from functools import cache
from itertools import chain
from typing import NamedTuple

import torch
from torch import Tensor

from annotated_transformer.embedding import sinusoids
from annotated_transformer.translation import Translator

from .shared import shipped_translator
from .shared.grid import grid
from .shared.shipped_translator import MODEL, PARTS, corpus, part, redrawn

RECIPE = shipped_translator.RECIPE | {"text": "valid"}


class Sums(NamedTuple):
    """Subwords of captions: which they are, where, and what is received."""

    words: Tensor
    places: Tensor
    sums: Tensor


@cache
def ids() -> list[list[int]]:
    """The validation captions as the encoder reads them."""
    encode = Translator.load(MODEL).tokenizer.encode
    return [encode(source) for source, _ in corpus().valid]


@cache
def trained() -> Tensor:
    """The words' vectors, as they are added to positions."""
    tokens = Translator.load(MODEL).model.source.tokens
    return (tokens.weight * tokens.scale).detach().double()


def drawn(lengths: Tensor | float, seed: int) -> Tensor:
    """Random vectors for the words, of given lengths."""
    torch.manual_seed(seed)
    vectors = torch.randn(trained().shape, dtype=torch.float64)
    return vectors / vectors.norm(dim=1, keepdim=True) * lengths


def shuffled(rows: list[list[int]], seed: int) -> list[list[int]]:
    """Captions with their subwords in random order."""
    rng = random.Random(seed)
    return [rng.sample(row, len(row)) for row in rows]


def added(rows: list[list[int]], words: Tensor, places: Tensor) -> Sums:
    """The sums that the encoder would receive, end to end."""
    which = torch.tensor([i for row in rows for i in row])
    where = torch.tensor([i for row in rows for i in range(len(row))])
    return Sums(which, where, words[which] + places[where])


def extended(sums: Tensor) -> Tensor:
    """With a column of ones, for the constant of a linear map."""
    return torch.cat([sums, torch.ones_like(sums[:, :1])], 1)


def read(fit: Tensor, wanted: Tensor, test: Tensor, table: Tensor) -> Tensor:
    """Which row of a table a linear map, fitted elsewhere, gives for sums."""
    matrix = torch.linalg.lstsq(extended(fit), wanted).solution
    return torch.cdist(extended(test) @ matrix, table).argmin(1)


def vectors_of(words: str, seed: int) -> Tensor:
    """The words' vectors: those trained, or random ones instead."""
    if words == "trained":
        return trained()
    if words == "as long":
        return drawn(trained().norm(dim=1, keepdim=True), seed)
    return drawn(math.sqrt(trained().size(1)), seed)


def fifths(seed: int) -> tuple[list[list[int]], list[list[int]]]:
    """Four fifths of the captions to fit on, and the last to test on."""
    first = seed - seed % PARTS
    others = [part(ids(), first + i) for i in range(PARTS)]
    held_out = others.pop(seed % PARTS)
    return list(chain.from_iterable(others)), held_out


def two_words(some: Sums, words: Tensor, seed: int) -> Sums:
    """The words' vectors, each with that of another subword added."""
    torch.manual_seed(seed)
    others = some.words[torch.randperm(len(some.words))]
    return some._replace(sums=words[some.words] + words[others])


@cache
def read_right(
    words: str, change: str
) -> list[tuple[dict[str, Tensor], list[int]]]:
    """What is read right in each fifth, with the lengths of its captions."""
    return [hits(words, seed, change) for seed in range(PARTS)]


def hits(
    words: str, seed: int, change: str
) -> tuple[dict[str, Tensor], list[int]]:
    """Where word, position, or both are read in a fifth."""
    vectors, parts = vectors_of(words, seed), fifths(seed)
    if change == "shuffled order":
        parts = shuffled(parts[0], seed), shuffled(parts[1], seed)
    table = sinusoids(max(map(len, ids())), vectors.size(1)).double()
    fit, test = (added(rows, vectors, table) for rows in parts)
    if change == "second word":
        fit, test = (two_words(some, vectors, seed) for some in (fit, test))
    found = read(fit.sums, vectors[fit.words], test.sums, vectors)
    right = {"word": found == test.words}
    if change != "second word":
        places = fit.places
        if change == "shuffled positions":
            rows = shuffled([[*range(len(row))] for row in parts[0]], seed)
            places = torch.tensor([*chain.from_iterable(rows)])
        found = read(fit.sums, table[places], test.sums, table)
        right["position"] = found == test.places
        right["both"] = right["word"] & right["position"]
    return right, [len(row) for row in parts[1]]


def run(words: str, seed: int, change: str = "") -> dict[str, float]:
    """The shares of subwords that are read right, in drawn captions."""
    found, shares = read_right(words, change), {}
    for name in found[0][0]:
        rows = [
            row
            for right, lengths in found
            for row in right[name].double().split(lengths)
        ]
        shares[name] = torch.cat(redrawn(rows, seed)).mean().item()
    return shares


ROWS = {
    "trained": {"words": "trained"},
    "shuffled order": {"words": "trained", "change": "shuffled order"},
    "random, as long": {"words": "as long"},
    "random, untrained length": {"words": "untrained"},
    "shuffled positions": {"words": "trained", "change": "shuffled positions"},
    "second word": {"words": "trained", "change": "second word"},
}
RUNS = grid(run, "{row} seed={seed}", row=ROWS, seed=range(20))
