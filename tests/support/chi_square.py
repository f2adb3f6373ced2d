"""Pearson's test; `scipy.stats` has it, and takes a second to import."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc


def chisquare(found: ArrayLike, wanted: ArrayLike | None = None) -> float:
    """The chance that counts are so far from those wanted, or from even."""
    found = np.asarray(found, float)
    wanted = found.mean() if wanted is None else np.asarray(wanted, float)
    statistic = ((found - wanted) ** 2 / wanted).sum()
    return float(chdtrc(found.size - 1, statistic))
