"""Recorded runs: long ones, shown by chapters without being repeated."""

import json
from typing import Any

from ledger import BOOK


def read_run(name: str) -> dict[str, Any]:
    """The record book/runs/NAME.json; FileNotFoundError if there is none."""
    path = BOOK / "runs" / f"{name}.json"
    if not path.exists():
        known = ", ".join(sorted(p.stem for p in path.parent.glob("*.json")))
        raise FileNotFoundError(
            f"{path}: no such record; the recorded runs are: {known or 'none'}"
        )
    record: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return record


def show_run(run: dict[str, Any]) -> None:
    """Print what was run, on what, and for how long."""
    data, result, machine = run["data"], run["result"], run["machine"]
    print(f"command: {run['command']}")
    extra = data.get("extra")
    print(
        f"data: {data['pairs']:,} pairs of {data['name']}, "
        f"{data['source']} to {data['target']}"
        + (f", and {extra:,} extra pairs" if extra else "")
    )
    print(
        f"time: {result['updates']:,} updates in "
        f"{result['seconds'] / 60:.0f} minutes on {machine['processor']}, "
        f"threads: {machine['threads']}, torch {run['versions']['torch']}"
    )
