"""The command line: one function a command, and what an error looks like."""

import json
import os
import re
import sys
from dataclasses import asdict
from functools import cache

import typer
import typer.main

from annotated_transformer import __version__
from annotated_transformer.commands import options
from annotated_transformer.commands.backtranslate import backtranslate
from annotated_transformer.commands.train import train
from annotated_transformer.commands.translate import (
    augment,
    check_lengths,
    load,
    score,
    translate,
)
from annotated_transformer.errors import (
    Interrupted,
    UserError,
    out_of_memory,
    printable,
)
from annotated_transformer.system.console import console
from annotated_transformer.system.stdio import (
    StandardError,
    drop_unwritten,
    put,
)

NO_MEMORY = (
    "error: out of memory; split long lines, or lower --beam, --batch-tokens "
    "or --preset"
)
OTHERS = (
    'All other options, such as --set FIELD=VALUE, are on the page "Options '
    'of train" of the book (book/toolkit_options.md).'
)
QUOTES = "\"'"

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


app.command(epilog=OTHERS)(train)
for command in (translate, score, augment, backtranslate):
    app.command()(command)


@app.command()
def evaluate(
    model: options.Model,
    source: options.Source,
    reference: options.Reference,
    beam: options.Beam = None,
    alpha: options.Alpha = None,
    no_repeat: options.NoRepeat = None,
    device: options.Device = None,
    as_json: options.AsJson = False,
) -> None:
    """Score a model's translations: BLEU, of three kinds, and chrF.

    Each score comes with the sacrebleu signature that defines it.
    """
    # here and below, because they load PyTorch, and --help does without it
    from annotated_transformer import translation
    from annotated_transformer.corpora.parallel_text import read_pairs
    from annotated_transformer.storage.model_folder import read_config
    from annotated_transformer.storage.pretrained import find_model

    model = find_model(model)
    language = read_config(model).languages[1]
    pairs = read_pairs(source, reference)
    search = {"beam": beam, "alpha": alpha, "no_repeat": no_repeat}
    translator = load(model, device, **search)
    sources = [text for text, _ in pairs]
    check_lengths(translator, sources, str(source))
    outputs = translator(sources)
    scores = translation.corpus_scores(
        outputs, [text for _, text in pairs], language
    )
    searched = {name: getattr(translator, name) for name in search}
    result = {**searched, **asdict(scores)}
    lines = [
        f"{name:15} {result[name]:5.2f}  {signature}"
        for name, signature in scores.signatures.items()
    ]
    put((json.dumps(result, indent=1) if as_json else "\n".join(lines)) + "\n")


@app.command()
def average(output: options.Output, checkpoints: options.Checkpoints) -> None:
    """Make a model of the mean of some checkpoints of one run."""
    from annotated_transformer.storage.averaging import average_checkpoints

    average_checkpoints(output, checkpoints)


@app.command()
def data(
    name: options.DataName,
    folder: options.DataFolder = None,
    descriptions: options.DescriptionsFile = None,
) -> None:
    """Download a corpus, or check the files that are there already."""
    from annotated_transformer.corpora.multi30k import (
        download_multi30k,
        multi30k_descriptions,
    )
    from annotated_transformer.storage.licences import MULTI30K_LICENCE
    from annotated_transformer.system.atomic_files import write_text

    where = download_multi30k(folder)
    if descriptions:
        language, file = descriptions
        if file.exists():
            raise UserError(f"{file}: exists already; choose another name")
        lines, dropped = multi30k_descriptions(language, folder)
        write_text(file, "".join(line + "\n" for line in lines))
        told = ", ".join(f"{dropped[text]} in {text}" for text in dropped)
        put(f"{file}: {len(lines)} descriptions; left out: {told}\n")
    put(f"{name}: {where}\n{MULTI30K_LICENCE}\n")


@cache
def options_by_name() -> dict[str, tuple[str, str]]:
    """Each option by its name in Python, with its opposite if it has one."""
    return {
        option.name: (
            option.opts[0],
            (option.secondary_opts or option.opts)[0],
        )
        for command in typer.main.get_group(app).commands.values()
        for option in command.params
        if option.opts[0].startswith("--")
    }


def with_options(message: str) -> str:
    """A message of the library with the options that set what it names.

    `max_length` becomes --max-length, and `start=MODEL` --from MODEL.
    """

    def option(found: re.Match[str]) -> str:
        name, _, value = found[1].partition("=")
        if name not in options_by_name():
            return found[0]
        switch, opposite = options_by_name()[name]
        if value in ("True", "False"):
            return switch if value == "True" else opposite
        return f"{switch} {value.strip(QUOTES)}".rstrip()

    return re.sub(r"`(\w+(=[^`]*)?)`", option, message)


def main() -> None:
    """Run the command; a user's error is one line, not a traceback."""
    console.spelled = with_options
    try:
        app()
    except Interrupted as stop:
        from annotated_transformer.system.processes import launched

        if launched().rank == 0:  # who speaks for all
            console.out(str(stop))
        sys.exit(128 + stop.signal_number)
    except UserError as error:
        fail(f"error: {error}")
    except OSError as error:
        fail(f"error: {error.filename or 'a file'}: {error.strerror}")
    except (MemoryError, RuntimeError) as error:
        if not out_of_memory(error):
            raise
        fail(NO_MEMORY)
    finally:
        del console.spelled
        drop_unwritten()


def fail(message: str, status: int = 1) -> None:
    """Print one line on standard error, and exit."""
    name = ""
    if os.environ.get("WORLD_SIZE", "1") != "1":  # torchrun's; see launched
        name = f"process {os.environ.get('RANK', '0')}: "
    message = with_options(" ".join(message.split()))
    line = printable(name + message)
    StandardError().write(line + "\n")
    sys.exit(status)
