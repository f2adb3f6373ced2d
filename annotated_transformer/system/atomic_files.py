"""Files: read with care, checked by their sum, written whole or not at all."""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from safetensors import SafetensorError

from ..errors import UserError


def unreadable(path: Path | str, error: OSError) -> UserError:
    """The error for a file that cannot be opened or read."""
    return UserError(
        f"{path} cannot be read ({error.strerror}); check the path"
    )


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
        if path.stat().st_size > most:
            raise ValueError(f"it has more than {most:,} bytes")
        return file.read(most)


def read_json(path: Path, most: int = 1 << 20) -> dict[str, Any]:
    """The object in a JSON file from a stranger; OSError or ValueError."""
    text = read_some(path, most).decode("utf-8")
    try:
        found = json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(found, dict):
        raise ValueError("it is not a JSON object")
    return found


@contextmanager
def replacing(folder: Path, *names: str) -> Iterator[Path]:
    """Give a new folder for files, or a folder, that replace these on success.

    What was there stays, whole, until the new files are on the disk. Of
    several files, for which the folder is made, the last says what the others
    are: it goes before they change, and comes when they have. UserError if
    they cannot be written.
    """
    # Safetensors, too, leaves files of its own behind when it is killed; the
    # next attempt removes them with the folder.
    new, begun = folder / f".{names[-1]}.part", not folder.exists()
    try:
        try:
            shutil.rmtree(new, ignore_errors=True)
            new.mkdir(parents=len(names) > 1)
            yield new
            for path in new.rglob("*"):
                if path.is_file():
                    finish(path)
            if len(names) > 1:
                (folder / names[-1]).unlink(missing_ok=True)
            for name in names:
                (new / name).replace(folder / name)
        finally:
            shutil.rmtree(new, ignore_errors=True)
            if begun:
                with suppress(OSError):  # it is not empty: all went well
                    folder.rmdir()
    except (OSError, SafetensorError) as error:
        raise unwritable(folder / names[-1], error) from error


def finish(path: Path) -> None:
    """Put a new file on the disk, for whoever may read its folder."""
    path.chmod(path.parent.stat().st_mode & 0o666)  # safetensors allows less
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def unwritable(path: Path, error: Exception) -> UserError:
    """The error for a file that cannot be written."""
    reason = getattr(error, "strerror", None) or error
    return UserError(
        f"{path} cannot be written ({reason}); make room on the disk, or "
        "choose a folder that you may write to"
    )


def write_text(path: Path, text: str) -> None:
    """Write a text file in UTF-8, replacing what was there."""
    with replacing(path.parent, path.name) as new:
        (new / path.name).write_bytes(text.encode())
