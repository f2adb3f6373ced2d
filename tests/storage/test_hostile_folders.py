"""Nothing is trusted: model folders that are damaged, or made to harm."""

import os
import re
import shutil

import pytest
import torch
from faults import in_child
from histories import HISTORY
from hostile import HOSTILE, hostile
from mutants import mend_sums, mutants, translated
from safetensors.torch import load_file, save_file

from annotated_transformer.data import copy_task, train_tokenizer
from annotated_transformer.model import ModelConfig, transformer
from annotated_transformer.storage.model_folder import save_model

MUTANTS = 1000 if os.environ.get("SOAK") else 100
# All that is said of a folder, whatever has happened to it.
TOLD = re.compile(
    r"\S+: no trained model here \(config\.json: .+\); name another folder|"
    r"\S+(config\.json|model\.safetensors|tokenizer\.model): .+; "
    r"copy the whole folder again(, or .+)?"
)


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """A small model of subwords, with random weights."""
    folder = tmp_path_factory.mktemp("good") / "model"
    tokenizer = train_tokenizer([source for source, _ in copy_task(60)], 40)
    torch.manual_seed(0)
    sizes = ModelConfig(len(tokenizer), 2, 8, 8, 2)
    save_model(folder, transformer(sizes), tokenizer, HISTORY)
    return folder


def test_hostile_folders_are_refused(good, tmp_path):
    status, found = in_child(hostile, good, tmp_path, kill_after=100)
    assert status == 0
    assert found.taken == [] and found.broken == {}
    assert found.refused.keys() == HOSTILE.keys()
    for name, told in found.refused.items():
        assert HOSTILE[name][1] in told and len(told) < 500, name
        assert TOLD.fullmatch(told.replace(str(tmp_path / name), "x")), told
    assert found.memory < 2**26  # bytes, for all of them


def test_damaged_folders_are_refused_or_translate(good, tmp_path):
    status, found = in_child(
        mutants, good, tmp_path, range(MUTANTS), translated
    )
    assert status == 0
    assert found.taken and len(found.refused) > 5
    for told in found.refused:
        assert TOLD.fullmatch(told) and len(told) < 500, told
    assert found.memory < 2**28


def test_overflowing_weights_end_a_translation(good, tmp_path):
    folder = shutil.copytree(good, tmp_path / "model")
    path = folder / "model.safetensors"
    tensors = load_file(path)
    for name in tensors:
        if "feed_forward" in name:
            tensors[name] *= 1e38
    save_file(tensors, path)
    mend_sums(folder)
    assert in_child(translated, folder, kill_after=100) == (0, None)
