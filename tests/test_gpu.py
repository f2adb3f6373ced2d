"""On a GPU: train in bf16, then decode; and an update waits for nothing."""

from dataclasses import replace

import pytest
import torch

from annotated_transformer import RECIPES, Translator, corpora, train
from annotated_transformer.data import make_batch
from annotated_transformer.model import PRESETS, Transformer
from annotated_transformer.optimizer import adam
from annotated_transformer.records import read_metrics
from annotated_transformer.training import TrainConfig, updates


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


@pytest.mark.gpu
@pytest.mark.skipif(
    not torch.cuda.is_available(), reason="no CUDA device is at hand"
)
@pytest.mark.parametrize("bf16", [False, True])
@pytest.mark.parametrize("change", [{}, {"r_drop": 1.0}, {"accumulate": 2}])
def test_an_update_does_not_wait_for_the_gpu(bf16, change):
    """PyTorch itself raises an error where a program would wait."""
    sizes = replace(PRESETS["tiny"], vocab_size=1000)
    model = Transformer(sizes).to("cuda")
    rows = [list(range(4, 20 - i % 5)) for i in range(30)]
    batch = make_batch([(row, row) for row in rows]).to("cuda")
    config = TrainConfig(warmup=10, bf16=bf16, **change)
    batches = (batch for _ in range(20))
    turns = updates(model, batches, adam(model.parameters()), config, 128)
    next(turns), next(turns)
    torch.cuda.set_sync_debug_mode("error")
    try:
        seen = next(turns), next(turns)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert all(0 < float(update.loss) < 20 for update in seen)
    for update in seen:
        loss, norm = update.copies.read()
        assert (loss, norm) == (float(update.loss), float(update.norm))
