"""The one error that is shown to a user without a traceback."""

__all__ = ["UserError"]


class UserError(ValueError):
    """What a user gave (a file, a size, an option) cannot be used.

    The message says what is wrong, where, and what to do about it. The command
    line prints it as one line on stderr and exits with status 1.
    """
