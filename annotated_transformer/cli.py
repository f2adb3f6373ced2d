"""The command line: train, translate, evaluate, average, data."""

import json
import os
import shlex
import sys
from dataclasses import asdict, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import torch
import typer

from annotated_transformer import corpora
from annotated_transformer.errors import UserError
from annotated_transformer.model import PRESETS
from annotated_transformer.records import record
from annotated_transformer.run import (
    RECIPES,
    SMALL_TEXT,
    Interrupted,
    Recipe,
    automatic_device,
    average_checkpoints,
)
from annotated_transformer.run import train as run_training
from annotated_transformer.training import TrainConfig
from annotated_transformer.translation import Translator, score

app = typer.Typer(
    help="Train a Transformer on sentence pairs, and translate with it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Task(StrEnum):
    copy = "copy"
    builtin = "builtin"
    multi30k = "multi30k"


class Preset(StrEnum):
    tiny = "tiny"
    small = "small"
    base = "base"
    big = "big"


class Device(StrEnum):
    cuda = "cuda"
    mps = "mps"
    cpu = "cpu"


class DataSet(StrEnum):
    multi30k = "multi30k"


TwoFiles = tuple[Path, Path]
Beam = Annotated[int, typer.Option(min=1, help="places in the beam")]
Alpha = Annotated[float, typer.Option(min=0, help="length penalty")]
DeviceOption = Annotated[
    Device | None, typer.Option(help="the fastest at hand if not given")
]


@app.command()
def train(
    output: Annotated[Path, typer.Argument(help="a new folder")],
    task: Annotated[
        Task | None, typer.Option(help="a corpus that is known by name")
    ] = None,
    source: Annotated[str, typer.Option(help="language code")] = "en",
    target: Annotated[str, typer.Option(help="language code")] = "de",
    train_files: Annotated[
        TwoFiles | None,
        typer.Option("--train", metavar="SRC TGT", help="line by line"),
    ] = None,
    valid_files: Annotated[
        TwoFiles | None, typer.Option("--valid", metavar="SRC TGT")
    ] = None,
    train_tsv: Annotated[
        Path | None, typer.Option(help="source TAB target on each line")
    ] = None,
    valid_tsv: Annotated[Path | None, typer.Option()] = None,
    preset: Annotated[
        Preset | None, typer.Option(help="size; tiny if not given")
    ] = None,
    vocab_size: Annotated[int | None, typer.Option(min=5)] = None,
    tokenizer: Annotated[
        str | None, typer.Option(metavar="bpe|unigram|char")
    ] = None,
    max_steps: Annotated[
        int | None, typer.Option(min=1, help="updates in all")
    ] = None,
    max_minutes: Annotated[
        float | None, typer.Option(min=0, help="stop by then; may resume")
    ] = None,
    checkpoint_every: Annotated[
        int | None, typer.Option(min=1, help="updates")
    ] = None,
    batch_tokens: Annotated[
        int | None, typer.Option(min=1, help="on each side, with padding")
    ] = None,
    accumulate: Annotated[
        int | None, typer.Option(min=1, help="batches an update")
    ] = None,
    schedule: Annotated[
        str | None, typer.Option(metavar="inverse_sqrt|linear")
    ] = None,
    warmup: Annotated[int | None, typer.Option(min=1)] = None,
    peak_rate: Annotated[float | None, typer.Option()] = None,
    dropout: Annotated[float | None, typer.Option()] = None,
    pre_norm: Annotated[
        bool | None, typer.Option("--pre-norm/--post-norm")
    ] = None,
    label_smoothing: Annotated[
        float | None, typer.Option(min=0, max=0.99)
    ] = None,
    average: Annotated[
        int | None, typer.Option(min=1, help="last checkpoints")
    ] = None,
    max_length: Annotated[
        int | None, typer.Option(min=2, help="tokens; longer is left out")
    ] = None,
    bf16: Annotated[
        bool | None, typer.Option("--bf16/--float32", help="GPU: bf16")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0)] = None,
    device: DeviceOption = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="go on where the run stopped")
    ] = False,
) -> None:
    """Train a model into the folder OUTPUT."""
    chosen = automatic_device() if device is None else device.value
    if bf16 is None:
        bf16 = chosen == "cuda" and torch.cuda.is_bf16_supported()
    own = (train_files, valid_files, train_tsv, valid_tsv)
    corpus = read_corpus(task, source, target, own)
    recipe = recipe_of(task, preset)
    recipe = Recipe(
        changed(recipe.model, dropout=dropout, pre_norm=pre_norm),
        changed(
            recipe.train,
            steps=max_steps,
            checkpoint_every=checkpoint_every,
            batch_tokens=batch_tokens,
            accumulate=accumulate,
            schedule=schedule,
            warmup=warmup,
            peak_rate=peak_rate,
            label_smoothing=label_smoothing,
            average=average,
            max_length=max_length,
            bf16=bf16,
            seed=seed,
        ),
        vocab_size or recipe.vocab_size,
        tokenizer or recipe.tokenizer,
    )
    run_training(
        output,
        corpus,
        recipe,
        device=chosen,
        resume=resume,
        max_minutes=max_minutes,
        command=command_line(),
    )


def changed(config, **options):
    """The configuration with those options that were given."""
    given = {k: v for k, v in options.items() if v is not None}
    return replace(config, **given)


def recipe_of(task: Task | None, preset: Preset | None) -> Recipe:
    """What is used where no option says otherwise."""
    if task is not None and preset is None:
        return RECIPES[task]
    size = preset or Preset.tiny
    if size in (Preset.base, Preset.big):
        steps = {Preset.base: 100_000, Preset.big: 300_000}[size]
        paper = TrainConfig(steps=steps)
        return Recipe(PRESETS[size], paper, vocab_size=37_000)
    recipe = RECIPES[task] if task else Recipe(PRESETS[size], SMALL_TEXT)
    return replace(recipe, model=PRESETS[size])


def read_corpus(
    task: Task | None,
    source: str,
    target: str,
    own: tuple[TwoFiles | None, TwoFiles | None, Path | None, Path | None],
) -> corpora.Corpus:
    """The corpus that the options name: by task, or by files."""
    train_files, valid_files, train_tsv, valid_tsv = own
    if (task is not None) == any(own):
        raise UserError(
            "say what to train on: --task, or --train and --valid "
            "(--train-tsv and --valid-tsv for files of two columns)"
        )
    if task is Task.multi30k:
        return corpora.multi30k(source, target)
    if task is Task.builtin:
        return corpora.builtin()
    if task is Task.copy:
        return corpora.copying()
    training = train_files or (train_tsv and [train_tsv])
    valid = valid_files or (valid_tsv and [valid_tsv])
    if not training or not valid:
        raise UserError("--train needs --valid, and --valid needs --train")
    return corpora.text_corpus(training, valid, source, target)


def command_line() -> str:
    """The command as it was typed, for the run's record."""
    return shlex.join(["annotated-transformer", *sys.argv[1:]])


@app.command()
def translate(
    model: Annotated[Path, typer.Argument(help="a model folder")],
    file: Annotated[
        Path | None, typer.Argument(help="standard input if not given")
    ] = None,
    beam: Beam = 5,
    alpha: Alpha = 0.6,
    device: DeviceOption = None,
) -> None:
    """Translate line by line, to standard output."""
    translator = load(model, device)
    if file is None:
        lines = corpora.decode_lines(sys.stdin.buffer.read(), "standard input")
    else:
        lines = corpora.read_lines(file)
    results = translator(lines, beam=beam, alpha=alpha)
    sys.stdout.buffer.write("".join(f"{x}\n" for x in results).encode())


def load(model: Path, device: Device | None) -> Translator:
    """The translator of a model folder, on a device."""
    chosen = automatic_device() if device is None else device.value
    return Translator.load(model, chosen)


@app.command()
def evaluate(
    model: Annotated[Path, typer.Argument(help="a model folder")],
    source: Annotated[Path, typer.Argument(help="one sentence a line")],
    reference: Annotated[Path, typer.Argument(help="their translations")],
    beam: Beam = 5,
    alpha: Alpha = 0.6,
    device: DeviceOption = None,
    as_json: Annotated[bool, typer.Option("--json")] = False,
    record_file: Annotated[
        Path | None,
        typer.Option("--record", help="add the scores to a run's record"),
    ] = None,
) -> None:
    """Score a model's translations: BLEU, cased and lower-cased, and chrF."""
    pairs = corpora.read_pairs(source, reference)
    outputs = load(model, device)(
        [text for text, _ in pairs], beam=beam, alpha=alpha
    )
    scores = score(outputs, [text for _, text in pairs])
    result = {"beam": beam, "alpha": alpha, **asdict(scores)}
    if record_file is not None:
        name = source.name.removesuffix(".gz").rpartition(".")[0]
        record(model, record_file, {name or source.name: result})
    if as_json:
        print(json.dumps(result, indent=1))
        return
    for name, signature in scores.signatures.items():
        print(f"{name:15} {result[name]:5.2f}  {signature}")


@app.command()
def average(
    output: Annotated[Path, typer.Argument(help="a new model folder")],
    checkpoints: Annotated[list[Path], typer.Argument(help="of one run")],
) -> None:
    """Make a model of the mean of some checkpoints of one run."""
    average_checkpoints(output, checkpoints)


@app.command()
def data(
    name: Annotated[DataSet, typer.Argument()],
    folder: Annotated[
        Path | None, typer.Option("--dir", help="the cache if not given")
    ] = None,
) -> None:
    """Download a corpus, checking every file."""
    where = corpora.download_multi30k(folder)
    print(f"{name.value}: {where}")
    print(corpora.MULTI30K_LICENCE)


def main() -> None:
    """Run the command; a user's error is one line, not a traceback."""
    try:
        app()
    except Interrupted as stop:
        print(stop, file=sys.stderr)
        sys.exit(128 + stop.signal_number)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except (ValueError, OSError, FloatingPointError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
