"""The options of the commands: their types and what --help says.

A bound stands with the field that an option sets, not here: whatever reads
the field checks it, and the command line shows the message.
"""

from collections.abc import Callable
from functools import partial
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from typer import Argument, Option

__all__ = ["FIELDS", "settings", "takes_fields"]

# What every command shares

Version = Annotated[bool, Option("--version", help="show the version")]
Model = Annotated[
    Path, Argument(help="a folder that train made, or a shipped model's name")
]
Source = Annotated[Path, Argument(help="what to translate, a sentence a line")]
Device = Annotated[
    Literal["cuda", "mps", "cpu"] | None,
    Option(help="where to compute; the fastest at hand if not given"),
]
BatchTokens = Annotated[
    int | None,
    Option(
        min=1,
        help="tokens of a batch, padding included; a search counts each once "
        "for each place of its beam; fewer need less memory; 4096, or 1024 "
        "to score or align",
    ),
]
Beam = Annotated[
    int | None,
    Option(
        help="translations kept at each step (1: greedy); 5, or the model's "
        "own"
    ),
]
Alpha = Annotated[
    float | None,
    Option(
        help="length penalty: higher favours longer output; 0.6, or the "
        "model's own"
    ),
]
NoRepeat = Annotated[
    int | None,
    Option(
        help="say no N tokens in a row twice; 0, which forbids nothing, or "
        "the model's own"
    ),
]

# translate, evaluate and score

Text = Annotated[
    Path | None, Argument(help="a sentence a line; else standard input")
]
Target = Annotated[Path, Argument(help="its translations, line by line")]
Reference = Annotated[
    Path, Argument(help="its translations by people, line by line")
]
NBest = Annotated[
    int | None,
    Option(min=1, help="the N best translations of each line, with scores"),
]
Confidence = Annotated[
    bool,
    Option(
        "--confidence",
        help="add how sure the model is: a tab, then the log-probability per "
        "token; 0 is certain",
    ),
]
Alignment = Annotated[
    bool,
    Option(
        "--alignment",
        help="add which word each word came from: a tab, then 0-0 1-2",
    ),
]
AsJson = Annotated[bool, Option("--json", help="one JSON object instead")]
Penalty = Annotated[
    float,
    Option(
        "--alpha",
        help="divide by the length penalty, as translate --n-best does with "
        "this alpha; 0 leaves the log-probability",
    ),
]

# backtranslate

OneSide = Annotated[
    Path,
    Argument(metavar="TEXT", help="text without translation, line by line"),
]
PairsFile = Annotated[
    Path, Option("--output", help="the file to make, for train --extra")
]
MakeTargets = Annotated[
    bool,
    Option(
        "--forward", help="TEXT holds sources, and MODEL makes their targets"
    ),
]
Sample = Annotated[
    bool, Option("--sample", help="draw each token instead of searching")
]
TopK = Annotated[
    int,
    Option(
        "--top-k", help="draw each token from the K likeliest; 0: from all"
    ),
]
Temperature = Annotated[
    float, Option(help="what is drawn varies more above 1, and less below")
]
DrawSeed = Annotated[
    int | None,
    Option("--seed", help="another one draws other text; 0 if not given"),
]
Tag = Annotated[
    str, Option(help="a word to put before each source made, such as '<BT>'")
]
GoOn = Annotated[
    bool,
    Option("--resume", help="go on where it stopped: the same command again"),
]

# train

text = partial(Option, rich_help_panel="The text")
model = partial(Option, rich_help_panel="The model")
training = partial(Option, rich_help_panel="The training")
run = partial(Option, rich_help_panel="The run")
# What few trainings need; book/toolkit_options.md says what it is for.
rare = partial(Option, hidden=True)

Output = Annotated[Path, Argument(help="the folder to make; it must be new")]
Task = Annotated[
    Literal["copy", "builtin", "pronouns", "multi30k"] | None,
    text(
        help="a corpus known by name: letters to copy, the built-in "
        "English-German grammar, more of it for pronouns, or Multi30k "
        "(downloaded)"
    ),
]
Language = Annotated[
    str, text(help="language code; Multi30k has en, de and fr")
]
TrainFiles = Annotated[
    tuple[Path, Path] | None,
    text(
        "--train",
        metavar="SRC TGT",
        help="two text files to learn from: line n of one translates line n "
        "of the other",
    ),
]
ValidFiles = Annotated[
    tuple[Path, Path] | None,
    text(
        "--valid",
        metavar="SRC TGT",
        help="two more, not learned from, to see how well it goes",
    ),
]
OneFile = Annotated[Path | None, rare()]
Extra = Annotated[list[str] | None, rare(metavar="FILE[=SHARE]")]
Preset = Annotated[
    Literal["tiny", "small", "base", "big"] | None,
    model(
        help="size: tiny, the usual one, and small for up to a million "
        "pairs, base and big as in the paper, with its schedule; with --from "
        "the model keeps its size"
    ),
]
ValidBleu = Annotated[int, rare("--valid-bleu", min=0)]
MaxMinutes = Annotated[
    float | None,
    run(
        min=0,
        help="end the training by then and make a model; --resume goes on",
    ),
]
Resume = Annotated[
    bool,
    run(
        "--resume",
        help="go on after the last checkpoint: the same command, plus this",
    ),
]
Compiled = Annotated[bool, rare("--compile")]
Start = Annotated[
    Path | None,
    run(
        "--from",
        metavar="MODEL",
        help="begin with the weights, sizes and subwords of a trained model",
    ),
]
NewSubwords = Annotated[bool, rare("--new-subwords")]
DryRun = Annotated[
    bool,
    run("--dry-run", help="show size, memory and batches; train nothing"),
]
Settings = Annotated[list[str] | None, rare("--set")]


class Field(NamedTuple):
    """A field of a recipe that has an option of its own.

    The option is short for --set FIELD=VALUE. The types stand here as well as
    in their classes, because those load PyTorch.
    """

    name: str  # in the recipe
    kind: type
    help: str = ""  # rare if there is none
    flags: tuple[str, ...] = ()  # if it is not called as the field is

    @property
    def parameter(self) -> Parameter:
        """The option as typer reads it in the signature of a command."""
        group, _, last = self.name.rpartition(".")
        option = training if group == "train" else model
        told = option if self.help else rare
        return Parameter(
            last,
            Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[
                self.kind | None, told(*self.flags, help=self.help)
            ],
        )


FIELDS = (
    Field(
        "vocab_size",
        int,
        "subwords shared by both languages; 8000 if not given, 37000 for base "
        "and big, and a task has its own",
    ),
    Field("tokenizer", str),
    Field("tf32", bool, flags=("--tf32",)),
    Field(
        "model.dropout",
        float,
        "share of values set to zero in training; more for less text",
    ),
    Field("model.pre_norm", bool, flags=("--pre-norm/--post-norm",)),
    Field("train.steps", int, "updates in all", ("--max-steps",)),
    Field(
        "train.batch_tokens",
        int,
        "tokens of a batch on each side, padding included; less needs less "
        "memory",
    ),
    Field(
        "train.accumulate",
        int,
        "batches that make one update: large batches in little memory",
    ),
    Field("train.schedule", str),
    Field("train.warmup", int, "updates in which the learning rate rises"),
    Field(
        "train.peak_rate",
        float,
        "the highest learning rate; the paper's if not given for base and big",
    ),
    Field("train.label_smoothing", float),
    Field("train.r_drop", float),
    Field("train.risk", int),
    Field("train.bpe_dropout", float),
    Field("train.max_length", int),
    Field("train.bf16", bool, flags=("--bf16/--float32",)),
    Field("train.checkpoint_every", int),
    Field("train.average", int),
    Field(
        "train.seed", int, "start of all random numbers: same seed, same model"
    ),
)


def takes_fields(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of FIELDS, which its **given holds."""
    own = signature(command)
    *named, _ = own.parameters.values()
    named += [field.parameter for field in FIELDS]
    together = own.replace(parameters=named)
    command.__signature__ = together  # type: ignore[attr-defined]
    return command


def settings(given: dict[str, object]) -> list[str]:
    """The fields that were given, as --set would have them."""
    values = {x.name: given[x.name.rpartition(".")[2]] for x in FIELDS}
    return [f"{name}={x}" for name, x in values.items() if x is not None]
