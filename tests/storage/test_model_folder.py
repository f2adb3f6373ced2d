"""Model folders: exact, whole or refused."""

import json
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
import torch
from histories import HISTORY

from annotated_transformer.data import copy_task, train_tokenizer
from annotated_transformer.errors import UserError
from annotated_transformer.model import ModelConfig, transformer
from annotated_transformer.storage import model_folder, weight_files
from annotated_transformer.storage.model_folder import load_model, save_model


@pytest.fixture(scope="module")
def tokenizer():
    lines = [source for source, _ in copy_task(50)]
    return train_tokenizer(lines, 32, "char")


def small(tokenizer, **sizes):
    numbers = {"layers": 1, "d_model": 8, "d_ff": 8, "heads": 2, **sizes}
    return transformer(ModelConfig(vocab_size=len(tokenizer), **numbers))


def test_a_model_folder_comes_back(tmp_path, tokenizer):
    model = small(tokenizer, pre_norm=True).eval()
    save_model(tmp_path / "m", model, tokenizer, HISTORY)
    loaded, pieces, history = load_model(tmp_path / "m")
    assert history == HISTORY and pieces.model == tokenizer.model
    assert loaded.config == model.config and not loaded.training
    source = torch.tensor([[5, 6, 2]])
    assert torch.equal(loaded(source, source), model(source, source))
    assert "abacus" in (tmp_path / "m" / "README.md").read_text()


@pytest.mark.skipif(os.name != "posix", reason="files have no such modes")
def test_whoever_may_read_the_folder_may_read_its_files(tmp_path, tokenizer):
    folder = tmp_path / "m"
    save_model(folder, small(tokenizer), tokenizer, HISTORY)
    wanted = folder.stat().st_mode & 0o666
    assert {x.stat().st_mode & 0o777 for x in folder.iterdir()} == {wanted}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 3}, "format is 3"),
        ({"format": 1}, "`history=None`"),
        ({"builder": None}, "`builder=None`"),
        ({"builder": "x"}, "`builder='x'`: choose transformer"),
        ({"model": {"wings": 2}}, "wings"),
        ({"model": {"layers": 0}}, "at least 1"),
        ({"model": []}, "not the configuration"),
        ({"sha256": {}}, "SHA-256 differs"),
        ({"history": {}}, "history.command is missing"),
        ({"history": HISTORY.as_json() | {"search": {"beam": 0}}}, "beam 0,"),
        ({"wings": 2}, "wings"),
    ],
)
def test_configurations_that_are_refused(tmp_path, tokenizer, change, message):
    save_model(tmp_path, small(tokenizer), tokenizer, HISTORY)
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(UserError, match=message):
        load_model(tmp_path)


def test_a_tokenizer_of_another_size(tmp_path, tokenizer):
    model = transformer(ModelConfig(99, 1, 8, 8, 2))
    with pytest.raises(UserError, match="pieces, but config.json says 99"):
        save_model(tmp_path, model, tokenizer, HISTORY)
    assert not list(tmp_path.iterdir())


def test_a_model_that_could_not_be_loaded_replaces_none(tmp_path, tokenizer):
    """What is written is read back before it counts."""
    good = small(tokenizer)
    save_model(tmp_path, good, tokenizer, HISTORY)
    files = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    wild = small(tokenizer)
    with torch.no_grad():
        next(wild.parameters()).fill_(1e6)
    drawn = torch.get_rng_state()
    odd = replace(HISTORY, data=replace(HISTORY.data, pairs=-3))
    for model, history, message in (
        (wild.half(), HISTORY, "not finite"),
        (small(tokenizer).double(), HISTORY, "F64"),
        (good, odd, "data.pairs=-3"),
    ):
        torch.set_rng_state(drawn)
        with pytest.raises(UserError, match=f"not written.*{message}") as told:
            save_model(tmp_path, model, tokenizer, history)
        assert ".new" not in str(told.value)
        assert torch.equal(torch.get_rng_state(), drawn)
    assert files == {x.name: x.read_bytes() for x in tmp_path.iterdir()}


def test_weights_may_go_when_they_are_opened(tmp_path, tokenizer, monkeypatch):
    """The model is replaced just then: the new one is loaded."""
    first, second = (replace(HISTORY, command=name) for name in ("one", "two"))
    model = small(tokenizer)
    save_model(tmp_path, model, tokenizer, first)
    real, opened = weight_files.safe_open, []

    def late(path, framework):
        opened.append(path)
        if len(opened) > 1:
            return real(path, framework)
        with monkeypatch.context() as while_it_is_saved:
            while_it_is_saved.setattr(weight_files, "safe_open", real)
            save_model(tmp_path, model, tokenizer, second)
        raise RuntimeError(f"unable to open file <{path}>: no such file")

    monkeypatch.setattr(weight_files, "safe_open", late)
    assert load_model(tmp_path)[2].command == "two"


def test_a_file_on_its_way_is_taken_for_another(
    tmp_path, tokenizer, monkeypatch
):
    """What .new holds is replaced under its name: it is read again."""
    save_model(tmp_path, small(tokenizer), tokenizer, HISTORY)
    weights = tmp_path / ".new" / "model.safetensors"
    weights.parent.mkdir()
    weights.write_bytes(b"of the next model")
    real, calls = model_folder.read_model, []

    def late(folder, device):
        calls.append(folder)
        if len(calls) > 1:
            return real(folder, device)
        other = weights.with_suffix(".other")
        other.write_bytes(b"of the one after")
        other.replace(weights)
        raise UserError("its SHA-256 differs")

    monkeypatch.setattr(model_folder, "read_model", late)
    assert load_model(tmp_path)[2] == HISTORY
    assert len(calls) == 2


def test_a_model_is_loaded_while_it_is_replaced(tmp_path, tokenizer):
    """Whole: the weights, the tokenizer and the history of one of them."""
    letters = train_tokenizer(["abc", "cab"], 8, "char")
    one, two = small(tokenizer), small(letters)
    first, second = (replace(HISTORY, command=name) for name in ("one", "two"))
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
    for model, pieces, history in found:
        expected, text = whole[history.command]
        assert pieces.model == text.model
        assert all(map(torch.equal, model.parameters(), expected.parameters()))
    assert {history.command for _, _, history in found} == whole.keys()
