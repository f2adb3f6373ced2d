"""Copy a trained model in half precision, with the scores of its record.

So are the models made that come with the package: two bytes a parameter, and
translations that are the same but for a near tie now and then. A model that
is packed with its record searches as it did when it was scored.
"""

import argparse
import sys
from dataclasses import asdict, replace
from pathlib import Path

from record_scores import known_history, read_record

from annotated_transformer.errors import UserError
from annotated_transformer.storage.history import History, Search
from annotated_transformer.storage.model_folder import load_model, save_model
from annotated_transformer.storage.pretrained import find_model
from annotated_transformer.system.atomic_files import check_new

SCORES = ("bleu", "bleu_lowercase", "bleu_moses", "chrf")


def with_scores(history: History, record: Path) -> History:
    """The history with the scores of a record, and the search they came of.

    UserError if the record is of another model or knows several searches.
    """
    known = read_record(record, history).get("scores", {})
    try:
        scores = {
            f"{test}, {name}": f"{found[name]:.2f}"
            for test, found in known.items()
            for name in SCORES
        }
        names = asdict(Search())
        searches = [
            Search(**{name: found[name] for name in names})
            for found in known.values()
        ]
        if not searches or any(one != searches[0] for one in searches):
            raise ValueError(f"it searched as in {searches!r:.150}")
        result = replace(history.result, scores=scores)
        scored = replace(history, result=result, search=searches[0])
        return History.from_json(scored.as_json())
    except (ValueError, TypeError, KeyError) as error:
        raise UserError(
            f"{record}: without scores of one search ({error!r:.200}); name "
            "one that tools/record_scores.py has written"
        ) from error


def pack(output: Path, model: Path, record: Path | None = None) -> None:
    """Copy a model in half precision, with the scores of its record.

    UserError if output exists, if a weight is too large for half precision,
    or if the record is none of this model.
    """
    check_new(output)
    transformer, tokenizer, history = load_model(model)
    if record is not None:
        history = with_scores(known_history(history), record)
    for name, parameter in transformer.half().named_parameters():
        if not parameter.isfinite().all():
            raise UserError(
                f"{model}: {name} has numbers beyond 65,504, the largest in "
                "half precision; this model cannot be packed"
            )
    save_model(output, transformer, tokenizer, history)


def main() -> None:
    """Pack the model that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path, help="a folder that is new")
    parser.add_argument("model", help="a folder, or a shipped model's name")
    parser.add_argument("--record", type=Path, help="book/runs/NAME.json")
    given = parser.parse_args()
    try:
        pack(given.output, find_model(given.model), given.record)
    except UserError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
