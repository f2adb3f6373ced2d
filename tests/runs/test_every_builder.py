"""What one of the builders makes can be trained, saved and gone on with."""

import json
from dataclasses import replace

import pytest
import torch
from small_runs import CORPUS, PAIRS, SMALL, learning
from tiny_models import PAIRED, TINY

from annotated_transformer.errors import UserError
from annotated_transformer.runs.dry_run import plan
from annotated_transformer.runs.prepare import build_model
from annotated_transformer.runs.recipes import Recipe
from annotated_transformer.runs.run import train
from annotated_transformer.storage.builders import build, builder_of
from annotated_transformer.storage.model_folder import load_model
from annotated_transformer.translation import Translator


@pytest.fixture(scope="module", params=PAIRED)
def trained(request, tmp_path_factory):
    """A recipe, and the folder of its uninterrupted run."""
    recipe = Recipe(TINY[request.param], SMALL.train, tokenizer="char")
    folder = tmp_path_factory.mktemp("run") / "model"
    return recipe, train(folder, CORPUS, recipe, device="cpu")


def test_the_model_is_loaded_and_translates(trained):
    recipe, folder = trained
    model, tokenizer, _ = load_model(folder)
    limit = min(256, model.max_positions or 256)  # tokens of a side
    for file in ("run.json", "config.json"):
        about = json.loads((folder / file).read_text())
        plain = about.get("history", about)["recipe"]
        assert plain["builder"] == builder_of(recipe.model)
        expected = replace(recipe.train, max_length=limit)
        assert Recipe.from_json(plain).train == expected
    assert type(model.config) is type(recipe.model)
    assert len(tokenizer) == model.config.vocab_size
    sources = [source for source, _ in PAIRS[:5]]
    assert len(Translator.load(folder)(sources, beam=2)) == 5
    number = sum(x.numel() for x in model.parameters())
    assert f"{number:,}\n" in plan(recipe, CORPUS).splitlines(True)[0]


def test_another_training_begins_with_the_model(trained, tmp_path):
    """Its sizes count, whatever the recipe asks for."""
    _, folder = trained
    other = Recipe(TINY["transformer"], SMALL.train, tokenizer="char")
    child = train(tmp_path, CORPUS, other, device="cpu", start=folder)
    made, begun = (load_model(x)[0].config for x in (child, folder))
    assert type(made) is type(begun) and made.vocab_size == begun.vocab_size


def test_sizes_of_no_builder_make_no_recipe():
    with pytest.raises(UserError, match="no builder takes sizes"):
        Recipe(SMALL.train, SMALL.train)


@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
def test_a_model_is_drawn_from_its_own_seed_alone(positions):
    """And from the numbers that PyTorch would draw after that seed."""
    sizes = replace(SMALL.model, vocab_size=50, positions=positions)
    recipe = learning(replace(SMALL, model=sizes), seed=4)
    found = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        before = torch.get_rng_state()
        found.append(build_model(recipe, "cpu").state_dict())
        assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(4)
    found.append(build(sizes).state_dict())
    for other in found[1:]:
        torch.testing.assert_close(other, found[0], rtol=0, atol=0)
