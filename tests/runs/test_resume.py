"""Stopped and resumed, a run of any kind ends like one that never was.

Kills at any instant, signals, full disks and damaged files are in
test_faults.py.
"""

from dataclasses import dataclass, replace

import pytest
import torch
from own_parts import BUILDS, TOKENIZER, Letters, Lower, sharper
from small_runs import CORPUS, MUON, SMALL, learning, same_weights
from tiny_models import PAIRED, TINY

from annotated_transformer.corpora.corpus import Extra
from annotated_transformer.corpora.running_text import RunningText
from annotated_transformer.runs.recipes import Recipe
from annotated_transformer.runs.run import Run, train
from annotated_transformer.storage.checkpoints import read_metrics
from annotated_transformer.training import TrainConfig
from annotated_transformer.translation import Translator
from annotated_transformer.writing import Writer


@dataclass(frozen=True)
class Steps(TrainConfig):
    """A training whose rate falls in steps, as no schedule here does."""

    factor: float = 0.5

    def rate(self, step, d_model):
        return 0.01 * self.factor ** (step // 2)


SHARED = replace(CORPUS, extras=(Extra("more", 20, 0.5),))
WRITES = replace(
    SMALL,
    model=TINY["LanguageModel"],
    normalize=False,
    tokenizer="bpe",
    vocab_size=120,
)
BPE = replace(SMALL, tokenizer="bpe", vocab_size=30)
# The recipe of each kind, and what else is passed to `train`: made anew for
# each call, so a model of one's own begins with other weights each time.
KINDS = {
    **{
        name: (Recipe(TINY[name], SMALL.train, tokenizer="char"), dict)
        for name in PAIRED
    },
    **{
        build.__name__: (
            SMALL,
            lambda build=build: {"model": build(), "tokenizer": TOKENIZER},
        )
        for build in BUILDS
    },
    "letters": (SMALL, lambda: {"tokenizer": Letters()}),
    "lower": (SMALL, lambda: {"tokenizer": Lower(TOKENIZER.model)}),
    "own rate": (replace(SMALL, train=Steps(**vars(SMALL.train))), dict),
    "dropout": (learning(BPE, bpe_dropout=0.3, r_drop=2.0), dict),
    "accumulated": (
        learning(BPE, accumulation_steps=2, noise=1.0, bpe_dropout=0.2),
        dict,
    ),
    "bf16": (learning(SMALL, bf16=True, seed=2**32 - 1), dict),
    "adamw": (learning(SMALL, optimizer="adamw", weight_decay=0.1), dict),
    "muon": (MUON, dict),
    "muon, bf16": (learning(MUON, bf16=True, accumulation_steps=2), dict),
    "muon, own parts": (
        MUON,
        lambda: {"model": sharper(), "tokenizer": TOKENIZER},
    ),
    "running text": (
        WRITES,
        lambda: {"corpus": RunningText.from_files([__file__])},
    ),
    "start": (BPE, lambda: {"start": "parent"}),
    "adapters": (learning(BPE, adapters=2), lambda: {"start": "parent"}),
    "adapters, muon, bf16": (
        learning(BPE, **vars(MUON.train) | {"bf16": True}, adapters=1),
        lambda: {"start": "parent"},
    ),
    "patience": (learning(SMALL, patience=2), dict),
    "new subwords": (BPE, lambda: {"start": "parent", "new_subwords": True}),
}


class Killed(BaseException):
    pass


def killed(run, *words):
    raise Killed


@pytest.fixture(scope="module")
def parent(tmp_path_factory):
    """The folder of a folder with a model, from which others start."""
    folder = tmp_path_factory.mktemp("parent")
    recipe = replace(BPE, vocab_size=28)
    return train(folder / "parent", CORPUS, recipe, device="cpu").parent


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_ends_as_if_nothing_had_happened(
    kind, parent, tmp_path, monkeypatch
):
    """Killed before its first update, then told to stop after it.

    Its model is loaded and used.
    """
    monkeypatch.chdir(parent)
    recipe, given = KINDS[kind]

    def go(name, **options):
        torch.manual_seed(len(options))  # of weights that are passed
        options |= given()
        path, corpus = tmp_path / name, options.pop("corpus", SHARED)
        return train(path, corpus, recipe, device="cpu", **options)

    whole = go("whole")
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(Run, "go", killed)
        go("part")
    go("part", resume=True, max_minutes=0.0)
    part = go("part", resume=True)
    assert same_weights(part, whole)
    lines = [
        [{**line, "seconds": 0} for line in read_metrics(folder)]
        for folder in (part, whole)
    ]
    first = [0] * ("start" in given())  # a fine-tuning's first validation
    first *= "new_subwords" not in given()
    assert lines[0] == lines[1]
    assert [x["step"] for x in lines[0]] == [*first, 2, 4, 6]
    passed = {x: y for x, y in given().items() if x in ("model", "tokenizer")}
    use = Writer if kind == "running text" else Translator
    assert len(use.load(part, **passed)(["abc", "jihg"])) == 2
