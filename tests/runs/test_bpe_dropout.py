"""BPE-dropout elsewhere: the same pieces, and a process that ends in time."""

import os
import random
import signal
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest

from annotated_transformer.corpora.builtin import sentence_pairs
from annotated_transformer.data import (
    Resplit,
    encode_pairs,
    train_tokenizer,
    training_batches,
)
from annotated_transformer.embedding import EOS
from annotated_transformer.errors import UserError
from annotated_transformer.runs import bpe_dropout
from annotated_transformer.runs.bpe_dropout import elsewhere, program
from annotated_transformer.runs.feeding import ahead

PAIRS = [(x.source, x.target) for x in sentence_pairs(200, seed=5)]
BPE = train_tokenizer([side for pair in PAIRS for side in pair], 300)
EXAMPLES, _ = encode_pairs(PAIRS, BPE, 256)

# What a user's script does: it cuts until it is killed.
SCRIPT = """
from tests.runs.test_bpe_dropout import EXAMPLES, elsewhere, resplit
with elsewhere(resplit()) as ask:
    while True:
        ask(EXAMPLES, "1")
        print("cut", flush=True)
"""


def resplit():
    return Resplit(BPE.vocabulary, dropout=0.2, max_length=256)


@pytest.fixture
def process(monkeypatch):
    """The processes that were started, in a list."""
    started, start = [], subprocess.Popen

    def popen(*words, **options):
        started.append(start(*words, **options))
        return started[-1]

    monkeypatch.setattr(bpe_dropout.subprocess, "Popen", popen)
    return started


def test_the_pieces_are_those_of_this_process():
    here, seeds = resplit(), [str(i) for i in range(5)]
    found = {}
    with elsewhere(resplit()) as ask:
        for seed in random.Random(0).sample(seeds, len(seeds)):
            found[seed] = ask(EXAMPLES, seed)
    assert found == {seed: here(EXAMPLES, seed) for seed in seeds}
    assert found["0"] != found["1"]


def test_batches_are_those_of_this_process():
    here = training_batches(EXAMPLES, 256, 3, resplit=resplit())
    with elsewhere(resplit()) as ask:
        there = training_batches(EXAMPLES, 256, 3, resplit=ask)
        both = zip(here, ahead(there, "cpu"), strict=True)
        for one, other in islice(both, 50):
            for name, tensor in vars(one).items():
                assert tensor.equal(getattr(other, name))


def test_neither_torch_nor_the_package_is_there():
    """The program itself, but for the call that begins to answer."""
    text, call, rest = program().rpartition("serve()")
    assert call and not rest
    known = subprocess.run(
        [sys.executable, "-I", "-c", text + "print(*sys.modules)"],
        capture_output=True,
        check=True,
        text=True,
    ).stdout.split()
    assert "pickle" in known
    tops = {name.partition(".")[0] for name in known}
    assert not tops & {"torch", "numpy", "annotated_transformer"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_is_deaf_to_what_stops_a_training(process, number):
    with elsewhere(resplit()) as ask:
        before = ask(EXAMPLES, "1")  # so it has begun
        process[0].send_signal(number)
        assert ask(EXAMPLES, "1") == before
        assert os.getpgid(process[0].pid) != os.getpgid(0)
    assert process[0].returncode == 0


def test_it_ends_with_its_parent_however_that_ends():
    """Both write to the one pipe of errors, which is read to its end."""
    parent = subprocess.Popen(
        [sys.executable, "-c", SCRIPT],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout.readline() == "cut\n"
    parent.kill()
    _, errors = parent.communicate(timeout=60)
    assert parent.returncode == -signal.SIGKILL
    assert errors == ""


def test_an_error_there_is_raised_here(process):
    with elsewhere(resplit()) as ask:
        with pytest.raises(IndexError) as caught:
            ask([([10**6, EOS], [EOS])], "1")
        assert "in split" in caught.value.__notes__[0]
        assert ask(EXAMPLES, "1") == resplit()(EXAMPLES, "1")


def test_a_process_that_is_killed_is_an_error_with_a_message(process):
    with elsewhere(resplit()) as ask:
        batches = training_batches(EXAMPLES, 256, 3, resplit=ask)
        moved = ahead(batches, "cpu", number=1)
        next(moved)
        process[0].kill()
        with pytest.raises(UserError, match=r"status -9.*`resume=True`"):
            list(moved)
