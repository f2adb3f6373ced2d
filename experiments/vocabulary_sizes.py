"""How many pieces: shared vocabularies of 500 to 16,000 on real captions.

The small model of the captions, with as many updates of as many tokens for
every vocabulary. Where pieces are longer it reads the text more often, so one
of the vocabularies also gets the updates to read as much as a larger one.
Perplexities of different pieces cannot be compared, hence the loss of a whole
sentence. Characters are the negative control.
"""

import math
from dataclasses import replace
from functools import cache, partial
from statistics import fmean
from typing import Any

from annotated_transformer.data import Tokenizer, bucket, encode_pairs
from annotated_transformer.runs.prepare import learn_tokenizer

from .shared.grid import Result, grid
from .shared.settings import Learning
from .shared.small_translator import SIZES
from .table3_captions import BASE, corpus, train
from .table3_captions import LEARNING as CAPTIONS

SEEDS = (0, 1)
AS_OFTEN = 1880  # updates: 2,000 pieces read as often as 8,000 in the 1,500
LONGEST = 512  # tokens, so that no sentence of characters is left out
KINDS: dict[str, dict[str, Any]] = {  # fields of a Recipe
    "characters": {"tokenizer": "char"},
    **{
        f"{size} pieces": {"vocab_size": size}
        for size in (500, 1000, 2000, 4000, 8000, 16000)
    },
}
LEARNING: Learning = {**CAPTIONS, "max_length": LONGEST}
RECIPE = {"model": SIZES, "train": LEARNING}


@cache
def tokenizer(kind: str) -> Tokenizer:
    """The pieces, learned from both sides of the training text."""
    return learn_tokenizer(corpus(), replace(BASE, **KINDS[kind]))


def run(kind: str, seed: int, steps: int = BASE.train.steps) -> Result:
    """Train with these pieces; the loss and BLEU of what they write."""
    pieces, text = tokenizer(kind), corpus()
    learning: Learning = {"steps": steps, "max_length": LONGEST}
    recipe = replace(BASE.train, **learning)
    found = train(seed, pieces, learning=learning)
    examples, _ = encode_pairs(text.train, pieces, recipe.max_length)
    lengths = [(len(source), len(target)) for source, target in examples]
    german = [len(pieces.encode(german)) for _, german in text.valid]
    return {
        "pieces": len(pieces),
        "pieces a sentence": fmean(german),
        "passes": recipe.steps / len(bucket(lengths, recipe.batch_tokens)),
        "nats a sentence": math.log(found["perplexity"]) * fmean(german),
        **found,
    }


RUNS = grid(run, "{kind} seed={seed}", seed=SEEDS, kind=[*KINDS]) | grid(
    partial(run, kind="2000 pieces", steps=AS_OFTEN),
    "2000 pieces, as often seed={seed}",
    seed=SEEDS,
)
