"""Lines of text, read with care: what a line is, and what is not UTF-8."""

import gzip
import zlib
from pathlib import Path

from annotated_transformer.errors import UserError

__all__ = ["decode_lines", "read_bytes", "read_lines"]


def read_bytes(path: Path | str) -> bytes:
    """The bytes of a file, unzipped if its name ends in `.gz`."""
    path = Path(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UserError(
            f"{path} cannot be read ({error.strerror}); check the path"
        ) from error
    if path.suffix != ".gz":
        return data
    try:
        return gzip.decompress(data)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise UserError(
            f"{path} is damaged or cut short, or not gzip in spite of its "
            f"name ({error}); copy or download it again"
        ) from error


def decode_lines(data: bytes, name: Path | str) -> list[str]:
    """The lines of UTF-8 bytes that came from the file of that name.

    Only a line feed ends a line (a carriage return before it goes, too), so
    U+2028, U+0085 or a form feed inside a sentence does not shift the lines
    of two files against each other, as `str.splitlines` would.
    """
    try:
        text = data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        number = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        raise UserError(
            f"{name}, line {number}: byte {column} of the line, "
            f"0x{data[error.start]:02x}, is not UTF-8; convert the file, "
            "for example with iconv -f LATIN1 -t UTF-8"
        ) from None
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
