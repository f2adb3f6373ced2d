"""Intervals, against SciPy's own tests and against simulated seeds."""

from math import inf, isinf
from statistics import fmean, stdev

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from annotated_transformer.teaching.intervals import (
    difference,
    draws,
    halves,
    mean,
    redrawn,
    seeds_needed,
    seeds_to_reach,
)

figures = st.lists(
    st.floats(-1e3, 1e3).map(lambda x: round(x, 3)), min_size=3, max_size=8
)


@given(figures)
def test_a_mean_s_interval_is_that_of_scipy(values):
    found = mean(values)
    assert found.value == pytest.approx(fmean(values))
    if stdev(values) > 1e-6:
        low, high = stats.ttest_1samp(values, 0).confidence_interval(0.9)
        assert (found.low, found.high) == pytest.approx((low, high))
    assert found.runs == len(values)


@given(figures, figures)
def test_without_a_pool_a_difference_is_welch_s(first, second):
    found = difference(first, second)
    assert found.value == pytest.approx(fmean(first) - fmean(second))
    if min(stdev(first), stdev(second)) > 1e-6:
        test = stats.ttest_ind(first, second, equal_var=False)
        low, high = test.confidence_interval(0.9)
        assert (found.low, found.high) == pytest.approx((low, high))


@given(figures, figures)
def test_halves_share_no_seed_and_leave_none_out(first, second):
    first = first[: len(second)]
    second = second[: len(first) + 1]  # as long, or one longer
    one, other = difference(first, second), difference(second, first)
    both = halves([*first, *second])
    assert both.high == max(one.high, other.high) == -both.low
    with pytest.raises(ValueError, match="2 seeds"):
        halves([1.0, 2.0, 3.0, 4.0, 5.0])


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


def test_draws_of_a_text_hold_the_truth_and_name_no_seeds():
    """The mean of 50 sentences, drawn again, less often than nine in ten."""
    draw, hits = np.random.default_rng(0), 0
    for _ in range(300):
        text = draw.normal(size=50)
        found = draws([text[i].mean() for i in redrawn(50)])
        hits += found.low <= 0 <= found.high
    assert 255 <= hits <= 290
    assert found.deviation == 0


@pytest.mark.parametrize("deviation", [0.1, 0.6, 1.0, 5.0])
def test_one_seed_less_than_the_seeds_that_are_asked_for_is_too_few(deviation):
    number = seeds_needed(deviation, 1.0)
    for seeds in {max(3, number - 1), number}:
        freedom = 2 * (seeds - 1)
        t = stats.t.ppf([0.95, 0.9], freedom).sum()
        enough = 2 * t**2 * deviation**2 <= seeds
        assert enough == (seeds == number)


@given(st.lists(st.floats(0, 9), min_size=3, max_size=3), st.floats(0.3, 3))
def test_an_interval_of_the_seeds_asked_for_reaches_as_far_as_wanted(
    values, far
):
    """With a quantile for the seeds asked for, not for the three there are."""
    if stdev(values) < 0.1:
        return
    found = mean(values)
    number = seeds_to_reach(found, far)
    for seeds in {max(3, number - 1), number}:
        t = stats.t.ppf(0.95, seeds - 1)
        reaches = t * stdev(values) / seeds**0.5
        assert (reaches <= far) == (seeds == number)


@given(figures, figures, st.floats(1, 3e3))
def test_rows_of_unequal_length_get_as_many_seeds_a_side(first, second, far):
    deviation = (stdev(first) ** 2 + stdev(second) ** 2) ** 0.5
    if min(stdev(first), stdev(second)) < 1e-3 or deviation > 30 * far:
        return
    number = seeds_to_reach(difference(first, second), far)
    for seeds in {max(3, number - 1), number}:
        rows = [stats.norm.ppf((np.arange(seeds) + 0.5) / seeds)] * 2
        scaled = [
            (stdev(row) / np.std(x, ddof=1) * x).tolist()
            for row, x in zip((first, second), rows, strict=True)
        ]
        reaches = difference(*scaled)
        half = (reaches.high - reaches.low) / 2
        if abs(half - far) > 1e-6 * far:
            assert (half <= far) == (seeds == number)


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


def test_equal_seeds_leave_no_interval():
    found = difference([1.0] * 3, [0.25] * 3)
    assert found.low == found.high == 0.75
    assert not isinf(found.value) and found.high < inf
