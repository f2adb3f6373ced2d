"""A smoke test on a GPU: train in bf16, then decode."""

from dataclasses import replace

import pytest
import torch

from annotated_transformer import RECIPES, Translator, corpora, train
from annotated_transformer.batching import ahead
from annotated_transformer.data import make_batch
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


@pytest.mark.gpu
@pytest.mark.skipif(
    not torch.cuda.is_available(), reason="no CUDA device is at hand"
)
def test_batches_come_to_a_gpu_without_waiting():
    """Many, so that memory of the first ones has been given away again."""
    rows = [[([i, n, 2], [n] * n + [2])] * n for i in range(9) for n in (4, 9)]
    made = [make_batch(some) for some in rows]
    busy = torch.randn(2000, 2000, device="cuda")
    moved, sums = ahead(iter(made), "cuda"), []
    torch.cuda.set_sync_debug_mode("error")
    try:
        for batch in moved:
            busy = (busy @ busy).clamp(-1, 1)  # while the next are copied
            sums.append(torch.stack([x.sum() for x in vars(batch).values()]))
    finally:
        torch.cuda.set_sync_debug_mode("default")
    expected = [[int(x.sum()) for x in vars(b).values()] for b in made]
    assert torch.stack(sums).tolist() == expected
