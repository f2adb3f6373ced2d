"""The options of the commands: their types and what --help says."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

DeviceName = StrEnum("DeviceName", ["cuda", "mps", "cpu"])
DataSet = StrEnum("DataSet", ["multi30k"])

Version = Annotated[bool, Option("--version", help="tell the version")]
Output = Annotated[Path, Argument(help="the folder to make; it must be new")]
Model = Annotated[
    Path, Argument(help="a folder that train made, or a shipped model's name")
]
Text = Annotated[
    Path | None, Argument(help="a sentence a line; else standard input")
]
Source = Annotated[Path, Argument(help="what to translate, a sentence a line")]
Target = Annotated[Path, Argument(help="its translations, line by line")]
Forward = Annotated[Path, Argument(help="a model from source to target")]
Backward = Annotated[Path, Argument(help="a model from target to source")]
TrainSource = Annotated[
    Path, Argument(help="the text that both have learned from, its sources")
]
TrainTarget = Annotated[Path, Argument(help="its targets, line by line")]
Reference = Annotated[
    Path, Argument(help="its translations by people, line by line")
]
Checkpoints = Annotated[
    list[Path],
    Argument(help="files in OUTPUT/checkpoints of one run of train"),
]
OneSide = Annotated[
    Path,
    Argument(metavar="TEXT", help="what has no translation, line by line"),
]
PairsFile = Annotated[
    Path, Option("--output", help="the file to make, for train --extra")
]
MakeTargets = Annotated[
    bool,
    Option(
        "--forward",
        help="TEXT are sources, and MODEL makes their targets",
    ),
]
Sample = Annotated[
    bool, Option("--sample", help="draw each token; do not search")
]
TopK = Annotated[
    int,
    Option(
        "--top-k",
        min=0,
        max=10**9,
        help="draw each token from the K likeliest; 0: from all",
    ),
]
Temperature = Annotated[
    float,
    Option(
        min=0.01,
        max=100,
        help="what is drawn is more varied above 1, and less below",
    ),
]
DrawSeed = Annotated[
    int | None,
    Option(
        "--seed",
        min=0,
        max=10**12,
        help="another one draws other text; 0 if not given",
    ),
]
Tag = Annotated[
    str,
    Option(help="a word to stand before each source made, such as '<BT>'"),
]
GoOn = Annotated[
    bool,
    Option("--resume", help="go on where it stopped: the same command again"),
]
DescriptionsFile = Annotated[
    tuple[str, Path] | None,
    Option(
        "--descriptions",
        metavar="LANGUAGE FILE",
        help="also download the descriptions of the training images (en or "
        "de), and write those that are not in the corpus itself to FILE",
    ),
]
DataName = Annotated[DataSet, Argument(help="which corpus")]
DataFolder = Annotated[
    Path | None,
    Option(
        "--dir",
        help="where to put it; else what ANNOTATED_TRANSFORMER_DATA names, "
        "or the user's cache folder",
    ),
]

Device = Annotated[
    DeviceName | None,
    Option(help="where to compute; the fastest at hand if not given"),
]
NBest = Annotated[
    int | None,
    Option(
        min=1,
        max=1000,
        help="tell so many translations of a line, with scores",
    ),
]
Confidence = Annotated[
    bool,
    Option(
        "--confidence",
        help="add how sure the model is: a tab, then log-probability a "
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
Number = Annotated[
    int,
    Option(min=1, help="how many each model writes for a pair, at most"),
]
ChoiceBeam = Annotated[
    int,
    Option(
        "--beam",
        min=1,
        max=1000,
        help="how many to choose them from",
    ),
]
Beam = Annotated[
    int | None,
    Option(
        min=1,
        max=1000,
        help="translations kept at each step (1: greedy); 5, or the model's "
        "own",
    ),
]
Alpha = Annotated[
    float | None,
    Option(
        min=0,
        max=50,
        help="length penalty: higher favours longer output; 0.6, or the "
        "model's own",
    ),
]
Penalty = Annotated[
    float,
    Option(
        "--alpha",
        min=0,
        max=50,
        help="divide by the length penalty, as translate --n-best does with "
        "this alpha; 0 leaves the log-probability",
    ),
]
NoRepeat = Annotated[
    int | None,
    Option(
        "--no-repeat",
        min=0,
        max=1000,
        help="say no N tokens in a row twice; 0, which forbids nothing, or "
        "the model's own",
    ),
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
AsJson = Annotated[bool, Option("--json", help="one JSON object instead")]
