"""What --help says of the options that commands share, and of fields.

A bound stands with the field that an option sets, not here: whatever reads
the field checks it, and the command line shows the message.
"""

from collections.abc import Callable
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, Literal, TypeVar

from typer import Argument, Option

__all__ = ["FIELDS", "SEARCH", "Device", "described", "settings"]

Command = TypeVar("Command", bound=Callable[..., None])
Device = Literal["cuda", "mps", "cpu"] | None

SHARED = {
    "model": Argument(help="the folder or the name of a trained model"),
    "device": Option(
        help="where to compute; the fastest at hand if not given"
    ),
    "batch_tokens": Option(
        help="tokens of a batch, padding included; a search counts each once "
        "for each place of its beam; fewer need less memory"
    ),
}
# Options that set a field, or how to search: the type (those of fields stand
# in their classes as well, but these load PyTorch), what --help says, and the
# switch if it is not called as the field is. Those without help are for few.
Table = dict[str, tuple[Any, ...]]

SEARCH: Table = {
    "search.beam": (
        int,
        "translations kept at each step (1: greedy); 5, or the model's own",
    ),
    "search.alpha": (
        float,
        "length penalty: higher favours longer output; 0.6, or the model's "
        "own",
    ),
    "search.no_repeat": (
        int,
        "say no N tokens in a row twice; 0, which forbids nothing, or the "
        "model's own",
    ),
}
FIELDS: Table = {  # each is short for --set FIELD=VALUE
    "vocab_size": (
        int,
        "subwords shared by both languages; 8000 if not given, 37000 for base "
        "and big, and a task has its own",
    ),
    "tokenizer": (str, ""),
    "tf32": (bool, "", "--tf32"),
    "model.dropout": (
        float,
        "share of values set to zero in training; more for less text",
    ),
    "model.pre_norm": (bool, "", "--pre-norm/--post-norm"),
    "train.steps": (int, "updates in all", "--max-steps"),
    "train.batch_tokens": (
        int,
        "tokens of a batch on each side, padding included; less needs less "
        "memory",
    ),
    "train.accumulation_steps": (
        int,
        "batches that make one update: large batches in little memory",
        "--accumulate",
    ),
    "train.schedule": (str, ""),
    "train.warmup": (int, "updates in which the learning rate rises"),
    "train.peak_lr": (
        float,
        "the highest learning rate; the paper's if not given for base and big",
        "--peak-rate",
    ),
    "train.label_smoothing": (float, ""),
    "labs.r_drop": (float, ""),
    "labs.risk": (int, ""),
    "labs.bpe_dropout": (float, ""),
    "labs.noise": (float, ""),
    "train.max_length": (int, ""),
    "train.bf16": (bool, "", "--bf16/--float32"),
    "train.checkpoint_every": (int, ""),
    "train.average": (int, ""),
    "train.seed": (
        int,
        "start of all random numbers: same seed, same model",
    ),
}
PANELS = {
    "": "The model",
    "model": "The model",
    "train": "The training",
    "labs": "The training",
}


def described(
    more: Table | None = None, **own: Any
) -> Callable[[Command], Command]:
    """Give the parameters of a command what --help says of each.

    That is its own or the shared one of that name. The **given of a command
    become an option for each of `more`, None if it is not given.
    """
    helps = SHARED | own

    def describe(command: Command) -> Command:
        named = [*signature(command).parameters.values()]
        if more is not None:
            del named[-1]  # **given
        options = [
            x.replace(annotation=Annotated[x.annotation, helps[x.name]])
            for x in named
        ]
        options += map(option, more or {}, (more or {}).values())
        shown = Signature(options)
        command.__signature__ = shown  # type: ignore[attr-defined]
        return command

    return describe


def option(name: str, row: tuple[Any, ...]) -> Parameter:
    """The option of a row of a table."""
    kind, text, *flags = row
    part, _, last = name.rpartition(".")
    panel = PANELS.get(part)
    shown = Option(*flags, help=text, hidden=not text, rich_help_panel=panel)
    return Parameter(
        last,
        Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[kind | None, shown],
    )


def settings(given: dict[str, object]) -> list[str]:
    """The fields that were given, as --set would have them."""
    values = {name: given[name.rpartition(".")[2]] for name in FIELDS}
    return [f"{name}={x}" for name, x in values.items() if x is not None]
