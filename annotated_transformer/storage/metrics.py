"""metrics.jsonl: what a run measures at each checkpoint, a line of JSON."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from annotated_transformer.errors import UserError
from annotated_transformer.system.atomic_files import write_text

__all__ = ["Line", "check_line", "read_metrics", "write_metrics"]

NEEDED = {"step", "seconds", "valid_loss"}  # in each line

Line = dict[str, int | float]


def check_line(line: Any) -> Line:
    """The line, if it holds what a run measures; ValueError if not."""
    if (
        not isinstance(line, dict)
        or not line.keys() >= NEEDED
        or not {*map(type, line.values())} <= {int, float}
    ):
        raise ValueError(f"not a line of metrics: {line!r:.80}")
    return line


def read_metrics(folder: Path) -> list[Line]:
    """The lines of a run's metrics.jsonl, one a checkpoint; [] if none."""
    path = folder / "metrics.jsonl"
    if not path.is_file():
        return []
    found: list[Line] = []
    for place, text in enumerate(path.read_bytes().splitlines(), 1):
        try:
            found.append(check_line(json.loads(text)))
        except (ValueError, RecursionError) as error:
            raise UserError(
                f"{path}, line {place}: {error!s:.200}; delete the line"
            ) from error
    return found


def write_metrics(folder: Path, lines: Iterable[Line]) -> None:
    """Write a run's metrics.jsonl."""
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    write_text(folder / "metrics.jsonl", text)
