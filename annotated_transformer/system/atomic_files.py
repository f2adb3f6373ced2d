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

from annotated_transformer.errors import UserError

__all__ = [
    "finish",
    "read_json",
    "read_some",
    "remove",
    "replacing",
    "sha256",
    "sync",
    "unwritable",
    "write_text",
]


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
            path.parent.mkdir(exist_ok=True)
            folder.mkdir()
            part = folder / path.name
            yield part
            finish(part)
            part.replace(path)
            sync(path.parent)
        finally:
            remove(folder)
    except (OSError, SafetensorError) as error:
        raise unwritable(path, error) from error


def finish(path: Path) -> None:
    """Put a new file on the disk, for whoever may read its folder."""
    path.chmod(path.parent.stat().st_mode & 0o666)  # safetensors allows less
    sync(path)


def unwritable(path: Path, error: Exception) -> UserError:
    """The error for a file that cannot be written."""
    reason = getattr(error, "strerror", None) or error
    return UserError(
        f"{path} cannot be written ({reason}); make room on the disk, or "
        "choose a folder that you may write to"
    )


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
