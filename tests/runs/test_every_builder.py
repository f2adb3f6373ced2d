"""What one of the builders makes can be trained, saved and gone on with."""

import json

import pytest
import torch
from tiny_models import TINY

from annotated_transformer.corpora.corpus import Corpus
from annotated_transformer.data import copy_task
from annotated_transformer.errors import UserError
from annotated_transformer.runs.dry_run import plan
from annotated_transformer.runs.recipes import Recipe
from annotated_transformer.runs.run import train
from annotated_transformer.storage.builders import build
from annotated_transformer.storage.model_folder import load_model
from annotated_transformer.training import TrainConfig
from annotated_transformer.translation import Translator

PAIRS = copy_task(60)
CORPUS = Corpus(PAIRS[10:], PAIRS[:10], {}, "copy", "xx", "xx", {"train": "1"})
CONFIG = TrainConfig(
    steps=6, batch_tokens=200, warmup=2, checkpoint_every=2, average=2
)


def weights(folder):
    return (folder / "model.safetensors").read_bytes()


@pytest.fixture(scope="module", params=TINY)
def trained(request, tmp_path_factory):
    """A recipe, and the folder of its uninterrupted run."""
    recipe = Recipe(TINY[request.param], CONFIG, tokenizer="char")
    folder = tmp_path_factory.mktemp("run") / "model"
    return recipe, train(folder, CORPUS, recipe, device="cpu")


def test_a_run_names_its_builder(trained, request):
    recipe, folder = trained
    name = request.node.callspec.params["trained"]
    run = json.loads((folder / "run.json").read_text())
    config = json.loads((folder / "config.json").read_text())
    assert run["recipe"]["builder"] == config["builder"] == name
    assert Recipe.from_json(run["recipe"]).flat() == recipe.flat()


def test_the_model_is_loaded_and_translates(trained):
    recipe, folder = trained
    model, tokenizer, _ = load_model(folder)
    assert type(model.config) is type(recipe.model)
    assert len(tokenizer) == model.config.vocab_size
    sources = [source for source, _ in PAIRS[:5]]
    found = Translator.load(folder)(sources, beam=2)
    assert len(found) == 5
    drawn = build(model.config).eval()
    same = [
        torch.equal(one, other)
        for one, other in zip(
            model.parameters(), drawn.parameters(), strict=True
        )
    ]
    assert not any(same)


def test_a_run_goes_on_to_the_same_weights(trained, tmp_path):
    recipe, folder = trained
    part = tmp_path / "part"
    train(part, CORPUS, recipe, device="cpu", max_minutes=0.0)
    assert weights(part) != weights(folder)
    train(part, CORPUS, recipe, device="cpu", resume=True)
    assert weights(part) == weights(folder)


def test_another_training_begins_with_the_model(trained, tmp_path):
    """Its sizes count, whatever the recipe asks for."""
    _, folder = trained
    other = Recipe(TINY["transformer"], CONFIG, tokenizer="char")
    child = tmp_path / "child"
    train(child, CORPUS, other, device="cpu", start=folder)
    made, begun = (load_model(x)[0].config for x in (child, folder))
    assert type(made) is type(begun) and made.vocab_size == begun.vocab_size


def test_a_plan_counts_the_parameters(trained):
    recipe, folder = trained
    number = sum(x.numel() for x in load_model(folder)[0].parameters())
    assert f"{number:,}\n" in plan(recipe, CORPUS).splitlines(True)[0]


def test_pairs_over_the_learned_positions_are_left_out(tmp_path):
    long = Corpus(
        [*CORPUS.train, ("a" * 120, "a")], CORPUS.valid, {}, "x", "x", "x", {}
    )
    recipe = Recipe(TINY["convolutional_translator"], CONFIG, tokenizer="char")
    assert "50\n" in plan(recipe, long)
    assert "51\n" in plan(
        Recipe(TINY["recurrent_translator"], CONFIG, tokenizer="char"), long
    )


def test_sizes_of_no_builder_make_no_recipe():
    with pytest.raises(UserError, match="no builder takes that"):
        Recipe(CONFIG, CONFIG)
