"""What a command works on: a translator, its text, and doubts about both."""

from collections.abc import Iterable, Sequence
from itertools import repeat
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import UserError
from ..system.console import console
from .options import Device

# What loads PyTorch is imported where it is used: --help does without it.
if TYPE_CHECKING:
    from ..text.watch import Watch
    from ..translation import Translation, Translator

ENOUGH = 100  # pairs, to tell which side is which
SKIPPED = 6  # words in a row; in fewer than one caption of a hundred


def load(
    model: Path,
    device: Device,
    beam: int | None = None,
    alpha: float | None = None,
    no_repeat: int | None = None,
) -> "Translator":
    """A translator that searches as asked for, or as suits the model."""
    from ..runs.devices import choose_device
    from ..storage.history import Search
    from ..translation import Translator

    search = {"beam": beam, "alpha": alpha, "no_repeat": no_repeat}
    asked: dict[str, Any] = {x: y for x, y in search.items() if y is not None}
    Search(**asked)  # UserError for one that cannot be
    translator = Translator.load(model, choose_device(device))
    for name, value in asked.items():
        setattr(translator, name, value)
    return translator


def watch_for(translator: "Translator", name: str, quiet: bool) -> "Watch":
    """What tells of the lines of a file whose translations are doubtful."""
    from ..pairs.alignment import skipped_words
    from ..text.watch import Watch

    def skipped(line: str, one: "Translation") -> list[str]:
        if skipped_words(translator, line, one) < SKIPPED:
            return []
        return [
            f"{SKIPPED} of its words in a row, or more, have no counterpart "
            "in its translation"
        ]

    return Watch(name, translator, None if quiet else console.out, skipped)


def warn_of_direction(
    translator: "Translator",
    pairs: Sequence[tuple[str, str]],
    name: str,
    sure: Iterable[float] = repeat(inf),
) -> None:
    """Say if the pairs seem to be swapped, or not what the model is for.

    sure has the confidence of the model's own translations.
    """
    from ..system.text_lines import is_blank
    from ..text.checks import on_other_side, small_words
    from ..text.watch import Watch

    watch = Watch(name, translator, console.out)
    words = {*small_words(translator.known.words)}
    if on_other_side(words, pairs[:ENOUGH]):
        watch.tell(
            ": the translations have the words that the model knows as those "
            "of its sources; are the two swapped, or is it the model of the "
            "other direction?"
        )
        return
    for (source, _), confidence in zip(pairs, sure, strict=False):
        if not is_blank(source):
            watch.count(source, confidence)
    watch.sum_up_most()


def read_given(
    model: Path,
    files: tuple[Path | None, Path | None],
    pairs: Path | None,
    blank: bool = False,
) -> tuple[list[tuple[str, str]], list[str]]:
    """The pairs of two files, or of one, and how to name a place in each.

    UserError for both, or neither.
    """
    from ..corpora.parallel_text import read_parallel
    from ..storage.model_folder import read_config

    named = [file for file in files if file is not None]
    if len(named) != (2 if pairs is None else 0):
        raise UserError(
            "name two files of text, of which one translates the other line "
            "by line, or one file of pairs by --pairs"
        )
    names = [f"{file}, line" for file in named]
    if pairs is not None:
        named, names = [pairs], [f"{pairs}, pair"] * 2
    return read_parallel(named, read_config(model).languages, blank), names
