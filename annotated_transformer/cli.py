"""The command line: train, translate, score, evaluate, average, pack, data."""

import json
import os
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path

import torch
import typer

from annotated_transformer import (
    __version__,
    corpora,
    options,
    pretrained,
    translation,
)
from annotated_transformer.alignment import align_pairs, pharaoh
from annotated_transformer.checkpoint import average_checkpoints, read_config
from annotated_transformer.cpu import keep_freed_memory
from annotated_transformer.distributed import joined, launched
from annotated_transformer.errors import UserError
from annotated_transformer.files import decode_lines, read_bytes
from annotated_transformer.plan import plan
from annotated_transformer.preparation import (
    check_start,
    choose_device,
    read_corpus,
)
from annotated_transformer.pretrained import find_model
from annotated_transformer.recipes import recipe_of
from annotated_transformer.records import SEARCH, record
from annotated_transformer.run import train as run_training
from annotated_transformer.runfolder import check_output
from annotated_transformer.scoring import score_pairs
from annotated_transformer.terminal import Interrupted, console
from annotated_transformer.translation import Translator

NO_MEMORY = "error: out of memory; lower --batch-tokens, --beam or --preset"

app = typer.Typer(
    help="Train a Transformer on sentence pairs, and translate with it.",
    no_args_is_help=True,
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def about(version: options.Version = False) -> None:
    """Do what every command has in common: nothing, or tell the version."""
    if version:
        put(f"annotated-transformer {__version__}\n")
        raise typer.Exit


@app.command()
def train(
    output: options.Output,
    task: options.TrainTask = None,
    train_files: options.TrainFiles = None,
    valid_files: options.ValidFiles = None,
    train_tsv: options.TrainTsv = None,
    valid_tsv: options.ValidTsv = None,
    extra: options.Extra = None,
    source: options.Language = "en",
    target: options.Language = "de",
    preset: options.PresetOption = None,
    vocab_size: options.VocabSize = None,
    tokenizer: options.TokenizerKind = None,
    dropout: options.Dropout = None,
    pre_norm: options.PreNorm = None,
    max_steps: options.MaxSteps = None,
    batch_tokens: options.BatchTokens = None,
    accumulate: options.Accumulate = None,
    schedule: options.ScheduleOption = None,
    warmup: options.Warmup = None,
    peak_rate: options.PeakRate = None,
    label_smoothing: options.LabelSmoothing = None,
    r_drop: options.RDrop = None,
    risk: options.Risk = None,
    bpe_dropout: options.BPEDropout = None,
    max_length: options.MaxLength = None,
    bf16: options.Bf16 = None,
    seed: options.Seed = None,
    checkpoint_every: options.CheckpointEvery = None,
    average: options.AverageLast = None,
    valid_bleu: options.ValidBleu = 0,
    max_minutes: options.MaxMinutes = None,
    device: options.Device = None,
    compiled: options.Compiled = False,
    start: options.Start = None,
    new_subwords: options.NewSubwords = False,
    resume: options.Resume = False,
    dry_run: options.DryRun = False,
    fields: options.Fields = None,
) -> None:
    """Train a model into the folder OUTPUT.

    Name the text by --task, or by --train and --valid. Ctrl-C writes a
    checkpoint; the same command with --resume continues. On N devices:
    torchrun --nproc-per-node=N -m annotated_transformer train ...
    """
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
            device=chosen,
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


@app.command()
def translate(
    model: options.Model,
    file: options.Text = None,
    n_best: options.NBest = None,
    beam: options.Beam = None,
    alpha: options.Alpha = None,
    no_repeat: options.NoRepeat = None,
    alignment: options.Alignment = False,
    device: options.Device = None,
    precision: options.Precision = "float32",
) -> None:
    """Translate line by line, to standard output; blank lines stay blank.

    What is typed, or comes from a program, is answered as it comes. With
    --n-best there are several lines for each, best first: its number, the
    score and the translation, with tabs between them. --alignment adds a
    column: pairs of words, source and translation, counted from 0.
    """
    search = {"beam": beam, "alpha": alpha, "no_repeat": no_repeat}
    translator = load(model, device, precision, **search)
    if n_best is not None and n_best > translator.beam:
        raise UserError(f"--n-best {n_best} needs --beam {n_best}, or more")
    name = "standard input" if file is None else str(file)
    before = 0
    if file is None:
        texts = arriving(name)
    else:
        texts = blocks(decode_lines(read_bytes(file), file))
    for lines in texts:
        check_lengths(translator, lines, name, before)
        found = translator.n_best(lines, n_best or 1)
        rows = [
            [line, f"{number}", f"{one.score:.4f}", one.text]
            for number, (line, best) in enumerate(
                zip(lines, found, strict=True), before + 1
            )
            for one in best
        ]
        if alignment:
            pairs = [(row[0], row[3]) for row in rows]
            for row, links in zip(
                rows, align_pairs(translator, pairs), strict=True
            ):
                row.append(pharaoh(links))
        first = 3 if n_best is None else 1
        put("".join("\t".join(row[first:]) + "\n" for row in rows))
        before += len(lines)


def blocks(lines: list, size: int = 1000) -> Iterator[list]:
    """The lines of a text, so many at a time."""
    return (lines[i : i + size] for i in range(0, len(lines), size))


def arriving(name: str) -> Iterator[list[str]]:
    """The lines on standard input, as many at a time as have come."""
    if sys.stdin is None:
        raise UserError("standard input is closed; name a file")
    with suppress(OSError, ValueError, AttributeError):
        # else a pause would look like the end
        os.set_blocking(sys.stdin.fileno(), True)
    before, rest = 0, b""
    while data := sys.stdin.buffer.read1(1 << 16):
        rest += data
        end = rest.rfind(b"\n") + 1
        lines = decode_lines(rest[:end], name, before)
        yield lines
        before, rest = before + len(lines), rest[end:]
    yield decode_lines(rest, name, before)


def load(
    model: Path,
    device: str | None,
    precision: str,
    **search: int | float | None,
) -> Translator:
    """A translator that searches as asked for, or as suits the model."""
    keep_freed_memory()
    chosen = choose_device(device and device.value)
    translator = Translator.load(model, chosen, precision)
    for name, value in search.items():
        if value is not None:
            setattr(translator, name, value)
    return translator


def check_lengths(
    translator: Translator, lines: list[str], name: str, before: int = 0
) -> None:
    """UserError for a line that has more tokens than learned positions.

    It counts the lines of the text of that name that came before, too.
    """
    sizes = translator.model.config
    if sizes.positions != "learned":
        return
    for number, line in enumerate(lines, before + 1):
        length = len(translator.tokenizer.encode(line))
        if length > sizes.max_length:
            raise UserError(
                f"{name}, line {number}: {length} tokens, but the model has "
                f"learned only {sizes.max_length} positions; split the line"
            )


def put(text: str) -> None:
    """Write to standard output; a reader that has left ends the program."""
    if sys.stdout is None:
        raise UserError("standard output is closed; redirect it to a file")
    try:
        sys.stdout.buffer.write(text.encode())
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(141) from None
    except OSError as error:
        raise UserError(
            f"standard output cannot be written ({error.strerror})"
        ) from error


@app.command()
def score(
    model: options.Model,
    source: options.Source,
    target: options.Target,
    alpha: options.Penalty = 0.0,
    device: options.Device = None,
    precision: options.Precision = "float32",
) -> None:
    """Tell how probable a model finds translations that are there already.

    For each line its log-probability: the natural logarithm, summed over the
    tokens of the line and its end. A blank line is the end alone.
    """
    pairs = corpora.read_side_by_side(source, target)
    translator = load(model, device, precision)
    for side, file in enumerate((source, target)):
        check_lengths(translator, [pair[side] for pair in pairs], str(file))
    for some in blocks(pairs):
        found = score_pairs(translator, some, alpha)
        put("".join(f"{one.score:.4f}\n" for one in found))


@app.command()
def evaluate(
    model: options.Model,
    source: options.Source,
    reference: options.Reference,
    beam: options.Beam = None,
    alpha: options.Alpha = None,
    no_repeat: options.NoRepeat = None,
    device: options.Device = None,
    precision: options.Precision = "float32",
    as_json: options.AsJson = False,
    record_file: options.RecordFile = None,
) -> None:
    """Score a model's translations: BLEU, of three kinds, and chrF.

    Each score comes with the sacrebleu signature that defines it.
    """
    model = find_model(model)
    about = read_config(model)[2]
    pairs = corpora.read_pairs(source, reference)
    if record_file is not None:
        record(model, record_file, {})  # better an error now than later
    search = {"beam": beam, "alpha": alpha, "no_repeat": no_repeat}
    translator = load(model, device, precision, **search)
    sources = [text for text, _ in pairs]
    check_lengths(translator, sources, str(source))
    outputs = translator(sources)
    language = about["data"]["target"]
    scores = translation.score(outputs, [text for _, text in pairs], language)
    searched = {name: getattr(translator, name) for name in SEARCH}
    result = {**searched, **asdict(scores)}
    lines = [
        f"{name:15} {result[name]:5.2f}  {signature}"
        for name, signature in scores.signatures.items()
    ]
    put((json.dumps(result, indent=1) if as_json else "\n".join(lines)) + "\n")
    if record_file is not None:
        name = source.name.removesuffix(".gz").rpartition(".")[0]
        record(model, record_file, {name or source.name: result})


@app.command()
def average(output: options.Output, checkpoints: options.Checkpoints) -> None:
    """Make a model of the mean of some checkpoints of one run."""
    average_checkpoints(output, checkpoints)


@app.command()
def pack(
    output: options.Output,
    model: options.Model,
    record_file: options.Record = None,
) -> None:
    """Copy a trained model in half precision, to pass it on."""
    pretrained.pack(output, find_model(model), record_file)


@app.command()
def data(name: options.DataName, folder: options.DataFolder = None) -> None:
    """Download a corpus, or check the files that are there already."""
    where = corpora.download_multi30k(folder)
    put(f"{name}: {where}\n{corpora.MULTI30K_LICENCE}\n")


def main() -> None:
    """Run the command; a user's error is one line, not a traceback."""
    try:
        app()
    except Interrupted as stop:
        console.out(str(stop))
        sys.exit(128 + stop.signal_number)
    except UserError as error:
        fail(f"error: {error}")
    except (MemoryError, torch.OutOfMemoryError):
        fail(NO_MEMORY)
    except OSError as error:
        fail(f"error: {error.filename or 'a file'}: {error.strerror}")
    except RuntimeError as error:
        if not re.search("can't allocate memory|out of memory", str(error)):
            raise
        fail(NO_MEMORY)


def fail(message: str, status: int = 1) -> None:
    """Print one line on standard error, and exit."""
    rank = os.environ.get("RANK", "0")
    name = "" if rank == "0" else f"process {rank}: "
    if sys.stderr is not None:  # else print would write among the outputs
        print(name + " ".join(message.split()), file=sys.stderr)
    sys.exit(status)
