"""What a few seeds say of a mean or a difference: 90 % intervals.

Two one-sided tests at 5 % are one interval of 90 %: an effect is shown where
all of the interval is beyond a margin, its absence where all of it is inside.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from math import inf, sqrt
from statistics import fmean, median, stdev
from typing import NamedTuple

from scipy.stats import t as student

__all__ = [
    "Estimate",
    "difference",
    "mean",
    "parts",
    "seeds_needed",
    "seeds_to_reach",
    "steady_rows",
]

LEAST = 3  # seeds a side
PARTS = 5  # seeds of an experiment that a chapter runs
UNSTEADY = 10  # times the median deviation between the seeds of a row


class Estimate(NamedTuple):
    """A figure, the interval it lies in, and what both were computed of."""

    value: float
    low: float
    high: float
    runs: int = 1  # seeds, on the smaller side; 1 where chance plays no part
    deviation: float = 0.0  # between the seeds of one row
    freedom: float = inf  # degrees of freedom that the interval rests on


def mean(values: Sequence[float]) -> Estimate:
    """The mean of independent figures, and Student's 90 % interval.

    ValueError with fewer than three.
    """
    enough(values)
    deviation = stdev(values)
    freedom = float(len(values) - 1)
    far = reach(deviation, 1 / len(values), freedom)
    value = fmean(values)
    low, high = value - far, value + far
    return Estimate(value, low, high, len(values), deviation, freedom)


def difference(
    first: Sequence[float],
    second: Sequence[float],
    pool: Sequence[Sequence[float]] = (),
) -> Estimate:
    """The mean of the first figures less that of the second: 90 % interval.

    pool is every row of the experiment: the deviation is then that of its
    steady rows together, with all their degrees of freedom. Where there is no
    pool, or one of the two rows is not steady in it, the interval is Welch's,
    of these two rows alone. ValueError with fewer than three figures a side.
    """
    enough(first)
    enough(second)
    value = fmean(first) - fmean(second)
    runs = min(len(first), len(second))
    steady = steady_rows(pool)
    if pool and first in steady and second in steady:
        freedom = float(sum(len(row) - 1 for row in steady))
        squares = sum((len(row) - 1) * stdev(row) ** 2 for row in steady)
        deviation = sqrt(squares / freedom)
        far = reach(deviation, 1 / len(first) + 1 / len(second), freedom)
    else:
        shares = [stdev(row) ** 2 / len(row) for row in (first, second)]
        deviation = sqrt((stdev(first) ** 2 + stdev(second) ** 2) / 2)
        far, freedom = 0.0, inf
        if total := sum(shares):
            freedom = total**2 / sum(
                share**2 / (len(row) - 1)
                for share, row in zip(shares, (first, second), strict=True)
            )
            far = reach(sqrt(total), 1.0, freedom)
    return Estimate(value, value - far, value + far, runs, deviation, freedom)


def parts(
    values: Sequence[float],
    least: int | float = -inf,
    most: int | float = inf,
) -> Estimate:
    """The middle of five or more figures, and room for the next.

    For what a chapter computes itself, with five seeds or on five parts of a
    text: the interval reaches beyond the least and the greatest by the
    distance between them, but not beyond what the figures can be at all, from
    least to most. ValueError with fewer than five, or with one that it says
    they cannot be.
    """
    if len(values) < PARTS:
        raise ValueError(
            f"{len(values)} figures: an experiment inside a chapter has at "
            f"least {PARTS} seeds, or parts of a text"
        )
    low, high = min(values), max(values)
    if low < least or high > most:
        raise ValueError(
            f"figures from {low} to {high}, which are said to lie between "
            f"{least} and {most}: give limits that they cannot pass"
        )
    wide = high - low
    return Estimate(
        fmean(values),
        max(low - wide, least),
        min(high + wide, most),
        len(values),
        stdev(values),
    )


def seeds_needed(deviation: float, margin: float) -> int:
    """The seeds a side that can show a difference to be inside a margin.

    2 (t_0.95 + t_0.9)² s² / margin², with Student's quantiles for as many
    seeds: then two equal models are shown to be equal in four trials of five.
    """

    def enough_of(seeds: int) -> bool:
        freedom = 2.0 * (seeds - 1)
        both = quantile(0.95, freedom) + quantile(0.9, freedom)
        return 2 * (both * deviation / margin) ** 2 <= seeds

    return fewest(enough_of)


def seeds_to_reach(found: Estimate, far: float) -> int:
    """The seeds with which an interval would reach no farther than this.

    If they deviate as these do: Student's quantile and the root of the number
    are those of the seeds that are asked for.
    """
    half = (found.high - found.low) / 2
    per_seed = found.freedom / (found.runs - 1)
    now = quantile(0.95, found.freedom)

    def enough_of(seeds: int) -> bool:
        shrink = quantile(0.95, per_seed * (seeds - 1)) / now
        return half * shrink * sqrt(found.runs / seeds) <= far

    return fewest(enough_of)


def fewest(enough_of: Callable[[int], bool]) -> int:
    """The least number of seeds that is enough, three or more."""
    most = LEAST
    while not enough_of(most):
        most *= 2
    return bisect_left(range(most), True, lo=LEAST, key=enough_of)


def steady_rows(rows: Sequence[Sequence[float]]) -> list[Sequence[float]]:
    """Rows whose seeds deviate at most ten times as much as the median row's.

    One row of several that did not learn at all would drown the others.
    """
    deviations = [stdev(row) for row in rows]
    most = UNSTEADY * median(deviations) if rows else inf
    return [
        row
        for row, found in zip(rows, deviations, strict=True)
        if found <= most
    ]


def reach(deviation: float, per_run: float, freedom: float) -> float:
    """From the middle of a 90 % interval to its ends."""
    return quantile(0.95, freedom) * deviation * sqrt(per_run)


def quantile(share: float, freedom: float) -> float:
    """Of Student's distribution; with infinite freedom, the normal one's."""
    return float(student.ppf(share, freedom))


def enough(values: Sequence[float]) -> None:
    """ValueError where there are fewer seeds than a comparison needs."""
    if len(values) < LEAST:
        raise ValueError(
            f"{len(values)} seeds: a comparison where chance plays a part "
            f"has at least {LEAST} a side"
        )
