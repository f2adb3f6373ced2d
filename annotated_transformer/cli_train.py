"""The command that trains a model."""

import os
import shlex
import sys
from dataclasses import replace

from annotated_transformer import options, options_train
from annotated_transformer.errors import UserError
from annotated_transformer.streams import put

__all__ = ["command_line", "train"]


def train(
    output: options.Output,
    task: options_train.TrainTask = None,
    train_files: options_train.TrainFiles = None,
    valid_files: options_train.ValidFiles = None,
    train_tsv: options_train.TrainTsv = None,
    valid_tsv: options_train.ValidTsv = None,
    extra: options_train.Extra = None,
    source: options_train.Language = "en",
    target: options_train.Language = "de",
    preset: options_train.PresetOption = None,
    vocab_size: options_train.VocabSize = None,
    tokenizer: options_train.TokenizerKind = None,
    dropout: options_train.Dropout = None,
    pre_norm: options_train.PreNorm = None,
    max_steps: options_train.MaxSteps = None,
    batch_tokens: options_train.BatchTokens = None,
    accumulate: options_train.Accumulate = None,
    schedule: options_train.ScheduleOption = None,
    warmup: options_train.Warmup = None,
    peak_rate: options_train.PeakRate = None,
    label_smoothing: options_train.LabelSmoothing = None,
    r_drop: options_train.RDrop = None,
    risk: options_train.Risk = None,
    bpe_dropout: options_train.BPEDropout = None,
    max_length: options_train.MaxLength = None,
    bf16: options_train.Bf16 = None,
    tf32: options_train.Tf32 = None,
    seed: options_train.Seed = None,
    checkpoint_every: options_train.CheckpointEvery = None,
    average: options_train.AverageLast = None,
    valid_bleu: options_train.ValidBleu = 0,
    max_minutes: options_train.MaxMinutes = None,
    device: options.Device = None,
    compiled: options_train.Compiled = False,
    start: options_train.Start = None,
    new_subwords: options_train.NewSubwords = False,
    resume: options_train.Resume = False,
    dry_run: options_train.DryRun = False,
    fields: options_train.Fields = None,
) -> None:
    """Train a model into the folder OUTPUT.

    Name the text by --task, or by --train and --valid. Ctrl-C writes a
    checkpoint; the same command with --resume continues. On N devices:
    torchrun --nproc-per-node=N -m annotated_transformer train ...
    """
    # here, because they load PyTorch, and --help does without it
    import torch

    from annotated_transformer.distributed import joined, launched
    from annotated_transformer.plan import plan
    from annotated_transformer.preparation import (
        check_start,
        choose_device,
        read_corpus,
    )
    from annotated_transformer.recipes import recipe_of
    from annotated_transformer.run import train as run_training
    from annotated_transformer.runfolder import check_output

    if dry_run and launched().rank > 0:
        return  # one plan is enough
    chosen = choose_device(device and device.value)
    if bf16 is None:
        # since Ampere; is_bf16_supported also says so of slow emulation
        capable = torch.cuda.get_device_capability
        bf16 = "cuda" in chosen and capable(chosen) >= (8, 0)
    named = recipe_of(task, preset)
    recipe = changed(
        named,
        model=changed(named.model, dropout=dropout, pre_norm=pre_norm),
        train=changed(
            named.train,
            steps=max_steps,
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
    text = (task, source, target, own, extra)
    if dry_run:
        check_output(output, resume)
        check_start(recipe, start, new_subwords)
        recipe = replace(recipe, processes=launched().size)
        put(plan(recipe, read_corpus(*text), start, new_subwords))
        return
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


def changed(config, **given):
    """The configuration with those options that were given; UserError."""
    try:
        return replace(
            config, **{k: v for k, v in given.items() if v is not None}
        )
    except ValueError as error:
        raise UserError(f"{error}") from error
