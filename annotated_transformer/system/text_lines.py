"""Text files as lines: what a line is, and what is no text."""

import codecs
import gzip
import io
import os
import stat
import zlib
from pathlib import Path

from annotated_transformer.errors import UserError
from annotated_transformer.system.atomic_files import unreadable

__all__ = ["decode_lines", "read_bytes", "read_lines"]

MOST_UNZIPPED = 1 << 33  # bytes; a hundred million sentences have fewer
WIDE_MARKS = codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE


def read_bytes(path: Path | str) -> bytes:
    """The bytes of a file, unzipped if its name ends in `.gz`."""
    path = Path(path)
    try:
        with path.open("rb") as file:
            device = stat.S_ISCHR(os.fstat(file.fileno()).st_mode)
            if device and not file.isatty() and file.read(1):
                raise OSError(0, "a device, not a text")  # it may never end
            data = file.read()
    except OSError as error:
        raise unreadable(path, error) from error
    if path.suffix != ".gz":
        return data
    try:
        if not data:  # which Python takes for a whole file of nothing
            raise EOFError("it has no byte")
        with gzip.open(io.BytesIO(data)) as packed:
            found = packed.read(MOST_UNZIPPED + 1)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise UserError(
            f"{path} is damaged or cut short, or not gzip in spite of its "
            f"name ({error}); copy or download it again"
        ) from error
    if len(found) > MOST_UNZIPPED:  # of kilobytes, perhaps
        raise UserError(
            f"{path} unpacks to more than {MOST_UNZIPPED >> 30} GB; unzip "
            "it yourself, and name the text"
        )
    return found


def is_wide(data: bytes) -> bool:
    """True for text in UTF-16 or UTF-32, with a mark at its start or not.

    Much of it is UTF-8 by its bytes, all letters of Russian for one; but
    letters of English have a zero beside them, and all line feeds.
    """
    first, second = data[::2].count(0), data[1::2].count(0)
    if first > second:
        ends = data.count(b"\0\n")
    else:  # a part of a text ends with a line feed, whose zero is to come
        ends = (data + bytes(len(data) % 2)).count(b"\n\0")
    return (
        data.startswith(WIDE_MARKS)
        or 3 * (first + second) > len(data)
        or (first + second > 0 and 0 < ends == data.count(b"\n"))
    )


def check_text(data: bytes, name: Path | str) -> None:
    """UserError for what is UTF-8 by its bytes, but no text of lines."""
    if is_wide(data):
        raise UserError(
            f"{name}: this looks like UTF-16 or UTF-32; convert the file, for "
            "example with iconv -f UTF-16 -t UTF-8"
        )
    if b"\n" not in data and b"\r" in data.rstrip(b"\r"):
        raise UserError(
            f"{name}: its lines end with carriage returns alone, so all of "
            "it would be one line; convert the file, for example with "
            "tr '\\r' '\\n'"
        )


def decode_lines(data: bytes, name: Path | str, before: int = 0) -> list[str]:
    """The lines of UTF-8 bytes from the file of that name.

    An error counts the lines of the file that came before these, too.

    Only a line feed ends a line (a carriage return before it goes, too), so
    U+2028, U+0085 or a form feed inside a sentence does not shift the lines
    of two files against each other, as `str.splitlines` would.
    """
    if not before:
        check_text(data, name)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        number = before + data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        raise UserError(
            f"{name}, line {number}: byte {column} of the line, "
            f"0x{data[error.start]:02x}, is not UTF-8; convert the file, "
            "for example with iconv -f LATIN1 -t UTF-8"
        ) from None
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
