"""However a training ends, it leaves the process as it found it."""

import locale
import os
import signal
import subprocess
import sys
import threading
import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from annotated_transformer.corpora.corpus import Corpus
from annotated_transformer.data import copy_task
from annotated_transformer.errors import Interrupted, UserError
from annotated_transformer.model import ModelConfig
from annotated_transformer.optimizer import adam
from annotated_transformer.runs import loop
from annotated_transformer.runs.recipes import Recipe
from annotated_transformer.runs.run import train
from annotated_transformer.system.console import console
from annotated_transformer.system.processes import Processes
from annotated_transformer.training import TrainConfig

SMALL = Recipe(
    ModelConfig(layers=1, d_model=8, d_ff=8, heads=2),
    TrainConfig(
        steps=3, batch_tokens=200, warmup=1, checkpoint_every=1, average=2
    ),
    tokenizer="char",
)
PAIRS = copy_task(60)
CORPUS = Corpus(PAIRS[10:], PAIRS[:10], {}, "copy", "xx", "xx", {"train": "1"})


def switches():
    """What PyTorch lets a program set for the whole process."""
    backends, cuda = torch.backends, torch.backends.cuda
    return {
        "default": (torch.get_default_dtype(), torch.get_default_device()),
        "modes": (
            torch.is_grad_enabled(),
            torch.is_inference_mode_enabled(),
            torch.is_autocast_enabled("cpu"),
            torch.get_autocast_dtype("cpu"),
        ),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "precision": torch.get_float32_matmul_precision(),
        "threads": (torch.get_num_threads(), torch.get_num_interop_threads()),
        "attention": (
            cuda.flash_sdp_enabled(),
            cuda.mem_efficient_sdp_enabled(),
            cuda.math_sdp_enabled(),
            cuda.cudnn_sdp_enabled(),
        ),
        "cudnn": (
            backends.cudnn.enabled,
            backends.cudnn.benchmark,
            backends.cudnn.deterministic,
            backends.cudnn.allow_tf32,
        ),
        "oneDNN": backends.mkldnn.enabled,
        "printing": str(torch.tensor([1e-9, 1 / 3])),
        "joined": torch.distributed.is_initialized(),
    }


def process():
    """All that a training might set in its process."""
    mask = os.umask(0)
    os.umask(mask)
    return {
        "signals": {x: signal.getsignal(x) for x in signal.valid_signals()},
        "wakeup": signal.getitimer(signal.ITIMER_REAL),
        "torch's numbers": torch.get_rng_state().tolist(),
        "torch's seed": torch.initial_seed(),
        "NumPy's numbers": np.random.get_state()[1].tolist(),
        "console": (console.quiet, console.file),
        "running": {*threading.enumerate()},
        "environment": dict(os.environ),
        "folder": os.getcwd(),
        "mask": mask,
        "locale": locale.setlocale(locale.LC_ALL),
        "warnings": [*warnings.filters],
        "streams": (sys.stdin, sys.stdout, sys.stderr),
        "hooks": (sys.excepthook, sys.unraisablehook, threading.excepthook),
        **switches(),
    }


@pytest.fixture
def ends(monkeypatch):
    """Let the second update of a training do something instead."""

    def put(action):
        plain, calls = loop.batch_loss, []

        def loss(*arguments):
            calls.append(1)
            found = plain(*arguments)
            return found if len(calls) != 2 else action(found)

        monkeypatch.setattr(loop, "batch_loss", loss)

    return put


@pytest.fixture(autouse=True, scope="module")
def loaded():
    """Load what sets filters and variables, once, when it is first needed.

    It is PyTorch's compiler, at the first optimizer, and what scores need.
    """
    adam([nn.Parameter(torch.zeros(()))])
    import sacremoses  # noqa: F401


def signalled(*numbers):
    def send(loss):
        for number in numbers:
            os.kill(os.getpid(), number)
        return loss

    return send


def fail(loss):
    raise RuntimeError("DefaultCPUAllocator: can't allocate memory")


def look(loss):
    """The test can fail: during a training other things are set."""
    now, before = process(), look.before
    changed = {name for name in now if now[name] != before[name]}
    # what runs is the thread that makes the batches
    assert changed >= {"signals", "torch's numbers", "torch's seed", "running"}
    look.seen = True
    return loss


BF16 = replace(SMALL, train=replace(SMALL.train, bf16=True))
BROKEN = replace(SMALL, train=replace(SMALL.train, risk=2))


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize(
    ("recipe", "action", "error"),
    [
        (SMALL, None, None),
        (SMALL, look, None),
        (BF16, None, None),
        (BROKEN, None, UserError),
        (SMALL, lambda loss: loss * float("nan"), UserError),
        (SMALL, fail, UserError),
        (SMALL, signalled(signal.SIGTERM), Interrupted),
        (SMALL, signalled(*2 * [signal.SIGINT]), KeyboardInterrupt),
    ],
    ids=[
        *("ended", "looked at", "bfloat16", "refused", "diverged"),
        *("no memory", "interrupted", "interrupted twice"),
    ],
)
def test_a_training_leaves_all_as_it_was(
    tmp_path, ends, recipe, action, error, fast
):
    torch.manual_seed(3)
    torch.rand(5)  # in the midst of numbers
    look.before, look.seen = process(), False
    if action:
        ends(action)

    def run():
        train(
            *(tmp_path / "run", CORPUS, recipe),
            device="cpu",
            valid_bleu=2,
            fast=fast,
        )

    if error is None:
        run()
    else:
        with pytest.raises(error):
            run()
    assert process() == look.before
    assert look.seen == (action is look)


def test_python_draws_what_it_would_have_drawn(tmp_path):
    """In a process of its own: checking types draws numbers, too."""
    program = """
import random, sys
from annotated_transformer import RECIPES, Corpus, train
pairs = [("a b", "b a"), ("b", "b"), ("a", "a")] * 9
corpus = Corpus(pairs, pairs, {}, "x", "xx", "xx", {})
random.seed(3)
before = random.getstate()
recipe = RECIPES["copy"].with_fields(["train.steps=2", "train.warmup=1"])
train(sys.argv[1], corpus, recipe, device="cpu", valid_bleu=1)
assert random.getstate() == before
"""
    words = [sys.executable, "-c", program, str(tmp_path / "run")]
    subprocess.run(words, check=True)


def test_a_process_that_is_quiet_in_a_training_is_not_after_it(
    tmp_path, capsys
):
    train(tmp_path, CORPUS, SMALL, device="cpu")
    capsys.readouterr()
    for rank in (1, 0):
        processes = Processes(rank)
        train(
            *(tmp_path, CORPUS, SMALL),
            device="cpu",
            resume=True,
            processes=processes,
        )
        assert not console.quiet
        assert bool(capsys.readouterr().err) == (rank == 0)
