"""What an update costs a GPU, counted on a CPU; and the counter itself."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from operations import counted

from annotated_transformer.data import make_batch
from annotated_transformer.model import PRESETS, transformer
from annotated_transformer.modern import MODERN
from annotated_transformer.optimizer import make_optimizer
from annotated_transformer.runs.objectives import RDrop
from annotated_transformer.training import (
    TrainConfig,
    batch_loss,
    updates,
    validate,
)

X = torch.randn(4, 6)
SEEN = X > 0


@pytest.mark.parametrize(
    ("block", "waits"),
    [
        (lambda: X.sum().item(), 1),
        (lambda: X.tolist(), 1),
        (lambda: X.clone().to("cpu").numpy(), 1),
        (lambda: X[SEEN], 1),
        (lambda: X.clone().__setitem__(SEEN, X[0, 0]), 1),
        (lambda: torch.equal(X, X), 1),
        (lambda: torch.tensor([1.0, 2.0]), 1),
        (lambda: torch.empty(4, 6, device="meta").copy_(X), 1),
        (lambda: X.repeat_interleave(torch.arange(4), 0), 1),
        (lambda: X[:, torch.arange(3)], 0),
        (lambda: X.to("meta", non_blocking=True), 0),
        (lambda: X.sum().to("cpu", non_blocking=True).tolist(), 0),
        (lambda: X.repeat_interleave(2, 0), 0),
    ],
)
def test_synchronisations_are_seen(block, waits):
    for mode in (torch.enable_grad, torch.inference_mode):
        with mode(), counted() as seen:
            block()
        assert seen.waits.total() == waits, seen


# as many layers as the preset has, but narrow: the widths cost no calls
TINY = replace(PRESETS["tiny"], vocab_size=50, d_model=32, d_ff=32)
CONFIG = TrainConfig(warmup=10)


def batch_of(sentences, length=12):
    """Sentences of unlike lengths, up to the given one."""
    rows = [4 + torch.arange(length - i % 5) for i in range(sentences)]
    return make_batch([(row.tolist(), row.tolist()[::-1]) for row in rows])


def an_update(model, batch, config, objective):
    """What an update is seen to do; the first makes the moments."""
    batches = (batch for _ in range(99))
    optimizer = make_optimizer(model, config.optimizer)
    turns = updates(
        model, batches, optimizer, config, TINY.d_model, objective=objective
    )
    with counted():
        next(turns), next(turns)
    with counted() as seen:
        next(turns)
    return seen


@pytest.mark.parametrize(
    ("objective", "change", "most"),
    [
        (batch_loss, {}, 540),
        (batch_loss, {"bf16": True}, 635),
        (batch_loss, {"bf16": True, "accumulation_steps": 2}, 1420),
        (RDrop(1.0), {"clip": 0.1, "schedule": "linear"}, 600),
        (batch_loss, {"optimizer": "muon"}, 1800),
    ],
)
def test_operations_of_an_update(objective, change, most):
    """As many for one sentence as for forty; and none waits."""
    config = replace(CONFIG, **change)
    seen = an_update(transformer(TINY), batch_of(40), config, objective)
    assert 300 < seen.calls.total() <= most, seen
    again = an_update(transformer(TINY), batch_of(1, 20), config, objective)
    assert again.calls == seen.calls
    assert not seen.waits, seen


def modern(config, **parts):
    """A model of these sizes with parts of today."""
    return transformer(replace(config, **{**MODERN, **parts}))


MODELS = {
    "tiny": transformer,
    "rotary": lambda c: modern(c, kv_heads=2),
    "biased": lambda c: modern(c, positions="alibi"),
}


@pytest.mark.parametrize("name", MODELS)
def test_nothing_crosses_to_the_device(name):
    """Forward, loss and backward where tensors have no numbers at all."""
    with torch.device("meta"):
        model = MODELS[name](TINY)
    batch = batch_of(5).to("meta")
    model(batch.source, batch.inputs)  # makes the tables of positions
    with counted() as seen:
        for objective in (batch_loss, RDrop(1.0)):
            loss = objective(model, batch, CONFIG)
            loss.backward()
    assert loss.is_meta and loss.shape == ()
    assert all(weight.grad.is_meta for weight in model.parameters())
    assert not seen.waits, seen
    assert seen.calls.total() > 300


def test_a_validation_waits_twice():
    """For its loss and for its hits, however many batches there are."""
    batches = [batch_of(n) for n in (1, 5, 3)]
    with counted() as seen:
        validate(transformer(TINY), batches)
    assert seen.waits == {"tolist": 2}


def test_lengths_are_not_compiled_anew():
    program = Path(__file__).with_name("support") / "compiling.py"
    ended = subprocess.run([sys.executable, program], capture_output=True)
    assert ended.returncode == 0, ended.stderr.decode()
