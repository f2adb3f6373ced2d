"""What a few seeds say of a mean or a difference: intervals and p.

An estimate has a standard error and the degrees of freedom of Student's
distribution, and of these come its 90 % interval and its one-sided p: the
interval lies above a bound exactly where p is below 5 %. Two rows of seeds
have `difference` (Welch). Where a seed decides what both rows share beyond
the recipe (the same trained weights, or the data that it draws), the
differences seed by seed have `mean` (Student). A finished model has `draws`.
"""

import random
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt
from statistics import fmean, variance

# not scipy.stats, which takes a second to import
from scipy.special import stdtr, stdtrit

LEAST = 3  # seeds a side
DRAWS = 20  # of a test text


@dataclass(frozen=True)
class Estimate:
    """A figure, its standard error, and what both were computed of."""

    value: float
    error: float
    freedom: float  # degrees of Student's distribution
    seen: tuple[int, ...]  # seeds of each row; of a text, weights and draws
    finished: bool = False  # models, on draws of a text

    @property
    def low(self) -> float:
        """Where the 90 % interval begins."""
        return self.value - self.reach

    @property
    def high(self) -> float:
        """Where it ends."""
        return self.value + self.reach

    @property
    def reach(self) -> float:
        """How far it goes to either side."""
        return float(stdtrit(self.freedom, 0.95)) * self.error

    def p_above(self, bound: float) -> float:
        """One-sided: how likely so high a figure, were the truth the bound."""
        return float(stdtr(self.freedom, (bound - self.value) / self.error))

    def p_below(self, bound: float) -> float:
        """The same of so low a figure."""
        return float(stdtr(self.freedom, (self.value - bound) / self.error))


def mean(values: Sequence[float]) -> Estimate:
    """The mean of independent figures; ValueError with fewer than three."""
    parts = [spread(values)]
    return estimate(fmean(values), parts, (len(values),))


def difference(first: Sequence[float], second: Sequence[float]) -> Estimate:
    """The mean of the first figures less that of the second.

    Welch's, which does not ask that both rows vary alike. ValueError with
    fewer than three figures a side.
    """
    parts = [spread(first), spread(second)]
    seen = len(first), len(second)
    return estimate(fmean(first) - fmean(second), parts, seen)


def redrawn(sentences: int) -> list[list[int]]:
    """Twenty draws of a test text's sentences, with replacement, by place."""
    rng = random.Random(0)
    return [rng.choices(range(sentences), k=sentences) for _ in range(DRAWS)]


def draws(*rows: Sequence[float]) -> Estimate:
    """Finished models on draws of a text; each has a row of the same draws.

    The deviation of the draws' means is the standard error of the text. With
    several weights, that of their own means is added to it: three weights
    have but ten resamples, too few for a bootstrap. One row speaks of these
    weights alone. ValueError with two rows, or with fewer than three draws.
    """
    means = [fmean(draw) for draw in zip(*rows, strict=True)]
    enough(means)
    parts = [(variance(means), len(means) - 1)]
    if len(rows) > 1:
        parts.append(spread([fmean(row) for row in rows]))
    seen = len(rows), len(means)
    return replace(estimate(fmean(means), parts, seen), finished=True)


def spread(values: Sequence[float]) -> tuple[float, int]:
    """The variance of a row's mean, and its degrees of freedom."""
    enough(values)
    return variance(values) / len(values), len(values) - 1


def estimate(
    value: float, parts: Sequence[tuple[float, int]], seen: tuple[int, ...]
) -> Estimate:
    """A figure whose variance has these parts (Welch and Satterthwaite)."""
    total = sum(part for part, _ in parts)
    weighed = sum(part**2 / freedom for part, freedom in parts)
    # without any spread, or with NaN, the degrees do not matter
    freedom = total**2 / weighed if weighed > 0 else float(parts[0][1])
    return Estimate(value, sqrt(total), freedom, seen)


def seeds_needed(deviation: float, margin: float) -> int:
    """The seeds a side that can show a difference to be inside a margin.

    2 (t_0.95 + t_0.9)² s² / margin², with Student's quantiles for this
    number of seeds: then two equal models are shown to be equal in four trials
    of five.
    """

    def enough_of(seeds: int) -> bool:
        both = sum(stdtrit(2.0 * (seeds - 1), [0.95, 0.9]))
        return bool(2 * (both * deviation / margin) ** 2 <= seeds)

    most = LEAST
    while not enough_of(most):
        most *= 2
    return bisect_left(range(most), True, lo=LEAST, key=enough_of)


def enough(values: Sequence[float]) -> None:
    """ValueError where there are fewer figures than chance asks for."""
    if len(values) < LEAST:
        raise ValueError(
            f"{len(values)} seeds: a comparison where chance plays a part "
            f"has at least {LEAST} a side"
        )
