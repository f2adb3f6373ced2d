"""Exercises of chapter 3: the sinusoids."""

import math

import torch
from torch import Tensor

from annotated_transformer.teaching.exercises.judge import Exercise


def positions(length: int, d_model: int) -> Tensor:
    """The formula, one number at a time."""
    table = torch.zeros(length, d_model)
    for pos in range(length):
        for i in range(d_model // 2):
            angle = pos / 10_000 ** (2 * i / d_model)
            table[pos, 2 * i] = math.sin(angle)
            table[pos, 2 * i + 1] = math.cos(angle)
    return table


def waves(length: int, exponents: Tensor, first: int = 0) -> Tensor:
    """Sines and cosines in turn, of speeds 10000^-exponent."""
    pos = torch.arange(first, first + length).double()[:, None]
    angle = pos / 10_000 ** exponents.double()
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1).float()


def pairs(d_model: int) -> Tensor:
    """2i / d_model for every pair."""
    return torch.arange(0, d_model, 2) / d_model


def columns(length: int, d_model: int) -> Tensor:
    """A wavelength for each column, where a pair should share one."""
    pos = torch.arange(length)[:, None]
    angle = pos / 10_000 ** (torch.arange(d_model) / d_model)
    even = torch.arange(d_model) % 2 == 0
    return angle.sin().where(even, angle.cos())


def alike(d_model: int, k: int) -> float:
    """The dot product of two positions k apart."""
    return sum(
        math.cos(k / 10_000 ** (2 * i / d_model)) for i in range(d_model // 2)
    )


def nearest(d_model: int, length: int) -> int:
    """All positions are equally long, so the nearest is the most alike."""
    return max(range(1, length), key=lambda k: alike(d_model, k))


EXERCISES = [
    Exercise(
        "positions",
        "03_embedding",
        "write f(length, d_model), the sinusoids of the positions 0, 1, ... "
        "as a matrix [length, d_model], for even widths.",
        "widths 8, 2 and 64, up to 90 positions",
        lambda: [(6, 8), (1, 2), (90, 64)],
        positions,
        {
            "Sines and cosines are swapped: position 0 should begin with "
            "a sine.": lambda n, d: (
                waves(n, pairs(d)).view(n, -1, 2).flip(2).flatten(1)
            ),
            "All sines come first, then all cosines. In the formula they "
            "alternate.": lambda n, d: (
                waves(n, pairs(d)).view(n, -1, 2).mT.flatten(1)
            ),
            "Every column has a wavelength of its own. A sine and the cosine "
            "after it share one.": columns,
            "The speeds fall too fast: in the exponent, the number of a pair "
            "is doubled twice.": lambda n, d: waves(n, 2 * pairs(d)),
            "The speeds fall too slowly: in the exponent, the number of a "
            "pair is not doubled.": lambda n, d: waves(n, pairs(d) / 2),
            "The wavelengths are spaced so that the last reaches 10000 · 2π. "
            "The formula's last exponent stays below 1.": (
                lambda n, d: waves(n, torch.linspace(0, 1, d // 2))
            ),
            "The positions begin at 1 instead of 0.": (
                lambda n, d: waves(n, pairs(d), first=1)
            ),
            "The later columns turn faster and faster: the position is "
            "multiplied where it should be divided.": (
                lambda n, d: waves(n, -pairs(d))
            ),
        },
    ),
    Exercise(
        "nearest-position",
        "03_embedding",
        "write f(d_model, length), the position below length, other than 0, "
        "whose sinusoids are nearest to those of position 0.",
        "widths 2 to 10 and up to 300 positions",
        lambda: [(2, 100), (2, 20), (4, 100), (8, 300), (10, 50)],
        nearest,
        {
            "Every position is nearest to itself: leave out position 0.": (
                lambda d, n: 0
            ),
            "Off by one: is it an index into a table that begins at "
            "position 1?": lambda d, n: nearest(d, n) - 1,
            "This is the position that is farthest away.": (
                lambda d, n: min(range(1, n), key=lambda k: alike(d, k))
            ),
            "The neighbour is not the nearest: a fast hand comes round "
            "again.": lambda d, n: 1,
        },
    ),
]
