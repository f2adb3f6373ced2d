"""The command line: its commands, and what an error looks like."""

import os
import re
import sys
from functools import cache
from typing import Annotated, Any

import typer
import typer.main
from typer.core import TyperCommand

from .. import __version__
from ..errors import Interrupted, UserError, out_of_memory
from ..system.console import console, drop_unwritten, put
from .backtranslate import backtranslate
from .curve import curve
from .evaluate import evaluate
from .export import export
from .generate import generate, perplexity
from .score import score
from .train import train
from .translate import translate

OUT_OF_MEMORY = (
    "out of memory; split long lines, and lower --beam and --batch-tokens "
    "where the command has them"
)
OTHERS = (
    'All other options, such as --set FIELD=VALUE, are on the page "Options '
    'of train" of the book (book/toolkit_options.md).'
)
QUOTES = "\"'"
TWO_FILES = {"--train": "--pairs", "--valid": "--valid-pairs"}

app = typer.Typer(
    help="Train a Transformer on sentence pairs, and translate with it; or "
    "train one on running text, and write with it.",
    no_args_is_help=True,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def about(
    version: Annotated[
        bool, typer.Option("--version", help="show the version")
    ] = False,
) -> None:
    """Do what every command has in common: nothing, or show the version."""
    if version:
        put(f"annotated-transformer {__version__}\n")
        raise typer.Exit


class Train(TyperCommand):
    """The command train, which takes two files where some name one of both."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """UserError for one file, as the next option would be the second."""
        for i, name in enumerate(args):
            after = [word.startswith("--") for word in [*args, "--"][i + 1 :]]
            if name in TWO_FILES and after[:2] == [False, True]:
                raise UserError(
                    f"{name} {args[i + 1]}: one file, where two are wanted, "
                    "source and target; name a file that holds both by "
                    f"{TWO_FILES[name]}"
                )
        return super().parse_args(ctx, args)


app.command(epilog=OTHERS, cls=Train)(train)
for command in (
    translate,
    evaluate,
    score,
    backtranslate,
    generate,
    perplexity,
    curve,
    export,
):
    app.command()(command)


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

    return re.sub(r"`(?:\w+\.)*(\w+(=[^`]*)?)`", option, message)


def main() -> None:
    """Run the command; a user's error is one line, not a traceback."""
    console.spelled = with_options
    try:
        app()
    except Interrupted as stop:
        from ..system.processes import launched  # torch has been imported

        if launched().rank == 0:  # who speaks for all
            console.out(str(stop))
        sys.exit(128 + stop.signal_number)
    except UserError as error:
        fail(str(error))
    except OSError as error:
        where = error.filename or "standard input or output"
        fail(f"{where}: {error.strerror}")
    except (MemoryError, RuntimeError) as error:
        if not out_of_memory(error):
            raise
        fail(OUT_OF_MEMORY)
    finally:
        del console.spelled
        drop_unwritten()


def fail(message: str) -> None:
    """Print one line on standard error, and exit with status 1."""
    name = ""
    if os.environ.get("WORLD_SIZE", "1") != "1":  # torchrun's
        name = f"process {os.environ.get('RANK', '0')}: "
    console.out(f"{name}error: {' '.join(message.split())}")
    sys.exit(1)
