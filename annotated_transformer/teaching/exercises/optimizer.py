"""Exercises of chapter 8: the schedule."""

import math

from annotated_transformer.teaching.exercises.judge import Exercise


def rate(step: int, d_model: int, warmup: int) -> float:
    """A line to the peak, then an inverse root, by cases."""
    peak = 1 / math.sqrt(d_model * warmup)
    if step <= warmup:
        return peak * step / warmup
    return peak * math.sqrt(warmup / step)


def schedule(done: int, d_model: int, warmup: int) -> float:
    """The rate of the update that comes next."""
    return rate(done + 1, d_model, warmup)


def peak_warmup(peak: float, d_model: int) -> float:
    """The warm-up is where the peak is: bisect."""
    low, high = 1e-6, 1e9
    for _ in range(200):
        middle = (low * high) ** 0.5
        if rate(1, d_model, 1) * middle**-0.5 > peak:
            low = middle
        else:
            high = middle
    return low


EXERCISES = [
    Exercise(
        "peak-warmup",
        "08_optimizer",
        "write f(peak, d_model), the number of warm-up updates for which the "
        "paper's schedule has this peak. It need not be whole.",
        "the peaks and widths of four models",
        lambda: [(0.004, 128), (7e-4, 512), (1e-3, 64), (3.5e-4, 1024)],
        peak_warmup,
        {
            "The peak must be squared: it falls with the root of the "
            "warm-up.": lambda peak, d: 1 / (d * peak),
            "The width is missing.": lambda peak, d: peak**-2,
            "The fraction is upside down.": lambda peak, d: d * peak**2,
            "One root too many.": lambda peak, d: (d**0.5 * peak) ** -1,
            "The width is squared too. Its root is a factor of the peak, "
            "like that of the warm-up.": lambda peak, d: (d * peak) ** -2,
        },
    ),
    Exercise(
        "schedule",
        "08_optimizer",
        "write f(done, d_model, warmup), the paper's rate for the update "
        "that follows `done` updates: schedulers of PyTorch count so, from 0.",
        "the first updates, the peak, and long after it",
        lambda: [
            *((250, 512, 400), (0, 512, 400), (399, 128, 400)),
            *((400, 128, 400), (9999, 512, 400)),
        ],
        schedule,
        {
            "One update late: after 250 updates comes number 251, and after "
            "none number 1.": lambda s, d, w: rate(max(s, 1), d, w),
            "One update late, and the first has rate 0: after none comes "
            "number 1.": lambda s, d, w: rate(s, d, w),
            "One update early.": lambda s, d, w: rate(s + 2, d, w),
            "The larger of the two terms is taken, which starts high.": (
                lambda s, d, w: (
                    d**-0.5 * max((s + 1) ** -0.5, (s + 1) * w**-1.5)
                )
            ),
            "There is no warm-up.": (lambda s, d, w: (d * (s + 1)) ** -0.5),
            "The rate rises for ever, or the decay begins too late.": (
                lambda s, d, w: d**-0.5 * (s + 1) * w**-1.5
            ),
            "The width is missing.": (
                lambda s, d, w: schedule(s, d, w) * d**0.5
            ),
            "The width is in the wrong place: wider models get a lower "
            "rate.": lambda s, d, w: schedule(s, d, w) * d,
            "Line and curve do not meet at the end of the warm-up: look at "
            "the exponent of w.": lambda s, d, w: (
                d**-0.5 * min((s + 1) ** -0.5, (s + 1) * w**-0.5)
            ),
            "The rate falls too fast after the peak: with the root, not with "
            "the number of updates.": lambda s, d, w: min(
                schedule(s, d, w), (d * w) ** -0.5 * w / (s + 1)
            ),
        },
    ),
]
