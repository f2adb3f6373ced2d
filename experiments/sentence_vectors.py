"""Sentence vectors: find the translation of a caption among a thousand.

A sentence's vector is a mean of the shipped translators' encoder states. The
nearest German caption of a test, by cosine, is taken for the translation of an
English one. "two encoders": each language has its own; "one encoder": that
from English reads German as well. A map between the sides is fitted on pairs
of the training text, which a seed draws. Controls: counts of subwords, random
vectors in place of learned ones, and German that the translator has written.
"""

import random
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor

from annotated_transformer.attention import padding_mask
from annotated_transformer.data import pad
from annotated_transformer.embedding import PAD
from annotated_transformer.model import Transformer
from ledger.intervals import redrawn

from .shared.grid import Result, Runs, grid
from .shared.shipped_translator import SEARCH, corpus, translator, weights

MODELS = {"en": "multi30k-en-de", "de": "multi30k-de-en"}  # by what they read
TESTS = ("test_2016_flickr", "test_2017_flickr")  # of 1,000 captions each
PAIRS, SEEDS = 5000, range(3)
LAST = 5  # behind the norm; 0 is the embedding with its positions
SIZE = 128  # of a vector
SIF = 1e-3  # Arora et al. (2017)
RIDGE = 0.01  # of the mean variance
RECIPE = {
    "weights": {name: weights(name) for name in MODELS.values()},
    "search": SEARCH,
    "ridge": RIDGE,
}


class Side(NamedTuple):
    """Sentences of one language, and what makes vectors of them."""

    language: str  # en, de, or "written": German by our translator
    reader: str  # en or de, or else "random" or "counts"


SIDES = {
    "two encoders": (Side("en", "en"), Side("de", "de")),
    "one encoder": (Side("en", "en"), Side("de", "en")),
    "random vectors": (Side("en", "random"), Side("de", "random")),
    "counts": (Side("en", "counts"), Side("de", "counts")),
    "translated, counts": (Side("written", "counts"), Side("de", "counts")),
    "translated, one encoder": (Side("written", "de"), Side("de", "de")),
}
Map = Callable[[Tensor], Tensor]


@cache
def lines(text: str, seed: int, language: str) -> list[str]:
    """The training pairs that a seed draws, or a test, in one language."""
    if text == "pairs":
        drawn = random.Random(seed).sample(corpus().train, PAIRS)
        return [pair[language != "en"] for pair in drawn]
    if language == "written":
        english = lines(text, seed, "en")
        return translator(MODELS["en"])(english, **SEARCH)
    return [pair[language == "de"] for pair in corpus().tests[text]]


def ids_of(texts: Sequence[str]) -> list[list[int]]:
    """The subwords of texts; both models have the same ones."""
    encode = translator(MODELS["en"]).tokenizer.encode
    return [encode(text) for text in texts]


@cache
def weighting(seed: int, language: str, kind: str) -> Tensor:
    """What each subword counts for in a mean, from the training pairs."""
    rows = ids_of(lines("pairs", seed, language))
    size = len(translator(MODELS["en"]).tokenizer)
    if kind == "idf":
        each = torch.tensor([token for row in rows for token in {*row}])
        return ((1 + len(rows)) / (1 + each.bincount(minlength=size))).log()
    every = torch.tensor([token for row in rows for token in row])
    share = every.bincount(minlength=size) / len(every)
    return SIF / (SIF + share) if kind == "sif" else torch.ones(size)


@torch.inference_mode()
def states(reader: str, ids: Tensor) -> list[Tensor]:
    """The vectors of all subwords, from the embedding to the last norm."""
    if reader == "random":
        size = len(translator(MODELS["en"]).tokenizer)
        table = torch.randn(
            size, SIZE, generator=torch.Generator().manual_seed(0)
        )
        return [table[ids]]
    model = translator(MODELS[reader]).model
    assert isinstance(model, Transformer)
    layers, mask = [model.source(ids)], padding_mask(ids, PAD)
    for layer in model.encoder.layers:
        layers.append(layer(layers[-1], mask))
    return [*layers, model.encoder.norm(layers[-1])]


@cache
def means(side: Side, text: str, seed: int, kind: str) -> Tensor:
    """A mean for each sentence, at all layers: [texts layers size]."""
    rows = ids_of(lines(text, seed, side.language))
    weight = weighting(seed, side.language, kind)
    order = sorted(range(len(rows)), key=lambda i: len(rows[i]))
    parts = []
    for start in range(0, len(rows), 200):
        ids = pad(rows[i] for i in order[start : start + 200])
        each = weight[ids].masked_fill(ids == PAD, 0)
        each = (each / each.sum(1, keepdim=True))[:, None]
        layers = [each @ x for x in states(side.reader, ids)]
        parts.append(torch.cat(layers, 1))
    return torch.cat(parts)[torch.tensor(order).argsort()]


@cache
def bags(side: Side, text: str, seed: int, kind: str) -> Tensor:
    """Sparse rows of length 1, with a weight for each subword of a text."""
    texts = lines(text, seed, side.language)
    weight = weighting(seed, side.language, kind).double()
    places, values = [], []
    for i, row in enumerate(ids_of(texts)):
        kinds = torch.tensor(sorted({*row}))
        places.append(torch.stack([torch.full_like(kinds, i), kinds]))
        values.append(weight[kinds] / weight[kinds].norm())
    return torch.sparse_coo_tensor(
        torch.cat(places, 1),
        torch.cat(values),
        (len(texts), len(weight)),
        check_invariants=True,
    )


@cache
def axes(side: Side, seed: int, kind: str, size: int) -> Tensor:
    """The directions in which the counts of the pairs are largest."""
    counted = bags(side, "pairs", seed, kind)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return torch.svd_lowrank(counted, size, niter=4)[2]


def vectors(
    side: Side, text: str, seed: int, kind: str, layer: int, size: int
) -> Tensor:
    """A vector for each sentence; a size of 0 keeps all counts."""
    if side.reader != "counts":
        found = means(side, text, seed, kind)
        return found[:, min(layer, found.size(1) - 1)].double()
    counted = bags(side, text, seed, kind)
    if size == 0:
        return counted.to_dense()
    return counted @ axes(side, seed, kind, size)


def plain() -> tuple[Map, Map]:
    """Both sides stay as they are."""
    return lambda q: q, lambda k: k


def centred(x: Tensor, y: Tensor) -> tuple[Map, Map]:
    """Each side loses its mean."""
    return lambda q: q - x.mean(0), lambda k: k - y.mean(0)


def least_squares(x: Tensor, y: Tensor) -> tuple[Map, Map]:
    """English is mapped to where German is, as nearly as a matrix can."""
    matrix = torch.linalg.lstsq(x - x.mean(0), y - y.mean(0)).solution
    return lambda q: (q - x.mean(0)) @ matrix, lambda k: k - y.mean(0)


def rotation(x: Tensor, y: Tensor) -> tuple[Map, Map]:
    """English is turned, and no direction is stretched (Procrustes)."""
    left, _, right = torch.linalg.svd((x - x.mean(0)).T @ (y - y.mean(0)))
    turn = left @ right
    return lambda q: (q - x.mean(0)) @ turn, lambda k: k - y.mean(0)


def evened(x: Tensor) -> Tensor:
    """The matrix after which all directions of x vary nearly alike."""
    x = x - x.mean(0)
    values, directions = torch.linalg.eigh(x.T @ x)
    values = values + RIDGE * values.mean()
    return directions * values.rsqrt() @ directions.T


def whitened(x: Tensor, y: Tensor) -> tuple[Map, Map]:
    """Each side is stretched until all directions vary alike."""
    to_x, to_y = evened(x), evened(y)
    return lambda q: (q - x.mean(0)) @ to_x, lambda k: (k - y.mean(0)) @ to_y


def correlations(x: Tensor, y: Tensor) -> tuple[Map, Map]:
    """Both go to the directions in which they agree (CCA).

    Each side is whitened, and then a direction counts by the correlation.
    """
    flat, flat_too = evened(x), evened(y)
    both = flat @ (x - x.mean(0)).T @ (y - y.mean(0)) @ flat_too
    left, agree, right = torch.linalg.svd(both)
    to_x, to_y = flat @ left * agree, flat_too @ right.T * agree
    return lambda q: (q - x.mean(0)) @ to_x, lambda k: (k - y.mean(0)) @ to_y


def turned(x: Tensor, y: Tensor) -> tuple[Map, Map]:
    """Both are whitened, then one is turned: correlations all weigh alike."""
    first, second = whitened(x, y)
    turn, _ = rotation(first(x), second(y))
    return lambda q: turn(first(q)), second


MAPS = {
    f.__name__: f
    for f in (centred, least_squares, rotation, whitened, turned, correlations)
}


def found(queries: Tensor, keys: Tensor) -> Tensor:
    """Whether the nearest key of each query, by cosine, is its own."""
    queries, keys = (x / x.norm(dim=1, keepdim=True) for x in (queries, keys))
    return (queries @ keys.T).argmax(1) == torch.arange(len(queries))


def run(
    sides: str,
    by: str,
    seed: int,
    layer: int = LAST,
    weight: str = "mean",
    number: int = PAIRS,
    size: int = SIZE,
) -> Result:
    """The share of captions whose translation is found, on drawn captions.

    `number` of the pairs are used for the map, and so many directions of
    counts, if there is a map.
    """
    size = 0 if by == "plain" else size

    def each(text: str) -> list[Tensor]:
        return [
            vectors(side, text, seed, weight, layer, size)
            for side in SIDES[sides]
        ]

    to_x, to_y = plain()
    if by != "plain":
        x, y = (both[:number] for both in each("pairs"))
        to_x, to_y = MAPS[by](x, y)
    hits = []
    for test in TESTS:
        queries, keys = each(test)
        hits.append(found(to_x(queries), to_y(keys)).double())
    shares = [
        sum(one[places].mean().item() for one in hits) / len(hits)
        for places in redrawn(len(hits[0]))
    ]
    each_test = (one.mean().item() for one in hits)
    return {"accuracy": shares, **dict(zip(TESTS, each_test, strict=True))}


VECTORS = ("two encoders", "one encoder", "random vectors")
BEST = "correlations"
IDF, FEWER = ["idf"], [200, 500, 1000, 2000]
# as a run's key has what is not as usual
NAMED = {"layer": "layer", "weight": "weight", "size": "size"}
NAMED |= {"number": "pairs"}
VARIED: list[dict[str, Sequence[object]]] = [
    {"sides": VECTORS, "by": ["plain", *MAPS]},
    {
        "sides": ["translated, one encoder"],
        "by": ["plain", "centred", "whitened"],
    },
    {
        "sides": ["counts", "translated, counts"],
        "by": ["plain"],
        "weight": IDF,
    },
    {"sides": ["counts"], "weight": IDF, "size": [SIZE, 4 * SIZE]},
    {"sides": VECTORS[:2], "weight": ["idf", "sif"]},
    {"sides": VECTORS[:2], "layer": range(LAST)},
    {"sides": VECTORS, "number": FEWER},
    {"sides": ["counts"], "weight": IDF, "size": [4 * SIZE], "number": FEWER},
]
RUNS: Runs = {}
for varied in VARIED:
    named = [f"{said}={{{x}}}" for x, said in NAMED.items() if x in varied]
    key = ", ".join(["{sides}, {by}", *named]) + " seed={seed}"
    sides = varied["sides"]
    RUNS |= grid(
        run, key, **{"sides": sides, "by": [BEST], **varied}, seed=SEEDS
    )
