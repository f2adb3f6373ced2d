"""Whether two measurements with other seeds say the same."""

import re
from collections import defaultdict
from collections.abc import Mapping
from math import sqrt
from statistics import fmean, stdev

from .grid import Result

Series = dict[str, list[float]]  # over the seeds, by name of the number
SEED = re.compile(r" ?seed=\d+")
FAR = 3.0  # so many standard errors of a difference are no chance
ROUNDING = 1e-6  # relative: another processor rounds differently


def by_variation(results: Mapping[str, Result]) -> dict[str, Series]:
    """Lists over the seeds, by variation and by name of the plain number.

    Keys that differ in "seed=..." alone are one variation. What a clock
    said, a name that ends with "seconds", is left out.
    """
    found: dict[str, Series] = defaultdict(lambda: defaultdict(list))
    for key, result in results.items():
        for name, value in result.items():
            if isinstance(value, int | float) and not name.endswith("seconds"):
                found[SEED.sub("", key)][name].append(float(value))
    return found


def deviation(values: list[float]) -> float:
    """The standard deviation; of one value there is none."""
    return stdev(values) if values[1:] else 0.0


def noise(found: Mapping[str, Series], name: str) -> float:
    """The relative standard deviation between seeds, over all variations."""
    squares = [
        (deviation(numbers[name]) / abs(fmean(numbers[name]) or 1)) ** 2
        for numbers in found.values()
        if len(numbers.get(name, ())) > 1
    ]
    return sqrt(fmean(squares)) if squares else 0.0


def moved(
    stored: Mapping[str, Result], fresh: Mapping[str, Result]
) -> list[str]:
    """A line for each figure that is further away than the seeds explain."""
    before, now = by_variation(stored), by_variation(fresh)
    lines = [f"{key}: only in the record" for key in before.keys() - now]
    for key, numbers in now.items():
        for name, values in numbers.items():
            old = before[key].get(name)
            if old is None:
                lines.append(f"{key}, {name}: not in the record")
                continue
            was, is_now = fmean(old), fmean(values)
            size = max(abs(was), abs(is_now))
            usual = max(noise(before, name), noise(now, name)) * size
            # its own spread counts where it is less steady than the others
            spread = max(usual, deviation(old), deviation(values))
            both = sqrt(1 / len(old) + 1 / len(values))
            far = FAR * spread * both + ROUNDING * size
            if abs(is_now - was) > far:
                lines.append(
                    f"{key}, {name}: {was:.4g} was recorded, now "
                    f"{is_now:.4g} (the seeds explain {far:.2g})"
                )
    return lines
