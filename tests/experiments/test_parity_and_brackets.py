"""Rows with answers, and models that answer, against plain loops."""

import pytest
import torch

from experiments.parity_and_brackets import (
    DEEPEST,
    LAYERS,
    TASKS,
    TESTED,
    build,
)
from ledger.records import read_run


def test_parity_counts_the_ones():
    torch.manual_seed(0)
    letters, answers = TASKS["parity"].draw(500, 9)
    for row, said in zip(letters.tolist(), answers.tolist(), strict=True):
        assert said == [row[: i + 1].count(1) % 2 for i in range(9)]
    assert 0.4 < answers[:, -1].float().mean() < 0.6


@pytest.mark.parametrize("length", [10, 11])
def test_brackets_nest(length):
    torch.manual_seed(1)
    letters, answers = TASKS["brackets"].draw(300, length)
    deepest = 0
    for row, said in zip(letters.tolist(), answers.tolist(), strict=True):
        still_open = []
        for letter, answer in zip(row, said, strict=True):
            if letter < 2:
                still_open.append(letter)
            else:
                assert still_open.pop() == letter - 2
            deepest = max(deepest, len(still_open))
            assert answer == (still_open[-1] if still_open else 2)
        assert still_open
    assert deepest == DEEPEST
    assert 0.4 < (answers[:, -1] == 1).float().mean() < 0.6


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("model", ["LSTM", *LAYERS])
def test_an_answer_follows_from_what_is_before_it(task, model):
    torch.manual_seed(2)
    network = build(task, model).eval()
    letters, answers = TASKS[task].draw(3, 8)
    with torch.inference_mode():
        logits = network(letters, answers)
        assert logits.shape == (3, 8, TASKS[task].answers)
        shorter = network(letters[:, :5], answers[:, :5])
        torch.testing.assert_close(shorter, logits[:, :5])
        others = answers.roll(1, 0)
        others[:, 4:] = answers[:, 4:]  # the answer itself is not read
        changed = (network(letters, others) - logits).abs().sum((0, 2)) > 0
    reads = model == "in steps"
    assert changed.tolist() == [False] + 7 * [reads]


def test_steps_read_the_answers_that_were_written():
    """What is written is the likeliest after what was written before."""
    torch.manual_seed(3)
    network = build("brackets", "in steps").eval()
    letters, _ = TASKS["brackets"].draw(4, 9)
    with torch.inference_mode():
        written = network.answered(letters)
        assert written.equal(network(letters, written).argmax(-1))


def test_the_record_of_parity():
    results = read_run("parity_and_brackets")["results"]
    longer = TESTED.index(40)

    def right(model, task="parity"):
        keys = (f"{task}, {model} seed={seed}" for seed in range(3))
        return [results[key]["right"][longer] for key in keys]

    assert min(right("LSTM")) == min(right("LSTM", "brackets")) == 1
    assert max(*right("at once"), *right("at once, four layers")) < 0.6
    assert min(right("in steps")) > 0.9
    assert min(right("at once", "brackets")) > 0.8
