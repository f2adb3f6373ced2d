"""Batches of 512 tokens and of 2,048, each at its best learning rate.

The small model of `low_resource_recipes` reads the same 4,000 captions
thirteen times, in 2,000 small updates or in 500 of four times the size. Of
the rates, each twice the one before, seed 0 finds the best for each size;
three other seeds train at it.
"""

from .low_resource_recipes import BASE, corpus, tokenizer, trained
from .low_resource_recipes import RECIPE as CAPTIONS
from .rate_and_batch import LEARNING, recipe_of
from .shared.grid import Result, Runs, grid
from .shared.training_loops import greedy_bleu

STEPS = {512: 2000, 2048: 500}  # updates by tokens of a batch
RECIPE = CAPTIONS | {
    "train": LEARNING,
    "steps": {str(batch): steps for batch, steps in STEPS.items()},
    "warmup": "a fifth of the updates",
}


def run(batch: int, rate: float, seed: int) -> Result:
    """Train; BLEU of the validation captions."""
    pieces, text = tokenizer(BASE.vocab_size), corpus()
    recipe = recipe_of(STEPS[batch], batch, rate, seed)
    model, _ = trained(text.train, pieces, recipe, BASE.labs)
    return {"bleu": greedy_bleu(model, pieces, text.valid)}


TRIED = {512: (3e-3, 6e-3, 1.2e-2), 2048: (6e-3, 1.2e-2, 2.4e-2)}  # by seed 0
BEST = {512: (6e-3,), 2048: (1.2e-2,)}  # of these, tried by the others
RUNS: Runs = {}
for settings, seeds in ((TRIED, [0]), (BEST, [1, 2, 3])):
    for batch, rates in settings.items():
        key = "batch={batch} rate={rate} seed={seed}"
        RUNS |= grid(run, key, batch=[batch], rate=rates, seed=seeds)
