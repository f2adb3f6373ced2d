"""Folders of the first edition: format_1 is one, and was made by its code."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from mutants import mend_sums
from safetensors.torch import load_file, save_file
from tiny_models import TINY

from annotated_transformer.corpora.corpus import Corpus
from annotated_transformer.data import copy_task
from annotated_transformer.errors import UserError
from annotated_transformer.model import ModelConfig
from annotated_transformer.pairs.likelihood import score_pairs
from annotated_transformer.runs.recipes import Recipe
from annotated_transformer.runs.run import train
from annotated_transformer.storage.averaging import average_checkpoints
from annotated_transformer.storage.history import Result
from annotated_transformer.storage.model_folder import load_model, save_model
from annotated_transformer.training import TrainConfig
from annotated_transformer.translation import Translator

FOLDER = Path(__file__).with_name("format_1")
PAIRS = copy_task(60)
CORPUS = Corpus(PAIRS[10:], PAIRS[:10], {}, "copy", "xx", "xx", {"train": "1"})
SIZES = ModelConfig(
    layers=1,
    d_model=8,
    d_ff=8,
    heads=2,
    dropout=0.0,
    pre_norm=True,
    positions="learned",
    max_length=64,
    tied=False,
)
RECIPE = Recipe(
    SIZES,
    TrainConfig(
        steps=8, batch_tokens=200, warmup=2, checkpoint_every=2, average=2
    ),
    tokenizer="char",
)
# what its own code made of the first pairs: nats of the whole target
NATS = [-28.81944, -20.03498, -17.9094, -15.10688, -29.7717]
NATS += [-30.60468, -14.79728, -14.95226, -20.03587, -19.70201]


def nats(folder):
    found = score_pairs(Translator.load(folder), PAIRS[:10])
    return [one.log_probability for one in found]


def test_a_model_computes_what_it_did(tmp_path):
    assert nats(FOLDER) == pytest.approx(NATS, abs=1e-4)
    model, tokenizer, history = load_model(FOLDER)
    assert model.config == replace(SIZES, vocab_size=15)
    assert history.command == "annotated-transformer train whole"
    assert history.result.updates == 8
    save_model(tmp_path, model, tokenizer, history)
    config = json.loads((tmp_path / "config.json").read_text())
    assert (config["format"], config["builder"]) == (2, "transformer")
    assert nats(tmp_path) == nats(FOLDER)


def test_a_run_goes_on_to_the_weights_that_it_would_have_had(tmp_path):
    """To the eighth update from the checkpoint of the fourth.

    But for the biases of keys: a softmax does not see them, so their gradient
    is what rounding leaves, of which Adam makes whole steps.
    """
    output = shutil.copytree(FOLDER, tmp_path / "run")
    for name in ("config.json", "model.safetensors", "README.md"):
        (output / name).unlink()
    train(output, CORPUS, RECIPE, device="cpu", resume=True)
    found = load_model(output)[0].state_dict()
    for name, weight in load_model(FOLDER)[0].state_dict().items():
        seen = slice(SIZES.d_model * name.endswith("key_value.bias"), None)
        torch.testing.assert_close(
            found[name][seen], weight[seen], rtol=0, atol=1e-5
        )
    assert nats(output) == pytest.approx(NATS, abs=1e-4)
    lines = (output / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == [2, 4, 6, 8]


def test_a_run_refuses_another_builder():
    other = replace(RECIPE, model=TINY["modern_transformer"])
    with pytest.raises(UserError, match="builder = transformer, now"):
        train(FOLDER, CORPUS, other, device="cpu", resume=True)


def test_its_checkpoint_makes_a_model(tmp_path):
    checkpoint = FOLDER / "checkpoints/step-00000004.safetensors"
    average_checkpoints(tmp_path / "model", [checkpoint])
    model, _, history = load_model(tmp_path / "model")
    weights = load_file(checkpoint)
    given = weights["model.encoder.0.feed_forward.inner.weight"]
    assert torch.equal(
        model.encoder.layers[0].feed_forward.inner.weight, given
    )
    assert history.result == Result(averaged=1, checkpoints="step-00000004")


def test_a_folder_of_today_has_names_of_today(tmp_path):
    model, tokenizer, history = load_model(FOLDER)
    save_model(tmp_path, model, tokenizer, history)
    path = tmp_path / "model.safetensors"
    tensors = load_file(path)
    tensors["encoder_norm.bias"] = tensors.pop("encoder.norm.bias")
    save_file(tensors, path)
    mend_sums(tmp_path)
    with pytest.raises(UserError, match="'encoder.norm.bias' is on one side"):
        load_model(tmp_path)
