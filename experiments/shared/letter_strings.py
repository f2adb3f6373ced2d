"""Strings of letters for the translators: to reverse, and to copy."""

from functools import cache
from statistics import fmean

from annotated_transformer.data import (
    Example,
    Tokenizer,
    copy_task,
    encode_pairs,
    train_tokenizer,
)

from .translators import RATES, decoded, models, trained

LETTERS = "abcdefghijklmnop"
REVERSING, COPYING = 200, 500  # updates
LONGEST, LONGER = 8, (9, 12)  # letters to reverse: in training, and beyond
LONG = 30  # letters to copy
TESTED = 200  # strings of each length


@cache
def letters() -> Tokenizer:
    """A token for each letter."""
    return train_tokenizer(LETTERS, len(LETTERS) + 5, "char")


def task(
    count: int, seed: int, lengths: tuple[int, int], backwards: bool
) -> list[Example]:
    """Strings as ids, and what is to be written for each."""
    strings = [text for text, _ in copy_task(count, seed, LETTERS, lengths)]
    step = -1 if backwards else 1
    pairs = [(text, text[::step]) for text in strings]
    return encode_pairs(pairs, letters(), 64)[0]


def exact(model, test: list[Example]) -> float:
    """The share of strings that are written without a slip."""
    outputs = decoded(model, [source for source, _ in test])
    return fmean(
        ids == target[:-1]
        for (_, target), ids in zip(test, outputs, strict=True)
    )


def reversal(
    name: str, seed: int, steps: int = REVERSING, rate: float | None = None
) -> dict:
    """Train to reverse short strings; exact outputs by length."""
    train = task(20_000, 0, (3, LONGEST), True)
    tests = {n: task(TESTED, n, (n, n), True) for n in (LONGEST, *LONGER)}
    build = models(len(letters()))[name]
    model, losses = trained(build, train, seed, rate or RATES[name], steps)
    return {"loss": losses} | {
        f"exact_{n}": exact(model, test) for n, test in tests.items()
    }


def copying(name: str, seed: int) -> dict:
    """Train to copy long strings; the share that is copied exactly."""
    long = task(20_000 + TESTED, 0, (LONG, LONG), False)
    build = models(len(letters()))[name]
    model, losses = trained(build, long[TESTED:], seed, RATES[name], COPYING)
    return {"loss": losses, "exact": exact(model, long[:TESTED])}
