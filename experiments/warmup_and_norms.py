"""Whether a deep model needs a warm-up, by where its norms stand.

Six layers a side learn the built-in corpus, with the norm after each sum, as
published, or before each sub-layer; the rate rises over two hundred updates,
or is full at the first. The control is the norm before the sub-layer, which
should hardly notice.
"""

from collections.abc import Callable
from functools import partial
from statistics import fmean

import torch

from annotated_transformer.data import encode_pairs
from annotated_transformer.model import ModelConfig, transformer
from annotated_transformer.training import TrainConfig

from .shared.small_translator import corpus, tokenizer
from .shared.training_loops import updates_on

SIZES = {
    "layers": 6,
    "d_model": 64,
    "d_ff": 128,
    "heads": 4,
    "dropout": 0.0,
}
LEARNING = {
    "steps": 400,
    "batch_tokens": 512,
    "schedule": "linear",
    "peak_rate": 3e-3,
    "label_smoothing": 0.0,
    "max_length": 64,
}
LAST = 50  # updates whose mean loss is the result
RECIPE = {"model": SIZES, "train": LEARNING, "vocab_size": 1000, "last": LAST}


def run(pre_norm: bool, warmup: int, seed: int) -> dict:
    """Train; the mean loss of the last updates, each on new text."""
    pieces = tokenizer()
    recipe = TrainConfig(warmup=warmup, seed=seed, **LEARNING)
    examples, _ = encode_pairs(corpus().train, pieces, recipe.max_length)
    torch.manual_seed(seed)
    config = ModelConfig(len(pieces), pre_norm=pre_norm, **SIZES)
    model = transformer(config)
    losses = [
        update.loss.item()
        for update in updates_on(examples, model, recipe, config.d_model)
    ]
    return {
        "loss": fmean(losses[-LAST:]),
        "curve": [
            round(fmean(losses[i : i + 10]), 3)
            for i in range(0, recipe.steps, 10)
        ],
    }


RUNS: dict[str, Callable[[], dict]] = {
    f"norm={name} warmup={warmup} seed={seed}": partial(
        run, pre_norm=name == "before", warmup=warmup, seed=seed
    )
    for name in ("after", "before")
    for warmup in (1, 200)
    for seed in (0, 1)
}
