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
    mean,
    parts,
    seeds_needed,
    seeds_to_reach,
    steady_rows,
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
def test_pooled_over_two_rows_a_difference_is_student_s(first, second):
    if min(stdev(first), stdev(second)) < 1e-3 or first == second:
        return
    pool = [first, second]
    if len(steady_rows(pool)) < 2:
        return
    found = difference(first, second, pool)
    low, high = stats.ttest_ind(first, second).confidence_interval(0.9)
    assert (found.low, found.high) == pytest.approx((low, high))


def test_a_row_that_is_not_steady_is_neither_pooled_nor_judged_by_the_pool():
    wild = [0.0, 5.0, 30.0]
    calm = [[x, x + 0.1, x + 0.2] for x in (1.0, 2.0, 3.0, 4.0)]
    assert steady_rows([wild, *calm]) == calm
    pool = [wild, *calm]
    assert difference(calm[0], calm[1], pool) == difference(
        calm[0], calm[1], calm
    )
    assert difference(wild, calm[0], pool) == difference(wild, calm[0])


def test_nine_of_ten_intervals_hold_the_truth():
    """Drawn from a known law: three seeds a side, ten steady rows."""
    draw = np.random.default_rng(0)
    hits = 0
    for _ in range(1000):
        rows = draw.normal(size=(10, 3)).tolist()
        found = difference(rows[0], rows[1], rows)
        hits += found.low <= 0 <= found.high
    assert 870 <= hits <= 930  # 900, and three of its standard deviations


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


def test_the_interval_of_parts_ends_where_nothing_more_is_possible():
    shares = [0.1, 0.2, 0.3, 0.4, 0.9]
    assert parts(shares, 0, 1)[1:3] == (0, 1)
    assert parts(shares, most=1)[1:3] == pytest.approx((-0.7, 1))
    assert parts(shares, -9, 9) == parts(shares)
    assert parts([0.0, 0.0, 0.0, 0.0, 1.0], 0, 1)[1:3] == (0, 1)
    for least, most in ((0.2, 1), (0, 0.8)):
        with pytest.raises(ValueError, match="cannot pass"):
            parts(shares, least, most)


@pytest.mark.parametrize(
    ("make", "few"),
    [
        (mean, [1.0, 2.0]),
        (parts, [1.0, 2.0, 3.0, 4.0]),
        (lambda x: difference(x, [1.0, 2.0, 3.0]), [1.0, 2.0]),
        (lambda x: difference([1.0, 2.0, 3.0], x), [1.0, 2.0]),
    ],
)
def test_too_few_seeds_are_refused(make, few):
    with pytest.raises(ValueError, match=f"{len(few)} (seeds|figures)"):
        make(few)


def test_equal_seeds_leave_no_interval():
    found = difference([1.0] * 3, [0.25] * 3)
    assert found.low == found.high == 0.75
    assert not isinf(found.value) and found.high < inf
