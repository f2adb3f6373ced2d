"""Groups made of trained heads: by their mean, by the first, or newly drawn.

The shipped model of pronouns, which has four sets of keys and values in each
attention, goes on with two or with one, in 100 updates of the text that it
has learned from. "all heads" keeps the four and makes the same updates. The
loss of validation text is measured before the first update and after the last.
"""

import copy
from dataclasses import replace

import torch
from torch import Tensor

from annotated_transformer.adapting import group_heads, mean_head
from annotated_transformer.model import Transformer
from annotated_transformer.training import TrainConfig

from .pronoun_resolution import corpus  # which the model has learned from
from .shared.grid import Arguments, Result, grid
from .shared.settings import Learning
from .shared.shipped_translator import translator, weights
from .shared.training_loops import make_updates, validated

SEEDS = (0, 1, 2)
MODEL = "pronouns"
LEARNING: Learning = {
    "steps": 100,
    "batch_tokens": 1024,
    "schedule": "linear",
    "warmup": 10,
    "peak_lr": 1e-3,
    "label_smoothing": 0.0,
    "clip": 1.0,
}
RECIPE = {"model": MODEL, "weights": weights(MODEL), "train": LEARNING}


def drawn(heads: Tensor) -> Tensor:
    """New numbers, as large as those of the heads."""
    return torch.randn_like(heads[:, 0]) * heads.std()


POOLS = {
    "mean": mean_head,
    "first": lambda heads: heads[:, 0],
    "drawn": drawn,
}
WAYS: dict[str, Arguments] = {
    "all heads": {},
    "2 groups, mean": {"groups": 2, "pool": "mean"},
    "1 group, mean": {"groups": 1, "pool": "mean"},
    "1 group, first": {"groups": 1, "pool": "first"},
    "1 group, drawn": {"groups": 1, "pool": "drawn"},
}


def run(seed: int, groups: int = 0, pool: str = "") -> Result:
    """Group the heads in one way, and go on; the loss before and after."""
    torch.manual_seed(seed)
    model = copy.deepcopy(translator(MODEL).model)
    if groups:
        assert isinstance(model, Transformer)
        model = group_heads(model, groups, POOLS[pool])
    pieces, longest = translator(MODEL).tokenizer, 64
    to_validate = pieces, corpus().valid, longest
    before = validated(model, *to_validate).loss
    config = replace(TrainConfig(**LEARNING), seed=seed, max_length=longest)
    make_updates(corpus().train, pieces, model, config)
    return {"before": before, "after": validated(model, *to_validate).loss}


RUNS = grid(run, "{way} seed={seed}", seed=SEEDS, way=WAYS)
