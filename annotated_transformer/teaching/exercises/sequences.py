"""Exercises of chapter 13: recurrence and convolution."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from annotated_transformer.teaching.exercises.judge import Exercise


def scan_inputs() -> list[tuple[Tensor, Tensor]]:
    """Sentences of 8, 11 and 1 words, with a matrix that shrinks."""
    draw = torch.Generator().manual_seed(3)
    return [
        (
            torch.randn(2, n, 4, generator=draw),
            torch.randn(4, 4, generator=draw) / 3,
        )
        for n in (8, 11, 1)
    ]


def linear_scan(
    x: Tensor, U: Tensor, of: Callable[[Tensor], Tensor] = lambda state: state
) -> Tensor:
    """One state after the other."""
    state, states = torch.zeros_like(x[:, 0]), []
    for word in x.unbind(1):
        state = of(word + state @ U.T)
        states.append(state)
    return torch.stack(states, dim=1)


def doubling(
    x: Tensor,
    U: Tensor,
    grow: Callable[[Tensor], Tensor],
    share: float = 1.0,
) -> Tensor:
    """Sums of 2, 4, 8 words, the power of U grown by a given rule."""
    power, m, length = U, 1, x.size(1)
    while m < length * share:
        x = x + F.pad(x, (0, 0, m, 0))[:, :length] @ power.T
        power, m = grow(power), 2 * m
    return x


def separable_cost(k: int, n: int, d: int) -> int:
    """Every product and every sum, position by position."""
    along = sum(2 * k for _ in range(d))
    mix = sum(2 * d for _ in range(d))
    return sum(along + mix for _ in range(n))


EXERCISES = [
    Exercise(
        "linear-scan",
        "13_sequences",
        "write f(x, U), all states h_t = x_t + U h_(t-1) of a recurrence "
        "without tanh. x and the states are [batch, length, d].",
        "sentences of 8, 11 and 1 words",
        scan_inputs,
        linear_scan,
        {
            "Here the tanh is still applied.": (
                lambda x, U: linear_scan(x, U, torch.tanh)
            ),
            "The states are multiplied by the transpose of U. Words are "
            "rows, so U h is h @ U.T.": lambda x, U: linear_scan(x, U.T),
            "Each doubling uses U itself. A state m places before must pass "
            "U m times.": lambda x, U: doubling(x, U, lambda power: power),
            "The power grows by one factor at each doubling, where its "
            "exponent should double.": (
                lambda x, U: doubling(x, U, lambda power: power @ U)
            ),
            "The doubling stops too early: the last states miss the first "
            "words.": lambda x, U: doubling(x, U, lambda p: p @ p, 0.5),
            "The words are shifted to the wrong side: each state hears of "
            "later words.": lambda x, U: linear_scan(x.flip(1), U).flip(1),
            "This is the last state. All of them are asked for.": (
                lambda x, U: linear_scan(x, U)[:, -1]
            ),
            "The words do not meet: each state holds its own word only.": (
                lambda x, U: x
            ),
        },
    ),
    Exercise(
        "separable-cost",
        "13_sequences",
        "write f(k, n, d), the operations of a separable convolution over n "
        "words of width d, multiplications and additions counted.",
        "windows of 3 and of n words",
        lambda: [(3, 64, 32), (64, 64, 32), (5, 10, 7)],
        separable_cost,
        {
            "A multiplication and an addition count as two operations.": (
                lambda k, n, d: k * n * d + n * d**2
            ),
            "This is a full convolution, with a matrix for each place.": (
                lambda k, n, d: 2 * k * n * d**2
            ),
            "The matrix that mixes the components is missing.": (
                lambda k, n, d: 2 * k * n * d
            ),
            "The sums along the window are missing.": (
                lambda k, n, d: 2 * n * d**2
            ),
            "The part along the window runs over d components, each with "
            "weights of its own.": lambda k, n, d: 2 * k * n + 2 * n * d**2,
        },
    ),
]
