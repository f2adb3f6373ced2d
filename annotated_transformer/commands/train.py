"""The command that trains a model."""

import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from annotated_transformer.commands import options, train_options
from annotated_transformer.commands.train_options import TwoFiles
from annotated_transformer.errors import UserError
from annotated_transformer.system.stdio import put

# What loads PyTorch is imported where it is used: --help does without it.
if TYPE_CHECKING:
    from annotated_transformer.corpora.corpus import Corpus

__all__ = ["command_line", "train"]


def train(
    output: options.Output,
    task: train_options.TrainTask = None,
    train_files: train_options.TrainFiles = None,
    valid_files: train_options.ValidFiles = None,
    train_tsv: train_options.TrainTsv = None,
    valid_tsv: train_options.ValidTsv = None,
    extra: train_options.Extra = None,
    source: train_options.Language = "en",
    target: train_options.Language = "de",
    preset: train_options.PresetOption = None,
    vocab_size: train_options.VocabSize = None,
    tokenizer: train_options.TokenizerKind = None,
    dropout: train_options.Dropout = None,
    pre_norm: train_options.PreNorm = None,
    steps: train_options.Steps = None,
    batch_tokens: train_options.BatchTokens = None,
    accumulate: train_options.Accumulate = None,
    schedule: train_options.ScheduleOption = None,
    warmup: train_options.Warmup = None,
    peak_rate: train_options.PeakRate = None,
    label_smoothing: train_options.LabelSmoothing = None,
    r_drop: train_options.RDrop = None,
    risk: train_options.Risk = None,
    bpe_dropout: train_options.BPEDropout = None,
    max_length: train_options.MaxLength = None,
    bf16: train_options.Bf16 = None,
    tf32: train_options.Tf32 = None,
    seed: train_options.Seed = None,
    checkpoint_every: train_options.CheckpointEvery = None,
    average: train_options.AverageLast = None,
    valid_bleu: train_options.ValidBleu = 0,
    max_minutes: train_options.MaxMinutes = None,
    device: options.Device = None,
    compiled: train_options.Compiled = False,
    start: train_options.Start = None,
    new_subwords: train_options.NewSubwords = False,
    resume: train_options.Resume = False,
    dry_run: train_options.DryRun = False,
    fields: train_options.Fields = None,
) -> None:
    """Train a model into the folder OUTPUT.

    Name the text by --task, or by --train and --valid. Ctrl-C writes a
    checkpoint; the same command with --resume continues. On N devices:
    torchrun --nproc-per-node=N -m annotated_transformer train ...
    """
    import torch

    from annotated_transformer.runs.dry_run import plan
    from annotated_transformer.runs.prepare import check_start, choose_device
    from annotated_transformer.runs.recipes import Recipe, recipe_of
    from annotated_transformer.runs.run import train as run_training
    from annotated_transformer.runs.run_dir import check_output
    from annotated_transformer.speed.allocator import keep_freed_memory
    from annotated_transformer.system.processes import joined, launched

    if dry_run and launched().rank > 0:
        return  # one plan is enough
    chosen = choose_device(device and device.value)
    if bf16 is None:
        # since Ampere; is_bf16_supported also says so of slow emulation
        capable = torch.cuda.get_device_capability
        bf16 = "cuda" in chosen and capable(chosen) >= (8, 0)
    named = recipe_of(task, preset)
    recipe: Recipe = changed(
        named,
        model=changed(named.model, dropout=dropout, pre_norm=pre_norm),
        train=changed(
            named.train,
            steps=steps,
            checkpoint_every=checkpoint_every,
            batch_tokens=batch_tokens,
            accumulate=accumulate,
            schedule=schedule and schedule.value,
            warmup=warmup,
            peak_rate=peak_rate,
            label_smoothing=label_smoothing,
            r_drop=r_drop,
            risk=risk,
            bpe_dropout=bpe_dropout,
            average=average,
            max_length=max_length,
            bf16=bf16,
            seed=seed,
        ),
        vocab_size=vocab_size,
        tokenizer=tokenizer and tokenizer.value,
        tf32=tf32,
    ).with_fields(fields or [])
    if start is not None:
        check_kept(
            fields or [],
            {"vocab_size": vocab_size, "tokenizer": tokenizer},
            pre_norm,
            new_subwords,
        )
    own = (train_files, valid_files, train_tsv, valid_tsv)
    text = (task, (source, target), own, extra)
    if dry_run:  # which writes nothing: output may be taken
        if resume:
            check_output(output, resume)
        check_start(recipe, start, new_subwords)
        recipe = replace(recipe, processes=launched().size)
        put(plan(recipe, read_corpus(*text), start, new_subwords))
        return
    keep_freed_memory()
    with joined(chosen) as processes:
        resume = resume or processes.rank > 0  # what the first has begun
        check_output(output, resume)
        run_training(
            output,
            read_corpus(*text),
            recipe,
            device=device and chosen,
            resume=resume,
            max_minutes=max_minutes,
            start=start,
            new_subwords=new_subwords,
            command=command_line(),
            compiled=compiled,
            valid_bleu=valid_bleu,
            processes=processes,
        )


def read_corpus(
    task: str | None,
    languages: tuple[str, str],
    own: tuple[TwoFiles | None, TwoFiles | None, Path | None, Path | None],
    extras: Sequence[str] | None = None,
) -> "Corpus":
    """The corpus that the options name, with the extra pairs of files."""
    from annotated_transformer.corpora.corpus import Corpus
    from annotated_transformer.corpora.generated import (
        builtin_corpus,
        copy_corpus,
        pronoun_corpus,
    )
    from annotated_transformer.corpora.multi30k import multi30k

    if (task is not None) == any(own):
        raise UserError(
            "say what to train on: either --task, or --train and --valid "
            "(--train-tsv and --valid-tsv for files of two columns)"
        )
    if task is None:
        corpus = Corpus.from_files(*own_files(*own), *languages)
    elif task == "multi30k":
        corpus = multi30k(*languages)
    elif languages == ("en", "de"):
        made = {
            "copy": copy_corpus,
            "builtin": builtin_corpus,
            "pronouns": pronoun_corpus,
        }
        corpus = made[task]()
    else:
        raise UserError(
            f"--task {task} has no other languages than its own: leave "
            "--source and --target out"
        )
    for extra in extras or ():
        corpus = corpus.with_extra(*file_and_share(extra))
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


def own_files(
    train_files: TwoFiles | None,
    valid_files: TwoFiles | None,
    train_tsv: Path | None,
    valid_tsv: Path | None,
) -> tuple[Sequence[Path], Sequence[Path]]:
    """The files to learn from, and those to see how well it goes."""
    if (train_files and train_tsv) or (valid_files and valid_tsv):
        raise UserError("give two text files or one of two columns, not both")
    training = train_files or (train_tsv and [train_tsv])
    valid = valid_files or (valid_tsv and [valid_tsv])
    if not training or not valid:
        raise UserError(
            "--train and --valid go together: one text to learn from, and "
            "another to see how well it goes"
        )
    return training, valid


def command_line() -> str:
    r"""How the program was called; bytes that are no UTF-8 as \xff."""
    words = shlex.join(["annotated-transformer", *sys.argv[1:]])
    return os.fsencode(words).decode(errors="backslashreplace")


def check_kept(
    fields: list[str],
    subwords: dict[str, object],
    pre_norm: bool | None,
    new_subwords: bool,
) -> None:
    """UserError for what a training cannot choose that begins with --from."""
    names = [field.partition("=")[0] for field in fields]
    names += [name for name, value in subwords.items() if value is not None]
    names += ["model.pre_norm"] * (pre_norm is not None)
    free = {"model.dropout", "model.attention_dropout"}
    free |= subwords.keys() if new_subwords else set()
    for name in names:
        if name not in free and name.startswith(("model.", *subwords)):
            raise UserError(
                f"{name}: the model that --from names keeps its own sizes "
                "and subwords; leave it out"
            )


def changed(config: Any, **given: object) -> Any:
    """The configuration with those options that were given; UserError."""
    try:
        return replace(
            config, **{k: v for k, v in given.items() if v is not None}
        )
    except ValueError as error:
        raise UserError(f"{error}") from error
