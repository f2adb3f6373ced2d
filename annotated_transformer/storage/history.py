"""Records: what was run, on what, with which result."""

import json
import platform
from datetime import date
from importlib.metadata import version
from pathlib import Path

import torch

from annotated_transformer.errors import UserError
from annotated_transformer.model import ModelConfig, parameter_count
from annotated_transformer.storage.licences import TEXT_LICENCES
from annotated_transformer.system.atomic_files import (
    locked,
    read_json,
    unwritable,
    write_text,
)

__all__ = [
    "MOST_RECORD",
    "SEARCH",
    "changes_of",
    "check_about",
    "environment",
    "model_card",
    "read_about",
    "read_metrics",
    "read_record",
    "record",
    "same_model",
]

SEARCH = ("beam", "alpha", "no_repeat")  # what a score depends on

NUMBERS = ("step", "seconds", "valid_loss")  # of each line of metrics
# what tells the models of one run apart
MODEL = ("updates", "averaged", "checkpoints", "valid_perplexity")
PACKAGES = ("torch", "sentencepiece", "sacrebleu", "safetensors", "numpy")
MOST_RECORD = 1 << 26  # bytes


def environment(device: str = "cpu") -> dict:
    """Date, package versions and machine; device is cuda, mps or cpu."""
    return {
        "date": date.today().isoformat(),
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in PACKAGES},
        },
        "machine": {
            "system": platform.system(),
            "processor": processor(device),
            "threads": torch.get_num_threads(),
        },
    }


def processor(device: str) -> str:
    """The name of the GPU, else of the CPU as far as Linux tells it."""
    if device == "cuda":
        return torch.cuda.get_device_name()
    cpus = Path("/proc/cpuinfo")
    if cpus.exists():
        for line in cpus.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def read_metrics(folder: Path) -> list[dict]:
    """The lines of a run's metrics.jsonl, one a checkpoint; [] if none.

    A last line without its line feed, cut by a crash, is left out.
    """
    path = folder / "metrics.jsonl"
    if not path.is_file():
        return []
    found = []
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


def read_about(folder: Path) -> dict:
    """A run's run.json, if a model card can be made of it.

    OSError, ValueError, TypeError, KeyError or AttributeError if not.
    """
    about = read_json(folder / "run.json")
    check_about({**about, "result": {}}, ModelConfig())
    return about


def check_about(about: dict, sizes: ModelConfig) -> None:
    """ValueError, TypeError, KeyError or AttributeError for no history.

    It must do for a model card, for scores and for a training from there.
    """
    model_card(about, sizes).encode()
    words = about["data"]["target"], about["recipe"]["tokenizer"]
    if not all(isinstance(word, str) for word in words):
        raise TypeError(f"target and tokenizer are {words!r:.80}")
    if not isinstance(fast := about.get("fast", True), bool):
        raise TypeError(f"fast is {fast!r:.80}")


def same_model(known: dict, about: dict) -> bool:
    """True if a record is of that model: two averages share a command."""
    return known["command"] == about["command"] and all(
        known.get("result", {}).get(name) == about.get("result", {}).get(name)
        for name in MODEL
    )


def read_record(path: Path, about: dict) -> dict:
    """A record, if it is of the run that about tells of; {} if none is there.

    UserError if the file is anything else.
    """
    if not path.exists():
        return {}
    try:
        known = read_json(path, MOST_RECORD)
        scores = known.get("scores", {})
        whole = all(isinstance(x, dict) for x in (scores, *scores.values()))
        if whole and same_model(known, about):
            return known
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        pass
    raise UserError(f"{path}: not a record of this run; choose another file")


def record(
    folder: Path,
    path: Path,
    scores: dict[str, dict],
    texts: dict[str, str] | None = None,
) -> None:
    """Write a run's record, or add scores to the one that is there.

    scores are by the name of a test set, and so are texts, the SHA-256 of
    its pairs: UserError if the record has scores of another text by that
    name. folder is the model's. Only a run's own folder has its curve, so
    one that is recorded already stays. Others may add scores meanwhile.
    Without scores nothing is written, and the errors are the same.
    """
    about = read_json(folder / "config.json")["about"]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(path.parent, error) from error
    with locked(path):
        known = read_record(path, about)
        there = known.get("scores", {})
        texts = texts or {}
        for name, text in texts.items():
            if there.get(name, {}).get("sha256", text) != text:
                raise UserError(
                    f"{path}: it has the scores of another text named "
                    f"{name}; rename this one, or record into another file"
                )
        if not scores:
            return
        added = {
            name: found | ({"sha256": texts[name]} if name in texts else {})
            for name, found in scores.items()
        }
        whole = {
            **about,
            "curve": read_metrics(folder) or known.get("curve", []),
            "scores": {**there, **added},
        }
        write_text(path, json.dumps(whole, indent=1) + "\n")


def trainings(about: dict) -> list[dict]:
    """A training and those that it went on from, the first one first."""
    found = []
    while about:
        found.append(about)
        about = about.get("start", {})
    return found[::-1]


def changes_of(about: dict) -> list[dict]:
    """How a run's batches were changed: after, name, was and now.

    ValueError, TypeError or KeyError if the list is none.
    """
    changes = list(about.get("changes", []))
    for change in changes:
        numbers = [change[key] for key in ("after", "was", "now")]
        if not all(type(number) is int and number >= 0 for number in numbers):
            raise ValueError(f"a change has {numbers!r:.80}")
        if not isinstance(change["name"], str):
            raise TypeError(f"a change is of {change['name']!r:.80}")
    return changes


def licences(about: dict) -> str:
    """What the texts of all trainings allow, each text once."""
    names = [
        training["data"]["name"]
        for training in trainings(about)
        if "data" in training  # older records do not tell of earlier ones
    ]
    return " ".join(
        TEXT_LICENCES.get(
            name, f"The licence of {name} is for its owner to say."
        )
        for name in dict.fromkeys(names)
    )


def model_card(about: dict, config: ModelConfig) -> str:
    """The README.md of a model folder."""
    data, result = about["data"], about["result"]
    rows = {
        "command": f"`{about['command']}`",
        "seed": about["recipe"]["train"]["seed"],
        "machine": about["machine"]["processor"],
        **result,
        **about.get("search", {}),
    }
    text = f"{data['pairs']:,} sentence pairs of {data['name']}"
    if data.get("extra"):
        text += f"\nand {data['extra']:,} extra ones"
    starts = [
        ("start", f"`{earlier['command']}`")
        for earlier in trainings(about)[:-1]
    ]
    changes = [
        (
            f"{x['name']} after update {x['after']}",
            f"{x['now']}, not {x['was']}",
        )
        for x in changes_of(about)
    ]
    table = "\n".join(
        f"| {name} | {value} |"
        for name, value in [*starts, *rows.items(), *changes]
    )
    depths = f"{config.layers} + {config.decoder_layers or config.layers}"
    return f"""# {data["name"]}: {data["source"]} to {data["target"]}

A Transformer of {parameter_count(config) / 1e6:.2f} million parameters:
{depths} layers, d_model {config.d_model},
d_ff {config.d_ff}, {config.heads} heads, a vocabulary of
{config.vocab_size:,} subwords. It was trained with `annotated_transformer`
on {text}.

| what | value |
|---|---|
{table}

The text that a model was trained on decides what it is good for and how it
may be used. {licences(about)}
`config.json` has the checksums of the text.
"""
