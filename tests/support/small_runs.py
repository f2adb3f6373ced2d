"""A training of a second: its text and its recipe; and how runs compare."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from annotated_transformer.corpora.corpus import Corpus
from annotated_transformer.data import copy_task
from annotated_transformer.model import ModelConfig
from annotated_transformer.runs.recipes import Recipe
from annotated_transformer.storage.checkpoints import read_metrics
from annotated_transformer.storage.weight_files import read_tensors
from annotated_transformer.training import TrainConfig

PAIRS = copy_task(60)
SUMS = {"train": "1", "valid": "2"}
CORPUS = Corpus(PAIRS[10:], PAIRS[:10], {}, "copy", "xx", "xx", SUMS)
SMALL = Recipe(
    ModelConfig(layers=1, d_model=8, d_ff=8, heads=2, pre_norm=True),
    TrainConfig(
        steps=6, batch_tokens=200, warmup=2, checkpoint_every=2, average=2
    ),
    tokenizer="char",
)


def learning(recipe: Recipe, **given: Any) -> Recipe:
    """The recipe with other fields of its TrainConfig or its LabConfig."""
    labs = {x: given.pop(x) for x in vars(recipe.labs) if x in given}
    return replace(
        recipe,
        train=replace(recipe.train, **given),
        labs=replace(recipe.labs, **labs),
    )


MUON = learning(
    SMALL, optimizer="muon", weight_decay=0.1, schedule="stable", decay=0.5
)


FEW = (
    *("model.layers=1", "model.d_model=8", "model.d_ff=8", "model.heads=2"),
    *("train.steps=6", "train.batch_tokens=200", "train.warmup=2"),
    *("train.checkpoint_every=2", "train.average=2"),
)


def shrunk(recipe: Recipe, *settings: str) -> Recipe:
    """A known recipe with its parts and its optimizer, for a small model."""
    return recipe.with_fields([*FEW, *settings])


def curve(folder: Path) -> list[dict[str, Any]]:
    """What a run has measured, but for the seconds that it took."""
    return [{**line, "seconds": 0} for line in read_metrics(folder)]


def same_weights(one: Path, other: Path) -> bool:
    """True if two folders hold the same model, bit for bit."""
    tensors, others = (
        read_tensors(folder / "model.safetensors")[0]
        for folder in (one, other)
    )
    return tensors.keys() == others.keys() and all(
        torch.equal(tensors[name], others[name]) for name in tensors
    )
