"""Strings of letters for the translators to reverse."""

from functools import cache
from statistics import fmean

from annotated_transformer.data import (
    Example,
    Tokenizer,
    copy_task,
    encode_pairs,
    train_tokenizer,
)
from annotated_transformer.model import EncoderDecoder

from .grid import Result
from .translators import RATES, decoded, models, trained

LETTERS = "abcdefghijklmnop"
REVERSING = 200  # updates
LONGEST, LONGER = 8, (9, 12)  # letters to reverse: in training, and beyond
TESTED = 200  # strings of each length


@cache
def letters() -> Tokenizer:
    """A token for each letter."""
    return train_tokenizer(LETTERS, len(LETTERS) + 5, "char")


def task(count: int, seed: int, lengths: tuple[int, int]) -> list[Example]:
    """Strings as ids, and each of them backwards."""
    strings = [text for text, _ in copy_task(count, seed, LETTERS, lengths)]
    pairs = [(text, text[::-1]) for text in strings]
    return encode_pairs(pairs, letters(), 64)[0]


def exact(model: EncoderDecoder, test: list[Example]) -> float:
    """The share of strings that are written without a slip."""
    outputs = decoded(model, [source for source, _ in test])
    return fmean(
        ids == target[:-1]
        for (_, target), ids in zip(test, outputs, strict=True)
    )


def reversal(
    name: str, seed: int, steps: int = REVERSING, rate: float | None = None
) -> Result:
    """Train to reverse short strings; exact outputs by length."""
    train = task(20_000, 0, (3, LONGEST))
    tests = {n: task(TESTED, n, (n, n)) for n in (LONGEST, *LONGER)}
    build = models(len(letters()))[name]
    model, losses = trained(build, train, seed, rate or RATES[name], steps)
    return {"loss": losses} | {
        f"exact_{n}": exact(model, test) for n, test in tests.items()
    }
