"""The options of train: their types and what --help says."""

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

from typer import Option

Task = StrEnum("Task", ["copy", "builtin", "pronouns", "multi30k"])
Preset = StrEnum("Preset", ["tiny", "small", "base", "big"])
Kind = StrEnum("Kind", ["bpe", "unigram", "char"])
Schedule = StrEnum("Schedule", ["inverse_sqrt", "linear"])

text = partial(Option, rich_help_panel="The text")
model = partial(Option, rich_help_panel="The model")
training = partial(Option, rich_help_panel="The training")
run = partial(Option, rich_help_panel="The run")
# What few trainings need; book/toolkit_options.md says what it is for.
rare = partial(Option, hidden=True)

TrainTask = Annotated[
    Task | None,
    text(
        help="a corpus known by name: letters to copy, the built-in "
        "English-German grammar, more of it for pronouns, or Multi30k "
        "(downloaded)"
    ),
]
Language = Annotated[
    str, text(help="language code; Multi30k has en, de and fr")
]
TwoFiles = tuple[Path, Path]
TrainFiles = Annotated[
    TwoFiles | None,
    text(
        "--train",
        metavar="SRC TGT",
        help="two text files to learn from: line n of one translates line n "
        "of the other",
    ),
]
ValidFiles = Annotated[
    TwoFiles | None,
    text(
        "--valid",
        metavar="SRC TGT",
        help="two more, not learned from, to see how well it goes",
    ),
]
TrainTsv = Annotated[Path | None, rare()]
ValidTsv = Annotated[Path | None, rare()]
Extra = Annotated[list[str] | None, rare(metavar="FILE[=SHARE]")]

PresetOption = Annotated[
    Preset | None,
    model(
        help="size: tiny, the usual one, and small for up to a million "
        "pairs, base and big as in the paper, with its schedule; with --from "
        "the model keeps its size"
    ),
]
VocabSize = Annotated[
    int | None,
    model(
        min=5,
        help="subwords shared by both languages; 8000 if not given, 37000 for "
        "base and big, and a task has its own",
    ),
]
TokenizerKind = Annotated[Kind | None, rare()]
Dropout = Annotated[
    float | None,
    model(
        min=0,
        max=0.99,
        help="share of values set to zero in training; more for less text",
    ),
]
PreNorm = Annotated[bool | None, rare("--pre-norm/--post-norm")]

Fields = Annotated[list[str] | None, rare("--set")]

Steps = Annotated[
    int | None, training("--max-steps", min=1, help="updates in all")
]
BatchTokens = Annotated[
    int | None,
    training(
        min=1,
        help="tokens of a batch on each side, padding included; less needs "
        "less memory",
    ),
]
Accumulate = Annotated[
    int | None,
    training(
        min=1,
        help="batches that make one update: large batches in little memory",
    ),
]
ScheduleOption = Annotated[Schedule | None, rare()]
Warmup = Annotated[
    int | None,
    training(min=1, help="updates in which the learning rate rises"),
]
PeakRate = Annotated[
    float | None,
    training(
        min=1e-9,
        help="the highest learning rate; the paper's if not given for base "
        "and big",
    ),
]
LabelSmoothing = Annotated[float | None, rare()]
RDrop = Annotated[float | None, rare("--r-drop")]
Risk = Annotated[int | None, rare()]
BPEDropout = Annotated[float | None, rare("--bpe-dropout")]
MaxLength = Annotated[int | None, rare()]
Bf16 = Annotated[bool | None, rare("--bf16/--float32")]
Tf32 = Annotated[bool | None, rare("--tf32")]
Seed = Annotated[
    int | None,
    training(
        min=0,
        max=2**32 - 1,
        help="start of all random numbers: same seed, same model",
    ),
]

CheckpointEvery = Annotated[int | None, rare()]
AverageLast = Annotated[int | None, rare("--average")]
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
