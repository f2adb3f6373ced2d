"""Files: read with care, checked by their sum, written whole or not at all."""

import codecs
import errno
import gzip
import hashlib
import io
import json
import os
import secrets
import shutil
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from safetensors import SafetensorError

from annotated_transformer.errors import UserError

try:
    import fcntl
except ImportError:  # Windows has no such locks
    fcntl = None

__all__ = [
    "check_name",
    "check_new",
    "decode_lines",
    "lock",
    "locked",
    "new_folder",
    "read_bytes",
    "read_json",
    "read_lines",
    "read_some",
    "remove",
    "replacing",
    "sha256",
    "sync",
    "unwritable",
    "write_text",
]

MOST_UNZIPPED = 1 << 33  # bytes; a hundred million sentences have fewer
# where a name is taken by what is no file, or no folder
TAKEN = {errno.EEXIST, errno.EISDIR, errno.ENOTDIR, errno.ELOOP}
MARKS = {  # the longer first: one begins like the other
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}


def unreadable(path: Path | str, error: OSError) -> UserError:
    """The error for a file that cannot be opened or read."""
    return UserError(
        f"{path} cannot be read ({error.strerror}); check the path"
    )


def read_bytes(path: Path | str) -> bytes:
    """The bytes of a file, unzipped if its name ends in `.gz`."""
    path = Path(path)
    try:
        with path.open("rb") as file:
            data = whole(file)
    except OSError as error:
        raise unreadable(path, error) from error
    if path.suffix != ".gz":
        return data
    try:
        if not data:  # which Python takes for a whole file of nothing
            raise EOFError("it has no byte")
        return unzipped(data, path)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise UserError(
            f"{path} is damaged or cut short, or not gzip in spite of its "
            f"name ({error}); copy or download it again"
        ) from error


def whole(file: io.BufferedReader) -> bytes:
    """All bytes of an open file; OSError for a device that has no end."""
    device = stat.S_ISCHR(os.fstat(file.fileno()).st_mode)
    if device and not file.isatty() and file.read(1):
        raise OSError(0, "a device, not a text")
    return file.read()


def unzipped(data: bytes, path: Path) -> bytes:
    """What gzip packed; UserError beyond what a corpus may need.

    A file of some kilobytes can unpack to more than any memory holds.
    """
    with gzip.open(io.BytesIO(data)) as file:
        found = file.read(MOST_UNZIPPED + 1)
    if len(found) > MOST_UNZIPPED:
        raise UserError(
            f"{path} unpacks to more than {MOST_UNZIPPED >> 30} GB; unzip "
            "it yourself, and name the text"
        )
    return found


def wide_encoding(data: bytes) -> str:
    """The encoding with several bytes a character that this looks like.

    Nothing if it looks like none. Much of UTF-16 is UTF-8 by its bytes, all
    letters of Russian for one; but its line feeds have a zero beside them.
    """
    for mark, encoding in MARKS.items():
        if data.startswith(mark):
            return encoding
    zeros = data[::2].count(0), data[1::2].count(0)
    if 2 * sum(zeros) > len(data) and min(zeros):
        return "UTF-32" + ("BE" if data[0] == 0 else "LE")
    if sum(zeros) and not min(zeros):
        order = "LE" if zeros[1] else "BE"
        # a part of a text ends with a line feed, whose zero is yet to come
        whole = data + bytes(len(data) % 2)
        ends = whole.count(b"\n\0" if order == "LE" else b"\0\n")
        if 3 * sum(zeros) > len(data) or 0 < data.count(b"\n") == ends:
            return f"UTF-16{order}"
    return ""


def check_text(data: bytes, name: Path | str) -> None:
    """UserError for what is UTF-8 by its bytes, but no text of lines."""
    if encoding := wide_encoding(data):
        raise UserError(
            f"{name}: this looks like {encoding}; convert the file, for "
            f"example with iconv -f {encoding} -t UTF-8"
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


def sha256(path: Path | str) -> str:
    """The SHA-256 of a file's bytes in hexadecimal."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise unreadable(path, error) from error


def read_some(path: Path, most: int) -> bytes:
    """The bytes of a regular file; OSError, or ValueError if over most."""
    if path.exists() and not path.is_file():
        raise OSError(0, "not a file")  # a pipe or device might never end
    with path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise ValueError(f"it has more than {most:,} bytes")
    return data


def read_json(path: Path, most: int = 1 << 20) -> dict:
    """The object in a JSON file from a stranger; OSError or ValueError."""

    def unique(pairs: list[tuple[str, object]]) -> dict:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise ValueError("a name stands twice in one object")
        return found

    text = read_some(path, most).decode("utf-8")
    try:
        found = json.loads(text, object_pairs_hook=unique)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(found, dict):
        raise ValueError("it is not a JSON object")
    return found


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary name to write to; it becomes path on success.

    What was at path stays there, whole, until the new file is on the disk.
    UserError if it cannot be written.
    """
    # In a folder, because safetensors, too, leaves a file of its own behind
    # when it is killed; the next attempt removes it.
    folder = path.with_name(f".{path.name}.part")
    try:
        try:
            remove(folder)
            folder.mkdir()
            part = folder / path.name
            yield part
            # safetensors keeps a file to its owner; it is for whoever may
            # read its folder
            part.chmod(folder.stat().st_mode & 0o666)
            sync(part)
            part.replace(path)
            sync(path.parent)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    except (OSError, SafetensorError) as error:
        raise unwritable(path, error) from error


def check_name(path: Path) -> None:
    """UserError for a name that safetensors would write, but never read."""
    try:
        str(path).encode()
    except UnicodeEncodeError as error:
        raise UserError(f"{path}: not UTF-8; choose another name") from error


def check_new(path: Path) -> None:
    """UserError unless a folder of that name can be made."""
    check_name(path)
    if os.path.lexists(path):
        raise UserError(f"{path}: exists already; choose another folder")


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Give a temporary folder to fill; it becomes path on success.

    Of several processes that make the same folder one does, and the others
    have a UserError. It stands beside path, so that a rename is enough.
    """
    check_new(path)
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        part.mkdir(parents=True)
        yield part
        part.rename(path)
        sync(path.parent)
    except UserError as error:  # it names files of a folder that will go
        raise UserError(str(error).replace(str(part), str(path))) from error
    except OSError as error:
        check_new(path)  # another may have made it meanwhile
        raise unwritable(path, error) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def lock(handle: int, wait: bool) -> bool:
    """Lock an open file or folder; False if another has it locked.

    A process that ends, killed or not, unlocks it. True, too, where there
    are no locks.
    """
    if fcntl is not None:
        with suppress(OSError):  # some file systems cannot lock
            try:
                how = fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB)
                fcntl.flock(handle, how)
            except BlockingIOError:
                return False
    return True


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Have a file for oneself, until others who want the same may go on."""
    # Not the file itself, which is replaced; nor its folder, which a training
    # may have locked for days.
    name = path.parent / f".{path.name}.lock"  # the path may be a folder, "."
    try:
        while True:
            handle = os.open(name, os.O_CREAT | os.O_RDWR)
            try:
                lock(handle, wait=True)
                # who had it before has removed the file that was locked
                with suppress(FileNotFoundError):
                    if os.path.samestat(os.fstat(handle), name.stat()):
                        break
            except BaseException:
                os.close(handle)
                raise
            os.close(handle)
    except OSError as error:
        raise unwritable(path, error) from error
    try:
        yield
    finally:
        with suppress(OSError):  # where files in use stay
            name.unlink()
        os.close(handle)


def unwritable(path: Path, error: Exception) -> UserError:
    """The error for a file that cannot be written."""
    reason = getattr(error, "strerror", None) or error
    advice = "make room on the disk, or choose a folder that you may write to"
    if getattr(error, "errno", None) in TAKEN:
        advice = "move away what has its name"
    return UserError(f"{path} cannot be written ({reason}); {advice}")


def remove(path: Path) -> None:
    """Remove a file or a folder, a pipe or a link, as far as it can be."""
    # shutil.rmtree would wait for ever for who writes to a pipe
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    if os.name == "nt" and path.is_dir():
        return  # Windows does not open folders
    handle = os.open(path, os.O_RDWR if path.is_file() else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_text(path: Path, text: str) -> None:
    """Write a text file in UTF-8, replacing what was there."""
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8", newline="\n")
