"""Early stopping: the best checkpoint is kept, and patience ends a run."""

import json

from hypothesis import given
from hypothesis import strategies as st
from small_runs import CORPUS, SMALL, curve, learning, same_weights

from annotated_transformer.runs.train import train
from annotated_transformer.storage.checkpoints import (
    Progress,
    checkpoint_paths,
    checkpoint_weights,
    read_metrics,
)
from annotated_transformer.storage.weight_files import read_tensors

LARGE = {"steps": 60, "schedule": "stable", "peak_lr": 0.3, "average": 1}


def best_of(folder):
    """The update with the lowest validation loss, and what followed it."""
    lines = read_metrics(folder)
    losses = [line["valid_loss"] for line in lines]
    place = losses.index(min(losses))
    return lines[place]["step"], len(lines) - 1 - place


@given(st.lists(st.integers(0, 5)))
def test_validations_since_the_best_are_a_loop(losses):
    lines = [{"step": 2 * i, "valid_loss": x} for i, x in enumerate(losses)]
    best, since = None, 0
    for loss in losses:
        if best is None or loss < best:
            best, since = loss, 0
        else:
            since += 1
    progress = Progress(metrics=tuple(lines))
    assert progress.no_better() == since
    expected = 2 * (len(losses) - 1 - since) if losses else -1
    assert progress.best_step == expected


def test_the_best_checkpoint_is_kept(tmp_path):
    recipe = learning(SMALL, **LARGE | {"steps": 30})
    folder = train(tmp_path / "run", CORPUS, recipe, device="cpu")
    best, _ = best_of(folder)
    assert best < 28 and [*checkpoint_paths(folder)] == [best, 28, 30]


def test_patience_ends_a_training_and_the_best_is_the_model(tmp_path, capsys):
    recipe = learning(SMALL, patience=3, **LARGE)
    folder = train(tmp_path / "run", CORPUS, recipe, device="cpu")
    lines, (best, since) = read_metrics(folder), best_of(folder)
    last = lines[-1]["step"]
    assert since == 3 and last == best + 6 < 60
    said = " ".join(capsys.readouterr().err.split())
    told = f"(`patience=3`): no checkpoint after that of update {best} was"
    assert told in said
    assert "the model is ready" in said and "unfinished" not in said
    tensors, _ = read_tensors(folder / "model.safetensors")
    kept = checkpoint_weights(checkpoint_paths(folder)[best])
    for name in tensors:
        assert tensors[name].equal(kept[name])
    # nothing is learned by a run that has ended so, and goes on
    train(folder, CORPUS, recipe, device="cpu", resume=True)
    assert read_metrics(folder) == lines
    # without patience it learns on, and ends as it always has
    patient = learning(recipe, patience=0)
    other = train(tmp_path / "other", CORPUS, patient, device="cpu")
    more = curve(other)
    assert more[: len(lines)] == curve(folder)
    assert len(more) == 30
    result = json.loads((other / "config.json").read_text())["history"]
    assert result["result"]["updates"] == 60


def test_a_run_with_patience_is_stopped_at_every_update(tmp_path):
    recipe = learning(SMALL, patience=1, **LARGE | {"steps": 20})
    whole = train(tmp_path / "whole", CORPUS, recipe, device="cpu")
    part, options = tmp_path / "part", {"device": "cpu", "max_minutes": 0.0}
    train(part, CORPUS, recipe, **options)
    for _ in range(read_metrics(whole)[-1]["step"]):  # and once more
        train(part, CORPUS, recipe, resume=True, **options)
    lines = curve(part)
    assert lines == curve(whole) and len(lines) < 10
    assert same_weights(part, whole)
