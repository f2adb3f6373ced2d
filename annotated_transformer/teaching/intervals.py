"""What a few seeds say of a mean or a difference: 90% intervals.

Two one-sided tests at 5% are one interval of 90%: an effect is shown where
all of the interval is beyond a margin, its absence where all of it is inside.
Two rows of seeds have `difference`. Where a seed decides what both rows share
beyond the recipe (the same trained weights, or the data that it draws), the
differences seed by seed have `mean`. A finished model, which has no seeds,
has `draws`.
"""

import random
from bisect import bisect_left
from collections.abc import Callable, Sequence
from math import inf, sqrt
from statistics import fmean, stdev
from typing import NamedTuple

# not scipy.stats, which takes a second to import
from scipy.special import ndtri, stdtrit

LEAST = 3  # seeds a side
DRAWS = 20  # of a test text: from the least to the greatest is 19 of 21 parts


class Estimate(NamedTuple):
    """A figure, the interval it lies in, and what both were computed of."""

    value: float
    low: float
    high: float
    runs: int = 1  # seeds on the smaller side, or draws; 1: no chance
    deviation: float = 0.0  # between the seeds of a row; 0 without seeds
    rows: int = 1  # of seeds that are compared
    freedom: float = inf  # degrees, for each seed a side beyond the first


def mean(values: Sequence[float]) -> Estimate:
    """The mean of independent figures, and Student's 90 % interval.

    ValueError with fewer than three.
    """
    enough(values)
    deviation = stdev(values)
    freedom = float(len(values) - 1)
    far = quantile(0.95, freedom) * deviation / sqrt(len(values))
    value = fmean(values)
    low, high = value - far, value + far
    return Estimate(value, low, high, len(values), deviation, 1, 1.0)


def difference(first: Sequence[float], second: Sequence[float]) -> Estimate:
    """The mean of the first figures less that of the second.

    Welch's 90% interval, which does not ask that both rows vary alike.
    ValueError with fewer than three figures a side.
    """
    enough(first)
    enough(second)
    value = fmean(first) - fmean(second)
    runs = min(len(first), len(second))
    spreads = [stdev(row) ** 2 for row in (first, second)]
    shares = [spreads[0] / len(first), spreads[1] / len(second)]
    deviation = sqrt(sum(spreads) / 2)
    far, freedom = 0.0, inf
    if total := sum(shares):
        now = total**2 / sum(
            share**2 / (len(row) - 1)
            for share, row in zip(shares, (first, second), strict=True)
        )
        far = quantile(0.95, now) * sqrt(total)
        freedom = sum(spreads) ** 2 / sum(x**2 for x in spreads)
    low, high = value - far, value + far
    return Estimate(value, low, high, runs, deviation, 2, freedom)


def halves(values: Sequence[float]) -> Estimate:
    """What chance does: how far two halves of a row of seeds may be apart.

    In both directions, since neither half comes first. ValueError with fewer
    than six figures.
    """
    half = len(values) // 2
    found = difference(values[:half], values[half:])
    far = max(found.high, -found.low)
    return found._replace(value=0.0, low=-far, high=far)


def redrawn(sentences: int) -> list[list[int]]:
    """Twenty draws of a test text's sentences, with replacement, by place."""
    rng = random.Random(0)
    return [rng.choices(range(sentences), k=sentences) for _ in range(DRAWS)]


def draws(values: Sequence[float]) -> Estimate:
    """A finished model's figure, from the least to the greatest of 20 draws.

    It speaks of other sentences, not of other runs. The draws are those
    of `redrawn`, or of a record, of which the oldest have five.
    """
    return Estimate(fmean(values), min(values), max(values), len(values))


def seeds_needed(deviation: float, margin: float) -> int:
    """The seeds a side that can show a difference to be inside a margin.

    2 (t_0.95 + t_0.9)² s² / margin², with Student's quantiles for this
    number of seeds: then two equal models are shown to be equal in four trials
    of five.
    """

    def enough_of(seeds: int) -> bool:
        freedom = 2.0 * (seeds - 1)
        both = quantile(0.95, freedom) + quantile(0.9, freedom)
        return 2 * (both * deviation / margin) ** 2 <= seeds

    return fewest(enough_of)


def seeds_to_reach(found: Estimate, far: float) -> int:
    """The seeds a side with which an interval would reach no farther.

    If they deviate as these do: Student's quantile and the root of the number
    are those of the seeds that are asked for.
    """

    def enough_of(seeds: int) -> bool:
        student = quantile(0.95, found.freedom * (seeds - 1))
        return student * found.deviation * sqrt(found.rows / seeds) <= far

    return fewest(enough_of)


def fewest(enough_of: Callable[[int], bool]) -> int:
    """The least number of seeds that is enough, three or more."""
    most = LEAST
    while not enough_of(most):
        most *= 2
    return bisect_left(range(most), True, lo=LEAST, key=enough_of)


def quantile(share: float, freedom: float) -> float:
    """Of Student's distribution; with infinite freedom, the normal one's."""
    if freedom == inf:
        return float(ndtri(share))
    return float(stdtrit(freedom, share))


def enough(values: Sequence[float]) -> None:
    """ValueError where there are fewer seeds than a comparison needs."""
    if len(values) < LEAST:
        raise ValueError(
            f"{len(values)} seeds: a comparison where chance plays a part "
            f"has at least {LEAST} a side"
        )
