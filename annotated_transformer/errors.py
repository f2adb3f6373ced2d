"""The one error that is shown to a user without a traceback."""

from collections.abc import Iterable

__all__ = ["UserError", "check_budget", "check_texts"]


class UserError(ValueError):
    """What a user gave (a file, a size, an option) cannot be used.

    The message says what is wrong, where, and what to do about it. The command
    line prints it as one line on stderr and exits with status 1.
    """


def check_budget(batch_tokens: int) -> None:
    """ValueError for a batch that would have room for no token."""
    if batch_tokens < 1:
        raise ValueError(f"batch_tokens = {batch_tokens}: at least 1")


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
