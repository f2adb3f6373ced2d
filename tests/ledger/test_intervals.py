"""Intervals and p, against SciPy's own tests and against simulated seeds."""

from math import isnan, nan
from statistics import fmean, stdev

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ledger.intervals import (
    difference,
    draws,
    mean,
    redrawn,
    seeds_needed,
)

figures = st.lists(
    st.floats(-1e3, 1e3).map(lambda x: round(x, 3)), min_size=3, max_size=8
).filter(lambda row: stdev(row) > 1e-2)
margins = st.floats(0.01, 1e3)


def agrees(found, test, shifted):
    """Value, interval and both p of an estimate are those of SciPy's test.

    `shifted` is the same test of figures from which a margin was taken.
    """
    low, high = test("two-sided").confidence_interval(0.9)
    assert (found.low, found.high) == pytest.approx((low, high))
    for margin, moved in shifted.items():
        assert found.p_above(margin) == pytest.approx(
            moved("greater").pvalue, abs=1e-12
        )
        assert found.p_below(margin) == pytest.approx(
            moved("less").pvalue, abs=1e-12
        )


@given(figures, margins)
def test_a_mean_is_the_t_test_of_one_sample(values, margin):
    def test(of):
        return lambda side: stats.ttest_1samp(values, of, alternative=side)

    found = mean(values)
    assert found.value == pytest.approx(fmean(values))
    agrees(found, test(0), {of: test(of) for of in (0, margin, -margin)})


@given(figures, figures, margins)
def test_a_difference_is_welch_s_test(first, second, margin):
    def test(of):
        moved = [x - of for x in first]
        return lambda side: stats.ttest_ind(
            moved, second, equal_var=False, alternative=side
        )

    found = difference(first, second)
    assert found.value == pytest.approx(fmean(first) - fmean(second))
    agrees(found, test(0), {of: test(of) for of in (0, margin, -margin)})


@pytest.mark.parametrize("sides", [(1.0, 1.0), (1.0, 5.0)])
def test_nine_of_ten_intervals_hold_the_truth(sides):
    """Drawn from a known law: five seeds a side, alike or not."""
    draw = np.random.default_rng(0)
    hits = 0
    for _ in range(1000):
        first, second = (draw.normal(0, s, 5).tolist() for s in sides)
        found = difference(first, second)
        hits += found.low <= 0 <= found.high
    assert 870 <= hits <= 930  # 900, and three of its standard deviations


@pytest.mark.parametrize(("weights", "apart"), [(1, 0.0), (3, 0.2)])
def test_draws_of_a_text_hold_the_truth(weights, apart):
    """Of 50 sentences, by one set of weights or by three that differ."""
    draw, hits = np.random.default_rng(0), 0
    for _ in range(300):
        text = draw.normal(size=50)
        skills = draw.normal(0, apart, weights)
        rows = [
            [(text[i] + skill).mean() for i in redrawn(50)] for skill in skills
        ]
        found = draws(*rows)
        hits += found.low <= 0 <= found.high
    assert 250 <= hits <= 292  # 270, and what draws and few weights cost
    assert found.finished and found.seen == (weights, 20)


def test_other_weights_are_worth_more_than_other_sentences():
    """What the interval of these weights alone leaves out."""
    rows = [[skill + 0.01 * i for i in range(20)] for skill in (0, 1, 2)]
    assert draws(rows[1]).high < 1.5 < draws(*rows).high
    with pytest.raises(ValueError, match="2 seeds"):
        draws(*rows[:2])


@pytest.mark.parametrize("deviation", [0.1, 0.6, 1.0, 5.0])
def test_one_seed_less_than_the_seeds_that_are_asked_for_is_too_few(deviation):
    number = seeds_needed(deviation, 1.0)
    for seeds in {max(3, number - 1), number}:
        freedom = 2 * (seeds - 1)
        t = stats.t.ppf([0.95, 0.9], freedom).sum()
        enough = 2 * t**2 * deviation**2 <= seeds
        assert enough == (seeds == number)


@pytest.mark.parametrize(
    ("make", "few"),
    [
        (mean, [1.0, 2.0]),
        (lambda x: difference(x, [1.0, 2.0, 3.0]), [1.0, 2.0]),
        (lambda x: difference([1.0, 2.0, 3.0], x), [1.0, 2.0]),
    ],
)
def test_too_few_seeds_are_refused(make, few):
    with pytest.raises(ValueError, match=f"{len(few)} seeds"):
        make(few)


def test_equal_seeds_leave_no_interval_and_nan_leaves_nan():
    found = difference([1.0] * 3, [0.25] * 3)
    assert found.low == found.high == 0.75
    found = difference([1.0, nan, 2.0], [0.25] * 3)
    assert isnan(found.value) and isnan(found.error)
