"""Exercises of chapter 19: how long texts may be, a draft, the best size."""

import math

from annotated_transformer.teaching.exercises.judge import Exercise


def cache_length(
    w: float, b: int, L: int, g: int, d_k: int, size: int = 2
) -> float:
    """Weights over what the texts keep of a token, number by number."""
    numbers = sum(2 * d_k for _ in range(L) for _ in range(g))
    return w / (size * b * numbers)


def draft_speed(a: float, k: int, c: float) -> float:
    """Tokens of a round, by how many guesses are kept, over its time."""
    ways = [a**kept * (1 - a) for kept in range(k)] + [a**k]
    tokens = sum((kept + 1) * p for kept, p in enumerate(ways))
    return tokens / (1 + k * c)


def best_size(C: float, A: float, a: float, B: float, b: float) -> float:
    """Where 1% more parameters gain what 1% fewer tokens lose."""
    low, high = 0.0, math.log(C / 6)
    for _ in range(200):
        middle = (low + high) / 2
        N = math.exp(middle)
        if a * A * N**-a > b * B * (C / 6 / N) ** -b:
            low = middle
        else:
            high = middle
    return math.exp(low)


def without_exponents(
    C: float, A: float, a: float, B: float, b: float
) -> float:
    """Where both terms are equally large."""
    return math.exp((math.log(A / B) + b * math.log(C / 6)) / (a + b))


EXERCISES = [
    Exercise(
        "cache-length",
        "19_scale",
        "write f(w, b, L, g, d_k), after how many tokens of each of b texts "
        "the keys and values, two bytes a number, are as large as the weights "
        "of w bytes. The model has L layers with g groups of width d_k.",
        "three models",
        lambda: [
            (13.5e9, 64, 32, 32, 128),
            (1.4e11, 1, 80, 8, 128),
            (6e6, 3, 4, 2, 16),
        ],
        cache_length,
        {
            "A factor of two is missing: a token keeps a key and a value, and "
            "each number has two bytes.": (
                lambda w, b, L, g, d: cache_length(w, b, L, g, d, size=1)
            ),
            "A number has two bytes here, not the four of float32.": (
                lambda w, b, L, g, d: cache_length(w, b, L, g, d, size=4)
            ),
            "Every text has a cache of its own.": (
                lambda w, b, L, g, d: cache_length(w, 1, L, g, d)
            ),
            "Every layer has keys and values of its own.": (
                lambda w, b, L, g, d: cache_length(w, b, 1, g, d)
            ),
            "Every group has keys and values of its own.": (
                lambda w, b, L, g, d: cache_length(w, b, L, 1, d)
            ),
            "The fraction is upside down: the weights are divided by what a "
            "token keeps.": (
                lambda w, b, L, g, d: 1 / cache_length(w, b, L, g, d)
            ),
        },
    ),
    Exercise(
        "draft-speed",
        "19_scale",
        "write f(a, k, c), how many times as fast a model writes with a draft "
        "as without. Each of k guesses is kept with probability a, until one "
        "is refused, and a guess takes c times as long as the model's call.",
        "good and bad drafts, with one to eight guesses",
        lambda: [(0.8, 4, 0.1), (0.5, 1, 0.5), (0.9, 8, 0.05)],
        draft_speed,
        {
            "The model draws a token of its own as well, after a refusal or "
            "after the last guess.": (
                lambda a, k, c: draft_speed(a, k, c) - 1 / (1 + k * c)
            ),
            "Once a guess is refused, those after it are lost, however good "
            "they are.": lambda a, k, c: (1 + a * k) / (1 + k * c),
            "The time of the guesses is missing.": (
                lambda a, k, c: draft_speed(a, k, 0.0)
            ),
            "The time of the model's own call is missing.": (
                lambda a, k, c: draft_speed(a, k, c) * (1 + k * c) / (k * c)
            ),
            "Each guess takes c, so k of them take k times as long.": (
                lambda a, k, c: draft_speed(a, k, c) * (1 + k * c) / (1 + c)
            ),
            "The fraction is upside down: more tokens make it faster.": (
                lambda a, k, c: 1 / draft_speed(a, k, c)
            ),
            "The sum has one term too few: all k guesses may be kept, and "
            "then k + 1 tokens come.": (
                lambda a, k, c: sum(a**i for i in range(k)) / (1 + k * c)
            ),
            "The sum goes on for ever: there are only k guesses.": (
                lambda a, k, c: 1 / (1 - a) / (1 + k * c)
            ),
        },
    ),
    Exercise(
        "best-size",
        "19_scale",
        "write f(C, A, a, B, b), the number of parameters N for which "
        "A / N**a + B / D**b is least, if a run has C = 6 N D "
        "operations.",
        "three laws, with a small and a large budget",
        lambda: [
            (C, *law)
            for C in (1e15, 1e21)
            for law in (
                (400.0, 0.34, 400.0, 0.28),
                (500.0, 0.35, 2000.0, 0.36),
                (30.0, 0.2, 900.0, 0.5),
            )
        ],
        best_size,
        {
            "That is the number of tokens: a run with N parameters has "
            "D = C / (6 N).": (
                lambda C, A, a, B, b: C / 6 / best_size(C, A, a, B, b)
            ),
            "The six is missing: C is 6 N D.": (
                lambda C, A, a, B, b: best_size(6 * C, A, a, B, b)
            ),
            "That makes both terms equal. The sum is least where their "
            "slopes are opposite, and a slope has a factor a or b.": (
                without_exponents
            ),
            "The exponents are exchanged: the better it is to have more "
            "tokens, the faster the parameters may grow.": (
                lambda C, A, a, B, b: (
                    (a * A / (b * B)) ** (1 / (a + b))
                    * (C / 6) ** (a / (a + b))
                )
            ),
            "The fraction is upside down: the larger A is, the more "
            "parameters it takes.": (
                lambda C, A, a, B, b: (
                    (b * B / (a * A)) ** (1 / (a + b))
                    * (C / 6) ** (b / (a + b))
                )
            ),
        },
    ),
]
