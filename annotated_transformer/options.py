"""The options of the command line: their types and what --help says."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

Task = StrEnum("Task", ["copy", "builtin", "multi30k"])
Preset = StrEnum("Preset", ["tiny", "small", "base", "big"])
Kind = StrEnum("Kind", ["bpe", "unigram", "char"])
Schedule = StrEnum("Schedule", ["inverse_sqrt", "linear"])
DeviceName = StrEnum("DeviceName", ["cuda", "mps", "cpu"])
DataSet = StrEnum("DataSet", ["multi30k"])

DATA, MODEL, TRAINING, RUN = "The text", "The model", "The training", "The run"

Output = Annotated[Path, Argument(help="the folder to make; it must be new")]
Model = Annotated[Path, Argument(help="a folder that train or average made")]
Text = Annotated[
    Path | None, Argument(help="a sentence a line; else standard input")
]
Source = Annotated[Path, Argument(help="what to translate, a sentence a line")]
Reference = Annotated[
    Path, Argument(help="its translations by people, line by line")
]
Checkpoints = Annotated[
    list[Path],
    Argument(help="files in OUTPUT/checkpoints of one run of train"),
]
DataName = Annotated[DataSet, Argument(help="which corpus")]
DataFolder = Annotated[
    Path | None,
    Option("--dir", help="where to put it; else the user's cache folder"),
]

Device = Annotated[
    DeviceName | None,
    Option(help="where to compute; the fastest at hand if not given"),
]
Beam = Annotated[
    int,
    Option(min=1, help="translations kept at each step; 1: greedy"),
]
Alpha = Annotated[
    float,
    Option(min=0, help="length penalty: higher favours longer output"),
]
AsJson = Annotated[bool, Option("--json", help="one JSON object instead")]
RecordFile = Annotated[
    Path | None,
    Option("--record", help="add the scores to this record of the training"),
]

TrainTask = Annotated[
    Task | None,
    Option(
        help="a corpus known by name: letters to copy, the built-in "
        "English-German grammar, or Multi30k (downloaded)",
        rich_help_panel=DATA,
    ),
]
Language = Annotated[
    str,
    Option(
        help="language code; Multi30k has en, de and fr", rich_help_panel=DATA
    ),
]
TwoFiles = tuple[Path, Path]
TrainFiles = Annotated[
    TwoFiles | None,
    Option(
        "--train",
        metavar="SRC TGT",
        help="two text files to learn from: line n of one translates line n "
        "of the other",
        rich_help_panel=DATA,
    ),
]
ValidFiles = Annotated[
    TwoFiles | None,
    Option(
        "--valid",
        metavar="SRC TGT",
        help="two more, not learned from, to see how well it goes",
        rich_help_panel=DATA,
    ),
]
TrainTsv = Annotated[
    Path | None,
    Option(
        help="in place of --train: source, a tab, target on each line",
        rich_help_panel=DATA,
    ),
]
ValidTsv = Annotated[
    Path | None, Option(help="in place of --valid", rich_help_panel=DATA)
]

PresetOption = Annotated[
    Preset | None,
    Option(
        help="size: tiny and small for up to a million pairs, base and big "
        "as in the paper",
        rich_help_panel=MODEL,
    ),
]
VocabSize = Annotated[
    int | None,
    Option(
        min=5,
        help="subwords shared by both languages; 8000 if not given",
        rich_help_panel=MODEL,
    ),
]
TokenizerKind = Annotated[
    Kind | None,
    Option(help="how text becomes subwords", rich_help_panel=MODEL),
]
Dropout = Annotated[
    float | None,
    Option(
        min=0,
        max=0.9,
        help="share of values set to zero in training; more for less text",
        rich_help_panel=MODEL,
    ),
]
PreNorm = Annotated[
    bool | None,
    Option(
        "--pre-norm/--post-norm",
        help="layer norm before each sub-layer (easier to train), or after "
        "the residual sum as published",
        rich_help_panel=MODEL,
    ),
]

MaxSteps = Annotated[
    int | None, Option(min=1, help="updates in all", rich_help_panel=TRAINING)
]
BatchTokens = Annotated[
    int | None,
    Option(
        min=1,
        help="tokens of a batch on each side, padding included; less needs "
        "less memory",
        rich_help_panel=TRAINING,
    ),
]
Accumulate = Annotated[
    int | None,
    Option(
        min=1,
        help="batches that make one update: large batches in little memory",
        rich_help_panel=TRAINING,
    ),
]
ScheduleOption = Annotated[
    Schedule | None,
    Option(
        help="the learning rate after warm-up: the paper's, or straight "
        "down to zero",
        rich_help_panel=TRAINING,
    ),
]
Warmup = Annotated[
    int | None,
    Option(
        min=1,
        help="updates in which the learning rate rises",
        rich_help_panel=TRAINING,
    ),
]
PeakRate = Annotated[
    float | None,
    Option(
        min=1e-9,
        help="the highest learning rate; the paper's if not given for base "
        "and big",
        rich_help_panel=TRAINING,
    ),
]
LabelSmoothing = Annotated[
    float | None,
    Option(
        min=0,
        max=0.99,
        help="probability that the target shares out over all tokens",
        rich_help_panel=TRAINING,
    ),
]
MaxLength = Annotated[
    int | None,
    Option(
        min=2,
        help="tokens; pairs with a longer side are left out, and reported",
        rich_help_panel=TRAINING,
    ),
]
Bf16 = Annotated[
    bool | None,
    Option(
        "--bf16/--float32",
        help="precision of matrix products; bf16 on a GPU that has it",
        rich_help_panel=TRAINING,
    ),
]
Seed = Annotated[
    int | None,
    Option(
        min=0,
        help="start of all random numbers: same seed, same model",
        rich_help_panel=TRAINING,
    ),
]

CheckpointEvery = Annotated[
    int | None,
    Option(
        min=1,
        help="updates between checkpoints, each with a validation",
        rich_help_panel=RUN,
    ),
]
AverageLast = Annotated[
    int | None,
    Option(
        "--average",
        min=1,
        help="how many of the last checkpoints make the final model",
        rich_help_panel=RUN,
    ),
]
MaxMinutes = Annotated[
    float | None,
    Option(
        min=0,
        help="end the training by then and make a model; --resume goes on",
        rich_help_panel=RUN,
    ),
]
Resume = Annotated[
    bool,
    Option(
        "--resume",
        help="go on after the last checkpoint: the same command, plus this",
        rich_help_panel=RUN,
    ),
]
