"""Score a model on a test set, and keep the scores in its record.

A record is what book/runs has of a training: its history, its curve and,
by the name of the test set, its scores.
"""

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from annotated_transformer.corpora.corpus import pairs_sha256
from annotated_transformer.corpora.parallel_text import read_pairs
from annotated_transformer.errors import UserError
from annotated_transformer.storage.history import History, Search
from annotated_transformer.storage.metrics import read_metrics
from annotated_transformer.storage.model_folder import read_config
from annotated_transformer.storage.pretrained import find_model
from annotated_transformer.system.atomic_files import (
    read_json,
    unreadable,
    unwritable,
    write_text,
)
from annotated_transformer.translation import Translator, corpus_scores

MOST_RECORD = 1 << 26  # bytes
# what tells the models of one run apart
MODEL = ("updates", "averaged", "checkpoints", "valid_perplexity")


def known_history(history: History | None) -> History:
    """The history of a model; UserError if nobody gave it one."""
    if history is None:
        raise UserError("a model without a history has no record")
    return history


def same_model(known: History, history: History) -> bool:
    """True if both are of one model: two averages share a command."""
    return known.command == history.command and all(
        getattr(known.result, name) == getattr(history.result, name)
        for name in MODEL
    )


def read_record(path: Path, history: History) -> dict:
    """A record, if it is of that model; UserError if it is anything else."""
    try:
        known = read_json(path, MOST_RECORD)
        rest = {"curve", "scores"}
        told = {name: known[name] for name in known.keys() - rest}
        scores = known.get("scores", {})
        whole = all(isinstance(x, dict) for x in (scores, *scores.values()))
        if whole and same_model(History.from_json(told), history):
            return known
    except FileNotFoundError as error:
        raise unreadable(path, error) from error
    except (OSError, ValueError, AttributeError):
        pass
    raise UserError(f"{path}: not a record of this model; choose another file")


def record(
    folder: Path,
    path: Path,
    scores: dict[str, dict],
    texts: dict[str, str],
) -> None:
    """Write a model's record, or add scores to the one that is there.

    scores are by the name of a test set, and so are texts, the SHA-256 of
    its pairs: UserError if the record has scores of another text by that
    name. Only a run's own folder has its curve, so one that is recorded
    already stays. Without scores nothing is written, and the errors are the
    same.
    """
    history = known_history(read_config(folder).history)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(path.parent, error) from error
    known = read_record(path, history) if path.exists() else {}
    there = known.get("scores", {})
    for name, text in texts.items():
        if there.get(name, {}).get("sha256", text) != text:
            raise UserError(
                f"{path}: it has the scores of another text named {name}; "
                "rename this one, or choose another record"
            )
    if not scores:
        return
    added = {
        name: found | {"sha256": texts[name]} for name, found in scores.items()
    }
    whole = {
        **history.as_json(),
        "curve": read_metrics(folder) or known.get("curve", []),
        "scores": there | added,
    }
    write_text(path, json.dumps(whole, indent=1) + "\n")


def scores_of(
    folder: Path, pairs: list[tuple[str, str]], search: Search
) -> dict:
    """How a model searched, and what its translations score."""
    sources, references = zip(*pairs, strict=True)
    found = Translator.load(folder)([*sources], **asdict(search))
    language = read_config(folder).languages[1]
    return asdict(search) | asdict(corpus_scores(found, references, language))


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
        folder = find_model(given.model)
        pairs = read_pairs(given.source, given.reference)
        plain = given.source.name.removesuffix(".gz")
        name = plain.rpartition(".")[0] or plain
        text = {name: pairs_sha256(pairs)}
        record(folder, given.record, {}, text)  # better an error now
        found = scores_of(folder, pairs, search)
        record(folder, given.record, {name: found}, text)
    except ValueError as error:
        sys.exit(f"error: {error}")
    for kind, signature in found["signatures"].items():
        print(f"{kind:15} {found[kind]:5.2f}  {signature}")


if __name__ == "__main__":
    main()
