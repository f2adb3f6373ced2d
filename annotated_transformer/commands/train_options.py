"""The options of train: their types and what --help says."""

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

from typer import Option

Task = StrEnum("Task", ["copy", "builtin", "multi30k"])
Preset = StrEnum("Preset", ["tiny", "small", "base", "big"])
Kind = StrEnum("Kind", ["bpe", "unigram", "char"])
Schedule = StrEnum("Schedule", ["inverse_sqrt", "linear"])

text = partial(Option, rich_help_panel="The text")
model = partial(Option, rich_help_panel="The model")
training = partial(Option, rich_help_panel="The training")
run = partial(Option, rich_help_panel="The run")

TrainTask = Annotated[
    Task | None,
    text(
        help="a corpus known by name: letters to copy, the built-in "
        "English-German grammar, or Multi30k (downloaded)"
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
TrainTsv = Annotated[
    Path | None,
    text(help="in place of --train: source, a tab, target on each line"),
]
ValidTsv = Annotated[Path | None, text(help="in place of --valid")]
Extra = Annotated[
    Path | None,
    text(
        help="more pairs to learn from, such as translations that models "
        "made: source, a tab, target on each line"
    ),
]

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
TokenizerKind = Annotated[Kind | None, model(help="how text becomes subwords")]
Dropout = Annotated[
    float | None,
    model(
        min=0,
        max=0.99,
        help="share of values set to zero in training; more for less text",
    ),
]
PreNorm = Annotated[
    bool | None,
    model(
        "--pre-norm/--post-norm",
        help="layer norm before each sub-layer (easier to train), or after "
        "the residual sum as published",
    ),
]

Fields = Annotated[
    list[str] | None,
    run(
        "--set",
        metavar="FIELD=VALUE",
        help="any other field of the recipe in run.json, such as "
        "model.d_ff=512; may be given more than once",
    ),
]

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
ScheduleOption = Annotated[
    Schedule | None,
    training(
        help="the learning rate after warm-up: the paper's, or straight "
        "down to zero"
    ),
]
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
LabelSmoothing = Annotated[
    float | None,
    training(
        min=0,
        max=0.99,
        help="probability that the target shares out over all tokens",
    ),
]
RDrop = Annotated[
    float | None,
    training(
        "--r-drop",
        min=0,
        help="weight of how far two passes with different dropout diverge; "
        "5 for little text, at twice the cost",
    ),
]
Risk = Annotated[
    int | None,
    training(
        min=0,
        help="go on (--from) to raise BLEU itself: how many of the model's "
        "own translations of a sentence are compared; 4 to 8",
    ),
]
BPEDropout = Annotated[
    float | None,
    training(
        "--bpe-dropout",
        min=0,
        max=0.99,
        help="share of subword merges left out at each reading; 0.05 to 0.1 "
        "for little text",
    ),
]
MaxLength = Annotated[
    int | None,
    training(
        min=2,
        help="tokens; pairs with a longer side are left out, and reported",
    ),
]
Bf16 = Annotated[
    bool | None,
    training(
        "--bf16/--float32",
        help="precision of matrix products; bf16 on a GPU that has it",
    ),
]
Tf32 = Annotated[
    bool | None,
    training(
        "--tf32",
        help="multiply what is left in float32 as TF32, faster and to three "
        "digits, on a GPU that has it",
    ),
]
Seed = Annotated[
    int | None,
    training(
        min=0,
        max=2**32 - 1,
        help="start of all random numbers: same seed, same model",
    ),
]

CheckpointEvery = Annotated[
    int | None,
    run(min=1, help="updates between checkpoints, each with a validation"),
]
AverageLast = Annotated[
    int | None,
    run(
        "--average",
        min=1,
        help="how many of the last checkpoints make the final model",
    ),
]
ValidBleu = Annotated[
    int,
    run(
        "--valid-bleu",
        min=0,
        help="also translate so many validation sentences at each "
        "checkpoint, greedily, and keep the one with the highest BLEU; 0: "
        "none",
    ),
]
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
Compiled = Annotated[
    bool,
    run("--compile", help="compile the model first (minutes); for a GPU"),
]
Start = Annotated[
    Path | None,
    run(
        "--from",
        metavar="MODEL",
        help="begin with the weights, sizes and subwords of a trained model",
    ),
]
NewSubwords = Annotated[
    bool,
    run(
        "--new-subwords",
        help="learn subwords from this text (--from), for another language",
    ),
]
DryRun = Annotated[
    bool,
    run("--dry-run", help="show size, memory and batches; train nothing"),
]
