"""The best learning rate, by the size of the batch.

The small translator reads as much of the built-in corpus in every run, in
many small updates or in few large ones. Of the rates, each twice the one
before, seed 0 finds the best for each batch; three seeds train it and its two
neighbours. A parabola through the three says where the best rate lies between
them, and a line through the best rates how they grow with the batch.
"""

from dataclasses import replace

from annotated_transformer.training import TrainConfig

from .shared.grid import Result, Runs, grid
from .shared.small_translator import BASE, SIZES, corpus, tokenizer
from .shared.small_translator import LEARNING as SHORT
from .shared.training_loops import begun, validated

STEPS = {256: 1200, 1024: 300, 4096: 75}  # updates by tokens of a batch
LEARNING = {
    name: value
    for name, value in SHORT.items()
    if name not in ("steps", "batch_tokens", "warmup", "peak_lr")
}
RECIPE = {
    "model": SIZES,
    "train": LEARNING,
    "vocab_size": 1000,
    "steps": {str(batch): steps for batch, steps in STEPS.items()},
    "warmup": "a fifth of the updates",
}


def recipe_of(steps: int, batch: int, rate: float, seed: int) -> TrainConfig:
    """How a model is trained; batch is the tokens of a batch."""
    return replace(
        BASE.train,
        steps=steps,
        batch_tokens=batch,
        warmup=steps // 5,
        peak_lr=rate,
        seed=seed,
    )


def run(batch: int, rate: float, seed: int) -> Result:
    """Train; the loss of the validation sentences."""
    pieces = tokenizer()
    recipe = recipe_of(STEPS[batch], batch, rate, seed)
    base = replace(BASE, train=recipe)
    model, turns = begun(base, seed, corpus().train, pieces)
    read = sum(update.tokens for update in turns)
    found = validated(model, pieces, corpus().valid, recipe.max_length)
    return {"loss": found.loss, "tokens": read}


TRIED = {  # by seed 0
    256: (1e-3, 2e-3, 4e-3, 8e-3, 1.6e-2),
    1024: (2e-3, 4e-3, 8e-3, 1.6e-2),
    4096: (4e-3, 8e-3, 1.6e-2, 3.2e-2),
}
DECIDING = {  # by the other seeds: the best of the tried and its neighbours
    4096: (8e-3, 1.6e-2, 3.2e-2),
    1024: (4e-3, 8e-3, 1.6e-2),
    256: (4e-3, 8e-3, 1.6e-2),
}
RUNS: Runs = {}
for settings, seeds in ((TRIED, [0]), (DECIDING, [1, 2, 3])):
    for batch, rates in settings.items():
        key = "batch={batch} rate={rate} seed={seed}"
        RUNS |= grid(run, key, batch=[batch], rate=rates, seed=seeds)
