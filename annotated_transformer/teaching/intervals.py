"""What a few seeds say of a mean or a difference: 90 % intervals.

Two one-sided tests at 5 % are one interval of 90 %: an effect is shown where
all of the interval is beyond a margin, its absence where all of it is inside.
"""

from collections.abc import Sequence
from math import ceil, inf, sqrt
from statistics import fmean, median, stdev
from typing import NamedTuple

from scipy.stats import t as student

__all__ = [
    "Estimate",
    "difference",
    "mean",
    "parts",
    "seeds_needed",
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


def mean(values: Sequence[float]) -> Estimate:
    """The mean of independent figures, and Student's 90 % interval.

    ValueError with fewer than three.
    """
    enough(values)
    deviation = stdev(values)
    far = reach(deviation, 1 / len(values), float(len(values) - 1))
    value = fmean(values)
    return Estimate(value, value - far, value + far, len(values), deviation)


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
        far = 0.0
        if total := sum(shares):
            freedom = total**2 / sum(
                share**2 / (len(row) - 1)
                for share, row in zip(shares, (first, second), strict=True)
            )
            far = reach(sqrt(total), 1.0, freedom)
    return Estimate(value, value - far, value + far, runs, deviation)


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

    18 s² / margin²: with as many, two equal models are shown to be equal in
    four trials of five.
    """
    return ceil(18 * deviation**2 / margin**2)


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
    return float(student.ppf(0.95, freedom)) * deviation * sqrt(per_run)


def enough(values: Sequence[float]) -> None:
    """ValueError where there are fewer seeds than a comparison needs."""
    if len(values) < LEAST:
        raise ValueError(
            f"{len(values)} seeds: a comparison where chance plays a part "
            f"has at least {LEAST} a side"
        )
