"""Standard input as it comes, a long text in parts, output and errors."""

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from io import BufferedIOBase
from typing import TypeVar, cast

import typer

from annotated_transformer.errors import UserError
from annotated_transformer.system.text_lines import decode_lines

__all__ = [
    "StandardError",
    "arriving",
    "blocks",
    "drop_unwritten",
    "in_column",
    "in_digits",
    "in_line",
    "put",
]

MOST_WAITING = 1 << 26  # bytes of a line that has not ended

T = TypeVar("T")


def blocks(lines: list[T], size: int = 1000) -> Iterator[list[T]]:
    """The lines of a text, so many at a time."""
    return (lines[i : i + size] for i in range(0, len(lines), size))


def arriving(name: str) -> Iterator[list[str]]:
    """The lines on standard input, as many at a time as have come."""
    if sys.stdin is None:
        raise UserError("standard input is closed; name a file")
    with suppress(OSError, ValueError, AttributeError):
        # else a pause would look like the end
        os.set_blocking(sys.stdin.fileno(), True)
    stdin = cast(BufferedIOBase, sys.stdin.buffer)  # it has read1
    before, rest = 0, bytearray()
    while data := stdin.read1(1 << 16):
        rest += data
        if len(rest) > MOST_WAITING:
            raise UserError(
                f"{name}, line {before + 1}: more than {MOST_WAITING >> 20} "
                "MB without a line feed; a sentence a line is wanted"
            )
        if b"\n" in data:
            end = rest.rfind(b"\n") + 1
            lines = decode_lines(bytes(rest[:end]), name, before)
            yield lines
            before, rest = before + len(lines), rest[end:]
    yield decode_lines(bytes(rest), name, before)


def in_line(text: str) -> str:
    """The text as one line; a model may have learned to write several."""
    return text.replace("\n", " ")


def in_column(text: str) -> str:
    """The text as one column of a line whose columns are cut by tabs."""
    return in_line(text).replace("\t", " ")


def in_digits(number: float) -> str:
    """Four digits behind the point, or four that are not zero."""
    small = 0 < abs(number) < 0.1
    return f"{number:.4g}" if small else f"{number:.4f}"


def put(text: str) -> None:
    """Write to standard output; a reader that has left ends the program."""
    if sys.stdout is None:
        raise UserError("standard output is closed; redirect it to a file")
    try:
        # what a file's name may hold that is not UTF-8 goes out as it was
        sys.stdout.buffer.write(text.encode(errors="surrogateescape"))
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(141) from None
    except OSError as error:
        raise UserError(
            f"standard output cannot be written ({error.strerror})"
        ) from error


def drop_unwritten() -> None:
    """What standard output or error did not take goes nowhere.

    Python flushes both as it ends, and where that fails its status is 120.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            with open(os.devnull, "wb") as nowhere:
                os.dup2(nowhere.fileno(), stream.fileno())
        except ValueError:  # it is closed
            pass


class StandardError:
    """Standard error, as long as it is there: a training outlives it.

    A terminal may be closed, a reader may leave, a disk may be full; what a
    training says is lost then, and nothing else.
    """

    encoding = "utf-8"

    def write(self, text: str) -> int:
        """Say it, if there is somebody to say it to."""
        with suppress(OSError, ValueError, AttributeError):
            sys.stderr.write(text)
        return len(text)

    def flush(self) -> None:
        """Say it now."""
        with suppress(OSError, ValueError, AttributeError):
            sys.stderr.flush()

    def isatty(self) -> bool:
        """True if it is a terminal that is open."""
        with suppress(OSError, ValueError, AttributeError):
            return sys.stderr.isatty()
        return False

    def fileno(self) -> int:
        """The number of the file, by which its width is asked for."""
        return sys.stderr.fileno()
