"""The commands that use a trained model: translate, evaluate and score."""

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from annotated_transformer.commands import options
from annotated_transformer.errors import UserError
from annotated_transformer.system.console import (
    arriving,
    console,
    in_column,
    in_digits,
    put,
)
from annotated_transformer.system.text_lines import (
    blocks,
    decode_lines,
    read_bytes,
)

# What loads PyTorch is imported where it is used: --help does without it.
if TYPE_CHECKING:
    from annotated_transformer.translation import Translator

__all__ = ["check_lengths", "evaluate", "load", "score", "translate"]

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

    budget = budget_of(batch_tokens)
    translator = load(
        model, device, beam=beam, alpha=alpha, no_repeat=no_repeat
    )
    if n_best is not None and n_best > translator.beam:
        raise UserError(f"--n-best {n_best} needs --beam {n_best}, or more")
    name = "standard input" if file is None else str(file)
    if file is None:
        texts = arriving(name)
    else:
        texts = blocks(decode_lines(read_bytes(file), file))
    before = left_out = 0
    for lines in texts:
        for place, line in enumerate(lines):
            if why := too_long(translator, line):
                console.out(f"{name}, line {before + place + 1}: {why}")
                lines[place] = ""
                left_out += 1
        found = translator.n_best(lines, n_best or 1, **budget)
        flat = [(i, one) for i, best in enumerate(found) for one in best]
        columns = [[in_column(one.text) for _, one in flat]]
        if n_best is not None:
            numbers = [f"{before + i + 1}" for i, _ in flat]
            scores = [in_digits(one.score) for _, one in flat]
            columns = [numbers, scores, *columns]
        if confidence:
            columns.append([in_digits(one.confidence) for _, one in flat])
        if alignment:
            pairs = [(lines[i], in_column(one.text)) for i, one in flat]
            links = align_pairs(translator, pairs, **budget)
            columns.append([pharaoh(some) for some in links])
        rows = zip(*columns, strict=True)
        put("".join("\t".join(row) + "\n" for row in rows))
        before += len(lines)
    if left_out:
        raise UserError(f"{name}: {left_out} lines left blank, see above")


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
    from annotated_transformer.corpora.parallel_text import read_pairs
    from annotated_transformer.storage.model_folder import read_config
    from annotated_transformer.storage.pretrained import find_model
    from annotated_transformer.translation import corpus_scores

    language = read_config(find_model(model)).languages[1]
    pairs = read_pairs(source, reference)
    search = {"beam": beam, "alpha": alpha, "no_repeat": no_repeat}
    translator = load(model, device, **search)
    sources = [text for text, _ in pairs]
    check_lengths(translator, sources, source)
    scores = corpus_scores(
        translator(sources), [text for _, text in pairs], language
    )
    result = {name: getattr(translator, name) for name in search}
    result |= asdict(scores)
    if as_json:
        put(json.dumps(result, indent=1) + "\n")
        return
    for name, signature in scores.signatures.items():
        put(f"{name:15} {result[name]:5.2f}  {signature}\n")


def score(
    model: options.Model,
    source: options.Source,
    target: options.Target,
    alpha: options.Penalty = 0.0,
    batch_tokens: options.BatchTokens = None,
    device: options.Device = None,
) -> None:
    """Print how probable a model finds translations that are there already.

    For each line its log-probability: the natural logarithm, summed over the
    tokens of the line and its end. A blank line is the end alone.
    """
    from annotated_transformer.corpora.parallel_text import read_side_by_side
    from annotated_transformer.pairs.likelihood import score_pairs

    pairs = read_side_by_side(source, target)
    translator = load(model, device, alpha=alpha)
    for side, file in enumerate((source, target)):
        check_lengths(translator, (pair[side] for pair in pairs), file)
    for some in blocks(pairs):
        found = score_pairs(translator, some, **budget_of(batch_tokens))
        put("".join(in_digits(one.score) + "\n" for one in found))


def load(
    model: Path, device: str | None, **search: int | float | None
) -> "Translator":
    """A translator that searches as asked for, or as suits the model."""
    from annotated_transformer.runs.prepare import choose_device
    from annotated_transformer.speed.allocator import keep_freed_memory
    from annotated_transformer.storage.history import check_search
    from annotated_transformer.translation import Translator

    asked = {name: x for name, x in search.items() if x is not None}
    try:
        check_search(**asked)
    except ValueError as error:
        raise UserError(f"{error}") from error
    keep_freed_memory()
    translator = Translator.load(model, choose_device(device), fast=True)
    for name, value in asked.items():
        setattr(translator, name, value)
    return translator


def budget_of(batch_tokens: int | None) -> dict[str, int]:
    """The argument batch_tokens; none if the function's own default holds."""
    return {} if batch_tokens is None else {"batch_tokens": batch_tokens}


def too_long(translator: "Translator", line: str) -> str:
    """Why a line is too long for a translator, and what to do; or nothing.

    A line of megabytes would take all memory, and its characters alone
    minutes to be cut into subwords.
    """
    if len(line) > LONGEST_LINE:
        return (
            f"{len(line)} characters, and a line has at most {LONGEST_LINE}; "
            "split the line"
        )
    most = translator.model.max_positions
    if most is None:
        return ""
    length = len(translator.tokenizer.encode(line))
    if length <= most:
        return ""
    return (
        f"{length} tokens, but the model has learned only {most} positions; "
        "split the line"
    )


def check_lengths(
    translator: "Translator", lines: Iterable[str], file: Path
) -> None:
    """UserError for a line of a file that is too long."""
    for number, line in enumerate(lines, 1):
        if why := too_long(translator, line):
            raise UserError(f"{file}, line {number}: {why}")
