"""What the book's notebooks have printed, as they are stored."""

import json
from pathlib import Path
from typing import Any

Cell = dict[str, Any]


def cells(path: Path) -> list[Cell]:
    """The cells of a notebook."""
    found: list[Cell] = json.loads(path.read_text("utf-8"))["cells"]
    return found


def output(cell: Cell) -> str:
    """All that a cell prints, and its values as text."""
    return "\n".join(
        "".join(part.get("text") or part.get("data", {}).get("text/plain", ""))
        for part in cell.get("outputs", [])
    )
