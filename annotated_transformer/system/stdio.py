"""Standard input as it comes, a long text in parts, and what goes out."""

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from io import BufferedIOBase
from typing import TypeVar, cast

from annotated_transformer.errors import UserError
from annotated_transformer.system.text_lines import decode_lines

__all__ = ["arriving", "blocks", "in_column", "in_digits", "put"]

MOST_WAITING = 1 << 26  # bytes of a line that has not ended

T = TypeVar("T")


def blocks(lines: list[T], size: int = 1000) -> Iterator[list[T]]:
    """The lines of a text, this many at a time."""
    return (lines[i : i + size] for i in range(0, len(lines), size))


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
