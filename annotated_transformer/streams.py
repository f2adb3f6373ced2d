"""Standard input as it comes, a long text in parts, and standard output."""

import os
import sys
from collections.abc import Iterator
from contextlib import suppress

import typer

from annotated_transformer.errors import UserError
from annotated_transformer.files import decode_lines

__all__ = ["arriving", "blocks", "put"]


def blocks(lines: list, size: int = 1000) -> Iterator[list]:
    """The lines of a text, so many at a time."""
    return (lines[i : i + size] for i in range(0, len(lines), size))


def arriving(name: str) -> Iterator[list[str]]:
    """The lines on standard input, as many at a time as have come."""
    if sys.stdin is None:
        raise UserError("standard input is closed; name a file")
    with suppress(OSError, ValueError, AttributeError):
        # else a pause would look like the end
        os.set_blocking(sys.stdin.fileno(), True)
    before, rest = 0, b""
    while data := sys.stdin.buffer.read1(1 << 16):
        rest += data
        end = rest.rfind(b"\n") + 1
        lines = decode_lines(rest[:end], name, before)
        yield lines
        before, rest = before + len(lines), rest[end:]
    yield decode_lines(rest, name, before)


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
