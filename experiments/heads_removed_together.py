"""Heads removed together: a quarter, half and three quarters of them.

A head is removed from the shipped model by zeros in its columns of W^O, so
that nothing of what it says is heard. The cheapest are those whose removal,
alone, raises the loss least on the validation captions; drawn ones
are random, and those alike have as many heads of the encoder, the decoder and
cross-attention as the cheapest have, drawn within each. All are scored on the
test of 2016. For the cheapest a seed draws its sentences, as many as there
are, with replacement; for the others it says which heads are drawn.
Nothing is trained afterwards.
"""

import random
from collections import Counter
from collections.abc import Iterable
from contextlib import AbstractContextManager
from functools import cache

from annotated_transformer.data import Pair

from .shared import removed_heads, shipped_translator
from .shared.grid import grid
from .shared.removed_heads import Head, attentions, every_head
from .shared.shipped_translator import (
    SEARCH,
    bleu,
    corpus,
    redrawn,
    translator,
)
from .shared.training_loops import validated

SHARES = (25, 50, 75)  # percent
RECIPE = shipped_translator.RECIPE | SEARCH


def without(removed: Iterable[Head]) -> AbstractContextManager[None]:
    """Where W^O does not hear these heads."""
    found = attentions(translator().model)
    return removed_heads.without(
        (found[stack][layer], head) for stack, layer, head in removed
    )


def loss(pairs: list[Pair]) -> float:
    """Nats a subword on pairs, each given the true subwords before it."""
    model, pieces = translator().model, translator().tokenizer
    return validated(model, pieces, pairs, 512, 4096).loss


def scored_on() -> list[Pair]:
    """The test of 2016, which no head is chosen by."""
    return corpus().tests["test_2016_flickr"]


@cache
def by_cost() -> list[Head]:
    """All heads, those first that cost least alone on validation captions."""
    pairs, costs = corpus().valid, {}
    for head in every_head(translator().model):
        with without([head]):
            costs[head] = loss(pairs)
    return sorted(costs, key=lambda head: costs[head])


def chosen(way: str, number: int, seed: int) -> list[Head]:
    """So many heads, and which."""
    rng, heads = random.Random(seed), every_head(translator().model)
    if way == "drawn":
        return rng.sample(heads, number)
    cheapest = by_cost()[:number]
    if way == "cheapest":
        return cheapest
    return [
        head
        for stack, count in Counter(head[0] for head in cheapest).items()
        for head in rng.sample([h for h in heads if h[0] == stack], count)
    ]


@cache
def outputs(removed: tuple[Head, ...]) -> tuple[list[str], float]:
    """Translations, and the loss, while some heads are removed."""
    with without(removed):
        ours = translator()([source for source, _ in scored_on()], **SEARCH)
        return ours, loss(scored_on())


def measured(removed: list[Head], seed: int | None) -> dict[str, float]:
    """Lower-cased BLEU on drawn sentences, or on all, and the loss of all."""
    ours, nats = outputs(tuple(removed))
    references = [reference for _, reference in scored_on()]
    rows = [*zip(ours, references, strict=True)]
    found = bleu(rows if seed is None else redrawn(rows, seed))
    return {"bleu": found.score, "brevity": found.bp, "nats": nats}


def run(way: str, share: int, seed: int) -> dict[str, float]:
    """What is left without a share of the heads, and what was there before."""
    number = len(every_head(translator().model)) * share // 100
    removed = chosen(way, number, seed)
    stacks = Counter(stack for stack, _, _ in removed)
    draw = seed if way == "cheapest" else None
    return (
        measured(removed, draw)
        | {f"whole_{name}": x for name, x in measured([], draw).items()}
        | {
            f"from_{name}": stacks[name]
            for name in attentions(translator().model)
        }
    )


KEY = "{way} {share} % seed={seed}"
RUNS = grid(run, KEY, way=["drawn", "alike"], share=SHARES, seed=range(5))
RUNS |= grid(run, KEY, way=["cheapest"], share=SHARES, seed=range(20))
