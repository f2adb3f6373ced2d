"""The console: standard input as it comes, output, and messages."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from io import BufferedIOBase
from typing import IO, Any, cast

from rich.console import Console

from ..errors import UserError, printable
from .text_lines import decode_lines

MOST_WAITING = 1 << 26  # bytes of a line that has not ended


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


def arriving(name: str) -> Iterator[list[str]]:
    """The lines on standard input, as many at a time as have come."""
    if sys.stdin is None:
        raise UserError("standard input is closed; name a file")
    with suppress(OSError, AttributeError):
        # else a pause may look like the end
        os.set_blocking(sys.stdin.fileno(), True)
    stdin = cast(BufferedIOBase, sys.stdin.buffer)  # it has read1
    before, rest = 0, bytearray()
    while data := stdin.read1(1 << 16):
        rest += data
        if len(rest) > MOST_WAITING:
            raise UserError(
                f"{name}, line {before + 1}: more than {MOST_WAITING >> 20} "
                "MB without a line feed; give one sentence per line"
            )
        if b"\n" in data:
            end = rest.rfind(b"\n") + 1
            lines = decode_lines(bytes(rest[:end]), name, before)
            yield lines
            before, rest = before + len(lines), rest[end:]
    yield decode_lines(bytes(rest), name, before)


def in_column(text: str) -> str:
    """The text as one column of a line: no line feed and no tab."""
    return text.replace("\n", " ").replace("\t", " ")


def in_digits(number: float) -> str:
    """Four digits after the point, or four that are not zero."""
    small = 0 < abs(number) < 0.1
    return f"{number:.4g}" if small else f"{number:.4f}"


def put(text: str) -> None:
    """Write to standard output, at once and as UTF-8 on every system.

    The bytes of a file name that is not UTF-8 go out as they are.
    """
    if sys.stdout is not None:
        sys.stdout.buffer.write(text.encode(errors="surrogateescape"))
        sys.stdout.buffer.flush()
