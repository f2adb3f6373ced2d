"""The command that makes sources for targets that have none."""

from pathlib import Path

from typer import Argument, Option

from ..errors import UserError
from ..system.console import console, put
from ..system.text_lines import blocks, read_lines
from .inputs import load, watch_for
from .options import (
    ALPHA,
    BEAM,
    DEVICE,
    MODEL,
    NO_REPEAT,
    QUIET,
    Device,
    batch_tokens_option,
)

BATCH_TOKENS = {"cuda": 32768}  # elsewhere 4096
BLOCK = 1000  # lines, after which the console says how far it is


def backtranslate(
    model: Path = MODEL,
    file: Path = Argument(
        metavar="TEXT", help="text without translation, line by line"
    ),
    output: Path = Option(help="the file to make, for train --extra"),
    forward: bool = Option(
        False,
        "--forward",
        help="TEXT holds sources, and MODEL makes their targets",
    ),
    tag: str = Option(
        "", help="a word to put before each source, such as '<BT>'"
    ),
    quiet: bool = QUIET,
    batch_tokens: int | None = batch_tokens_option(None),
    device: Device = DEVICE,
    beam: int | None = BEAM,
    alpha: float | None = ALPHA,
    no_repeat: int | None = NO_REPEAT,
) -> None:
    """Make sources for a text that has none: more pairs to learn from.

    TEXT holds targets, and MODEL translates from their language; --forward has
    it the other way. Each line of the file made is a source, a tab and its
    target, as train --extra reads them. Standard error says which lines are
    doubtful.
    """
    from ..corpora.parallel_text import write_tsv
    from ..pairs.back_translation import made_pairs

    lines = read_lines(file)
    translator = load(model, device, beam, alpha, no_repeat)
    for _ in translator.reader.lines(lines, f"{file}, line", 1):
        pass  # one that is too long is named before the first is translated
    budget = batch_tokens or BATCH_TOKENS.get(translator.device.type, 4096)
    if output.exists():
        raise UserError(f"{output}: exists already; choose another name")
    watch = watch_for(translator, str(file), quiet)
    pairs: list[tuple[str, str]] = []
    done = 0
    for some in blocks(lines, BLOCK):
        found = translator.n_best(some, 1, batch_tokens=budget)
        best = [translations[0] for translations in found]
        watch.look(some, best)
        pairs += made_pairs(some, [one.text for one in best], tag, forward)
        done += len(some)
        console.out(f"{done:,} of {len(lines):,} lines")
    watch.sum_up()
    write_tsv(output, pairs)
    if blank := len(lines) - len(pairs):
        console.out(f"{output}: left out {blank} lines with a blank side")
    put(f"{output}: {len(pairs)} pairs\n")
