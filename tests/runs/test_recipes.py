"""Recipes by name, against the numbers of the paper."""

import copy
import json
import math
import re
from dataclasses import fields
from itertools import product

import pytest

from annotated_transformer.errors import UserError
from annotated_transformer.model import PRESETS, parameter_count
from annotated_transformer.runs.recipes import RECIPES, Recipe, recipe_of
from annotated_transformer.training import TrainConfig


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
        ("model", "layers", "2", "`recipe.model.layers='2'`"),
        ("model", "layers", True, "`recipe.model.layers=True`"),
        ("model", "wings", 2, "no field 'recipe.model.wings'"),
        ("train", "steps", 10**30, "`recipe.train.steps=1000000"),
        ("train", "seed", -1, "`recipe.train.seed=-1`"),
        ("train", "peak_rate", "x", "`recipe.train.peak_rate='x'`"),
    ],
)
def test_a_recipe_from_a_stranger(part, name, value, told):
    plain = recipe_of("copy").as_json()
    plain[part] = plain[part] | {name: value}
    with pytest.raises(ValueError, match=re.escape(told)):
        Recipe.from_json(plain)
    del plain[part]
    with pytest.raises(ValueError, match=f"recipe.{part}( is missing|=None)"):
        Recipe.from_json(plain)


def test_recipes_survive_json():
    for task, preset in product([None, *RECIPES], [None, *PRESETS]):
        recipe = recipe_of(task, preset)
        text = json.dumps(recipe.as_json(), allow_nan=False)
        assert Recipe.from_json(json.loads(text)) == recipe


def test_any_field_can_be_set_by_its_name():
    recipe = recipe_of("multi30k")
    changed = recipe.with_fields(
        [
            "model.d_ff=512",
            "model.d_k=None",
            "model.positions=learned",
            "train.peak_rate=1e-3",
            "train.label_smoothing=0",
            "train.order=longest",
            "train.clip=inf",
            "vocab_size=900",
        ]
    )
    fields = {
        "model.d_ff": 512,
        "model.positions": "learned",
        "train.peak_rate": 1e-3,
        "train.label_smoothing": 0,
        "train.order": "longest",
        "train.clip": math.inf,
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
        ("model.d_ff=wide", "`d_ff='wide'`: must be a whole number"),
        ("model.d_ff=1.5", "must be a whole number"),
        ("model.d_ff=true", "`d_ff=True`: must be a whole number"),
        ("model.d_k=a", "must be a whole number, or None"),
        ("train.r_drop=a", "must be a number"),
        ("train.peak_rate=a", "must be a number, or None"),
        ("train.order=3", "must be a word"),
        ("model.tied=1", "must be True or False"),
        ("model.d_ff=0", "d_ff = 0: must be at least 1"),
        ("model.heads=7", "7"),
        ("train.clip=NaN", "`clip=nan`: must be from 1e-09 to inf"),
        ("train.r_drop=Infinity", "`r_drop=inf`: must be from 0 to 1,000"),
        ("train.order=source", "`order='source'`: must be target or longest"),
        (f"train.steps=1{400 * '0'}", "to 1,000,000,000,000"),
        (f"train.peak_rate=1{400 * '0'}", "`peak_rate=inf`: must be from"),
    ],
)
def test_a_field_that_cannot_be_set_says_why(setting, part):
    with pytest.raises(UserError, match=re.escape(part)):
        recipe_of("multi30k").with_fields([setting])


COUNTED = (1, 10**12)
BOUNDS = {
    "steps": COUNTED,
    "batch_tokens": COUNTED,
    "accumulate": (1, 10_000),
    "warmup": COUNTED,
    "peak_rate": (1e-9, 1e38),
    "label_smoothing": (0.0, 0.99),
    "r_drop": (0.0, 1000.0),
    "risk": (0, 1000),
    "bpe_dropout": (0.0, 0.99),
    "clip": (1e-9, math.inf),
    "checkpoint_every": COUNTED,
    "average": COUNTED,
    "max_length": (2, 10**12),
    "seed": (0, 4294967295),
    "vocab_size": (5, 10**7),
    "processes": COUNTED,
}
WORDS = {
    "schedule": ("inverse_sqrt", "linear"),
    "order": ("target", "longest"),
    "tokenizer": ("bpe", "unigram", "char", "given"),
}
SWITCHES = ("bf16", "tf32")
CONFIGS = TrainConfig(), recipe_of()


def made(name, value):
    """A configuration with that field, made as where no hook checks types."""
    (config,) = (x for x in CONFIGS if name in vars(x))
    config = copy.copy(config)
    object.__setattr__(config, name, value)
    config.__post_init__()


def refuses(name, value):
    with pytest.raises(
        ValueError, match=rf"^`{name}=.*`: must be \w"
    ) as error:
        made(name, value)
    assert repr(value)[:80] in str(error.value)


def test_every_field_has_bounds():
    known = {f.name for config in CONFIGS for f in fields(config)}
    assert known == {*BOUNDS, *WORDS, *SWITCHES, "model", "train"}


@pytest.mark.parametrize("name", BOUNDS)
def test_a_number_is_within_its_bounds(name):
    bounds, whole = BOUNDS[name], type(BOUNDS[name][0]) is int
    for bound, beyond in zip(bounds, (-math.inf, math.inf), strict=True):
        made(name, bound)
        if not math.isinf(bound):
            step = math.copysign(1, beyond)
            over = bound + step if whole else math.nextafter(bound, beyond)
            refuses(name, int(over) if whole else over)
    for wrong in (math.nan, -math.inf, "3", "", True, [3], b"3"):
        refuses(name, wrong)
    if whole:
        refuses(name, float(bounds[0]))
    else:
        made(name, 1 if name == "clip" else int(bounds[0] > 0))
    if name == "peak_rate":
        made(name, None)
    else:
        refuses(name, None)


@pytest.mark.parametrize("name", WORDS)
def test_a_word_is_one_of_few(name):
    for word in WORDS[name]:
        made(name, word)
    for wrong in ("", "other", WORDS[name][0].upper(), 3, None, True):
        refuses(name, wrong)


@pytest.mark.parametrize("name", SWITCHES)
def test_a_switch_is_true_or_false(name):
    for good in (True, False):
        made(name, good)
    for wrong in (1, 0, "true", None):
        refuses(name, wrong)
