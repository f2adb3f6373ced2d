"""Back-translation: a model writes the missing side of monolingual text.

Sources written for real targets are pairs to train on (Sennrich et al.,
2016). They may be searched for or drawn (Edunov et al., 2018), and marked by
a tag (Caswell et al., 2019).
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from annotated_transformer.data import Pair, bucket, pad
from annotated_transformer.errors import UserError, check_budget, check_texts
from annotated_transformer.pairs.sampling import Sampling, sample_decode
from annotated_transformer.storage.history import Search
from annotated_transformer.system.atomic_files import unwritable, write_text
from annotated_transformer.system.console import console, in_column
from annotated_transformer.translation import Translator

__all__ = ["back_translate", "write_back_translations"]

BLOCK = 1000  # texts: what a kill may cost


def back_translate(
    translator: Translator,
    texts: Iterable[str],
    sampling: Sampling | None = None,
    *,
    tag: str = "",
    forward: bool = False,
    batch_tokens: int = 4096,
) -> list[Pair]:
    """Turn monolingual texts into pairs: the translator writes the sources.

    It searches with its own settings, or draws if a sampling is given. With
    forward the texts are the sources, and the targets are written. A tag is
    put before each source, as a word of its own. Pairs with a blank side are
    left out. Batches have texts of like length and at most batch_tokens
    source tokens, padding included and counted once for each place of the
    beam. UserError for what is no text, or a batch that cannot be.
    """
    texts = check_texts(texts)
    written = write(translator, texts, sampling, batch_tokens)
    return paired(texts, written, tag, forward)


def write(
    translator: Translator,
    texts: list[str],
    sampling: Sampling | None,
    batch_tokens: int,
    first: int = 0,
) -> list[str]:
    """What the model writes for each text; first is the place of the first."""
    if sampling is None:
        return translator(texts, batch_tokens=batch_tokens)
    check_budget(batch_tokens)
    sources = [translator.tokenizer.encode(text) for text in texts]
    written = [""] * len(texts)
    for places in bucket([(len(ids),) for ids in sources], batch_tokens):
        ids = pad(sources[i] for i in places).to(translator.device)
        numbers = [first + i for i in places]
        found = sample_decode(translator.model, ids, sampling, numbers)
        for i, hypothesis in zip(places, found, strict=True):
            written[i] = translator.tokenizer.decode(hypothesis.tokens)
    return written


def paired(
    texts: list[str], written: list[str], tag: str, forward: bool
) -> list[Pair]:
    """The pairs in the order of the texts, without those half blank."""
    sides = (texts, written) if forward else (written, texts)
    mark = f"{tag} " if tag else ""
    return [
        (mark + source, target)
        for source, target in zip(*sides, strict=True)
        if source.strip() and target.strip()
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
) -> int:
    """Write what back_translate gives as lines: source, tab, target.

    Returns their number. Until the output is whole, a file beside it, with
    `.part` at its end, holds what is being done and what has been written for
    each text. After a kill or Ctrl-C the same call goes on after the last
    whole block of it. model says which model this is, such as by the checksum
    of its weights. UserError if the output is there already, or if the part
    was begun with something else.
    """
    texts = check_texts(texts)
    search = Search(translator.beam, translator.alpha, translator.no_repeat)
    settings = {
        "text": hashlib.sha256("\n".join(texts).encode()).hexdigest(),
        "model": model,
        "search": asdict(sampling or search),
        "tag": tag,
        "forward": forward,
    }
    if output.exists():
        raise UserError(f"{output}: exists already; choose another name")
    part = output.with_name(f"{output.name}.part")
    try:
        written = begun(part, json.dumps(settings))
        while texts[len(written) :]:
            first = len(written)
            some = texts[first : first + BLOCK]
            made = write(translator, some, sampling, batch_tokens, first)
            written += map(in_column, made)
            with part.open("ab") as file:
                lines = [f"{line}\n" for line in written[first:]]
                file.write("".join(lines).encode())
            console.out(f"{len(written):,} of {len(texts):,} lines")
        pairs = paired(texts, written, tag, forward)
        rows = ["\t".join(map(in_column, pair)) + "\n" for pair in pairs]
        write_text(output, "".join(rows))
        part.unlink()
    except OSError as error:
        raise unwritable(part, error) from error
    if blank := len(texts) - len(pairs):
        console.out(f"{output}: left out {blank} lines with a blank side")
    return len(pairs)


def begun(part: Path, note: str) -> list[str]:
    """What the part holds, in whole blocks; it has no more then."""
    lines = part.read_bytes().split(b"\n")[:-1] if part.exists() else []
    if lines[1:] and lines[0] != note.encode():
        raise UserError(
            f"{part}: begun with another text, model, search or tag; go on "
            "with what began it, or delete it"
        )
    whole = len(lines[1:]) // BLOCK * BLOCK
    written = [line.decode() for line in lines[1 : whole + 1]]
    write_text(part, "".join(f"{line}\n" for line in [note, *written]))
    return written
