"""Copy a trained model in half precision, with the scores of its record.

So are the models made that come with the package: two bytes a parameter, and
translations that are the same but for a near tie now and then. A model that
is packed with its record searches as it did when it was scored; one that is
packed with validation text knows how sure it usually is.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
from record_scores import known_history, read_record

from annotated_transformer.errors import UserError
from annotated_transformer.runs.description import source_lines
from annotated_transformer.storage.history import History, Search
from annotated_transformer.storage.model_folder import load_model, save_model
from annotated_transformer.storage.pretrained import find_model
from annotated_transformer.system.text_lines import read_lines
from annotated_transformer.text.checks import Known
from annotated_transformer.translation import Translator

SCORES = ("bleu", "bleu_lowercase", "bleu_moses", "chrf")


def with_scores(history: History, record: Path) -> History:
    """The history with the scores of a record, and the search they came of.

    UserError if the record is of another model or knows several searches.
    """
    known = read_record(record, history).get("scores", {})
    scores = {
        f"{test}, {name}": f"{found[name]:.2f}"
        for test, found in known.items()
        for name in SCORES
    }
    searches = {
        Search(**{name: found[name] for name in asdict(Search())})
        for found in known.values()
    }
    if len(searches) != 1:
        raise UserError(
            f"{record}: it has the scores of {len(searches)} searches, where "
            "one is wanted"
        )
    result = replace(history.result, scores=scores)
    return replace(history, result=result, search=searches.pop())


def usual_confidence(translator: Translator, lines: list[str]) -> float:
    """The log-probability per token that 19 of 20 translations reach."""
    found = translator.n_best(lines, 1)
    nats = [best[0].confidence for best in found]
    return round(float(np.quantile(nats, 0.05)), 3)


def pack(
    output: Path,
    model: Path,
    record: Path | None = None,
    valid: Path | None = None,
    learned: Sequence[Path] = (),
) -> None:
    """Copy a model in half precision, with the scores of its record.

    valid has validation sources, by which it knows how sure it usually is.
    learned are the sources that it learned from, if its training has not kept
    what they are like. UserError if output exists, if a weight is too large
    for half precision, or if the record is none of this model.
    """
    if output.exists():
        raise UserError(f"{output}: exists already; choose another folder")
    transformer, tokenizer, history = load_model(model)
    if record is not None:
        history = with_scores(known_history(history), record)
    if learned:
        history = known_history(history)
        data = history.data
        text = [(x, x) for path in learned for x in read_lines(path)]
        most = history.recipe["train"]["max_length"]
        lines = source_lines(text, tokenizer, data.source, most)
        lines = replace(lines, stretch=Known.of(history).stretch)
        history = replace(history, data=replace(data, lines=lines))
    if valid is not None:
        history = known_history(history)
        translator = Translator.load(model)  # which splits as it does
        translator.known = Known.of(history)
        for name, value in asdict(history.search or Search()).items():
            setattr(translator, name, value)
        usual = usual_confidence(translator, read_lines(valid))
        result = replace(history.result, usual_confidence=usual)
        history = replace(history, result=result)
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
    parser.add_argument("--valid", type=Path, help="validation sources")
    parser.add_argument(
        "--learned", type=Path, nargs="+", default=[], help="sources"
    )
    given = parser.parse_args()
    try:
        pack(
            given.output,
            find_model(given.model),
            given.record,
            given.valid,
            given.learned,
        )
    except UserError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
