"""A timed training goes on where it was stopped, and so does its clock."""

import os
import signal

import pytest
from small_runs import CORPUS, SMALL, learning, same_weights

from annotated_transformer.errors import Interrupted
from experiments.shared import timed_training
from experiments.shared.timed_training import train_timed

RECIPE = learning(SMALL, steps=40, checkpoint_every=10)


def stopped(step, signal_number, monkeypatch):
    """Have the next training get a signal, once it has validated."""
    train = timed_training.train

    def until(*words, on_metrics, **options):
        def told(line):
            on_metrics(line)
            if line["step"] == step:
                os.kill(os.getpid(), signal_number)

        monkeypatch.undo()
        return train(*words, on_metrics=told, **options)

    monkeypatch.setattr(timed_training, "train", until)


def test_the_clock_goes_on_where_a_training_does(tmp_path, monkeypatch):
    whole = train_timed(tmp_path / "whole", lambda: CORPUS, RECIPE)
    for step in (10, 30):
        stopped(step, signal.SIGTERM, monkeypatch)
        with pytest.raises(Interrupted):
            train_timed(tmp_path / "made", lambda: CORPUS, RECIPE)
    made = train_timed(tmp_path / "made", lambda: CORPUS, RECIPE)
    assert same_weights(whole.folder, made.folder)
    for found in (whole, made):
        seconds = [0, *(x for x, _ in found.curve), found.seconds]
        assert len(seconds) == 6 and seconds == sorted(seconds)
    losses = [[x for _, x in found.curve] for found in (whole, made)]
    assert losses[0] == losses[1]
    again = train_timed(tmp_path / "made", lambda: CORPUS, RECIPE)
    assert again.seconds == pytest.approx(made.seconds, abs=0.2)
    assert len(again.curve) == len(made.curve)
