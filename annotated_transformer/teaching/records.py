"""Recorded runs: long trainings that a chapter shows without repeating."""

import json
from typing import Any

from annotated_transformer.teaching.claims import find_book

__all__ = ["read_run", "show_benchmark", "show_run"]


def read_run(name: str) -> dict[str, Any]:
    """The record book/runs/NAME.json; FileNotFoundError if there is none."""
    path = find_book() / "runs" / f"{name}.json"
    if not path.exists():
        known = ", ".join(sorted(p.stem for p in path.parent.glob("*.json")))
        raise FileNotFoundError(
            f"{path}: no such record; the recorded runs are: {known or 'none'}"
        )
    record: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return record


def show_run(run: dict[str, Any]) -> None:
    """Print what was run, on what, for how long, and how it scored."""
    data, result, machine = run["data"], run["result"], run["machine"]
    print(f"run command: {run['command']}")
    extra = data.get("extra")
    print(
        f"run data: {data['pairs']:,} pairs of {data['name']}, "
        f"{data['source']} to {data['target']}"
        + (f", and {extra:,} extra pairs" if extra else "")
    )
    print(
        f"run time: {result['updates']:,} updates in "
        f"{result['seconds'] / 60:.0f} minutes on {machine['processor']}, "
        f"threads: {machine['threads']}, torch {run['versions']['torch']}"
    )
    for name, scores in run["scores"].items():
        print(
            f"run {name}: BLEU {scores['bleu']:.1f}, lower-cased "
            f"{scores['bleu_lowercase']:.1f}, by Moses "
            f"{scores['bleu_moses']:.1f}, chrF {scores['chrf']:.1f}"
        )


def show_benchmark(systems: dict[str, dict[str, Any]], unit: str) -> None:
    """Print how fast each system was, and how many times as fast ours is."""
    for name, row in systems.items():
        ratio = f"ours is {row['ratio']:.2f} x"
        print(f"run {name:35} {row['rate']:6,.0f} {unit}, {ratio}")
