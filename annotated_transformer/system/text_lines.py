"""Text files as lines: what a line is, and what is not text."""

import gzip
import re
import unicodedata
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import BufferedIOBase
from itertools import chain, islice
from pathlib import Path
from typing import TypeVar

from ..errors import UserError
from .atomic_files import unreadable

RETURN = re.compile(rb"\r(?!\n|\Z)")  # one that is not in the end of a line
UTF_16 = (b"\xff\xfe", b"\xfe\xff")  # how it begins
# how files begin that are no text, what they are, and what makes one of them
OTHERS = {
    b"PK\x03\x04": "a zip archive, as a spreadsheet (.xlsx, .ods) or document "
    "is; save a table as CSV, in UTF-8, or a document as plain text",
    b"\xd0\xcf\x11\xe0": "an old spreadsheet or document (.xls, .doc); save a "
    "table as CSV, in UTF-8, or a document as plain text",
    b"%PDF": "a PDF; take the text out of it, for example with pdftotext",
    b"\x1f\x8b": "compressed by gzip; let its name end in .gz",
    b"BZh": "compressed by bzip2; unpack it",
    b"\xfd7zXZ": "compressed by xz; unpack it",
    b"\x28\xb5\x2f\xfd": "compressed by zstd; unpack it",
    b"PAR1": "a table in the format Parquet; write it as CSV or JSON Lines",
}
ICONV = "for example with iconv -f {} -t UTF-8"
VARIANTS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]")  # of a sign
T = TypeVar("T")


def invisible(sign: str) -> bool:
    """True if nothing is seen of it: controls, joiners, marks of direction."""
    return unicodedata.category(sign) in ("Cc", "Cf") or bool(
        VARIANTS.match(sign)
    )


def is_blank(text: str) -> bool:
    """True if a text has nothing that can be seen."""
    return all(x.isspace() or invisible(x) for x in text)


def blocks(lines: Iterable[T], size: int = 1000) -> Iterator[list[T]]:
    """The lines of a text, this many at a time."""
    left = iter(lines)
    return iter(lambda: [*islice(left, size)], [])


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


def fault(data: bytes, first: bool) -> tuple[int, str] | None:
    """Where bytes are not the text that they should be, why, and what helps.

    A zero byte is no text, though it is UTF-8; nor is a carriage return that
    no line feed follows, which may end lines that would all be one.
    """
    if first and data[:2] in UTF_16:
        return 0, f"begins a UTF-16 text; convert it, {ICONV.format('UTF-16')}"
    if (zero := data.find(b"\0")) >= 0:
        # of a character of UTF-16 it is the upper half
        encoding = "UTF-16LE" if zero % 2 else "UTF-16BE"
        return zero, (
            "is a zero byte, which no text has; delete it, for example with "
            "tr -d '\\000' or, if the whole file is UTF-16, convert it, "
            f"{ICONV.format(encoding)}"
        )
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start, (
            f"is not UTF-8 text; convert the file, {ICONV.format('LATIN1')}"
        )
    if lone := RETURN.search(data):
        return lone.start(), (
            "is a carriage return within the line; write blanks in place of "
            "such, for example with tr '\\r' ' '"
            if b"\n" in data
            else "is a carriage return, and nothing ends a line; make line "
            "feeds of them, for example with tr '\\r' '\\n'"
        )
    return None


def decode(data: bytes, name: Path | str, before: int = 0) -> str:
    """The text of UTF-8 bytes from the file of that name.

    UserError for other bytes counts the lines of the file that came before
    these, too.
    """
    if found := fault(data, not before):
        wrong, told = found
        for begins, other in () if before else OTHERS.items():
            if data.startswith(begins):
                raise UserError(f"{name} is no text, but {other}")
        number = before + data.count(b"\n", 0, wrong) + 1
        column = wrong - data.rfind(b"\n", 0, wrong)
        raise UserError(
            f"{name}, line {number}: byte {column} of the line, "
            f"0x{data[wrong]:02x}, {told}"
        )
    text = data.decode("utf-8")
    return text if before else text.removeprefix("\ufeff")


def decode_lines(data: bytes, name: Path | str, before: int = 0) -> list[str]:
    """The lines of UTF-8 bytes, as `decode` reads them.

    Only a line feed ends a line (a carriage return before it goes, too), so
    U+2028, U+0085 or a form feed inside a sentence does not shift the lines
    of two files against each other, as `str.splitlines` would.
    """
    lines = split_lines(decode(data, name, before), begins=False)
    if not lines[-1]:
        lines.pop()
    return lines


def split_lines(text: str, begins: bool = True) -> list[str]:
    r"""The lines of a text; the last is what follows the last "\n".

    A carriage return at the end of a line is dropped, and so is a byte-order
    mark where the text begins.
    """
    if begins:
        text = text.removeprefix("\ufeff")
    return [line.removesuffix("\r") for line in text.split("\n")]


def read_lines(path: Path | str) -> list[str]:
    """The lines of a UTF-8 text, plain or gzip by its ending `.gz`.

    UserError if there is none: a corpus needs sentences.
    """
    return [*lines_of(path)]


def lines_of(path: Path | str) -> Iterator[str]:
    """The same, one by one; none is kept."""
    found = line_blocks(path)
    first = next(found, [])
    if not first:
        told = "it needs a sentence, or a pair, a line"
        raise UserError(f"{path} is empty; {told}")
    return chain(first, chain.from_iterable(found))


def line_blocks(path: Path | str, at_once: int = 2**20) -> Iterator[list[str]]:
    """The lines of a UTF-8 text, as many as there are in so many bytes."""
    before = 0
    with opened(path) as file:
        while block := file.readlines(at_once):
            yield decode_lines(b"".join(block), path, before)
            before += len(block)


def stream_lines(path: Path | str, at_once: int = 2**20) -> Iterator[str]:
    r"""The lines of a UTF-8 text, each with its end, "\n"; none is kept.

    So the text may be larger than memory; so many bytes are read at once.
    """
    for lines in line_blocks(path, at_once):
        for line in lines:
            yield f"{line}\n"
