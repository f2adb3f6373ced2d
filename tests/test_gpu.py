"""A smoke test on a GPU: train in bf16, then decode."""

from dataclasses import replace

import pytest
import torch

from annotated_transformer import RECIPES, Translator, corpora, train
from annotated_transformer.records import read_metrics


@pytest.mark.gpu
@pytest.mark.skipif(
    not torch.cuda.is_available(), reason="no CUDA device is at hand"
)
def test_the_copy_task_on_a_gpu(tmp_path):
    recipe = RECIPES["copy"]
    few = replace(recipe.train, steps=40, checkpoint_every=20, bf16=True)
    corpus = corpora.copying()
    output = tmp_path / "model"
    train(output, corpus, replace(recipe, train=few), device="cuda")
    first, last = read_metrics(output)
    assert last["valid_loss"] < first["valid_loss"]
    outputs = Translator.load(output, "cuda")(["abc", "", "jihgf"])
    assert len(outputs) == 3 and outputs[1] == ""
