"""Recipes by name, against the numbers of the paper."""

import re

import pytest

from annotated_transformer.errors import UserError
from annotated_transformer.model import parameter_count
from annotated_transformer.runs.recipes import Recipe, recipe_of


@pytest.mark.parametrize(
    ("preset", "steps", "seconds", "hours", "dropout", "averaged", "millions"),
    [
        ("base", 100_000, 0.4, 12, 0.1, 5, 65),
        ("big", 300_000, 1.0, 3.5 * 24, 0.3, 20, 213),
    ],
)
def test_the_runs_of_the_paper(
    preset, steps, seconds, hours, dropout, averaged, millions
):
    """5.1 to 5.4, 6.1 and Table 3; the paper rounds its hours generously."""
    recipe = recipe_of(None, preset)
    model, train = recipe.model, recipe.train
    assert (train.steps, train.batch_tokens) == (steps, 25_000)
    assert (train.schedule, train.warmup) == ("inverse_sqrt", 4000)
    assert train.peak_rate is None
    assert train.label_smoothing == 0.1
    assert (model.dropout, model.pre_norm) == (dropout, False)
    assert recipe.vocab_size == model.vocab_size == 37_000
    assert steps * seconds / 3600 == pytest.approx(hours, rel=0.08)
    # checkpoints come every ten minutes of the paper's machine
    assert train.checkpoint_every * seconds == 600
    assert train.average == averaged
    assert parameter_count(model) == pytest.approx(millions * 1e6, rel=0.03)


@pytest.mark.parametrize("name", ["processes", "tf32"])
def test_a_recipe_from_before_there_was_such_a_field(name):
    plain = recipe_of("copy").as_json()
    del plain[name]
    assert Recipe.from_json(plain) == recipe_of("copy")


def test_a_recipe_from_before_batches_had_an_order():
    plain = recipe_of("copy").as_json()
    del plain["train"]["order"]
    assert Recipe.from_json(plain) == recipe_of("copy")


@pytest.mark.parametrize(
    ("part", "name", "value", "told"),
    [
        ("model", "layers", "2", "recipe.model.layers is '2'"),
        ("model", "layers", True, "recipe.model.layers is True"),
        ("model", "wings", 2, "no field 'recipe.model.wings'"),
        ("train", "steps", 10**30, "recipe.train.steps is 1000000"),
        ("train", "seed", -1, "recipe.train.seed is -1"),
        ("train", "peak_rate", "x", "recipe.train.peak_rate is 'x'"),
    ],
)
def test_a_recipe_from_a_stranger(part, name, value, told):
    plain = recipe_of("copy").as_json()
    plain[part] = plain[part] | {name: value}
    with pytest.raises(ValueError, match=re.escape(told)):
        Recipe.from_json(plain)
    del plain[part]
    with pytest.raises(ValueError, match=f"recipe.{part} is (missing|None)"):
        Recipe.from_json(plain)


def test_any_field_can_be_set_by_its_name():
    recipe = recipe_of("multi30k")
    changed = recipe.with_fields(
        [
            "model.d_ff=512",
            "model.d_k=null",
            "model.positions=learned",
            "train.peak_rate=1e-3",
            "train.label_smoothing=0",
            "train.order=longest",
            "vocab_size=900",
        ]
    )
    fields = {
        "model.d_ff": 512,
        "model.positions": "learned",
        "train.peak_rate": 1e-3,
        "train.label_smoothing": 0,
        "train.order": "longest",
        "vocab_size": 900,
    }
    assert changed.flat() == recipe.flat() | fields


@pytest.mark.parametrize(
    ("setting", "part"),
    [
        ("model.width=3", "there is no field 'model.width'"),
        ("d_ff=3", "there is no field 'd_ff'"),
        ("model=3", "there is no field 'model'"),
        ("model.vocab_size=9", "there is no field 'model.vocab_size'"),
        ("model.d_ff=wide", "must be a whole number"),
        ("model.d_ff=1.5", "must be a whole number"),
        ("model.d_ff=true", "must be a whole number"),
        ("model.d_k=a", "must be a whole number, or null"),
        ("train.r_drop=a", "must be a number"),
        ("train.peak_rate=a", "must be a number, or null"),
        ("train.order=3", "must be a word"),
        ("model.tied=1", "must be true or false"),
        ("model.d_ff=0", "d_ff = 0: must be at least 1"),
        ("model.heads=7", "7"),
        ("train.clip=NaN", "clip: above 0"),
        ("train.r_drop=Infinity", "r_drop: finite"),
        ("train.order=source", "'source': choose 'target' or 'longest'"),
        (f"train.steps=1{400 * '0'}", "train.steps: at most"),
        (f"train.peak_rate=1{400 * '0'}", "train.peak_rate: at most"),
    ],
)
def test_a_field_that_cannot_be_set_says_why(setting, part):
    with pytest.raises(UserError, match=re.escape(part)):
        recipe_of("multi30k").with_fields([setting])
