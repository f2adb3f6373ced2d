"""The command line: one function a command, and what an error looks like."""

import json
import os
import re
import sys
from dataclasses import asdict
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
from annotated_transformer.augmentation import extra_pairs
from annotated_transformer.averaging import average_checkpoints
from annotated_transformer.checkpoint import read_config
from annotated_transformer.cli_train import train
from annotated_transformer.cpu import keep_freed_memory
from annotated_transformer.errors import UserError
from annotated_transformer.files import decode_lines, read_bytes
from annotated_transformer.preparation import choose_device
from annotated_transformer.pretrained import find_model
from annotated_transformer.records import SEARCH, record
from annotated_transformer.scoring import score_pairs
from annotated_transformer.streams import arriving, blocks, put
from annotated_transformer.terminal import Interrupted, console
from annotated_transformer.translation import Translator

NO_MEMORY = (
    "error: out of memory; split long lines, or lower --beam, --batch-tokens "
    "or --preset"
)

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


app.command()(train)


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
def augment(
    forward: options.Forward,
    backward: options.Backward,
    source: options.TrainSource,
    target: options.TrainTarget,
    number: options.Number = 3,
    beam: options.ChoiceBeam = 8,
    alpha: options.Alpha = None,
    device: options.Device = None,
    precision: options.Precision = "float32",
) -> None:
    """Make more pairs of a text, by a model in each direction.

    For each pair come pairs with its source written by a model, and pairs
    with its target written by one: lines for train --extra, with a tab
    between source and target. Of what a model finds, those are taken that
    are most like what a person wrote there.
    """
    if number > beam:
        raise UserError(f"--number {number} needs --beam {number}, or more")
    pairs = corpora.read_pairs(source, target)
    check_directions(forward, backward)
    search = {"beam": beam, "alpha": alpha}
    models = [
        load(name, device, precision, **search) for name in (forward, backward)
    ]
    for side, (model, file) in enumerate(
        zip(models, (source, target), strict=True)
    ):
        check_lengths(model, [pair[side] for pair in pairs], str(file))
    for some in blocks(pairs):
        made = extra_pairs(*models, some, number)
        columns = [[text.replace("\t", " ") for text in pair] for pair in made]
        put("".join("\t".join(pair) + "\n" for pair in columns))


def check_directions(forward: Path, backward: Path) -> None:
    """UserError unless one model translates back what the other makes."""
    there, back = (
        read_config(find_model(model))[2]["data"]
        for model in (forward, backward)
    )
    if (there["source"], there["target"]) != (back["target"], back["source"]):
        raise UserError(
            f"{forward} translates {there['source']} to {there['target']}, "
            f"and {backward} {back['source']} to {back['target']}; "
            "the second must translate back"
        )


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
