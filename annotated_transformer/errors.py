"""The one error that is shown to a user without a traceback."""

import re
from collections.abc import Iterable

__all__ = ["UserError", "check_texts", "out_of_memory"]

# PyTorch's class for it and its allocators' texts, and what cuBLAS says
NO_MEMORY = (
    "OutOfMemoryError|out of memory|can't allocate memory|"
    "CUBLAS_STATUS_ALLOC_FAILED"
)


class UserError(ValueError):
    """What a user gave (a file, a size, an option) cannot be used.

    The message says what is wrong, where, and what to do about it. The command
    line prints it as one line on stderr and exits with status 1.
    """


def check_texts(texts: Iterable) -> list[str]:
    """The texts as a list; UserError if one of them is no string."""
    if isinstance(texts, str):
        raise UserError("one string, where a list of texts is wanted")
    found = list(texts)
    for place, text in enumerate(found):
        if not isinstance(text, str):
            raise UserError(
                f"text {place} is {text!r:.40}, not a string; leave it out, "
                "or make it one"
            )
    return found


def out_of_memory(error: BaseException) -> bool:
    """True if this process had too little memory, whichever library says."""
    if not isinstance(error, RuntimeError):
        return isinstance(error, MemoryError)
    return bool(re.search(NO_MEMORY, f"{type(error).__name__}: {error}"))
