"""Adapters in a file: what they add is the model that was trained."""

import random

import pytest
import torch
from small_runs import CORPUS, SMALL, learning
from tiny_models import TINY

from annotated_transformer import Translator
from annotated_transformer.adapting import (
    LowRank,
    add_adapters,
    merge_adapters,
)
from annotated_transformer.errors import UserError
from annotated_transformer.runs.start import Start
from annotated_transformer.runs.train import train
from annotated_transformer.storage.adapters import load_adapters, save_adapters
from annotated_transformer.storage.builders import build
from annotated_transformer.storage.model_folder import (
    load_model,
    read_config,
    save_model,
)

RECIPE = learning(SMALL, adapters=2, peak_lr=0.05, average=1)


@pytest.fixture(scope="module")
def parent(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parent") / "model"
    return train(folder, CORPUS, SMALL, device="cpu")


@pytest.fixture(scope="module")
def child(parent, tmp_path_factory):
    """A model that was trained by adapters, with their file beside it."""
    folder = tmp_path_factory.mktemp("child") / "model"
    return train(folder, CORPUS, RECIPE, Start(parent), device="cpu")


def weights_of(folder):
    return dict(load_model(folder)[0].named_parameters())


def test_the_file_makes_the_child_of_the_parent(parent, child):
    model = load_model(parent)[0]
    load_adapters(model, child / "adapters.safetensors")
    trained = [x for x, y in model.named_parameters() if y.requires_grad]
    assert trained and all(".parametrizations." in x for x in trained)
    parts = [x for x in model.modules() if isinstance(x, LowRank)]
    assert parts and all(part.up.size(-1) == 2 for part in parts)
    merge_adapters(model)
    expected = weights_of(child)
    for name, weight in model.named_parameters():
        torch.testing.assert_close(weight, expected[name], rtol=0, atol=1e-7)
    text = ["abc", "jihg"]
    assert Translator.load(child)(text) == Translator(
        model, load_model(child)[1]
    )(text)


@pytest.mark.parametrize("name", ["transformer", "modern", "LanguageModel"])
@pytest.mark.parametrize("names", [("query",), ("inner", "outer", "output")])
def test_what_is_saved_comes_back(name, names, tmp_path):
    torch.manual_seed(1)
    model = build(TINY[name])
    kept = {x: y.clone() for x, y in model.state_dict().items()}
    add_adapters(model, 3, names)
    for part in model.modules():
        if isinstance(part, LowRank):
            part.up.data.normal_()
    save_adapters(model, tmp_path / "file")
    other = build(TINY[name])
    other.load_state_dict(kept)
    load_adapters(other, tmp_path / "file")
    ours, theirs = dict(model.named_parameters()), other.named_parameters()
    for key, weight in theirs:
        assert torch.equal(ours.pop(key), weight)
    assert not ours


def test_the_file_fits_where_a_weight_is_minus_zero(tmp_path):
    """Which a sum makes 0.0; one of the shipped translators has such."""
    model, tokenizer, _ = load_model("multi30k-en-de")
    with torch.no_grad():
        model.decoder.layers[0].feed_forward.inner.weight[0, 0] = -0.0
    parent = tmp_path / "parent"
    save_model(parent, model, tokenizer)
    start = Start(parent)
    child = train(tmp_path / "child", CORPUS, RECIPE, start, device="cpu")
    load_adapters(load_model(parent)[0], child / "adapters.safetensors")


def test_what_does_not_fit_is_refused(parent, child, tmp_path):
    file = child / "adapters.safetensors"
    with pytest.raises(UserError, match="adapters of other weights"):
        load_adapters(load_model(child)[0], file)
    model = load_model(parent)[0]
    with pytest.raises(UserError, match="has no adapters"):
        save_adapters(model, tmp_path / "none")
    with pytest.raises(UserError, match="no such file; name the file"):
        load_adapters(model, tmp_path / "nowhere")
    with pytest.raises(UserError, match="it holds no adapters; name the"):
        load_adapters(model, parent / "model.safetensors")
    before = [x for x, _ in model.named_parameters()]
    data, rng = bytearray(file.read_bytes()), random.Random(0)
    for _ in range(60):
        place = rng.randrange(len(data) // 4)
        bad = bytearray(data)
        bad[place] ^= 1 << rng.randrange(8)
        (tmp_path / "bad").write_bytes(bad)
        fresh = load_model(parent)[0]
        try:
            load_adapters(fresh, tmp_path / "bad")
        except UserError:
            assert [x for x, _ in fresh.named_parameters()] == before
    load_adapters(model, file)
    with pytest.raises(UserError, match="adapters already: merge them"):
        load_adapters(model, file)


@pytest.mark.unchecked
def test_on_the_command_line(command, parent, recipe_options, tmp_path):
    """With the rate of adapters; what is exported is the merged model."""
    files = [x for x in recipe_options if "pairs" in x or "device" in x]
    words = ["train", tmp_path / "x", *files, "--max-steps=4"]
    ended = command(*words, "--adapters=2", "--from", parent)
    assert ended.status == 0, ended.err
    recipe = read_config(tmp_path / "x").history.recipe
    assert recipe["train"]["peak_lr"] == 0.01
    assert recipe["labs"]["adapters"] == 2
    model = load_model(parent)[0]
    load_adapters(model, tmp_path / "x" / "adapters.safetensors")
    merge_adapters(model)
    export = ["export", tmp_path / "x", tmp_path / "y", "--to=onnx"]
    assert command(*export).status == 0
    for name, weight in weights_of(tmp_path / "x").items():
        ours = dict(model.named_parameters())[name]
        torch.testing.assert_close(weight, ours, rtol=0, atol=1e-7)
