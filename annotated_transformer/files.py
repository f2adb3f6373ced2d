"""Files: read with care, checked by their sum, written whole or not at all."""

import gzip
import hashlib
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from annotated_transformer.errors import UserError

__all__ = [
    "decode_lines",
    "read_bytes",
    "read_lines",
    "replacing",
    "sha256",
    "write_text",
]


def unreadable(path: Path | str, error: OSError) -> UserError:
    """The error for a file that cannot be opened or read."""
    return UserError(
        f"{path} cannot be read ({error.strerror}); check the path"
    )


def read_bytes(path: Path | str) -> bytes:
    """The bytes of a file, unzipped if its name ends in `.gz`."""
    path = Path(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from error
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


def sha256(path: Path | str) -> str:
    """The SHA-256 of a file's bytes in hexadecimal."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise unreadable(path, error) from error


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary name to write to; it becomes path on success."""
    part = path.with_name(f".{path.name}.part")
    try:
        yield part
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file in UTF-8, replacing what was there."""
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8", newline="\n")
