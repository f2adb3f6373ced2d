"""Records: what was run, on what, with which result."""

import json
import platform
from datetime import date
from importlib.metadata import version
from pathlib import Path

import torch

from annotated_transformer.errors import UserError
from annotated_transformer.model import ModelConfig, parameter_count

PACKAGES = ("torch", "sentencepiece", "sacrebleu", "safetensors", "numpy")


def environment() -> dict:
    """Date, package versions and machine."""
    return {
        "date": date.today().isoformat(),
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in PACKAGES},
        },
        "machine": {
            "system": platform.system(),
            "processor": processor(),
            "threads": torch.get_num_threads(),
        },
    }


def processor() -> str:
    """The name of the GPU, else of the CPU as far as Linux tells it."""
    if torch.cuda.is_available():
        return torch.cuda.get_device_name()
    cpus = Path("/proc/cpuinfo")
    if cpus.exists():
        for line in cpus.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def read_metrics(folder: Path) -> list[dict]:
    """The lines of a run's metrics.jsonl, one a checkpoint."""
    text = (folder / "metrics.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


def record(folder: Path, path: Path, scores: dict[str, dict]) -> None:
    """Write a run's record, or add scores to the one that is there."""
    about = json.loads((folder / "config.json").read_text("utf-8"))["about"]
    known = {}
    if path.exists():
        known = json.loads(path.read_text("utf-8"))
        if known.get("command") != about["command"]:
            raise UserError(
                f"{path}: the record of another run; choose another file"
            )
    whole = {
        **about,
        "curve": read_metrics(folder),
        "scores": {**known.get("scores", {}), **scores},
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")


def model_card(about: dict, config: ModelConfig) -> str:
    """The README.md of a model folder."""
    data, result = about["data"], about["result"]
    rows = {
        "command": f"`{about['command']}`",
        "seed": about["recipe"]["train"]["seed"],
        "machine": about["machine"]["processor"],
        **result,
    }
    table = "\n".join(f"| {name} | {value} |" for name, value in rows.items())
    return f"""# {data["name"]}: {data["source"]} to {data["target"]}

A Transformer of {parameter_count(config) / 1e6:.2f} million parameters:
{config.layers} + {config.layers} layers, d_model {config.d_model},
d_ff {config.d_ff}, {config.heads} heads, a vocabulary of
{config.vocab_size:,} subwords. It was trained with `annotated_transformer`
on {data["pairs"]:,} sentence pairs of {data["name"]}.

| what | value |
|---|---|
{table}

The text that a model was trained on decides what it is good for and how it
may be used. `config.json` names that text and its checksums.
"""
