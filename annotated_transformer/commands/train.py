"""The command that trains a model."""

import os
import shlex
import sys
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from typer import Argument, Option

from ..errors import UserError
from ..system.console import put
from .options import DEVICE, Device

# What loads PyTorch is imported where it is used: --help does without it.
if TYPE_CHECKING:
    from ..corpora.corpus import Corpus

Task = Literal[
    "copy",
    "builtin",
    "pronouns",
    "parsing",
    "multi30k",
    "multi30k-2017",
    "plays",
    "text",
]
Preset = Literal["tiny", "modern", "small", "base", "big"]

text = partial(Option, rich_help_panel="The text")
sizes = partial(Option, rich_help_panel="The model")
learning = partial(Option, rich_help_panel="The training")
run = partial(Option, rich_help_panel="The run")
# What few runs need; book/toolkit_options.md says what it is for.
rare = partial(Option, hidden=True)


def train(
    output: Path = Argument(help="the folder to make; it must be new"),
    files: list[Path] | None = Argument(
        None, metavar="FILE...", help="running text, for --task text alone"
    ),
    task: Task | None = text(
        None,
        help="a corpus known by name: letters to copy, the built-in "
        "English-German grammar, more of it for pronouns, sentences and "
        "their trees, or Multi30k (downloaded); for a language model "
        "Shakespeare's plays, or the text of FILE...",
    ),
    train_files: tuple[Path, Path] | None = text(
        None,
        "--train",
        metavar="SRC TGT",
        help="two text files to learn from: line n of one translates line n "
        "of the other",
    ),
    valid_files: tuple[Path, Path] | None = text(
        None,
        "--valid",
        metavar="SRC TGT",
        help="two more, not learned from, to see how well it goes",
    ),
    pairs: Path | None = text(
        None,
        help="instead, one file of pairs to learn from: .tsv, .csv or .jsonl",
    ),
    valid_pairs: Path | None = text(
        None, help="and one of pairs that are not learned from"
    ),
    extra: list[str] | None = text(
        None,
        metavar="FILE[=SHARE]",
        help="one file of more pairs, such as made ones; with 0.5, say, half "
        "of each epoch comes from it",
    ),
    mark: str = rare(""),
    held_out: float = rare(0.1),
    source: str = text("en", help="language code; Multi30k has en, de and fr"),
    target: str = text("de", help="language code; Multi30k has en, de and fr"),
    preset: Preset | None = sizes(
        None,
        help="size: tiny, the usual one, the same with the parts of today as "
        "modern, and small for a hundred thousand pairs or more; base and big "
        "as in the paper, with its schedule; with --from the model keeps its "
        "size",
    ),
    fields: list[str] | None = rare(None, "--set"),
    valid_bleu: int = rare(0, min=0),
    max_minutes: float | None = run(
        None,
        min=0,
        help="cut the training off after so many minutes; the model is what "
        "it has learned by then",
    ),
    plan_minutes: float | None = run(
        None,
        min=0,
        help="plan the training for so many minutes: a short trial finds how "
        "many updates fit",
    ),
    device: Device = DEVICE,
    compiled: bool = rare(False, "--compile"),
    cache: bool = rare(True, "--cache/--no-cache"),
    start: Path | None = run(
        None,
        "--from",
        metavar="MODEL",
        help="fine-tune: begin with the weights, sizes and subwords of a "
        "trained model; your own text then gets few and small updates",
    ),
    new_subwords: bool = rare(False, "--new-subwords"),
    resume: bool = run(
        False,
        "--resume",
        help="go on after the last checkpoint: the same command, plus this",
    ),
    dry_run: bool = run(
        False,
        "--dry-run",
        help="show size, memory and batches; train nothing",
    ),
    vocab_size: int | None = sizes(
        None,
        help="subwords shared by both languages; if not given at most 8000, "
        "37000 for base and big, and a task has its own",
    ),
    tokenizer: str | None = rare(None),
    tf32: bool | None = rare(None, "--tf32"),
    dropout: float | None = sizes(
        None,
        help="share of values set to zero in training; more for less text",
    ),
    pre_norm: bool | None = rare(None, "--pre-norm/--post-norm"),
    steps: int | None = learning(None, "--max-steps", help="updates in all"),
    batch_tokens: int | None = learning(
        None,
        help="tokens of a batch on each side, padding included; less needs "
        "less memory",
    ),
    accumulation_steps: int | None = rare(None, "--accumulate"),
    optimizer: str | None = rare(None),
    weight_decay: float | None = rare(None),
    schedule: str | None = rare(None),
    warmup: int | None = learning(
        None, help="updates in which the learning rate rises"
    ),
    peak_lr: float | None = learning(
        None,
        "--peak-rate",
        help="the highest learning rate; the paper's if not given for base "
        "and big",
    ),
    label_smoothing: float | None = rare(None),
    r_drop: float | None = rare(None),
    risk: int | None = rare(None),
    bpe_dropout: float | None = rare(None),
    noise: float | None = rare(None),
    adapters: int | None = learning(
        None,
        help="with --from: only adapters of this rank learn, beside weights "
        "that stay",
    ),
    max_length: int | None = rare(None),
    bf16: bool | None = rare(None, "--bf16/--float32"),
    checkpoint_every: int | None = rare(None),
    average: int | None = rare(None),
    patience: int | None = learning(
        None,
        help="early stopping: end after so many checkpoints that are no "
        "better; the model is the best of them, or the mean of the last",
    ),
    seed: int | None = learning(
        None, help="start of all random numbers: same seed, same model"
    ),
) -> None:
    """Train a model into the folder OUTPUT.

    Name the text by --task, or by --train and --valid (two files each), or
    by --pairs and --valid-pairs (one file each). With --task text it is
    running text, of which the last tenth is held out, and the model is a
    language model. Ctrl-C writes a checkpoint; the same command with --resume
    continues. On N devices:
    torchrun --nproc-per-node=N -m annotated_transformer train ...
    """
    given = locals()  # all options, by their names
    from torch.cuda import is_bf16_supported

    from ..corpora.running_text import RunningText, plays
    from ..runs.devices import choose_device
    from ..runs.dry_run import plan
    from ..runs.recipes import fine_tuning, flat, recipe_of
    from ..runs.run_dir import read_history
    from ..runs.start import Start
    from ..runs.train import train as run_training
    from ..system.cache import Cache
    from ..system.memory import keep_freed_memory
    from ..system.processes import launched

    if resume and not any(
        (task, files, train_files, valid_files, pairs, valid_pairs)
    ):
        refuse_resume_alone(output)
    chosen = choose_device(device)
    fast = chosen.startswith("cuda") and is_bf16_supported(False)  # emulated
    if resume and (output / "run.json").is_file():
        # what this machine would choose is not what began the run
        fast = read_history(output).recipe["train"].get("bf16", fast)
    usual = recipe_of(task, preset)
    # An option with the name of a field sets it, as --set FIELD=VALUE does:
    # the run's field, where the model has another of that name.
    all_fields = flat(usual.as_json())
    every = sorted(all_fields, key=lambda x: not x.startswith("model."))
    paths = {x.rpartition(".")[2]: x for x in every}
    named = [x for x in paths if given.get(x) is not None]
    asked = [f"{paths[x]}={given[x]}" for x in named] + (fields or [])
    if any(x.startswith("vocab_size=") for x in asked):
        asked.insert(0, "vocab_exact=true")
    if start is not None:
        check_kept(asked, new_subwords)
    if plan_minutes is not None:
        check_planned(asked, dry_run)
    own_text = task in (None, "text")  # another task has settings of its own
    if start is not None and not new_subwords and own_text:
        usual = fine_tuning(usual, adapters or 0)
    recipe = usual.with_fields([f"train.bf16={fast}", *asked])
    corpus: Corpus | RunningText
    if task == "text":
        corpus = RunningText.from_files(files or [], mark, held_out)
    elif files:
        raise UserError(
            f"{files[0]}: only --task text reads files that are named so; "
            "name sentence pairs by --train and --valid, two files each, or "
            "by --pairs and --valid-pairs, one file each"
        )
    elif task == "plays":
        corpus = plays()
    else:
        texts = (
            [*(train_files or ()), *([pairs] if pairs else [])],
            [*(valid_files or ()), *([valid_pairs] if valid_pairs else [])],
        )
        languages = source, target
        corpus = corpus_of(task, languages, texts, extra or [], cache)
    keep_freed_memory()
    begin = Start(start, new_subwords)
    if dry_run:  # which writes nothing: output may be taken
        recipe = replace(recipe, processes=launched().size)
        rows = plan(recipe, corpus, begin, Cache(cache), chosen, compiled)
        if launched().rank == 0:
            put(f"{rows}\nTo train it:\n{this_command(recipe.processes)}\n")
        return
    run_training(
        output,
        corpus,
        recipe,
        begin,
        device=chosen,
        resume=resume,
        max_minutes=max_minutes,
        plan_minutes=plan_minutes,
        command=this_command(launched().size),
        compiled=compiled,
        valid_bleu=valid_bleu,
        cache=cache,
    )


def refuse_resume_alone(output: Path) -> None:
    """UserError with the command that began the run, which has the text."""
    from ..runs.run_dir import check_output, read_history

    check_output(output, resume=True)
    command = read_history(output).command
    begun = f"give {command} --resume" if command else "it began in Python"
    raise UserError(f"{output}: a run goes on as it was begun: {begun}")


def this_command(processes: int) -> str:
    r"""What was typed, without --dry-run, as a shell takes it.

    Bytes of a file's name that are no UTF-8 are written as \xff.
    """
    program = ["annotated-transformer"]
    if processes > 1:
        here = int(os.environ.get("LOCAL_WORLD_SIZE", processes))
        several = [f"--nnodes={processes // here}"] * (here < processes)
        program = ["torchrun", *several, f"--nproc-per-node={here}"]
        program += ["-m", "annotated_transformer"]
    words = [word for word in sys.argv[1:] if word != "--dry-run"]
    command = os.fsencode(shlex.join([*program, *words]))
    return command.decode(errors="backslashreplace")


def check_planned(asked: Iterable[str], dry_run: bool) -> None:
    """UserError for what does not go with --plan-minutes."""
    if any(setting.startswith("train.steps=") for setting in asked):
        raise UserError("--plan-minutes finds --max-steps: leave one out")
    if dry_run:
        raise UserError(
            "--plan-minutes takes its time from updates, and --dry-run makes "
            "none: leave one out"
        )


def check_kept(asked: Iterable[str], new_subwords: bool) -> None:
    """UserError for what a run that begins with --from cannot choose."""
    free = {"model.dropout", "model.attention_dropout"}
    subwords = ("vocab_size", "tokenizer")
    for name in (setting.partition("=")[0] for setting in asked):
        kept = name in subwords and not new_subwords
        if kept or (name.startswith("model.") and name not in free):
            raise UserError(
                f"`{name.rpartition('.')[2]}`: the model that --from names "
                "keeps its own sizes and subwords; leave it out"
            )


def corpus_of(
    task: str | None,
    languages: tuple[str, str],
    texts: tuple[list[Path], list[Path]],
    extras: Iterable[str],
    cache: bool,
) -> "Corpus":
    """The corpus that the options name, with the extra pairs of files."""
    from ..corpora.corpus import Corpus
    from ..corpora.generated import (
        builtin_corpus,
        copy_corpus,
        parsing_corpus,
        pronoun_corpus,
    )
    from ..corpora.multi30k import multi30k

    made = {
        "copy": copy_corpus,
        "builtin": builtin_corpus,
        "pronouns": pronoun_corpus,
        "parsing": parsing_corpus,
    }
    if {task is None} != {len(files) > 0 for files in texts}:
        raise UserError(
            "say what to train on: either --task, or --train and --valid, or "
            "--pairs and --valid-pairs"
        )
    if task is None:
        corpus = Corpus.from_files(*texts, *languages, cache)
    elif task.startswith("multi30k"):  # by either recipe
        corpus = multi30k(*languages)
    elif languages == ("en", "de"):
        corpus = made[task]()
    else:
        raise UserError(
            f"--task {task} has no other languages than its own: leave "
            "--source and --target out"
        )
    for extra in extras:
        corpus = corpus.with_extra(*file_and_share(extra), cache)
    return corpus


def file_and_share(text: str) -> tuple[str, float | None]:
    """What FILE or FILE=SHARE names; a file may have such a name, too."""
    name, equals, share = text.rpartition("=")
    if not equals or Path(text).exists():
        return text, None
    try:
        return name, float(share)
    except ValueError:
        raise UserError(
            f"{text}: no such file, and {share!r:.40} is no share; write "
            "FILE, or FILE=SHARE with a number above 0 and below 1"
        ) from None
