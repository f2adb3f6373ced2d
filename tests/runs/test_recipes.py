"""Recipes by name, against the numbers of the paper."""

import json
import math
import re
from dataclasses import fields, replace
from itertools import product
from pathlib import Path

import pytest

from annotated_transformer.commands import options
from annotated_transformer.errors import UserError
from annotated_transformer.model import parameter_count
from annotated_transformer.runs.recipes import (
    FINE_TUNING,
    RECIPES,
    SIZES,
    LabConfig,
    Recipe,
    flat,
    recipe_of,
)
from annotated_transformer.storage.builders import outline
from annotated_transformer.storage.history import Search
from annotated_transformer.training import TrainConfig
from experiments.speed_run_captions import NOW, TASK

ROOT = Path(__file__).parents[2]


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
    assert train.peak_lr is None
    assert train.label_smoothing == 0.1
    assert (model.dropout, model.pre_norm) == (dropout, False)
    assert recipe.vocab_size == model.vocab_size == 37_000
    assert steps * seconds / 3600 == pytest.approx(hours, rel=0.08)
    # checkpoints come every ten minutes of the paper's machine
    assert train.checkpoint_every * seconds == 600
    assert train.average == averaged
    assert parameter_count(model) == pytest.approx(millions * 1e6, rel=0.03)


def test_sizes_of_no_builder_make_no_recipe():
    with pytest.raises(UserError, match="no sizes of a model"):
        Recipe(TrainConfig(), TrainConfig())


def test_recipes_survive_json():
    for task, preset in product([None, *RECIPES], [None, *SIZES]):
        recipe = recipe_of(task, preset)
        text = json.dumps(recipe.as_json(), allow_nan=False)
        assert Recipe.from_json(json.loads(text)) == recipe


def test_modern_is_tiny_with_the_parts_of_today():
    modern, tiny = (recipe_of("builtin", x) for x in ("modern", "tiny"))
    assert (modern.model.norm, modern.model.positions) == ("rms", "rotary")
    sizes = [
        sum(x.numel() for x in outline(recipe.model).parameters())
        for recipe in (modern, tiny)
    ]
    assert sizes[0] == pytest.approx(sizes[1], rel=0.01)
    assert modern.train == tiny.train


def test_captions_have_the_winner_of_the_speed_run():
    """The experiment says how each setting came to be."""
    assert recipe_of("multi30k") == TASK.with_fields(NOW)
    assert recipe_of("multi30k-2017") == TASK


def test_any_field_can_be_set_by_its_name():
    recipe = recipe_of("multi30k")
    changed = recipe.with_fields(
        [
            "model.d_ff=512",
            "model.d_k=None",
            "model.positions=learned",
            "train.peak_lr=1e-3",
            "train.label_smoothing=0",
            "labs.order=longest",
            "train.clip=inf",
            "train.weight_decay=0.1",
            "train.optimizer=muon",
            "train.schedule=stable",
            "vocab_size=900",
        ]
    )
    fields = {
        "model.d_ff": 512,
        "model.positions": "learned",
        "train.peak_lr": 1e-3,
        "train.label_smoothing": 0,
        "labs.order": "longest",
        "train.weight_decay": 0.1,
        "train.optimizer": "muon",
        "train.schedule": "stable",
        "vocab_size": 900,
    }
    expected = flat(recipe.as_json()) | fields | {"train.clip": None}
    assert flat(changed.as_json()) == expected


@pytest.mark.parametrize(
    ("setting", "part"),
    [
        ("model.width=3", "there is no field 'model.width'"),
        ("d_ff=3", "there is no field 'd_ff'"),
        ("model=3", "there is no field 'model'"),
        ("model.d_ff=wide", "d_ff='wide'`: must be a whole number"),
        ("model.d_ff=1.5", "must be a whole number"),
        (
            "train.peak_lr=a",
            "`recipe.train.peak_lr='a'`: must be a number",
        ),
        ("labs.order=3", "must be a word"),
        ("train.optimizer=sgd", "must be adam or adamw or muon"),
        ("train.weight_decay=0.1", "`weight_decay`: Adam has none; choose"),
        ("model.tied=1", "must be True or False"),
        ("model.d_ff=0", "`d_ff=0`: must be from 1"),
        ("model.heads=7", "7"),
        ("train.clip=NaN", "`clip=nan`: must be from 1e-09 to inf"),
        ("labs.order=source", "`order='source'`: must be target or longest"),
        (f"train.steps=1{400 * '0'}", "to 1,000,000,000,000"),
        (f"train.peak_lr=1{400 * '0'}", "`: int too large"),
    ],
)
def test_a_field_that_cannot_be_set_says_why(setting, part):
    with pytest.raises(UserError, match=re.escape(part)):
        recipe_of("multi30k-2017").with_fields([setting])


FIELDS = [
    (config, field.name)
    for config in (TrainConfig(), LabConfig(), recipe_of())
    for field in fields(config)
    if field.name not in ("model", "train", "labs")
]


@pytest.mark.unchecked
@pytest.mark.parametrize(
    ("config", "name"), FIELDS, ids=[name for _, name in FIELDS]
)
def test_a_field_is_of_its_type_and_within_bounds(config, name):
    value = getattr(config, name)
    wrong = [[3], b"3", "other", math.nan, -1, 10**13]
    wrong += [True] if not isinstance(value, bool) else [1]
    wrong += [None] if name != "peak_lr" else []
    for one in wrong:
        unbounded = name == "clip" and one == 10**13
        unbounded |= name == "peak_lr" and one == 10**13
        if not unbounded:
            with pytest.raises(ValueError, match=rf"^`{name}=.*`: must be "):
                replace(config, **{name: one})


def test_the_manual_and_the_help_say_what_settings_are_usual():
    """Typed there, for people; so they are compared."""
    pages = (ROOT / "book").glob("toolkit*.md")
    manual = " ".join(" ".join(x.read_text("utf-8") for x in pages).split())
    recipe, fine = recipe_of(), FINE_TUNING
    usual, search = recipe.train, Search()
    for told in (
        f"with {recipe.vocab_size:,} `{recipe.tokenizer}` subwords, a dropout "
        f"of `{recipe.model.dropout}`",
        f"The run has {usual.steps:,} updates of {usual.batch_tokens:,} "
        f"tokens, with a {usual.schedule} schedule, {usual.warmup} updates of "
        f"warm-up, a peak of `{usual.peak_lr}` and label smoothing of "
        f"`{usual.label_smoothing}`. Pairs have at most {usual.max_length} "
        f"tokens a side, and the seed is {usual.seed}. Every "
        f"{usual.checkpoint_every} updates there is a checkpoint, and the "
        f"last {usual.average} are averaged.",
        f"gets {fine['steps']} updates of {fine['batch_tokens']:,} tokens, of "
        f"which {fine['warmup']} are warm-up, with a peak of "
        f"`{fine['peak_lr']}` and a checkpoint every "
        f"{fine['checkpoint_every']} updates",
        f"only {fine['steps']} small updates (of {fine['batch_tokens']:,} "
        f"tokens, with a learning rate of at most `{fine['peak_lr']}` after "
        f"{fine['warmup']} of warm-up)",
    ):
        assert told in manual
    assert f"(1: greedy); {search.beam}, or" in options.BEAM.help
    assert f"output; {search.alpha}, or" in options.ALPHA.help
    assert f"twice; {search.no_repeat}, which" in options.NO_REPEAT.help
