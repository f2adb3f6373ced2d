"""Checkpoints and model folders: exact, whole or refused."""

import json
import math
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from safetensors.torch import save_file

from annotated_transformer.data import copy_task, train_tokenizer
from annotated_transformer.errors import UserError
from annotated_transformer.model import ModelConfig, transformer
from annotated_transformer.optimizer import adam
from annotated_transformer.storage.checkpoints import (
    checkpoint_weights,
    load_checkpoint,
    save_checkpoint,
)
from annotated_transformer.storage.model_folder import load_model, save_model
from annotated_transformer.storage.weight_files import read_tensors, weights
from annotated_transformer.system.atomic_files import replacing, write_text

ABOUT = {
    "command": "annotated-transformer train",
    "recipe": {"train": {"seed": 1}, "tokenizer": "char"},
    "data": {"name": "text", "source": "en", "target": "de", "pairs": 3},
    "machine": {"processor": "abacus"},
    "result": {"updates": 2},
}


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
        with pytest.raises(UserError, match="after update 2.*`peak_rate`"):
            save_checkpoint(path, model, optimizer, 2)
        with torch.no_grad():
            tensor.copy_(kept)
    assert path.read_bytes() == good


def test_a_model_folder_comes_back(tmp_path, tokenizer):
    model = small(tokenizer, pre_norm=True).eval()
    save_model(tmp_path / "m", model, tokenizer, ABOUT)
    loaded, pieces, about = load_model(tmp_path / "m")
    assert about == ABOUT and pieces.model == tokenizer.model
    assert loaded.config == model.config and not loaded.training
    source = torch.tensor([[5, 6, 2]])
    assert torch.equal(loaded(source, source), model(source, source))
    assert "abacus" in (tmp_path / "m" / "README.md").read_text()


@pytest.mark.skipif(os.name != "posix", reason="files have no such modes")
def test_whoever_may_read_the_folder_may_read_its_files(tmp_path, tokenizer):
    folder = tmp_path / "m"
    save_model(folder, small(tokenizer), tokenizer, ABOUT)
    wanted = folder.stat().st_mode & 0o666
    assert {x.stat().st_mode & 0o777 for x in folder.iterdir()} == {wanted}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 2}, "format is 2"),
        ({"model": {"wings": 2}}, "wings"),
        ({"model": {"layers": 0}}, "at least 1"),
        ({"model": []}, "not the configuration"),
        ({"sha256": {}}, "SHA-256 differs"),
        ({"about": {"search": {"beam": 0}}}, "beam 0,"),
        ({"about": {"search": {"beam": 10**9}}}, "beam 1000000000,"),
        ({"about": {"search": {"alpha": math.nan}}}, "alpha nan"),
        ({"about": {"search": {"alpha": "1"}}}, "alpha '1'"),
        ({"about": {"search": {"no_repeat": -1}}}, "no_repeat -1"),
        ({"about": {"search": {"no_repeat": 2.5}}}, "no_repeat 2.5"),
        ({"about": {"search": {"wings": 2}}}, "wings"),
        ({"about": {"search": []}}, "not the configuration"),
        ({"about": {}}, "'data'"),
        ({"about": {**ABOUT, "recipe": {"train": {"seed": 1}}}}, "tokenizer"),
        (
            {"about": {**ABOUT, "data": {**ABOUT["data"], "target": ["de"]}}},
            "target and",
        ),
    ],
)
def test_configurations_that_are_refused(tmp_path, tokenizer, change, message):
    save_model(tmp_path, small(tokenizer), tokenizer, ABOUT)
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(UserError, match=message):
        load_model(tmp_path)


def test_a_tokenizer_of_another_size(tmp_path, tokenizer):
    model = transformer(ModelConfig(99, 1, 8, 8, 2))
    with pytest.raises(UserError, match="pieces, but config.json says 99"):
        save_model(tmp_path, model, tokenizer, ABOUT)
    assert not list(tmp_path.iterdir())


def test_a_model_that_could_not_be_loaded_replaces_none(tmp_path, tokenizer):
    """What is written is read back before it counts."""
    good = small(tokenizer)
    save_model(tmp_path, good, tokenizer, ABOUT)
    files = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    wild = small(tokenizer)
    with torch.no_grad():
        next(wild.parameters()).fill_(1e6)
    drawn = torch.get_rng_state()
    for model, about, message in (
        (wild.half(), ABOUT, "not finite"),
        (small(tokenizer).double(), ABOUT, "F64"),
        (good, {**ABOUT, "search": {"beam": 5000}}, "beam 5000"),
        (good, {**ABOUT, "search": {"alpha": math.nan}}, "alpha nan"),
    ):
        torch.set_rng_state(drawn)
        with pytest.raises(UserError, match=f"not written.*{message}") as told:
            save_model(tmp_path, model, tokenizer, about)
        assert ".new" not in str(told.value)
        assert torch.equal(torch.get_rng_state(), drawn)
    assert files == {x.name: x.read_bytes() for x in tmp_path.iterdir()}


def test_a_model_is_loaded_while_it_is_replaced(tmp_path, tokenizer):
    """Whole: the weights, the tokenizer and the history of one of them."""
    letters = train_tokenizer(["abc", "cab"], 8, "char")
    one, two = small(tokenizer), small(letters)
    first, second = ({**ABOUT, "command": name} for name in ("one", "two"))
    save_model(tmp_path, one, tokenizer, first)
    stop = threading.Event()

    def replace_it():
        while not stop.is_set():
            save_model(tmp_path, two, letters, second)
            save_model(tmp_path, one, tokenizer, first)

    with ThreadPoolExecutor(1) as thread:
        writing = thread.submit(replace_it)
        try:
            found = [load_model(tmp_path) for _ in range(100)]
        finally:
            stop.set()
        writing.result()
    whole = {"one": (one, tokenizer), "two": (two, letters)}
    for model, pieces, about in found:
        expected, text = whole[about["command"]]
        assert pieces.model == text.model
        assert all(map(torch.equal, model.parameters(), expected.parameters()))
    assert {about["command"] for _, _, about in found} == whole.keys()


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "file"
    write_text(path, "old\n")
    with pytest.raises(ZeroDivisionError), replacing(path) as part:
        part.write_text("new")
        raise ZeroDivisionError
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
    assert path.read_bytes() == b"old\n"
