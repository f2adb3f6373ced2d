"""A term that every output must have: what the search makes of it, and costs.

Of each test caption the rarest noun of its human translation is forced into
the output, if the shipped translator leaves it out. German nouns have capitals
and are found without a tagger. "late" forbids the end until the term has been
written; "grid" also gives hypotheses without it, with its beginning and with
all of it places of their own. "other" forces a noun of another caption in the
same way. "appended" is no search: the noun stands at the end of the output.
"""

import random
import re
import time
from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.data import Tokenizer
from annotated_transformer.embedding import EOS
from annotated_transformer.translation import Translation
from ledger.intervals import DRAWS

from .shared import shipped_translator
from .shared.grid import Result, grid
from .shared.shipped_translator import SEARCH, corpus, drawn, translator

TEST, CAPTIONS = "test_2016_flickr", 200
NOUN = re.compile(r"(?<=[\w,] )[A-ZÄÖÜ][\w-]+")  # no sentence begins with it
RECIPE = shipped_translator.RECIPE | SEARCH | {"captions": CAPTIONS}


class Required:
    """A rule: all outputs have some tokens in a row, as words of their own.

    Of the hypotheses that end with none of the tokens, the first, the first
    two ... or have all of them, the best `each` are kept.
    """

    def __init__(self, tokenizer: Tokenizer, term: str, each: int):
        self.term, self.each = torch.tensor(tokenizer.encode(term)[:-1]), each
        names = map(tokenizer.pieces.id_to_piece, range(len(tokenizer)))
        self.joins = torch.tensor([name[0].isalnum() for name in names])
        self.width = each * (len(self.term) + 1)  # of the beam

    def end_with(self, tokens: Tensor, count: int) -> Tensor:
        """The rows that end with the first `count` tokens of the term."""
        if tokens.size(2) < count:
            return torch.zeros(tokens.shape[:2], dtype=torch.bool)
        end = tokens[:, :, tokens.size(2) - count :]
        return (end == self.term[:count]).all(-1)

    def __call__(self, tokens: Tensor, scores: Tensor) -> Tensor:
        """Which tokens are kept: [batch, places, tokens]."""
        size = len(self.term)
        written = torch.zeros(tokens.shape[:2], dtype=torch.bool)
        if tokens.size(2) >= size:
            runs = tokens.unfold(2, size, 1)  # [batch, places, runs, size]
            written = (runs == self.term).all(-1).any(-1)
        allowed = ~(self.end_with(tokens, size)[:, :, None] & self.joins)
        allowed[:, :, EOS] &= written
        has = torch.zeros_like(scores, dtype=torch.long)  # after the token
        for i, token in enumerate(self.term.tolist()):
            has[:, :, token].masked_fill_(self.end_with(tokens, i), i + 1)
        has[written] = size
        kept = torch.zeros_like(allowed)
        for i in range(size + 1):
            those = allowed & (has == i)
            column = scores.masked_fill(~those, -torch.inf).flatten(1)
            last = column.topk(min(self.each, column.size(1))).values[:, -1]
            kept |= those & (scores >= last[:, None, None])
        return kept


class Late(Required):
    """The rule without its places: it only forbids the end."""

    def __call__(self, tokens: Tensor, scores: Tensor) -> Tensor:
        """Which tokens are kept: [batch, places, tokens]."""
        allowed = torch.ones_like(scores, dtype=torch.bool)
        size = len(self.term)
        allowed[:, :, EOS] = False
        if tokens.size(2) >= size:
            runs = tokens.unfold(2, size, 1)
            allowed[:, :, EOS] = (runs == self.term).all(-1).any(-1)
        return allowed


def has_word(text: str, word: str) -> bool:
    """Whether a text has a word as it is written."""
    return (
        re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text) is not None
    )


@cache
def chosen() -> list[tuple[str, str, str]]:
    """Captions, their translations, and the nouns that ours do not have."""
    count = Counter(
        x for _, text in corpus().train for x in NOUN.findall(text)
    )
    pairs = corpus().tests[TEST]
    outputs = translator()([source for source, _ in pairs], **SEARCH)
    found = []
    for (source, target), output in zip(pairs, outputs, strict=True):
        nouns = sorted(NOUN.findall(target), key=lambda noun: count[noun])
        if nouns and not has_word(output, nouns[0]):
            found.append((source, target, nouns[0]))
    return found[:CAPTIONS]


def others() -> list[str]:
    """For each caption the noun of another one."""
    nouns = [noun for _, _, noun in chosen()]
    place = random.Random(0).randrange(1, len(nouns))
    return nouns[place:] + nouns[:place]


@cache
def searched(way: str) -> tuple[list[Translation], float]:
    """The outputs, one search each, and the seconds that they took."""
    rows = chosen()
    terms = others() if way == "other" else [noun for _, _, noun in rows]
    model, found = translator(), []
    began = time.process_time()
    for (source, _, _), term in zip(rows, terms, strict=True):
        options: dict[str, Any] = {**SEARCH}
        if way == "late":
            options["rule"] = Late(model.tokenizer, term, 1)
        elif way != "plain":
            each = 5 if way == "wide grid" else 2
            rule = Required(model.tokenizer, term, each)
            options |= {"rule": rule, "beam": rule.width}
        found += model.n_best([source], 1, **options)[0]
    return found, time.process_time() - began


def change(before: str, after: str) -> str:
    """What a search made of an output: same, added, replaced or rewritten.

    "added" has all words of before, in their order, and one more, and
    "replaced" differs from it in one word. Articles are words.
    """
    a, b = (re.findall(r"[\w-]+", text) for text in (before, after))
    if a == b:
        return "same"
    if any(a == b[:i] + b[i + 1 :] for i in range(len(b))):
        return "added"
    one = sum(x != y for x, y in zip(a, b, strict=False)) == 1
    return "replaced" if one and len(a) == len(b) else "rewritten"


def bleu(outputs: Iterable[str]) -> list[float]:
    """Lower-cased BLEU on drawn captions, draw by draw."""
    ours, pairs = [*outputs], [(x, y) for x, y, _ in chosen()]
    return [drawn(ours, pairs, seed).score for seed in range(DRAWS)]


def run(way: str, seed: int) -> Result:
    """Scores, changes and processor time of one way to force the nouns."""
    plain = [one.text for one in searched("plain")[0]]
    nouns = [noun for _, _, noun in chosen()]
    if way == "appended":
        ended = zip(plain, nouns, strict=True)
        return {"bleu": bleu(f"{x.rstrip('.')} {noun}." for x, noun in ended)}
    found, seconds = searched(way)
    terms = others() if way == "other" else nouns
    made = [one.text for one in found]
    kinds = Counter(change(x, y) for x, y in zip(plain, made, strict=True))
    return {
        "bleu": bleu(made),
        "nats": sum(one.log_probability for one in found) / len(found),
        "words": sum(len(text.split()) for text in made) / len(made),
        "have it": sum(
            has_word(x, y) for x, y in zip(made, terms, strict=True)
        ),
        "finished": sum(one.finished for one in found),
        **kinds,
        "seconds": seconds,
    }


RUNS = grid(
    run,
    "{way} seed={seed}",
    way=["plain", "appended", "late", "grid", "wide grid", "other"],
    seed=[0],
)
