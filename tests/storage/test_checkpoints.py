"""Checkpoints: exact, whole or refused; the best and the last are kept."""

import math
import random
from dataclasses import replace
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
    Checkpoints,
    Progress,
    checkpoint_weights,
    load_checkpoint,
    read_metrics,
    save_checkpoint,
)
from annotated_transformer.storage.weight_files import weights


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


LINE = {"step": 2, "seconds": 0.1, "valid_loss": 1 / 3, "loss": 2.5}
PROGRESS = Progress(3, 0.1 + 0.2, 1e16 / 3, 7, (LINE,))


@pytest.fixture
def saved(tmp_path, tokenizer):
    """A model and its optimizer after three updates, and their checkpoint."""
    model = small(tokenizer)
    optimizer = adam(model.parameters())
    steps(model, optimizer, 3)
    save_checkpoint(tmp_path / "c", model, optimizer, PROGRESS)
    return model, optimizer, tmp_path / "c"


@pytest.mark.parametrize("tied", [True, False])
def test_training_goes_on_exactly(tmp_path, tokenizer, tied):
    model = small(tokenizer, tied=tied)
    optimizer = adam(model.parameters())
    steps(model, optimizer, 3)
    save_checkpoint(tmp_path / "c", model, optimizer, PROGRESS)
    other = small(tokenizer, tied=tied)
    moments = adam(other.parameters())
    assert load_checkpoint(tmp_path / "c", other, moments) == PROGRESS
    steps(model, optimizer, 2)
    steps(other, moments, 2)
    for one, two in zip(model.parameters(), other.parameters(), strict=True):
        assert torch.equal(one, two)


def test_files_that_are_no_checkpoints(tmp_path, saved):
    model, optimizer, path = saved
    with pytest.raises(UserError, match="nothing: .*No such file"):
        checkpoint_weights(tmp_path / "nothing")
    save_file(weights(model), path)
    with pytest.raises(UserError, match="not a checkpoint"):
        load_checkpoint(path, model, optimizer)


def test_too_little_memory_is_no_damage(saved, monkeypatch):
    error = RuntimeError("unable to mmap 99 bytes: Cannot allocate memory")
    broken = mock.Mock(side_effect=error)
    monkeypatch.setattr(weight_files, "safe_open", broken)
    with pytest.raises(RuntimeError, match="allocate"):
        checkpoint_weights(saved[-1])


def test_any_change_of_its_bytes_is_noticed(saved):
    """Also where a number stays finite, and changes by a little."""
    model, optimizer, path = saved
    whole, rng = path.read_bytes(), random.Random(0)
    start = 8 + int.from_bytes(whole[:8], "little")
    places = [start, len(whole) - 4, whole.index(b"seconds") + 12]
    places += [rng.randrange(len(whole)) for _ in range(60)]
    before = [x.clone() for x in model.parameters()]
    for place in places:
        data = bytearray(whole)
        data[place] ^= 1  # the last binary digit
        path.write_bytes(data)
        with pytest.raises(UserError, match=f"{path}: "):
            load_checkpoint(path, model, optimizer)
        path.write_bytes(whole[:place])
        with pytest.raises(UserError, match=f"{path}: "):
            checkpoint_weights(path)
    assert all(map(torch.equal, before, model.parameters()))
    path.write_bytes(whole)
    assert load_checkpoint(path, model, optimizer) == PROGRESS


def test_weights_of_other_sizes(saved, tokenizer):
    _, _, path = saved
    for sizes in ({"layers": 2}, {"d_ff": 16}):
        other = small(tokenizer, **sizes)
        with pytest.raises(UserError, match="not those of this model"):
            load_checkpoint(path, other, adam(other.parameters()))


def test_weights_that_are_not_finite_are_not_saved(saved):
    model, optimizer, path = saved
    good = path.read_bytes()
    for spoilt in (next(model.parameters()), *optimizer.state.values()):
        tensor = spoilt["exp_avg"] if isinstance(spoilt, dict) else spoilt
        with torch.no_grad():
            kept = tensor.clone()
            tensor.view(-1)[-1] = math.nan
        with pytest.raises(FloatingPointError, match="after update 3, "):
            save_checkpoint(path, model, optimizer, PROGRESS)
        with torch.no_grad():
            tensor.copy_(kept)
    assert path.read_bytes() == good


def a_run(saved, every, average, lines):
    """The checkpoints of a run that saved each of these lines of metrics."""
    model, optimizer, path = saved
    found = Checkpoints(path.parent, every, average)
    found.folder.mkdir(exist_ok=True)
    progress = Progress()
    for line in lines:
        whole = "valid_loss" in line
        metrics = (*progress.metrics, line) if whole else progress.metrics
        progress = replace(progress, step=line["step"], metrics=metrics)
        found.save(model, optimizer, progress)
        assert str(read_metrics(path.parent)) == str([*metrics])
    return found, progress


def test_what_a_stop_has_written_counts_only_while_it_is_the_last(saved):
    stopped = [{"step": step} for step in (4, 8, 10, 12, 13)]
    found, _ = a_run(saved, 4, 2, stopped)
    assert [*found.paths()] == [8, 12, 13]
    assert [x.stem[-2:] for x in found.averaged()] == ["12", "13"]
    found, _ = a_run(saved, 4, 2, [{"step": 16}])
    assert [x.stem[-2:] for x in found.averaged()] == ["12", "16"]


def test_the_best_checkpoint_is_kept(saved):
    nan = math.nan  # neither less than a number nor more
    losses = {1: nan, 2: 3.0, 4: 1.0, 6: nan, 8: 2.0, 10: 1.5, 12: 1.0}
    lines = [
        {"step": step, "seconds": 1.0, "valid_loss": losses[step]}
        for step in losses
    ]
    found, progress = a_run(saved, 2, 2, lines)
    assert [*found.paths()] == [4, 8, 10, 12]
    assert found.best(progress.metrics) == 4


def test_the_best_checkpoint_has_the_highest_bleu(saved):
    lines = [
        {"step": n, "seconds": 1.0, "valid_loss": n / 1, "valid_bleu": bleu}
        for n, bleu in ((2, 10.0), (4, 12.0), (6, 12.0))
    ]
    found, progress = a_run(saved, 2, 1, lines)
    assert found.best(progress.metrics) == 4
    assert [*found.paths()] == [4, 6]


def test_a_copy_by_another_name_is_no_checkpoint(saved):
    found, progress = a_run(saved, 2, 1, [{"step": 2}])
    last = found.folder / "step-00000002.safetensors"
    copy = last.with_name("step-00000009 (copy).safetensors")
    copy.write_bytes(last.read_bytes())
    assert [*found.paths()] == [2]
    found.tidy(progress)
    assert copy.exists()
