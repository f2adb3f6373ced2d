"""Checkpoints: exact, whole or refused; a run keeps those that it needs."""

import math
import random
from dataclasses import replace
from unittest import mock

import pytest
import torch
from safetensors.torch import save_file
from tiny_models import TINY

from annotated_transformer.errors import UserError
from annotated_transformer.optimizer import adam
from annotated_transformer.storage import weight_files
from annotated_transformer.storage.builders import build
from annotated_transformer.storage.checkpoints import (
    Checkpoints,
    Progress,
    checkpoint_weights,
    read_metrics,
)
from annotated_transformer.storage.weight_files import weights

SIZES = TINY["transformer"]
LINE = {"step": 2, "seconds": 0.1, "valid_loss": 1 / 3, "loss": 2.5}
PROGRESS = Progress(3, 0.1 + 0.2, 1e16 / 3, 7, (LINE,))


def learner(config):
    model = build(config)
    return model, adam(model.parameters())


def steps(model, optimizer, count):
    """Some updates of a made-up loss; Adam's moments grow."""
    for step in range(count):
        for group in optimizer.param_groups:
            group["lr"] = 0.01
        loss = sum((p - step).square().sum() for p in model.parameters())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


@pytest.fixture
def run(tmp_path):
    """The folder of a run; a checkpoint is due after every four updates."""
    found = Checkpoints(tmp_path, every=4, average=2)
    (tmp_path / "checkpoints").mkdir()
    return found


@pytest.fixture
def saved(run):
    """A model and its optimizer after three updates, and their checkpoint."""
    model, optimizer = learner(SIZES)
    steps(model, optimizer, 3)
    run.save(model, optimizer, PROGRESS)
    return model, optimizer, run.paths()[3]


def test_files_that_are_no_checkpoints(run, saved):
    model, optimizer, path = saved
    for sizes in ({"layers": 2}, {"d_ff": 16}):
        with pytest.raises(UserError, match="not those of this model"):
            run.load(*learner(replace(SIZES, **sizes)))
    with pytest.raises(UserError, match="nothing: .*No such file"):
        checkpoint_weights(path.with_name("nothing"))
    save_file(weights(model), path)
    with pytest.raises(UserError, match="not a checkpoint"):
        run.load(model, optimizer)


def test_too_little_memory_is_no_damage(saved, monkeypatch):
    error = RuntimeError("unable to mmap 99 bytes: Cannot allocate memory")
    broken = mock.Mock(side_effect=error)
    monkeypatch.setattr(weight_files, "safe_open", broken)
    with pytest.raises(RuntimeError, match="allocate"):
        checkpoint_weights(saved[-1])


def test_any_change_of_its_bytes_is_noticed(run, saved):
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
        for damaged in (data, whole[:place]):
            path.write_bytes(damaged)
            with pytest.raises(UserError, match=f"{path}: "):
                run.load(model, optimizer)
    assert all(map(torch.equal, before, model.parameters()))
    path.write_bytes(whole)
    assert run.load(model, optimizer) == PROGRESS


def test_weights_that_are_not_finite_are_not_saved(run, saved):
    model, optimizer, path = saved
    good = path.read_bytes()
    moments = [x["exp_avg"] for x in optimizer.state.values()]
    for tensor in (next(model.parameters()).data, *moments):
        kept = tensor.clone()
        tensor.view(-1)[-1] = math.nan
        with pytest.raises(FloatingPointError, match="after update 3, "):
            run.save(model, optimizer, PROGRESS)
        tensor.copy_(kept)
    assert path.read_bytes() == good


@pytest.mark.parametrize(
    ("steps", "kept", "averaged"),
    [
        # stopped at 10 and 13
        ([0, 4, 8, 10, 12, 13], [8, 12, 13], [12, 13]),
        ([0, 4, 8, 10, 12, 13, 16], [8, 12, 16], [12, 16]),
        ([0, 3], [3], [3]),
        ([0], [0], [0]),
    ],
)
def test_what_a_stop_has_written_counts_only_while_it_is_the_last(
    run, saved, steps, kept, averaged
):
    model, optimizer, path = saved
    path.unlink()
    with pytest.raises(UserError, match="are missing and cannot be made"):
        run.averaged()
    lines = ()
    for step in steps:
        lines = (*lines, LINE | {"step": step, "valid_loss": -step})
        run.save(model, optimizer, Progress(step, metrics=lines))
        assert read_metrics(run.run_dir) == [*lines]
    last = run.paths()[steps[-1]]
    copy = last.with_name("step-00000099 (copy).safetensors")
    copy.write_bytes(last.read_bytes())
    run.tidy(Progress(metrics=lines))
    assert [*run.paths()] == kept and copy.exists()
    assert run.averaged() == [run.paths()[step] for step in averaged]
    if len(averaged) > 1:  # those that were deleted are not missed
        run.paths()[averaged[0]].unlink()
        assert run.averaged() == [last]
