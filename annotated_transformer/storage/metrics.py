"""metrics.jsonl: what a run writes of each checkpoint, a line of JSON."""

import json
from pathlib import Path
from typing import Any

from annotated_transformer.errors import UserError

__all__ = ["read_metrics"]

NUMBERS = ("step", "seconds", "valid_loss")  # of each line


def read_metrics(folder: Path) -> list[dict[str, Any]]:
    """The lines of a run's metrics.jsonl, one a checkpoint; [] if none.

    A last line without its line feed, cut by a crash, is left out.
    """
    path = folder / "metrics.jsonl"
    if not path.is_file():
        return []
    found: list[dict[str, Any]] = []
    lines = path.read_bytes().split(b"\n")[:-1]
    for place, line in enumerate(lines, 1):
        try:
            found.append(json.loads(line))
            numbers = [found[-1][name] for name in NUMBERS]
            numbers.append(found[-1].get("valid_bleu", 0.0))
            if not all(isinstance(x, int | float) for x in numbers):
                raise TypeError(f"{numbers!r:.80}")
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise UserError(
                f"{path}, line {place}: not a line of metrics "
                f"({error!r:.200}); delete the line"
            ) from error
    return found
