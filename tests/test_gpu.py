"""What only a GPU can show: training in bf16, TF32, waiting and memory."""

import json
from dataclasses import replace
from itertools import cycle

import pytest
import torch

from annotated_transformer import RECIPES, Translator, train
from annotated_transformer.corpora.generated import copy_corpus
from annotated_transformer.data import (
    encode_pairs,
    train_tokenizer,
)
from annotated_transformer.errors import UserError
from annotated_transformer.model import transformer
from annotated_transformer.optimizer import adam
from annotated_transformer.runs import objectives
from annotated_transformer.runs.batches import fixed_batches
from annotated_transformer.runs.devices import allow_tf32
from annotated_transformer.runs.objectives import RDrop
from annotated_transformer.storage.checkpoints import read_metrics
from annotated_transformer.training import batch_loss, updates

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(
        not torch.cuda.is_available(), reason="no CUDA device is at hand"
    ),
]
RECIPE = RECIPES["copy"]
FEW = replace(RECIPE.train, steps=40, checkpoint_every=20)


@pytest.fixture(scope="module")
def corpus():
    return copy_corpus()


def test_the_copy_task_on_a_gpu(corpus, tmp_path):
    output = tmp_path / "model"
    recipe = replace(RECIPE, train=replace(FEW, bf16=True))
    train(output, corpus, recipe, device="cuda")
    first, last = read_metrics(output)
    assert last["valid_loss"] < first["valid_loss"]
    outputs = Translator.load(output, "cuda")(["abc", "", "jihgf"])
    assert len(outputs) == 3 and outputs[1] == ""


def test_train_begins_with_the_name_of_the_gpu(
    command, recipe_options, tmp_path
):
    options = [x for x in recipe_options if x != "--device=cpu"]
    precision = ["--float32", "--tf32", "--max-steps=1"]
    ended = command("train", tmp_path / "model", *options, *precision)
    assert ended.status == 0, ended.err
    first = ended.err.splitlines()[0]
    name = torch.cuda.get_device_name()
    tf32 = torch.cuda.get_device_capability() >= (8, 0)
    precision = "TF32" if tf32 else "float32"
    assert first == f"training on cuda ({name}) in {precision}, 1 process"
    about = json.loads((tmp_path / "model" / "run.json").read_text())
    assert about["recipe"]["tf32"] is True


@pytest.mark.parametrize("bf16", [False, True])
@pytest.mark.parametrize("objective", [batch_loss, RDrop(1.0)])
def test_no_update_waits_for_the_gpu(corpus, bf16, objective):
    """Nothing is read back, so that the next one is prepared meanwhile."""
    config = replace(FEW, bf16=bf16)
    texts = [text for pair in corpus.train for text in pair]
    tokenizer = train_tokenizer(texts, 32, "char")
    examples, _ = encode_pairs(corpus.train[:500], tokenizer, 256)
    batches = fixed_batches(examples, config.batch_tokens)
    sizes = replace(RECIPE.model, vocab_size=len(tokenizer))
    model = transformer(sizes).to("cuda")
    made = updates(
        model,
        cycle([batch.to("cuda") for batch in batches]),
        adam(model.parameters()),
        config,
        sizes.d_model,
        objective=objective,
    )
    next(made)  # kernels are loaded, moments allocated
    torch.cuda.set_sync_debug_mode("error")
    try:
        found = [next(made) for _ in range(5)]
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert all(0 < float(update.loss) < 10 for update in found)


def test_an_absurd_batch_is_refused(corpus, tmp_path):
    absurd = replace(FEW, batch_tokens=1_000_000)
    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction(0.01)
    told = r"out of memory after update \d+ .CUDA out of memory"
    try:
        with pytest.raises(UserError, match=told) as caught:
            train(
                tmp_path / "model",
                corpus,
                replace(RECIPE, train=absurd),
                device="cuda",
            )
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
        torch.cuda.empty_cache()
    for way in (
        "`batch_tokens`",
        "`accumulation_steps`",
        "`bf16=True`",
        "smaller",
    ):
        assert way in str(caught.value)


def test_tf32_is_off_unless_asked_for_and_restored(
    corpus, tmp_path, monkeypatch
):
    plain, seen = objectives.batch_loss, []

    def loss(*words):
        seen.append(torch.get_float32_matmul_precision())
        return plain(*words)

    monkeypatch.setattr(objectives, "batch_loss", loss)
    few = replace(FEW, steps=2, checkpoint_every=2)
    before = torch.get_float32_matmul_precision()
    for tf32, expected in ((False, {"highest"}), (True, {"high"})):
        seen.clear()
        recipe = replace(RECIPE, train=few, tf32=tf32)
        train(tmp_path / str(tf32), corpus, recipe, device="cuda")
        assert set(seen) == expected
        assert torch.get_float32_matmul_precision() == before


@pytest.mark.skipif(
    torch.cuda.is_available() and torch.cuda.get_device_capability() < (8, 0),
    reason="this GPU has no TF32",
)
def test_tf32_keeps_ten_bits():
    a, b = torch.rand(2, 512, 512, device="cuda")
    right = a.double() @ b.double()
    errors = {}
    for allowed in (False, True):
        with allow_tf32(a.device, allowed):
            errors[allowed] = ((a @ b) / right - 1).abs().max().item()
    assert errors[False] < 2**-18
    assert 2**-18 < errors[True] < 2**-10
