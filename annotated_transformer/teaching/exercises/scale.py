"""Exercises of chapter 19: how long texts may be, and what a draft gains."""

from annotated_transformer.teaching.exercises.judge import Exercise

__all__ = ["EXERCISES"]


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
]
