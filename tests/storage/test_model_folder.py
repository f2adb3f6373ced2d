"""Model folders: exact, whole or refused."""

import os
import re
from dataclasses import replace
from itertools import count

import pytest
import torch
from histories import HISTORY
from instants import before_each_change, instants
from tiny_models import TINY

from annotated_transformer.data import copy_task, train_tokenizer
from annotated_transformer.errors import UserError
from annotated_transformer.storage.builders import build
from annotated_transformer.storage.model_folder import load_model, save_model
from annotated_transformer.translation import Translator
from annotated_transformer.writing import LanguageModel, Writer


@pytest.fixture(scope="module")
def tokenizer():
    lines = [source for source, _ in copy_task(50)]
    return train_tokenizer(lines, 32, "char")


def small(tokenizer):
    return build(replace(TINY["transformer"], vocab_size=len(tokenizer)))


@pytest.mark.parametrize("history", [HISTORY, None])
@pytest.mark.parametrize("config", TINY.values(), ids=TINY)
def test_a_model_folder_comes_back(tmp_path, tokenizer, config, history):
    model = build(replace(config, vocab_size=len(tokenizer))).eval()
    drawn = torch.get_rng_state()
    save_model(f"{tmp_path}/m", model, tokenizer, history)
    assert torch.equal(torch.get_rng_state(), drawn)
    loaded, pieces, known = load_model(tmp_path / "m")
    assert known == history and pieces.model == tokenizer.model
    assert loaded.config == model.config and not loaded.training
    source = torch.tensor([[5, 6, 2]])
    assert torch.equal(loaded(source, source), model(source, source))
    card = (tmp_path / "m" / "README.md").read_text()
    assert ("abacus" in card) == (history is not None)
    assert ("No history was given" in card) == (history is None)
    right, wrong = Translator, Writer
    if isinstance(model, LanguageModel):
        right, wrong = Writer, Translator
    assert isinstance(right.load(tmp_path / "m")("abc"), str)
    with pytest.raises(UserError, match="m: a (translator|language model)"):
        wrong.load(tmp_path / "m")


@pytest.mark.skipif(os.name != "posix", reason="files have no such modes")
def test_whoever_may_read_the_folder_may_read_its_files(tmp_path, tokenizer):
    folder = tmp_path / "m"
    save_model(folder, small(tokenizer), tokenizer)
    wanted = folder.stat().st_mode & 0o666
    assert {x.stat().st_mode & 0o777 for x in folder.iterdir()} == {wanted}


def with_other_sizes(model):
    model.config = replace(model.config, d_ff=9)


def overflowing(model):
    next(model.parameters()).data.fill_(1e6)
    model.half()


REFUSED = {
    with_other_sizes: r"not written, .* not those of this model \(dec",
    overflowing: "not written, .* not finite",
    torch.nn.Module.double: "not written, .* F64",
}


@pytest.mark.parametrize("change", REFUSED, ids=lambda x: x.__name__)
def test_a_model_that_could_not_be_loaded_is_not_written(
    tmp_path, tokenizer, change
):
    """It replaces none, and leaves no folder behind."""
    good, wrong = tmp_path / "good", small(tokenizer)
    save_model(good, small(tokenizer), tokenizer)
    before = {path.name: path.read_bytes() for path in good.iterdir()}
    change(wrong)
    for folder in (good, tmp_path / "new"):
        with pytest.raises(UserError, match=REFUSED[change]) as told:
            save_model(folder, wrong, tokenizer, HISTORY)
        assert ".part" not in str(told.value)
    assert before == {x.name: x.read_bytes() for x in good.iterdir()}
    letters = train_tokenizer(["abc", "cab"], 8, "char")
    with pytest.raises(UserError, match=r"not written, .* says \d+$"):
        save_model(tmp_path / "new", small(tokenizer), letters)
    assert not (tmp_path / "new").exists()


# Kills and full disks


@pytest.fixture
def two_models(tokenizer):
    """What save_model takes of two models, without a folder."""
    letters = train_tokenizer(["abc", "cab"], 8, "char")
    old, new = (replace(HISTORY, command=name) for name in ("old", "new"))
    return {
        "old": (small(tokenizer), tokenizer, old),
        "new": (small(letters), letters, new),
    }


def which(folder, models):
    """The name of the model in a folder; it must be whole. "" if none is."""
    try:
        model, pieces, history = load_model(folder)
    except UserError as error:
        assert "\n" not in str(error)
        assert "no trained model here" in str(error), error
        assert "resume=True" in str(error)
        return ""
    whole, text, _ = models[history.command]
    assert pieces.model == text.model
    assert all(map(torch.equal, model.parameters(), whole.parameters()))
    return history.command


@pytest.fixture
def run_folder(tmp_path, two_models):
    """The folder of a run that has made the old model."""
    folder = tmp_path / "run"
    (folder / "checkpoints").mkdir(parents=True)
    (folder / "checkpoints" / "step-00000008.safetensors").write_text("8")
    save_model(folder, *two_models["old"])
    return folder


def test_killed_at_any_instant_a_model_is_old_or_new_or_none(
    tmp_path, two_models, run_folder
):
    def replace_it():
        save_model(run_folder, *two_models["new"])

    copies = instants(run_folder, tmp_path / "copies", replace_it)
    found = [which(copy, two_models) for copy in copies]
    assert {*found} == {"old", "", "new"}
    order = ["old", "", "new"]
    assert found == sorted(found, key=order.index)
    for copy in copies:
        save_model(copy, *two_models["new"])
        assert which(copy, two_models) == "new"
        assert (copy / "checkpoints/step-00000008.safetensors").read_text()
        assert not list(copy.glob(".*"))


def test_a_disk_that_fails_at_any_instant_is_told(two_models, run_folder):
    """In one line; until the files change places, the old model stays."""
    found = []
    for number in count():
        changes = count()

        def fail(changes=changes, number=number):
            if next(changes) >= number:
                raise OSError(28, "No space left on device")

        try:
            before_each_change(
                lambda: save_model(run_folder, *two_models["new"]), fail
            )
            break
        except UserError as error:
            told = rf"{run_folder}\S* cannot be written \(No space .*disk"
            assert re.match(told, str(error)), error
            assert "\n" not in str(error) and ".part" not in str(error)
        found.append(which(run_folder, two_models))
        if not found[-1]:
            save_model(run_folder, *two_models["old"])
    assert found.count("old") > found.count("") > 0
    assert which(run_folder, two_models) == "new"
