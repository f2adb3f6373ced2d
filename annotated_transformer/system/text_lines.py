"""Text files as lines: what a line is, and what is not text."""

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedIOBase
from pathlib import Path
from typing import Any

from ..errors import UserError
from .atomic_files import unreadable


def blocks(lines: list[Any], size: int = 1000) -> Iterator[list[Any]]:
    """The lines of a text, this many at a time."""
    return (lines[i : i + size] for i in range(0, len(lines), size))


def ending(path: Path | str) -> str:
    """What the name of a file says of its format; `.csv` for a.CSV.gz, too."""
    return Path(str(path).removesuffix(".gz")).suffix.lower()


@contextmanager
def opened(path: Path | str) -> Iterator[BufferedIOBase]:
    """A file to read bytes from, unzipped if its name ends in `.gz`.

    UserError for whatever goes wrong with the file.
    """
    path = Path(path)
    try:
        if path.is_char_device():
            raise OSError(0, "a device, not a text")  # it may never end
        with (
            gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as x
        ):
            yield x
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise UserError(
            f"{path} is damaged or cut short, or not gzip in spite of its "
            f"name ({error}); copy or download it again"
        ) from error
    except OSError as error:
        raise unreadable(path, error) from error


def read_bytes(path: Path | str) -> bytes:
    """The bytes of a file, unzipped if its name ends in `.gz`."""
    with opened(path) as file:
        return file.read()


def decode_lines(data: bytes, name: Path | str, before: int = 0) -> list[str]:
    """The lines of UTF-8 bytes from the file of that name.

    An error counts the lines of the file that came before these, too.

    Only a line feed ends a line (a carriage return before it goes, too), so
    U+2028, U+0085 or a form feed inside a sentence does not shift the lines
    of two files against each other, as `str.splitlines` would. A zero byte
    is no text, though it is UTF-8: most are of texts in UTF-16.
    """
    wrong = data.find(b"\0")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        wrong = error.start
    if wrong >= 0:
        number = before + data.count(b"\n", 0, wrong) + 1
        column = wrong - data.rfind(b"\n", 0, wrong)
        encoding = "UTF-16" if b"\0" in data else "LATIN1"
        raise UserError(
            f"{name}, line {number}: byte {column} of the line, "
            f"0x{data[wrong]:02x}, is not UTF-8 text; convert the file, "
            f"for example with iconv -f {encoding} -t UTF-8"
        )
    if not before:
        text = text.removeprefix("\ufeff")
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def read_lines(path: Path | str) -> list[str]:
    """The lines of a UTF-8 text, plain or gzip by its ending `.gz`.

    UserError if there is none: a corpus needs sentences.
    """
    lines = decode_lines(read_bytes(path), path)
    if not lines:
        raise UserError(f"{path} is empty; it needs one sentence a line")
    return lines


def stream_lines(path: Path | str, at_once: int = 2**20) -> Iterator[str]:
    r"""The lines of a UTF-8 text, each with its end, "\n"; none is kept.

    So the text may be larger than memory; so many bytes are read at once.
    """
    before = 0
    with opened(path) as file:
        while block := file.readlines(at_once):
            for line in decode_lines(b"".join(block), path, before):
                yield f"{line}\n"
            before += len(block)
