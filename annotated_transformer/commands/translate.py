"""The command translate: lines, what is typed, or subtitles."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typer import Argument, Option

from ..errors import UserError
from ..system.console import arriving, in_column, in_digits, put
from ..system.text_lines import (
    blocks,
    decode,
    decode_lines,
    ending,
    read_bytes,
)
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

# What loads PyTorch is imported where it is used: --help does without it.
if TYPE_CHECKING:
    from ..text.watch import Watch
    from ..translation import Translator


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

    if file and not file.exists() and " " in str(file):
        raise UserError(
            f"{str(file)!r:.40}: no such file; what is to be translated comes "
            "from standard input: echo SENTENCE | annotated-transformer "
            f"translate {model}"
        )
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
            columns["warnings"] = [
                watch.reasons(lines[i], one) for i, one in flat
            ]
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
    """A file of subtitles with its texts translated."""
    from ..text.subtitles import Subtitles

    data = read_bytes(file)
    found = Subtitles(decode(data, file), file)
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
        told = "tags within a text are left out, and those without a pair"
        watch.tell(f", line {found.tagged[0]}: {told}")
    mark = "\ufeff" if data.startswith(b"\xef\xbb\xbf") else ""
    return mark + found.with_texts(one.text for (one,) in best)
