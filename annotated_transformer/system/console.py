"""The console: messages on standard error."""

import sys
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Any, cast

from rich.console import Console

from annotated_transformer.errors import printable

__all__ = ["console", "drop_unwritten"]


class StandardError:
    """Standard error, where a failure to write is no error.

    A terminal may be closed, a reader may leave, a disk may be full: a
    training goes on without its messages.
    """

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.stderr, name)

    def write(self, text: str) -> int:
        """Write, if anybody listens."""
        with suppress(OSError, ValueError, AttributeError):
            sys.stderr.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush, likewise."""
        with suppress(OSError, ValueError, AttributeError):
            sys.stderr.flush()


class Messages(Console):
    """A console that escapes the characters that would steer a terminal."""

    spelled: Callable[[str], str] = str  # how a command spells a message

    def out(self, *objects: Any, **options: Any) -> None:
        r"""Print as it is, without markup; what is not printable as \x1b."""
        words = (printable(self.spelled(str(x))) for x in objects)
        super().out(*words, **options)


console = Messages(file=cast(IO[str], StandardError()))


def drop_unwritten() -> None:
    """Give up what a full disk or a closed pipe did not take.

    Python flushes both streams as it ends, and where that fails its exit
    status is 120.
    """
    for name in ("stdout", "stderr"):
        try:
            getattr(sys, name).flush()
        except (OSError, ValueError, AttributeError):
            setattr(sys, name, None)
