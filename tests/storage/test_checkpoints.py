"""Checkpoints: exact, whole or refused."""

import math
from unittest import mock

import pytest
import torch
from safetensors.torch import save_file

from annotated_transformer.data import copy_task, train_tokenizer
from annotated_transformer.errors import UserError
from annotated_transformer.model import ModelConfig, transformer
from annotated_transformer.optimizer import adam
from annotated_transformer.storage import weight_files
from annotated_transformer.storage.checkpoints import (
    checkpoint_weights,
    load_checkpoint,
    save_checkpoint,
)
from annotated_transformer.storage.weight_files import read_tensors, weights


@pytest.fixture(scope="module")
def tokenizer():
    lines = [source for source, _ in copy_task(50)]
    return train_tokenizer(lines, 32, "char")


def small(tokenizer, **sizes):
    numbers = {"layers": 1, "d_model": 8, "d_ff": 8, "heads": 2, **sizes}
    return transformer(ModelConfig(vocab_size=len(tokenizer), **numbers))


def steps(model, optimizer, count):
    """Some updates of a made-up loss; Adam's moments grow."""
    for step in range(count):
        for group in optimizer.param_groups:
            group["lr"] = 0.01
        loss = sum((p - step).square().sum() for p in model.parameters())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


@pytest.mark.parametrize("tied", [True, False])
def test_training_goes_on_exactly(tmp_path, tokenizer, tied):
    model = small(tokenizer, tied=tied)
    optimizer = adam(model.parameters())
    steps(model, optimizer, 3)
    save_checkpoint(tmp_path / "c", model, optimizer, 3)
    other = small(tokenizer, tied=tied)
    other_optimizer = adam(other.parameters())
    assert load_checkpoint(tmp_path / "c", other, other_optimizer) == 3
    steps(model, optimizer, 2)
    steps(other, other_optimizer, 2)
    for one, two in zip(model.parameters(), other.parameters(), strict=True):
        assert torch.equal(one, two)


def test_a_checkpoint_is_three_times_its_weights(tmp_path, tokenizer):
    model = small(tokenizer)
    optimizer = adam(model.parameters())
    steps(model, optimizer, 1)
    save_checkpoint(tmp_path / "c", model, optimizer, 1)
    tensors, notes = read_tensors(tmp_path / "c")
    assert len(tensors) == 3 * len(list(model.parameters()))
    assert notes.keys() == {"step"} and notes["step"].startswith("1 ")
    found = checkpoint_weights(tmp_path / "c")
    assert found.keys() == weights(model).keys()


def test_files_that_are_no_checkpoints(tmp_path, tokenizer):
    model = small(tokenizer)
    path = tmp_path / "c"
    with pytest.raises(UserError, match="no such file"):
        checkpoint_weights(path)
    path.write_bytes(b"not tensors")
    with pytest.raises(UserError, match="not a whole safetensors file"):
        checkpoint_weights(path)
    save_file(weights(model), path)
    with pytest.raises(UserError, match="not a checkpoint"):
        checkpoint_weights(path)
    with pytest.raises(UserError, match="not a checkpoint"):
        load_checkpoint(path, model, adam(model.parameters()))


@pytest.mark.parametrize(
    "error",
    [
        MemoryError("Cannot allocate memory (os error 12)"),
        RuntimeError("unable to mmap 99 bytes: Cannot allocate memory (12)"),
    ],
)
def test_too_little_memory_is_no_damage(
    tmp_path, tokenizer, monkeypatch, error
):
    path = tmp_path / "c"
    save_file(weights(small(tokenizer)), path)
    broken = mock.Mock(side_effect=error)
    monkeypatch.setattr(weight_files, "safe_open", broken)
    with pytest.raises(UserError, match="c: out of memory while") as told:
        read_tensors(path)
    assert "whole" not in str(told.value) and "12" in str(told.value)


def test_a_bit_that_has_flipped_is_noticed(tmp_path, tokenizer):
    """Also where the number stays finite, and changes by a little."""
    model = small(tokenizer)
    optimizer = adam(model.parameters())
    steps(model, optimizer, 2)
    path = tmp_path / "checkpoint.safetensors"
    save_checkpoint(path, model, optimizer, 2)
    whole = path.read_bytes()
    start = 8 + int.from_bytes(whole[:8], "little")
    for place in (start, (start + len(whole)) // 2, len(whole) - 4):
        data = bytearray(whole)
        data[place] ^= 1  # the last binary digit of a number
        path.write_bytes(data)
        with pytest.raises(UserError, match="it is damaged"):
            load_checkpoint(path, model, optimizer)
        with pytest.raises(UserError, match="it is damaged"):
            checkpoint_weights(path)
    path.write_bytes(whole)
    assert load_checkpoint(path, model, optimizer) == 2


def test_weights_of_other_sizes(tmp_path, tokenizer):
    model = small(tokenizer)
    optimizer = adam(model.parameters())
    steps(model, optimizer, 1)
    save_checkpoint(tmp_path / "c", model, optimizer, 1)
    for sizes in ({"layers": 2}, {"d_ff": 16}):
        other = small(tokenizer, **sizes)
        with pytest.raises(UserError, match="configuration"):
            load_checkpoint(tmp_path / "c", other, adam(other.parameters()))


@pytest.mark.parametrize("step", [None, "", "x", "-1", "1.0", "9" * 99])
def test_checkpoints_without_a_step(tmp_path, tokenizer, step):
    model, path = small(tokenizer), tmp_path / "c"
    optimizer = adam(model.parameters())
    steps(model, optimizer, 1)
    save_checkpoint(path, model, optimizer, 1)
    notes = {} if step is None else {"step": step}
    save_file(read_tensors(path)[0], path, notes)
    with pytest.raises(UserError, match="not a checkpoint"):
        load_checkpoint(path, model, optimizer)


@pytest.mark.parametrize("kind", ["model", "exp_avg", "exp_avg_sq"])
def test_checkpoints_with_a_wrong_part(tmp_path, tokenizer, kind):
    model, path = small(tokenizer), tmp_path / "c"
    optimizer = adam(model.parameters())
    steps(model, optimizer, 1)
    save_checkpoint(path, model, optimizer, 1)
    tensors, notes = read_tensors(path)
    notes = {"step": "1"}  # as in earlier versions, without a sum
    name = next(x for x in tensors if x.startswith(f"{kind}."))
    for wrong, message in (
        (tensors[name][None].contiguous(), "has shape"),
        (tensors[name] / 0, "not finite"),
        (tensors[name].bfloat16(), "it holds BF16"),
    ):
        save_file({**tensors, name: wrong}, path, notes)
        with pytest.raises(UserError, match=message):
            load_checkpoint(path, model, optimizer)
    del tensors[name]
    save_file(tensors, path, notes)
    with pytest.raises(UserError, match="on one side only"):
        load_checkpoint(path, model, optimizer)


def test_weights_that_are_not_finite_are_not_saved(tmp_path, tokenizer):
    model, path = small(tokenizer), tmp_path / "c"
    optimizer = adam(model.parameters())
    steps(model, optimizer, 1)
    save_checkpoint(path, model, optimizer, 1)
    good = path.read_bytes()
    for spoilt in (next(model.parameters()), *optimizer.state.values()):
        tensor = spoilt["exp_avg"] if isinstance(spoilt, dict) else spoilt
        with torch.no_grad():
            kept = tensor.clone()
            tensor.view(-1)[-1] = math.nan
        with pytest.raises(UserError, match="after update 2.*peak_rate"):
            save_checkpoint(path, model, optimizer, 2)
        with torch.no_grad():
            tensor.copy_(kept)
    assert path.read_bytes() == good
