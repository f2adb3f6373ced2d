"""Going in circles: no n tokens in a row twice, and what that costs.

The shipped models translate Multi30k's texts while the search forbids n-grams
of some length to come again; 0 forbids nothing. A seed draws sentences of each
text, as many as there are, with replacement: the same ones for all n, so that
their differences can be told from chance. Outputs that go in circles, which
say up to four tokens at least three times in a row, are counted in all texts
as they are. So are people's captions that say the same n words twice.
"""

from functools import cache
from statistics import fmean

from .shared.grid import Result, grid
from .shared.shipped_translator import (
    corpus,
    drawn,
    texts,
    translator,
    weights,
)

MODELS = {"de": "multi30k-en-de", "en": "multi30k-de-en"}  # by what they write
LENGTHS = (0, 1, 2, 3, 4, 6)
SEEDS = range(20)
RECIPE = {
    "weights": {name: weights(name) for name in MODELS.values()},
    "beam": 5,
    "alpha": 0.6,
}


@cache
def outputs(target: str, n: int) -> dict[str, list[str]]:
    """What the model that writes a language makes of each text."""
    search = {"beam": RECIPE["beam"], "alpha": RECIPE["alpha"]}
    model = translator(MODELS[target])
    return {
        name: model([text for text, _ in pairs], no_repeat=n, **search)
        for name, pairs in texts(target).items()
    }


def circles(tokens: list[int], longest: int = 4, times: int = 3) -> bool:
    """Whether a few tokens are said so many times in a row."""
    return any(
        tokens[i : i + times * size] == times * tokens[i : i + size]
        for size in range(1, longest + 1)
        for i in range(len(tokens) - times * size + 1)
    )


@cache
def circling(target: str, n: int) -> int:
    """How many of all outputs go in circles."""
    encode = translator(MODELS[target]).tokenizer.encode
    every = outputs(target, n).values()
    return sum(circles(encode(text)) for texts in every for text in texts)


@cache
def said_twice(target: str, n: int) -> float:
    """The share of people's captions that have the same n words twice."""
    return fmean(
        len({*runs}) < len(runs)
        for _, text in corpus(target).train
        for words in [text.lower().split()]
        for runs in [[*zip(*(words[i:] for i in range(n)), strict=False)]]
    )


def run(target: str, n: int, seed: int) -> Result:
    """Lower-cased BLEU on drawn sentences of each text, and the counts."""
    found: Result = {"circling": circling(target, n)}
    if n:
        found["said twice"] = said_twice(target, n)
    for name, pairs in texts(target).items():
        found[f"{name}_bleu"] = drawn(
            outputs(target, n)[name], pairs, seed
        ).score
    return found


RUNS = grid(
    run,
    "into {target} n={n} seed={seed}",
    target=[*MODELS],
    n=LENGTHS,
    seed=SEEDS,
)
