"""Score a model on a test set, and keep the scores in its record.

A record is what book/runs has of a training: its history, its curve and,
by the name of the test set, its scores.
"""

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from annotated_transformer.corpora.large_text import pairs_sha256
from annotated_transformer.corpora.parallel_text import read_parallel
from annotated_transformer.errors import UserError
from annotated_transformer.storage.checkpoints import read_metrics
from annotated_transformer.storage.history import History, Search
from annotated_transformer.storage.model_folder import read_config
from annotated_transformer.storage.pretrained import find_model
from annotated_transformer.system.atomic_files import read_json, write_text
from annotated_transformer.translation import Translator, corpus_scores

MOST_RECORD = 1 << 26  # bytes
Record = dict[str, Any]  # for JSON
# what tells the models of one run apart
MODEL = ("updates", "averaged", "valid_perplexity")


def known_history(history: History | None) -> History:
    """The history of a model; UserError if nobody gave it one."""
    if history is None:
        raise UserError("a model without a history has no record")
    return history


def read_record(path: Path, history: History) -> Record:
    """A record, if it is of that model; UserError if it is anything else."""
    try:
        known = read_json(path, MOST_RECORD)
    except (OSError, ValueError) as error:
        raise UserError(
            f"{path}: not a record ({error}); choose another file"
        ) from error
    told, result = asdict(history), known.get("result", {})
    same = known.get("command") == told["command"]
    for name in MODEL:  # two averages share a command
        same = same and result.get(name) == told["result"].get(name)
    if not same:
        raise UserError(f"{path}: a record of another model; choose another")
    return known


def record(folder: Path, path: Path, name: str, scores: Record) -> None:
    """Write a model's record, or add scores to the one that is there.

    name is that of the test set. Only a run's own folder has its curve, so
    one that is recorded already stays.
    """
    history = known_history(read_config(folder).history)
    known = read_record(path, history) if path.exists() else {}
    whole = {
        **asdict(history),
        "curve": read_metrics(folder) or known.get("curve", []),
        "scores": known.get("scores", {}) | {name: scores},
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps(whole, indent=1) + "\n")


def scores_of(
    folder: Path, pairs: list[tuple[str, str]], search: Search
) -> Record:
    """How a model searched, and what its translations score."""
    sources, references = zip(*pairs, strict=True)
    translator = Translator.load(folder)
    found = translator([*sources], split="", **asdict(search))
    language = read_config(folder).languages[1]
    return asdict(search) | asdict(corpus_scores(found, references, language))


def score(
    model: Path, source: Path, reference: Path, path: Path, search: Search
) -> None:
    """Score a model on a test set, record it and print it."""
    pairs = read_parallel([source, reference])
    plain = source.name.removesuffix(".gz")
    name = plain.rpartition(".")[0] or plain
    found = scores_of(model, pairs, search)
    record(model, path, name, found | {"sha256": pairs_sha256(pairs)})
    for kind, signature in found["signatures"].items():
        print(f"{kind:15} {found[kind]:5.2f}  {signature}")


def main() -> None:
    """Score the model that the command line names, and record it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", help="a folder, or a shipped model's name")
    parser.add_argument("source", type=Path, help="a sentence a line")
    parser.add_argument("reference", type=Path, help="its translations")
    parser.add_argument("record", type=Path, help="book/runs/NAME.json")
    default = Search()
    parser.add_argument("--beam", type=int, default=default.beam)
    parser.add_argument("--alpha", type=float, default=default.alpha)
    parser.add_argument("--no-repeat", type=int, default=default.no_repeat)
    given = parser.parse_args()
    try:
        search = Search(given.beam, given.alpha, given.no_repeat)
        model = find_model(given.model)
        score(model, given.source, given.reference, given.record, search)
    except (OSError, ValueError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
