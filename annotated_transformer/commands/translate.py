"""The commands that make text of text: translate, score and augment."""

from pathlib import Path
from typing import TYPE_CHECKING

from annotated_transformer.commands import options
from annotated_transformer.errors import UserError
from annotated_transformer.system.console import console
from annotated_transformer.system.stdio import (
    arriving,
    blocks,
    in_column,
    in_digits,
    in_line,
    put,
)
from annotated_transformer.system.text_lines import decode_lines, read_bytes

# What loads PyTorch is imported where it is used: --help does without it.
if TYPE_CHECKING:
    from annotated_transformer.translation import Translator

__all__ = ["augment", "check_lengths", "load", "score", "translate"]

LONGEST_LINE = 10_000  # characters; a page of a book has three thousand


def translate(
    model: options.Model,
    file: options.Text = None,
    n_best: options.NBest = None,
    beam: options.Beam = None,
    alpha: options.Alpha = None,
    no_repeat: options.NoRepeat = None,
    confidence: options.Confidence = False,
    alignment: options.Alignment = False,
    batch_tokens: options.BatchTokens = None,
    device: options.Device = None,
) -> None:
    """Translate line by line, to standard output; blank lines stay blank.

    What is typed, or comes from a program, is answered as it comes. A line
    that is too long stays blank, too, and the exit status is 1. With
    --n-best there are several lines for each, best first: its number, the
    score and the translation, with tabs between them. --confidence adds a
    column, and --alignment one more: pairs of words, counted from 0.
    """
    from annotated_transformer.pairs.alignment import align_pairs, pharaoh

    search = {"beam": beam, "alpha": alpha, "no_repeat": no_repeat}
    budget = budget_of(batch_tokens)
    translator = load(model, device, **search)
    if n_best is not None and n_best > translator.beam:
        raise UserError(f"--n-best {n_best} needs --beam {n_best}, or more")
    name = "standard input" if file is None else str(file)
    before = left_out = 0
    alone = n_best is None and not (confidence or alignment)
    tidy = in_line if alone else in_column
    if file is None:
        texts = arriving(name)
    else:
        texts = blocks(decode_lines(read_bytes(file), file))
    for lines in texts:
        for number, line in enumerate(lines):
            if why := too_long(translator, line):
                console.out(f"{name}, line {before + number + 1}: {why}")
                lines[number] = ""
                left_out += 1
        found = translator.n_best(lines, n_best or 1, **budget)
        rows = [
            [line, f"{number}", in_digits(one.score), tidy(one.text)]
            + [in_digits(one.confidence)] * confidence
            for number, (line, best) in enumerate(
                zip(lines, found, strict=True), before + 1
            )
            for one in best
        ]
        if alignment:
            pairs = [(row[0], row[3]) for row in rows]
            for row, links in zip(
                rows, align_pairs(translator, pairs, **budget), strict=True
            ):
                row.append(pharaoh(links))
        first = 3 if n_best is None else 1
        put("".join("\t".join(row[first:]) + "\n" for row in rows))
        before += len(lines)
    if left_out:
        raise UserError(f"{name}: {left_out} lines left blank, see above")


def load(
    model: Path,
    device: options.DeviceName | None,
    **search: int | float | None,
) -> "Translator":
    """A translator that searches as asked for, or as suits the model."""
    from annotated_transformer.runs.setup import choose_device
    from annotated_transformer.speed.allocator import keep_freed_memory
    from annotated_transformer.translation import Translator

    keep_freed_memory()
    chosen = choose_device(device and device.value)
    translator = Translator.load(model, chosen, fast=True)
    for name, value in search.items():
        if value is not None:
            setattr(translator, name, value)
    return translator


def budget_of(batch_tokens: int | None) -> dict[str, int]:
    """The argument batch_tokens; none if the function's own default holds."""
    return {} if batch_tokens is None else {"batch_tokens": batch_tokens}


def too_long(translator: "Translator", line: str) -> str:
    """Why a line is too long for a translator, and what to do; or nothing.

    A line of megabytes would take all memory, and the signs of it alone
    minutes to be cut into subwords.
    """
    if len(line) > LONGEST_LINE:
        return (
            f"{len(line)} characters, and a line has at most {LONGEST_LINE}; "
            "split the line"
        )
    most = translator.model.max_positions
    if most is not None:
        length = len(translator.tokenizer.encode(line))
        if length > most:
            return (
                f"{length} tokens, but the model has learned only "
                f"{most} positions; split the line"
            )
    return ""


def check_lengths(
    translator: "Translator", lines: list[str], name: str
) -> None:
    """UserError for a line of the text of that name that is too long."""
    for number, line in enumerate(lines, 1):
        if why := too_long(translator, line):
            raise UserError(f"{name}, line {number}: {why}")


def score(
    model: options.Model,
    source: options.Source,
    target: options.Target,
    alpha: options.Penalty = 0.0,
    batch_tokens: options.BatchTokens = None,
    device: options.Device = None,
) -> None:
    """Tell how probable a model finds translations that are there already.

    For each line its log-probability: the natural logarithm, summed over the
    tokens of the line and its end. A blank line is the end alone.
    """
    from annotated_transformer.corpora.parallel_text import read_side_by_side
    from annotated_transformer.pairs.likelihood import score_pairs

    pairs = read_side_by_side(source, target)
    translator = load(model, device)
    for side, file in enumerate((source, target)):
        check_lengths(translator, [pair[side] for pair in pairs], str(file))
    for some in blocks(pairs):
        found = score_pairs(translator, some, alpha, **budget_of(batch_tokens))
        put("".join(in_digits(one.score) + "\n" for one in found))


def augment(
    forward: options.Forward,
    backward: options.Backward,
    source: options.TrainSource,
    target: options.TrainTarget,
    number: options.Number = 3,
    beam: options.ChoiceBeam = 8,
    alpha: options.Alpha = None,
    batch_tokens: options.BatchTokens = None,
    device: options.Device = None,
) -> None:
    """Make more pairs of a text, by a model in each direction.

    For each pair come pairs with its source written by a model, and pairs
    with its target written by one: lines for train --extra, with a tab
    between source and target. Of what a model finds, those are taken that
    are most like what a person wrote there.
    """
    from annotated_transformer.corpora.parallel_text import read_pairs
    from annotated_transformer.pairs.augmentation import extra_pairs

    if number > beam:
        raise UserError(f"--number {number} needs --beam {number}, or more")
    pairs = read_pairs(source, target)
    check_directions(forward, backward)
    search = {"beam": beam, "alpha": alpha}
    there, back = (
        load(model, device, **search) for model in (forward, backward)
    )
    check_lengths(there, [text for text, _ in pairs], str(source))
    check_lengths(back, [text for _, text in pairs], str(target))
    for some in blocks(pairs):
        made = extra_pairs(
            there, back, some, number, **budget_of(batch_tokens)
        )
        columns = [map(in_column, pair) for pair in made]
        put("".join("\t".join(pair) + "\n" for pair in columns))


def check_directions(forward: Path, backward: Path) -> None:
    """UserError unless one model translates back what the other makes."""
    from annotated_transformer.storage.model_folder import read_config
    from annotated_transformer.storage.shipped import find_model

    there, back = (
        read_config(find_model(model)).history.data
        for model in (forward, backward)
    )
    if (there.source, there.target) != (back.target, back.source):
        raise UserError(
            f"{forward} translates {there.source} to {there.target}, "
            f"and {backward} {back.source} to {back.target}; "
            "the second must translate back"
        )
