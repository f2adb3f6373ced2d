"""However a training ends, it leaves the process as it found it."""

import os
import signal
import sys
import threading
import warnings

import numpy as np
import pytest
import torch
from small_runs import CORPUS, SMALL, learning
from torch import nn

from annotated_transformer.errors import Interrupted, UserError
from annotated_transformer.optimizer import adam
from annotated_transformer.runs import objectives
from annotated_transformer.runs.train import train
from annotated_transformer.system.console import console


def process():
    """What a training might set in its process."""
    cuda, cudnn = torch.backends.cuda, torch.backends.cudnn
    return {
        "signals": {x: signal.getsignal(x) for x in signal.valid_signals()},
        "torch's numbers": torch.get_rng_state().tolist(),
        "torch's seed": torch.initial_seed(),
        "NumPy's numbers": np.random.get_state()[1].tolist(),
        "console": (console.quiet, console.file),
        "running": {*threading.enumerate()},
        "environment": dict(os.environ),
        "folder": os.getcwd(),
        "warnings": [*warnings.filters],
        "streams": (sys.stdin, sys.stdout, sys.stderr),
        "hooks": (sys.excepthook, sys.unraisablehook, threading.excepthook),
        "default": (torch.get_default_dtype(), torch.get_default_device()),
        "modes": (
            torch.is_grad_enabled(),
            torch.is_inference_mode_enabled(),
            torch.is_autocast_enabled("cpu"),
        ),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "precision": torch.get_float32_matmul_precision(),
        "threads": (torch.get_num_threads(), torch.get_num_interop_threads()),
        "attention": (cuda.flash_sdp_enabled(), cuda.math_sdp_enabled()),
        "cudnn": (cudnn.enabled, cudnn.benchmark, cudnn.deterministic),
        "oneDNN": torch.backends.mkldnn.enabled,
        "joined": torch.distributed.is_initialized(),
    }


@pytest.fixture(autouse=True, scope="module")
def loaded():
    """Load what sets filters and variables, once, when it is first needed.

    It is PyTorch's compiler, at the first optimizer, and what scores need.
    """
    adam([nn.Parameter(torch.zeros(()))])
    import sacremoses  # noqa: F401


def signalled(*numbers):
    def send(loss, before):
        for number in numbers:
            os.kill(os.getpid(), number)
        return loss

    return send


def fail(loss, before):
    raise RuntimeError("DefaultCPUAllocator: can't allocate memory")


def look(loss, before):
    """The test can fail: during a training other things are set."""
    now = process()
    changed = {name for name in now if now[name] != before[name]}
    # what runs is the thread that makes the batches
    assert changed >= {"signals", "torch's numbers", "torch's seed", "running"}
    return loss


@pytest.mark.parametrize(
    ("given", "action", "error"),
    [
        ({}, look, None),
        ({"bf16": True}, look, None),
        ({"risk": 2}, None, UserError),
        ({}, lambda loss, before: loss * float("nan"), UserError),
        ({}, fail, UserError),
        ({}, signalled(signal.SIGTERM), Interrupted),
        ({}, signalled(*2 * [signal.SIGINT]), KeyboardInterrupt),
    ],
    ids=[
        *("ended", "bfloat16", "refused", "diverged", "no memory"),
        *("interrupted", "interrupted twice"),
    ],
)
def test_a_training_leaves_all_as_it_was(
    tmp_path, monkeypatch, given, action, error
):
    torch.manual_seed(3)
    torch.rand(5)  # in the midst of numbers
    before, plain, calls = process(), objectives.batch_loss, []

    def loss(*words):
        """What the second update does instead."""
        calls.append(1)
        found = plain(*words)
        return action(found, before) if len(calls) == 2 else found

    monkeypatch.setattr(objectives, "batch_loss", loss)
    words = tmp_path / "run", CORPUS, learning(SMALL, **given)
    options = {"device": "cpu", "valid_bleu": 2}
    if error is None:
        train(*words, **options)
    else:
        with pytest.raises(error):
            train(*words, **options)
    assert process() == before
    assert len(calls) >= 2 or error


def test_a_rank_of_another_program_silences_nothing(
    tmp_path, capsys, monkeypatch
):
    """A batch system leaves one where it has started a single process."""
    monkeypatch.setenv("RANK", "1")
    train(tmp_path, CORPUS, SMALL, device="cpu")
    assert capsys.readouterr().err
    assert (tmp_path / "run.json").exists()
