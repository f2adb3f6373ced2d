"""Training loops: the best of what is tried, and the rate of each step."""

from math import inf, log2, nan

import pytest
import torch

from experiments.shared.training_loops import best, fit, lowest


def test_what_diverges_is_not_the_best():
    for losses in ({1: nan, 2: 3.0, 4: 2.5}, {4: 2.5, 1: -inf, 2: nan}):
        assert best(losses, losses.__getitem__) == 4
    assert best([7, 5], lambda _: 1.0) == 7  # the first of equals


@pytest.mark.parametrize("valley", [0.001, 0.004, 0.008, 0.064])
def test_a_walk_ends_in_the_valley_and_tries_each_rate_once(valley):
    tried = []

    def loss(rate):
        tried.append(rate)
        return nan if rate > valley * 6 else abs(log2(rate / valley))

    assert lowest(loss, 0.004) == pytest.approx(valley)
    assert len(tried) == len({*tried})


def test_each_step_has_its_rate():
    """A slope of one moves a weight by the rate."""
    for given, rates in (
        ({}, [0.5] * 4),
        ({"peak_lr": 0.2, "warmup": 2}, [0.1, 0.2, 0.1, 0.0]),
        ({"rate": lambda step: 0.3 * step}, [0.3, 0.6, 0.9, 1.2]),
    ):
        weight = torch.zeros((), requires_grad=True)
        optimizer = torch.optim.SGD([weight], lr=0.5)
        values = fit(lambda w=weight: 1 * w, optimizer, 4, **given)
        passed = [-sum(rates[:step]) for step in range(4)]
        assert values == pytest.approx(passed, abs=1e-6)
        assert weight.item() == pytest.approx(-sum(rates), abs=1e-6)
