"""What is raised: for a user to read, without a traceback."""

import re
from collections.abc import Collection, Iterable
from dataclasses import fields
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args, get_type_hints

# PyTorch's class for it and its allocators' texts, and what cuBLAS says
OUT_OF_MEMORY = re.compile(
    "OutOfMemoryError|out of memory|[Cc]an(no|')t allocate memory|"
    "CUBLAS_STATUS_ALLOC_FAILED"
)


class UserError(ValueError):
    """What a user gave (a file, a size, an option) cannot be used.

    The message says what is wrong, where, and what to do about it. What it
    names of a program it puts in backquotes: `max_length`, `resume=True`. The
    command line prints it as one line on stderr, with its own options for
    those names, and exits with status 1.
    """


class Interrupted(Exception):
    """A run was told to stop, and has kept what is done."""

    def __init__(self, signal_number: int, path: Path, step: int):
        super().__init__(
            f"stopped after update {step}; the same again with `resume=True` "
            f"continues {path}"
        )
        self.signal_number = signal_number


KINDS = {
    int: "a whole number",
    float: "a number",
    bool: "True or False",
    str: "a word",
    list: "a list",
    dict: "an object",
    NoneType: "None",
}
COUNT = (1, 10**12)  # the least and the most


def check_kind(
    name: str,
    value: object,
    kind: type | UnionType,
    known: Collection[Any] | None = None,
) -> None:
    """UserError for the value of a field that is not what it must be.

    What is known of a word is all that it may be, and of a number the least
    and the most that it may be.
    """
    if kind is Any:
        return
    kinds = get_args(kind) or (kind,)
    accepted = (*kinds, int) if float in kinds else kinds
    truth = isinstance(value, bool) and bool not in kinds  # Python's 0 and 1
    if truth or not isinstance(value, accepted):
        good = False
        told = ", or ".join(KINDS.get(one, one.__name__) for one in kinds)
    elif known is None or value is None:
        return
    elif isinstance(value, str):
        good, told = value in known, " or ".join(known)
    else:
        least, most = known
        good = least <= value <= most  # no NaN is
        told = f"from {least:,} to {most:,}"
    if not good:
        raise UserError(f"`{name}={value!r:.80}`: must be {told}")


def check_fields(config: Any, **known: Collection[Any]) -> None:
    """UserError for a dataclass with a field that is not what it must be.

    Every field must be of its type. A whole number of which nothing is known
    counts something.
    """
    kinds = get_type_hints(type(config))
    for name in (field.name for field in fields(config)):
        value = getattr(config, name)
        count = COUNT if type(value) is int else None
        check_kind(name, value, kinds[name], known.get(name, count))


def check_texts(texts: Iterable[object]) -> list[str]:
    """The texts as a list; UserError if one of them is no string."""
    if isinstance(texts, str):
        raise UserError("one string, where a list of texts is wanted")
    if not isinstance(texts, Iterable):
        raise UserError(f"{texts!r:.40}, where a list of texts is wanted")
    found: list[str] = []
    for place, text in enumerate(texts):
        if not isinstance(text, str):
            raise UserError(
                f"text {place} is {text!r:.40}, not a string; leave it out, "
                "or make it one"
            )
        found.append(text)
    return found


def check_pairs(pairs: Iterable[object]) -> list[tuple[str, str]]:
    """The pairs as a list; UserError if one of them is no two strings."""
    found: list[tuple[str, str]] = []
    for place, pair in enumerate(pairs):
        # a string of two letters would pass for a pair of them
        if (
            not isinstance(pair, tuple | list)
            or len(pair) != 2
            or not all(isinstance(text, str) for text in pair)
        ):
            raise UserError(
                f"pair {place} is {pair!r:.40}; a pair is two strings, a "
                "source and a target"
            )
        found.append((pair[0], pair[1]))
    return found


def printable(text: str) -> str:
    r"""The text with signs that steer a terminal written out, as \x1b.

    Names, messages and settings that strangers wrote may hold them.
    """
    return "".join(
        sign
        if sign.isprintable() or sign == "\n"
        else sign.encode("unicode_escape").decode()
        for sign in text
    )


def out_of_memory(error: BaseException) -> bool:
    """True if this process had too little memory, whichever library says."""
    if not isinstance(error, RuntimeError):
        return isinstance(error, MemoryError)
    told = f"{type(error).__name__}: {error}"
    return OUT_OF_MEMORY.search(told) is not None
