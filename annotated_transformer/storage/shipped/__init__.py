"""Trained models that come with the package, and how one is packed."""

from pathlib import Path

from annotated_transformer.errors import UserError
from annotated_transformer.storage.history import (
    MOST_RECORD,
    SEARCH,
    check_about,
    same_model,
)
from annotated_transformer.storage.model_folder import (
    check_search,
    load_model,
    save_model,
)
from annotated_transformer.system.atomic_files import (
    check_new,
    new_folder,
    read_json,
    unreadable,
)

__all__ = ["find_model", "pack", "shipped"]

HERE = Path(__file__).parent
SCORES = ("bleu", "bleu_lowercase", "bleu_moses", "chrf")


def shipped() -> list[str]:
    """The names of the models that come with the package."""
    return sorted(path.parent.name for path in HERE.glob("*/config.json"))


def find_model(name: Path | str) -> Path:
    """The folder of that name, or the shipped model; a folder comes first."""
    if Path(name).is_file():
        raise UserError(
            f"{name}: no trained model, but a file; to make a model of a "
            "checkpoint, give it to the command average"
        )
    if Path(name).exists():
        return Path(name)
    if str(name) in shipped():
        return HERE / name
    raise UserError(
        f"{name}: no such folder, nor a model that comes with the package "
        f"({', '.join(shipped()) or 'there is none'})"
    )


def pack(output: Path, model: Path, record: Path | None = None) -> None:
    """Copy a model in half precision, with the scores of its record.

    It will search as it did when it was scored: with that beam, and so on.
    UserError if output exists, if a weight is too large for half precision,
    or if the record is that of another run or names several ways to search.
    """
    check_new(output)
    transformer, tokenizer, about = load_model(model)
    if record is not None:
        try:
            try:
                known = read_json(record, MOST_RECORD)
            except OSError as error:
                raise unreadable(record, error) from error
            if not same_model(known, about):
                raise ValueError(f"it is of {known['command']!r:.80}")
            about["result"] |= {
                f"{test}, {name}": f"{scores[name]:.2f}"
                for test, scores in known["scores"].items()
                for name in SCORES
            }
            searches = [
                {name: scores[name] for name in SEARCH}
                for scores in known["scores"].values()
            ]
            if not searches or any(one != searches[0] for one in searches):
                raise ValueError(f"it searched as in {searches!r:.150}")
            check_search(**searches[0])
            about["search"] = searches[0]
            check_about(about, transformer.config)
        except UserError:
            raise
        except (
            ValueError,
            TypeError,
            KeyError,
            AttributeError,
        ) as error:
            raise UserError(
                f"{record}: not a record of {model} ({error!r:.200}); name "
                "one that was recorded of it, or none"
            ) from error
    for name, parameter in transformer.half().named_parameters():
        if not parameter.isfinite().all():
            raise UserError(
                f"{model}: {name} has numbers beyond 65,504, the largest in "
                "half precision; this model cannot be packed"
            )
    with new_folder(output) as part:
        save_model(part, transformer, tokenizer, about)
