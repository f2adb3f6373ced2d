"""The commands that use a trained model: translate, evaluate and score."""

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typer import Argument, Option

from ..errors import UserError
from ..system.console import arriving, console, in_column, in_digits, put
from ..system.text_lines import blocks, decode_lines, ending, read_bytes
from .options import (
    ALPHA,
    BEAM,
    DEVICE,
    MODEL,
    NO_REPEAT,
    Device,
    batch_tokens_option,
)

# What loads PyTorch is imported where it is used: --help does without it.
if TYPE_CHECKING:
    from ..text.checks import Watch
    from ..translation import Translation, Translator

SKIPPED = 6  # words in a row; in fewer than one caption of a hundred
QUIET = Option(False, "--quiet", help="do not say which lines are doubtful")
PAIRS = Option(None, help="instead, one file of both: .tsv, .csv or .jsonl")


def translate(
    model: Path = MODEL,
    file: Path | None = Argument(
        None,
        help="a sentence a line, or subtitles (.srt, .vtt); else standard "
        "input",
    ),
    n_best: int | None = Option(
        None, min=1, help="the N best translations of each line, with scores"
    ),
    confidence: bool = Option(
        False,
        "--confidence",
        help="add how sure the model is: a tab, then the log-probability per "
        "token; 0 is certain",
    ),
    alignment: bool = Option(
        False,
        "--alignment",
        help="add which word each word came from: a tab, then 0-0 1-2",
    ),
    as_json: bool = Option(
        False,
        "--json",
        help="instead, each translation as one JSON object, with all of this "
        "and with what may be wrong with it",
    ),
    quiet: bool = QUIET,
    no_split: bool = Option(
        False,
        "--no-split",
        help="translate lines as they are; else a model that has learned from "
        "single sentences gets those of a line one by one",
    ),
    batch_tokens: int = batch_tokens_option(4096),
    device: Device = DEVICE,
    beam: int | None = BEAM,
    alpha: float | None = ALPHA,
    no_repeat: int | None = NO_REPEAT,
) -> None:
    """Translate line by line, to standard output; blank lines stay blank.

    What is typed, or comes from a program, is answered as it comes. With
    --n-best there are several lines for each, best first: its number, the
    score and the translation, with tabs between them. --confidence adds a
    column, and --alignment one more: pairs of words, counted from 0. Subtitles
    keep their timecodes. Standard error says which lines are doubtful.
    """
    from ..pairs.alignment import align_pairs
    from ..text.subtitles import ENDINGS

    translator = load(model, device, beam, alpha, no_repeat)
    if no_split:
        translator.split = ""
    if n_best is not None and n_best > translator.beam:
        raise UserError(f"--n-best {n_best} needs --beam {n_best}, or more")
    before, name = 0, str(file or "standard input")
    watch = watch_for(translator, name, quiet)
    if file is None:
        texts = arriving("standard input")
    elif ending(file) in ENDINGS:
        if n_best is not None or confidence or alignment or as_json:
            raise UserError(
                f"{file}: subtitles have no columns; leave out --n-best, "
                "--confidence, --alignment and --json"
            )
        put(subtitles(translator, file, batch_tokens, watch))
        return
    else:
        texts = blocks(decode_lines(read_bytes(file), file))
    for lines in texts:
        found = translator.n_best(
            lines,
            n_best or 1,
            batch_tokens=batch_tokens,
            where=f"{name}, line",
            first=before + 1,
        )
        flat = [
            (i, replace(one, text=in_column(one.text)))
            for i, best in enumerate(found)
            for one in best
        ]
        columns: dict[str, list[Any]] = {
            "line": [before + 1 + i for i, _ in flat],
            "score": [one.score for _, one in flat],
            "text": [one.text for _, one in flat],
            "confidence": [one.confidence for _, one in flat],
        }
        if alignment:
            pairs = [(lines[i], one) for i, one in flat]
            columns["alignment"] = align_pairs(
                translator, pairs, min(batch_tokens, 1024)
            )
        if as_json:
            columns["finished"] = [one.finished for _, one in flat]
            columns["warnings"] = [one.warnings for _, one in flat]
            put(json_lines(columns))
        else:
            shown = {"text", "alignment"}
            shown |= {"confidence"} if confidence else set()
            shown |= {"line", "score"} if n_best is not None else set()
            put(tab_lines({x: columns[x] for x in columns if x in shown}))
        watch.look(lines, [best[0] for best in found])
        before += len(lines)
    watch.sum_up()


def json_lines(columns: dict[str, list[Any]]) -> str:
    """The rows of a table as JSON, an object a line."""
    rows = zip(*columns.values(), strict=True)
    return "".join(
        json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False)
        + "\n"
        for row in rows
    )


def tab_lines(columns: dict[str, list[Any]]) -> str:
    """The rows of a table, with tabs between their columns."""
    from ..pairs.alignment import pharaoh

    spelled: dict[str, Callable[[Any], str]] = {
        "score": in_digits,
        "confidence": in_digits,
        "alignment": pharaoh,
    }
    return "".join(
        "\t".join(
            spelled.get(name, str)(value)
            for name, value in zip(columns, row, strict=True)
        )
        + "\n"
        for row in zip(*columns.values(), strict=True)
    )


def subtitles(
    translator: "Translator", file: Path, batch_tokens: int, watch: "Watch"
) -> str:
    """A file of subtitles with its texts translated, to the same line ends."""
    from ..text.subtitles import Subtitles

    data = read_bytes(file)
    found = Subtitles(decode_lines(data, file), file)
    best = translator.n_best(
        found.texts,
        1,
        batch_tokens=batch_tokens,
        where=f"{file}, line",
        first=1,
    )
    watch.look(found.texts, [one for (one,) in best])
    watch.sum_up()
    if found.tagged:
        told = "tags within a text are left out; those around it stay"
        watch.tell(f", line {found.tagged[0]}: {told}")
    mark = "\ufeff" if data.startswith(b"\xef\xbb\xbf") else ""
    end = "\r\n" if b"\r\n" in data else "\n"
    lines = found.with_texts(one.text for (one,) in best)
    return mark + "".join(f"{line}{end}" for line in lines)


def evaluate(
    model: Path = MODEL,
    source: Path | None = Argument(
        None, help="what to translate, a sentence a line"
    ),
    reference: Path | None = Argument(
        None, help="its translations by people, line by line"
    ),
    pairs: Path | None = PAIRS,
    device: Device = DEVICE,
    typed: bool = Option(
        False,
        "--typed",
        help="also score SOURCE typed in other ways: in capitals, with typing "
        "errors and so on",
    ),
    as_json: bool = Option(False, "--json", help="one JSON object instead"),
    beam: int | None = BEAM,
    alpha: float | None = ALPHA,
    no_repeat: int | None = NO_REPEAT,
) -> None:
    """Score a model's translations: BLEU, of three kinds, and chrF.

    Each score comes with the sacrebleu signature that defines it. --typed adds
    a line for each way to type the text: its BLEU, the same lower-cased, how
    many lines are typed otherwise, and how many translations differ.
    """
    from ..storage.model_folder import read_config
    from ..text.checks import missing_blanks
    from ..text.noise import scores_as_typed
    from ..translation import corpus_scores

    language = read_config(model).languages[1]
    given, (where, _) = read_given(model, (source, reference), pairs)
    sources, references = zip(*given, strict=True)
    if told := missing_blanks(references, language):
        console.out(f"warning: {reference or pairs}: {told}")
    translator = load(model, device, beam, alpha, no_repeat)
    translator.split = ""
    outputs = translator([*sources], where=where, first=1)
    scores = corpus_scores(outputs, references, language)
    search = ("beam", "alpha", "no_repeat")
    result = {name: getattr(translator, name) for name in search}
    result |= asdict(scores)
    others = {}
    if typed:
        found = scores_as_typed(translator, sources, references, language)
        others = {way: asdict(one) for way, one in found.items()}
        result["typed"] = others
    if as_json:
        put(json.dumps(result, indent=1) + "\n")
        return
    for name, signature in scores.signatures.items():
        put(f"{name:15} {result[name]:5.2f}  {signature}\n")
    for way, one in others.items():
        bleu, lowercase, lines, outputs = one.values()
        put(f"{way:24}{bleu:6.2f}{lowercase:7.2f}{lines:7.0f}{outputs:7.0f}\n")


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
    device: Device = DEVICE,
) -> None:
    """Print how probable a model finds translations that are there already.

    For each line its log-probability: the natural logarithm, summed over the
    tokens of the line and its end. A blank line is the end alone.
    """
    from ..pairs.likelihood import score_pairs
    from ..pairs.reading import read_pairs

    given, names = read_given(model, (source, target), pairs, blank=True)
    translator = load(model, device, alpha=alpha)
    for _ in read_pairs(translator, given, (names[0], names[1]), 1):
        pass  # one that is too long is named before the first is scored
    for some in blocks(given):
        found = score_pairs(translator, some, batch_tokens=batch_tokens)
        put("".join(in_digits(one.score) + "\n" for one in found))


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


def watch_for(
    translator: "Translator", name: str, quiet: bool = False
) -> "Watch":
    """What tells of the lines of a file whose translations are doubtful."""
    from ..pairs.alignment import skipped_words
    from ..text.checks import Watch

    def skipped(line: str, one: "Translation") -> list[str]:
        if skipped_words(translator, line, one) < SKIPPED:
            return []
        return [
            f"{SKIPPED} of its words in a row, or more, have no counterpart "
            "in its translation"
        ]

    if quiet:
        return Watch(name, translator, lambda told: None)
    return Watch(name, translator, console.out, skipped)
