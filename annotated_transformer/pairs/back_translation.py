"""Back-translation: a model writes the side that a text does not have.

Sources for targets of people's make pairs of text in one language (Sennrich
et al., 2016); they may be searched for or drawn (Edunov et al., 2018), and
marked by a tag (Caswell et al., 2019).
"""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

from annotated_transformer.data import Pair, bucket, pad
from annotated_transformer.decoding import beam_decode
from annotated_transformer.errors import (
    Interrupted,
    UserError,
    check_budget,
    check_texts,
)
from annotated_transformer.pairs.sampling import Sampling, sample_decode
from annotated_transformer.speed.matrix_products import weights_at_rest
from annotated_transformer.storage.history import Search
from annotated_transformer.system.atomic_files import (
    lock,
    unwritable,
    write_text,
)
from annotated_transformer.system.console import console
from annotated_transformer.system.signals import stop_signals
from annotated_transformer.system.stdio import in_column
from annotated_transformer.translation import Translator

__all__ = ["back_translate", "write_back_translations"]


def back_translate(
    translator: Translator,
    texts: Iterable[str],
    sampling: Sampling | None = None,
    *,
    tag: str = "",
    forward: bool = False,
    batch_tokens: int = 4096,
) -> list[Pair]:
    """Pairs of a source that the translator made, and a text as its target.

    It searches as the translator does, or draws if a sampling is given. A tag
    stands before each source, as a word of its own. With forward the texts
    are the sources, and the targets are made. A pair whose made side is blank
    is left out. Batches have texts of like length and at most batch_tokens
    source tokens, padding included and counted once for each place of the
    beam. UserError for what is no text or blank, ValueError for a batch that
    cannot be.
    """
    texts = checked(texts, tag, forward)
    made: dict[int, str] = {}
    for some in batches(translator, texts, sampling, batch_tokens):
        made |= some
    return paired(texts, made, tag, forward)


def checked(texts: Iterable[str], tag: str, forward: bool) -> list[str]:
    """The texts as a list; UserError if they or the tag cannot be used."""
    if forward and tag:
        raise UserError(
            f"the tag {tag!r:.40} marks sources that a model made, and with "
            "`forward=True` people made them; leave one of the two out"
        )
    texts = check_texts(texts)
    for place, text in enumerate(texts):
        if not text.strip():
            raise UserError(f"text {place} is blank; leave it out")
    return texts


def batches(
    translator: Translator,
    texts: list[str],
    sampling: Sampling | None,
    batch_tokens: int,
    done: int = 0,
) -> Iterator[dict[int, str]]:
    """What is made of each text, by its place, a batch at a time.

    The longest texts come first, so that memory runs out at once or not at
    all. The first batches, so many as are done, are passed over.
    """
    check_budget(batch_tokens)
    sources = [translator.tokenizer.encode(text) for text in texts]
    lengths = [(len(ids), len(ids)) for ids in sources]
    width = 1 if sampling else translator.beam
    budget = max([batch_tokens // width, *map(len, sources)])
    cut = bucket(lengths, budget)
    cut.sort(key=lambda batch: max(lengths[i] for i in batch), reverse=True)
    for batch in cut[done:]:
        ids = pad(sources[i] for i in batch).to(translator.device)
        with weights_at_rest():
            if sampling:
                found = sample_decode(translator.model, ids, sampling, batch)
            else:
                found = [
                    best[0]
                    for best in beam_decode(
                        translator.model,
                        ids,
                        width,
                        translator.alpha,
                        no_repeat=translator.no_repeat,
                    )
                ]
        yield {
            i: translator.tokenizer.decode(one.tokens)
            for i, one in zip(batch, found, strict=True)
        }


def paired(
    texts: list[str], made: dict[int, str], tag: str, forward: bool
) -> list[Pair]:
    """The pairs, in the order of the texts, whose made side is not blank."""
    mark = f"{tag} " if tag else ""
    return [
        (text, made[place]) if forward else (mark + made[place], text)
        for place, text in enumerate(texts)
        if made[place].strip()
    ]


def write_back_translations(
    output: Path,
    translator: Translator,
    texts: Iterable[str],
    sampling: Sampling | None = None,
    *,
    tag: str = "",
    forward: bool = False,
    batch_tokens: int = 4096,
    model: str = "",
    resume: bool = False,
) -> int:
    """Write what back_translate gives as lines: source, tab, target.

    Returns their number. Each batch is kept in a file beside the output, with
    `.part` at its end, until the output is whole. SIGINT and SIGTERM raise
    Interrupted after a batch; then, or after a kill, resume goes on to the
    same output. model says which one it is, such as by the checksum of its
    weights. UserError if the output is there already, if there is nothing to
    resume, or if it began with something else.
    """
    texts = checked(texts, tag, forward)
    search = Search(translator.beam, translator.alpha, translator.no_repeat)
    settings = {
        "text": hashlib.sha256("\n".join(texts).encode()).hexdigest(),
        "model": model,
        "search": asdict(sampling or search),
        "tag": tag,
        "forward": forward,
        "batch_tokens": batch_tokens,
    }
    part = output.with_name(f"{output.name}.part")
    check_place(output, part, resume)
    try:
        with own(part) as file, stop_signals() as stop:
            kept = read_batches(part, file, settings)
            made = {int(i): x for some in kept for i, x in some.items()}
            number = len(kept)
            for some in batches(
                translator, texts, sampling, batch_tokens, number
            ):
                tenth = 10 * len(made) // len(texts)
                made |= some
                if not file.tell():  # what fails at once has not begun
                    add_line(file, settings)
                add_line(file, some)
                number += 1
                if 10 * len(made) // len(texts) > tenth:
                    console.out(f"{len(made):,} of {len(texts):,} lines")
                if stop and len(made) < len(texts):
                    raise Interrupted(stop[0], output, number, "batch")
            pairs = paired(texts, made, tag, forward)
            blank = [i + 1 for i in sorted(made) if not made[i].strip()]
            if blank:
                console.out(
                    f"{output}: {len(blank)} of {len(texts)} lines left out, "
                    f"the first line {blank[0]}: the model says nothing there"
                )
            rows = ["\t".join(map(in_column, pair)) + "\n" for pair in pairs]
            write_text(output, "".join(rows))
            part.unlink()
    except OSError as error:
        raise unwritable(part, error) from error
    return len(pairs)


def check_place(output: Path, part: Path, resume: bool) -> None:
    """UserError if a work cannot begin there, or none is there to resume."""
    begun = part.exists() and part.stat().st_size > 0
    if begun and not resume:
        raise UserError(
            f"{part}: begun already; go on with `resume=True`, or delete it"
        )
    if output.exists() and not begun:
        raise UserError(f"{output}: exists already; choose another name")
    if resume and not begun:
        raise UserError(
            f"{output}: nothing to resume here ({part.name} is missing or "
            "empty); start it without `resume=True`"
        )


@contextmanager
def own(part: Path) -> Iterator[BinaryIO]:
    """The file, open at its end, which no other program may have."""
    with part.open("ab") as file:
        if not lock(file.fileno(), wait=False):
            raise UserError(
                f"{part}: another program is at work on it; wait for its end"
            )
        yield file


def read_batches(
    part: Path, file: BinaryIO, settings: dict[str, Any]
) -> list[dict[str, str]]:
    """What is done already, if it began with these settings.

    A line that has no end was being written and is cut off.
    """
    data = part.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    file.truncate(len(whole))
    file.seek(0, os.SEEK_END)
    if not whole:
        return []
    try:
        began, *kept = map(json.loads, whole.splitlines())
        known = {name: began[name] for name in settings}
    except (ValueError, TypeError, KeyError) as error:
        raise UserError(
            f"{part}: not the beginning of this work ({error!r:.200}); delete "
            "it, and start without `resume=True`"
        ) from error
    for name, value in settings.items():
        if known[name] != value:
            raise UserError(
                f"{part}: it began with {name} = {known[name]!s:.80}, now it "
                f"is {value!s:.80}; resume with what began it"
            )
    return kept


def add_line(file: BinaryIO, entry: object) -> None:
    """Add a line of JSON, and wait until it is on the disk."""
    file.write(json.dumps(entry).encode() + b"\n")
    file.flush()
    os.fsync(file.fileno())
