"""More from the same text: pairs that models make, on 4,000 captions.

Two models learn the first 4,000 captions of Multi30k, one in each direction.
They translate what they learned from, and a third model learns from people's
pairs and theirs, with as many updates as one that has people's alone. When
the made sides are dealt out anew among the pairs, they must do harm: the
negative control.
"""

from dataclasses import replace
from functools import cache

from annotated_transformer.data import Pair
from annotated_transformer.translation import Translator

from .low_resource_recipes import (
    BASE,
    LEARNING,
    LONG,
    corpus,
    measured,
    tokenizer,
    trained,
)
from .low_resource_recipes import RECIPE as LITTLE
from .shared.grid import Arguments, Result, grid
from .shared.made_pairs import dealt, other_targets, swapped

NUMBER, BEAM = 3, 8  # what each model adds to a pair, and chooses it from
RECIPE = LITTLE | {
    "train": LEARNING | LONG,
    "number": NUMBER,
    "beam": BEAM,
}


def learn(pairs: list[Pair], seed: int) -> Translator:
    """A model of the pairs, with the pieces of people's text."""
    pieces = tokenizer(BASE.vocab_size)
    train = replace(BASE.train, **LONG, seed=seed)
    return Translator(trained(pairs, pieces, train, BASE.labs)[0], pieces)


@cache
def made(seed: int, sources: bool, beam: int) -> list[Pair]:
    """People's targets with made sources, or their sources with targets."""
    turned = swapped if sources else list
    pairs = turned(corpus().train)
    teacher = learned(seed, sources)
    teacher.beam = beam
    return turned(other_targets(teacher, pairs, NUMBER))


@cache
def learned(seed: int, back: bool) -> Translator:
    """A teacher: a model of people's pairs alone, in either direction."""
    return learn((swapped if back else list)(corpus().train), seed)


def run(
    seed: int,
    sources: bool = True,
    targets: bool = True,
    beam: int = BEAM,
    shuffled: bool = False,
) -> Result:
    """Learn from people's pairs and made ones; losses, and BLEU."""
    extra = [
        pair
        for wanted, side in ((sources, True), (targets, False))
        if wanted
        for pair in made(seed, side, beam)
    ]
    if shuffled:
        extra = dealt(extra)
    people = corpus().train
    # another seed than the teachers', which would else be this model's start
    found = learn(people + extra, seed + 10)
    result = measured(found.model, found.tokenizer, people)
    return {"extra": len(extra)} | result


VARIATIONS: dict[str, Arguments] = {
    "people's alone": {"sources": False, "targets": False},
    "made sources": {"targets": False},
    "made targets": {"sources": False},
    "both": {},
    "both, not chosen": {"beam": NUMBER},
    "both, shuffled": {"shuffled": True},
}
SEEDS = (0, 1, 2)

RUNS = grid(run, "{name} seed={seed}", seed=SEEDS, name=VARIATIONS)
