"""What a run is, written down before its first update."""

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import date
from typing import Any

from ..corpora.corpus import Corpus
from ..corpora.running_text import RunningText
from ..data import Pair, Tokenizer
from ..model import EncoderDecoder
from ..storage.builders import own_code
from ..storage.history import Data, History, SourceLines
from ..system.cache import CACHE, Cache
from ..system.machine import this_machine, versions
from ..text.casing import by_small_letters, thinned, usual_words
from ..text.checks import subwords_per_word
from ..text.sentences import single_sentences
from .encoding import known_to
from .prepare import Prepared, computed_once

SAMPLE = 10_000  # lines that show what a text is like


def describe(
    command: str,
    ready: Prepared,
    corpus: Corpus | RunningText,
    device: str,
    own: EncoderDecoder | None = None,
    cache: Cache = CACHE,
) -> History:
    """What a run is, before its first update; own is a model of your own.

    It measures every training pair, and changes and leaves out none.
    """
    begun = ready.parent and ready.parent.origin
    data = Data(corpus.name, sha256=corpus.checksums, **corpus.about)
    if isinstance(corpus, Corpus):
        most = ready.recipe.train.max_length

        def told() -> dict[str, Any]:
            pairs, tokenizer = corpus.train, ready.tokenizer
            lines = source_lines(pairs, tokenizer, corpus.source, most)
            ratio = round(stretch(pairs, tokenizer), 2)
            return asdict(replace(lines, stretch=ratio))

        by = hashlib.sha256(ready.tokenizer.model).hexdigest()
        key = {"lines": [corpus.source, most], "by": by}
        own_cache = known_to(cache, ready.tokenizer)
        lines = SourceLines(**computed_once(corpus, key, told, own_cache))
        if begun and begun.data and (before := begun.data.lines):
            lines = merged(lines, before)
            earlier = replace(begun.data, lines=replace(before, words=""))
            begun = replace(begun, data=earlier)
        data = replace(data, lines=lines)
    return History(
        command=command,
        recipe=ready.recipe.as_json(),
        data=data,
        date=date.today().isoformat(),
        versions=versions(),
        machine=this_machine(device),
        start=begun,
        tokenizer_sha256=hashlib.sha256(ready.tokenizer.model).hexdigest(),
        own=own_code(own, ready.tokenizer),
    )


def source_lines(
    pairs: Sequence[Pair], tokenizer: Tokenizer, language: str, most: int
) -> SourceLines:
    """What the lines to learn from are like, of at most that many tokens.

    The longest is that of all lines, the rest is that of a sample.
    """
    some = [source for source, _ in thinned(pairs, SAMPLE)]
    cuts = sorted(subwords_per_word(line, tokenizer) for line in some)
    longest = 0
    for line, _ in pairs:
        if len(line) > longest and len(tokenizer.encode(line)) <= most:
            longest = len(line)
    return SourceLines(
        round(single_sentences(some, language), 4),
        longest,
        round(cuts[99 * len(cuts) // 100], 3) if cuts else 0.0,
        " ".join(usual_words(source for source, _ in thinned(pairs))),
    )


def merged(lines: SourceLines, before: SourceLines) -> SourceLines:
    """What lines are like for a model that has learned from others before."""
    own = by_small_letters(words := lines.words.split())
    words += [x for x in before.words.split() if x.lower() not in own]
    return replace(
        lines,
        longest=max(lines.longest, before.longest),
        subwords=max(lines.subwords, before.subwords),
        words=" ".join(words),
        stretch=max(lines.stretch, before.stretch),
    )


def stretch(pairs: Sequence[Pair], tokenizer: Tokenizer) -> float:
    """By what a source's length is multiplied, to limit its translation's.

    Twice the quotient of their lengths that 999 of 1000 pairs do not exceed.
    """
    quotients = sorted(
        len(tokenizer.encode(target)) / len(tokenizer.encode(source))
        for source, target in thinned(pairs, SAMPLE)
    )
    if not quotients:
        return 1.0
    return max(1.0, 2 * quotients[999 * len(quotients) // 1000])
