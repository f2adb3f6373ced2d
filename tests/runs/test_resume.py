"""Stopped and resumed, a run of any kind ends like one that never was.

Kills at any instant, signals, full disks and damaged files are in
test_faults.py.
"""

from dataclasses import dataclass, replace

import pytest
import torch
from own_parts import BUILDS, TOKENIZER, Letters, Lower, sharper
from small_runs import (
    CORPUS,
    MUON,
    SMALL,
    curve,
    learning,
    same_weights,
    shrunk,
)
from tiny_models import PAIRED, TINY

from annotated_transformer.corpora.corpus import Extra
from annotated_transformer.corpora.running_text import RunningText
from annotated_transformer.runs.recipes import RECIPES, Recipe
from annotated_transformer.runs.run import Run
from annotated_transformer.runs.start import Start
from annotated_transformer.runs.train import train
from annotated_transformer.training import TrainConfig
from annotated_transformer.translation import Translator
from annotated_transformer.writing import LanguageModelConfig, Writer


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
# The recipe of each kind, and what it starts with: made anew for each call,
# so a model of one's own begins with other weights each time.
KINDS = {
    **{
        name: (Recipe(TINY[name], SMALL.train, tokenizer="char"), Start)
        for name in PAIRED
    },
    **{
        build.__name__: (
            SMALL,
            lambda build=build: Start(model=build(), tokenizer=TOKENIZER),
        )
        for build in BUILDS
    },
    "letters": (SMALL, lambda: Start(tokenizer=Letters())),
    "lower": (SMALL, lambda: Start(tokenizer=Lower(TOKENIZER.model))),
    "own rate": (replace(SMALL, train=Steps(**vars(SMALL.train))), Start),
    "dropout": (learning(BPE, bpe_dropout=0.3, r_drop=2.0), Start),
    "accumulated": (
        learning(BPE, accumulation_steps=2, noise=1.0, bpe_dropout=0.2),
        Start,
    ),
    "bf16": (learning(SMALL, bf16=True, seed=2**32 - 1), Start),
    "adamw": (learning(SMALL, optimizer="adamw", weight_decay=0.1), Start),
    "muon": (MUON, Start),
    "muon, bf16": (learning(MUON, bf16=True, accumulation_steps=2), Start),
    "muon, own parts": (
        MUON,
        lambda: Start(model=sharper(), tokenizer=TOKENIZER),
    ),
    "running text": (WRITES, Start),
    "plays": (shrunk(RECIPES["plays"]), Start),
    "multi30k": (shrunk(RECIPES["multi30k"], "vocab_size=30"), Start),
    "start": (BPE, lambda: Start("parent")),
    "adapters": (learning(BPE, adapters=2), lambda: Start("parent")),
    "adapters, muon, bf16": (
        learning(BPE, **vars(MUON.train) | {"bf16": True}, adapters=1),
        lambda: Start("parent"),
    ),
    "new subwords": (BPE, lambda: Start("parent", new_subwords=True)),
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
    recipe, begin = KINDS[kind]
    corpus, use = SHARED, Translator
    if isinstance(recipe.model, LanguageModelConfig):
        corpus, use = RunningText.from_files([__file__]), Writer

    def go(name, **options):
        torch.manual_seed(len(options))  # of weights that are passed
        path = tmp_path / name
        return train(path, corpus, recipe, begin(), device="cpu", **options)

    whole = go("whole")
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(Run, "go", killed)
        go("part")
    go("part", resume=True, max_minutes=0.0)
    part = go("part", resume=True)
    assert same_weights(part, whole)
    lines = curve(part)
    start = begin()
    first = [0] * start.fine_tunes  # validated before it learns
    assert lines == curve(whole)
    assert [x["step"] for x in lines] == [*first, 2, 4, 6]
    used = use.load(part, model=start.model, tokenizer=start.tokenizer)
    assert len(used(["abc", "jihg"])) == 2
