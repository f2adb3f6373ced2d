"""What takes long to make, kept between runs in a folder that may be deleted.

A piece is made in a hidden folder, which gets its name in one step when all
of it is on the disk; so a process may be killed at any instant.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from filelock import FileLock, Timeout
from platformdirs import user_cache_path

from ..errors import UserError
from .atomic_files import finish, read_json, sha256
from .console import console

VARIABLE = "ANNOTATED_TRANSFORMER_CACHE"
T = TypeVar("T")


@dataclass(frozen=True)
class Cache:
    """The user's cache; if it is not kept, every piece is made anew."""

    kept: bool = True

    def value(self, key: dict[str, Any], compute: Callable[[], Any]) -> Any:
        """What compute returns, plain data, now or before by the same code.

        The sum of the whole package's code is in the key, so that after any
        edit the value is computed anew.
        """

        def make(folder: Path) -> None:
            text = json.dumps(compute())
            (folder / "value.json").write_text(text, "utf-8")

        return self.get(key | {"code": code()}, make, read_value)

    def get(
        self,
        key: dict[str, Any],
        make: Callable[[Path], object],
        read: Callable[[Path], T],
    ) -> T:
        """What read finds in a folder that make has filled, now or before.

        The key says all that decides what is there; unlike in `value`, this
        package's code is no part of it, so whoever changes what `make` writes
        changes the key. Of several processes that want a piece one makes it,
        and the others wait. UserError if it cannot be written.
        """
        usual = user_cache_path("annotated-transformer") / "texts"
        root = Path(os.environ.get(VARIABLE) or usual).expanduser()
        text = json.dumps(key, sort_keys=True)
        piece = root / hashlib.sha256(text.encode()).hexdigest()[:32]
        try:
            if not self.kept:
                with TemporaryDirectory() as folder:
                    make(Path(folder))
                    return read(Path(folder))
            if not whole(piece, key):
                root.mkdir(parents=True, exist_ok=True)
                lock = FileLock(f"{piece}.lock", fallback_to_soft=False)
                try:
                    held = lock.acquire(timeout=0)
                except Timeout:
                    console.out(f"{piece}: another process makes it; waiting")
                    held = lock.acquire()
                with held:
                    fill(piece, key, make)
            return read(piece)
        except OSError as error:
            raise UserError(
                f"{piece} cannot be written or read ({error.strerror}); make "
                f"room on the disk, or set {VARIABLE} to a folder that you "
                "may write to, or use `cache=False`"
            ) from error


CACHE = Cache()


@cache
def code() -> str:
    """The SHA-256 of this package's code."""
    package, found = Path(__file__).parents[1], hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        found.update(path.read_bytes())
    return found.hexdigest()


def read_value(piece: Path) -> Any:
    """The plain data of a piece."""
    return json.loads((piece / "value.json").read_text("utf-8"))


def whole(piece: Path, key: dict[str, Any]) -> bool:
    """True if the folder is the piece with that key, and undamaged."""
    try:
        about = read_json(piece / "about.json")
        sums = {name: sha256(piece / name) for name in about["sha256"]}
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return about == {"key": key, "sha256": sums}


def fill(
    piece: Path, key: dict[str, Any], make: Callable[[Path], object]
) -> None:
    """Make a piece, unless another process has meanwhile."""
    if whole(piece, key):
        return
    if piece.exists():
        console.out(f"{piece}: damaged, or something else; it is made anew")
    new = Path(f"{piece}.part")
    try:
        for left in (new, piece):
            shutil.rmtree(left, ignore_errors=True)
        new.mkdir()
        make(new)
        sums = {path.name: sha256(path) for path in new.iterdir()}
        about = {"key": key, "sha256": sums}
        (new / "about.json").write_text(json.dumps(about), "utf-8")
        for path in new.iterdir():
            finish(path)
        new.rename(piece)
    finally:
        shutil.rmtree(new, ignore_errors=True)
