"""Runs that fit a time, and what is said of one that was cut off."""

import json
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from small_runs import CORPUS, SMALL, learning, same_weights
from test_resume import KINDS

from annotated_transformer.errors import UserError
from annotated_transformer.runs import run
from annotated_transformer.runs.planning import AT_THE_END, FIELDS, planned
from annotated_transformer.runs.train import train
from annotated_transformer.storage.checkpoints import read_metrics
from annotated_transformer.training import TrainConfig

SECONDS = st.floats(1e-4, 1e3)


@given(
    st.floats(0, 1e5),
    SECONDS,
    SECONDS,
    st.integers(1, 5000),
    st.integers(1, 5000),
    st.sampled_from([None, 0.003]),
    st.sampled_from(["inverse_sqrt", "linear", "stable"]),
)
def test_as_many_updates_as_fit_and_their_schedule(
    seconds, update, validation, warmup, every, peak, schedule
):
    before = TrainConfig(
        warmup=warmup,
        checkpoint_every=every,
        peak_lr=peak,
        schedule=schedule,
    )

    def takes(steps, checks):
        """Updates, and validations on the way and at the end."""
        return steps * update + (checks + AT_THE_END) * validation

    try:
        found = planned(before, 512, seconds, update, validation)
    except UserError as error:
        assert takes(1, 10) > seconds and "so none fits" in str(error)
        return
    steps, often = found.steps, found.checkpoint_every
    checks = steps / often
    assert takes(steps, checks) <= seconds * (1 + 1e-9)
    assert takes(steps + 1, max(10, checks + 1)) > seconds * (1 - 1e-9)
    assert often <= every and (checks >= 5 or often == 1)
    assert found.warmup == min(warmup, max(1, steps // 10))
    assume(found.warmup < steps)
    top = max(found.rate(step, 512) for step in range(1, found.warmup + 2))
    assert top == pytest.approx(before.rate(warmup, 512), rel=1e-6)


@pytest.mark.parametrize("kind", ["dropout", "muon", "adapters"])
def test_a_plan_is_a_recipe_and_its_trial_leaves_no_trace(
    kind, tmp_path, monkeypatch
):
    """Begun with the planned recipe, or resumed, it is the same run.

    What a slow machine would plan is not asked for here.
    """
    monkeypatch.chdir(tmp_path)
    recipe, begin = KINDS[kind]
    if kind == "adapters":
        train(tmp_path / "parent", CORPUS, KINDS["start"][0], device="cpu")
    plan = dict(zip(FIELDS, (8, 1, 0.02, 3), strict=True))
    asked = []

    def fixed(config, d_model, seconds, update, validation):
        asked.append((config.steps > 10**9, min(update, validation) > 0))
        return replace(config, **plan)

    monkeypatch.setattr(run, "planned", fixed)
    options = {"device": "cpu", "plan_minutes": 0.01, "start": begin()}
    part = tmp_path / "part"
    train(part, CORPUS, recipe, max_minutes=0.0, **options)
    written = json.loads((part / "run.json").read_text())["recipe"]["train"]
    assert {name: written[name] for name in FIELDS} == plan
    train(part, CORPUS, recipe, resume=True, **options)
    assert asked == [(True, True)]
    same = learning(recipe, **plan)
    whole = train(tmp_path / "whole", CORPUS, same, begin(), device="cpu")
    assert same_weights(part, whole)
    steps = [line["step"] for line in read_metrics(part)]
    assert steps == [line["step"] for line in read_metrics(whole)]


def test_a_plan_is_made_and_kept(tmp_path, monkeypatch):
    """For a minute, of a machine that needs two seconds for an update."""
    monkeypatch.setattr(run, "trial", lambda *_: (2.0, 1.0))
    recipe = learning(SMALL, warmup=1000)
    options = {"device": "cpu", "plan_minutes": 1.0}
    folder = train(tmp_path / "x", CORPUS, recipe, **options)
    plan = json.loads((folder / "run.json").read_text())["recipe"]["train"]
    assert plan["warmup"] <= max(1, plan["steps"] // 10)
    assert read_metrics(folder)[-1]["step"] == plan["steps"] < 30


def test_a_plan_without_time_for_an_update(tmp_path):
    with pytest.raises(UserError, match="`plan_minutes`: an update takes"):
        train(tmp_path / "x", CORPUS, SMALL, device="cpu", plan_minutes=0.0)
    train(tmp_path / "x", CORPUS, SMALL, device="cpu")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"warmup": 4}, "while the learning rate still rose"),
        ({"warmup": 1, "schedule": "linear"}, "before the learning rate came"),
    ],
)
def test_a_training_that_is_cut_off_says_what_that_means(
    given, said, tmp_path, capsys
):
    recipe, options = learning(SMALL, **given), {"device": "cpu"}
    folder = train(tmp_path / "x", CORPUS, recipe, max_minutes=0.0, **options)
    told = " ".join(capsys.readouterr().err.split())
    assert "an unfinished model is ready after update 1 of 6" in told
    assert f"was cut off {said}" in told and "`resume=True`" in told
    train(folder, CORPUS, recipe, resume=True, **options)
    told = " ".join(capsys.readouterr().err.split())
    assert "the model is ready" in told and "cut off" not in told
