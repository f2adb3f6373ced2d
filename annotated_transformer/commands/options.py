"""What --help says of the options that commands share, and of fields.

A bound stands with the field that an option sets, not here: whatever reads
the field checks it, and the command line shows the message.
"""

from collections.abc import Callable
from functools import partial
from inspect import Parameter, signature
from typing import Annotated, Any, Literal, TypeVar

from typer import Argument, Option

__all__ = ["FIELDS", "Device", "described", "settings"]

Command = TypeVar("Command", bound=Callable[..., None])
Device = Literal["cuda", "mps", "cpu"] | None

SHARED = {
    "model": Argument(
        help="a folder that train made, or a shipped model's name"
    ),
    "device": Option(
        help="where to compute; the fastest at hand if not given"
    ),
    "batch_tokens": Option(
        min=1,
        help="tokens of a batch, padding included; a search counts each once "
        "for each place of its beam; fewer need less memory",
    ),
    "beam": Option(
        help="translations kept at each step (1: greedy); 5, or the model's "
        "own"
    ),
    "alpha": Option(
        help="length penalty: higher favours longer output; 0.6, or the "
        "model's own"
    ),
    "no_repeat": Option(
        help="say no N tokens in a row twice; 0, which forbids nothing, or "
        "the model's own"
    ),
}

text = partial(Option, rich_help_panel="The text")
model = partial(Option, rich_help_panel="The model")
training = partial(Option, rich_help_panel="The training")
run = partial(Option, rich_help_panel="The run")
# What few trainings need; book/toolkit_options.md says what it is for.
rare = partial(Option, hidden=True)

# The fields of a recipe that have an option of their own, which is short for
# --set FIELD=VALUE. Their types stand in their classes as well, but those
# load PyTorch.
FIELDS: dict[str, tuple[type, Any]] = {
    "vocab_size": (
        int,
        model(
            help="subwords shared by both languages; 8000 if not given, 37000 "
            "for base and big, and a task has its own"
        ),
    ),
    "tokenizer": (str, rare()),
    "tf32": (bool, rare("--tf32")),
    "model.dropout": (
        float,
        model(
            help="share of values set to zero in training; more for less text"
        ),
    ),
    "model.pre_norm": (bool, rare("--pre-norm/--post-norm")),
    "train.steps": (int, training("--max-steps", help="updates in all")),
    "train.batch_tokens": (
        int,
        training(
            help="tokens of a batch on each side, padding included; less "
            "needs less memory"
        ),
    ),
    "train.accumulate": (
        int,
        training(
            help="batches that make one update: large batches in little memory"
        ),
    ),
    "train.schedule": (str, rare()),
    "train.warmup": (
        int,
        training(help="updates in which the learning rate rises"),
    ),
    "train.peak_rate": (
        float,
        training(
            help="the highest learning rate; the paper's if not given for "
            "base and big"
        ),
    ),
    "train.label_smoothing": (float, rare()),
    "train.r_drop": (float, rare()),
    "train.risk": (int, rare()),
    "train.bpe_dropout": (float, rare()),
    "train.max_length": (int, rare()),
    "train.bf16": (bool, rare("--bf16/--float32")),
    "train.checkpoint_every": (int, rare()),
    "train.average": (int, rare()),
    "train.seed": (
        int,
        training(help="start of all random numbers: same seed, same model"),
    ),
}


def described(**own: Any) -> Callable[[Command], Command]:
    """Give the parameters of a command what --help says of each.

    That is its own or the shared one of that name. Where the command has
    **given, it takes an option for each of FIELDS.
    """
    told = SHARED | own

    def describe(command: Command) -> Command:
        whole = signature(command)
        named: list[Parameter] = []
        for name, parameter in whole.parameters.items():
            if parameter.kind is Parameter.VAR_KEYWORD:
                named += map(field_option, FIELDS)
            else:
                told_of = parameter.replace(
                    annotation=Annotated[parameter.annotation, told[name]]
                )
                named.append(told_of)
        shown = whole.replace(parameters=named)
        command.__signature__ = shown  # type: ignore[attr-defined]
        return command

    return describe


def field_option(field: str) -> Parameter:
    """The option of a field; without it, the recipe's own value holds."""
    kind, option = FIELDS[field]
    return Parameter(
        field.rpartition(".")[2],
        Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[kind | None, option],
    )


def settings(given: dict[str, object]) -> list[str]:
    """The fields that were given, as --set would have them."""
    values = {name: given[name.rpartition(".")[2]] for name in FIELDS}
    return [f"{name}={x}" for name, x in values.items() if x is not None]
