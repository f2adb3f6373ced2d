"""The command score: how probable translations are that exist already."""

from pathlib import Path

from typer import Argument, Option

from ..system.console import in_digits, put
from ..system.text_lines import blocks
from .inputs import load, read_given, warn_of_direction
from .options import DEVICE, MODEL, PAIRS, QUIET, Device, batch_tokens_option


def score(
    model: Path = MODEL,
    source: Path | None = Argument(
        None, help="what was translated, a sentence a line"
    ),
    target: Path | None = Argument(
        None, help="its translations, line by line"
    ),
    pairs: Path | None = PAIRS,
    alpha: float = Option(
        0.0,
        help="divide by the length penalty, as translate --n-best does with "
        "this alpha; 0 leaves the log-probability",
    ),
    batch_tokens: int = batch_tokens_option(1024),
    quiet: bool = QUIET,
    device: Device = DEVICE,
) -> None:
    """Print how probable a model finds translations that are there already.

    For each line its log-probability: the natural logarithm, summed over the
    tokens of the line and its end. A blank line is the end alone. Standard
    error says if the two files seem to be swapped, or another model's.
    """
    from ..pairs.likelihood import score_pairs
    from ..pairs.reading import read_pairs

    given, names = read_given(model, (source, target), pairs, blank=True)
    translator = load(model, device, alpha=alpha)
    for _ in read_pairs(translator, given, (names[0], names[1]), 1):
        pass  # one that is too long is named before the first is scored
    if not quiet:
        warn_of_direction(translator, given, str(source or pairs))
    for some in blocks(given):
        found = score_pairs(translator, some, batch_tokens=batch_tokens)
        put("".join(in_digits(one.score) + "\n" for one in found))
