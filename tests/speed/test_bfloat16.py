"""Slow bfloat16 is told."""

import time

import pytest
import torch

from annotated_transformer.corpora.corpus import Corpus
from annotated_transformer.data import copy_task
from annotated_transformer.model import ModelConfig
from annotated_transformer.runs import run
from annotated_transformer.runs.recipes import Recipe
from annotated_transformer.speed.bfloat16 import bf16_slowdown
from annotated_transformer.training import TrainConfig


@pytest.fixture
def told(tmp_path, capsys):
    """Train for two updates, in bfloat16 or not: what the console says."""
    pairs = copy_task(60)
    corpus = Corpus(pairs[10:], pairs[:10], {}, "copy", "xx", "xx", {})

    def train(bf16):
        recipe = Recipe(
            ModelConfig(layers=1, d_model=8, d_ff=8, heads=2),
            TrainConfig(
                steps=2, warmup=1, batch_tokens=200, average=1, bf16=bf16
            ),
            tokenizer="char",
        )
        run.train(tmp_path / "run", corpus, recipe, device="cpu")
        return " ".join(capsys.readouterr().err.split())

    return train


SLOW = "`bf16=True` is slow on this processor"


@pytest.mark.parametrize(
    ("bf16", "factor", "warns"),
    [(True, 7.94, True), (True, 0.5, False), (False, 7.94, False)],
)
def test_slow_bfloat16_is_told(told, monkeypatch, bf16, factor, warns):
    monkeypatch.setattr(run, "bf16_slowdown", lambda fast: factor)
    said = told(bf16)
    assert (SLOW in said) == warns
    assert ("products took 7.9 times as long" in said) == warns


@pytest.mark.skipif(
    not torch.backends.mkldnn.is_available()
    or torch.ops.mkldnn._is_mkldnn_bf16_supported(),
    reason="only a processor without bfloat16",
)
def test_bfloat16_that_is_not_here_is_told(told):
    """On other processors `make test` runs it with ONEDNN_MAX_CPU_ISA."""
    began = time.process_time()
    assert bf16_slowdown() > 1
    assert time.process_time() - began < 1
    assert SLOW in told(bf16=True)
