"""What a folder is like at each instant at which a process may be killed."""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

CHANGES = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.chmod"}
strikes: list[Callable[[], None]] = []  # what the hook calls


def hook(event: str, arguments: tuple[Any, ...]) -> None:
    """Strike before whatever is about to change the disk."""
    opened = event == "open" and arguments[1] not in (None, "r", "rb")
    if (opened or event in CHANGES) and strikes:
        strike = strikes.pop()  # which may change files itself
        try:
            strike()
        finally:
            strikes.append(strike)


sys.addaudithook(hook)  # for good: Python cannot remove one


def before_each_change(
    function: Callable[[], object], strike: Callable[[], None]
) -> None:
    """Call a function, and strike before each change that it makes to files.

    What a library writes without Python, as safetensors does, counts as one
    change with what comes before it.
    """
    strikes.append(strike)
    try:
        function()
    finally:
        strikes.pop()


def instants(
    folder: Path, copies: Path, function: Callable[[], object]
) -> list[Path]:
    """Copies of a folder as a kill would leave it, before each change."""
    found: list[Path] = []

    def copy() -> None:
        found.append(copies / f"{len(found):04}")
        if folder.exists():
            shutil.copytree(folder, found[-1])

    before_each_change(function, copy)
    copy()
    return found
