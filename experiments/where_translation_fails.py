"""Where the shipped translator fails: long captions, rare words, numbers.

The outputs for Multi30k's three tests are scored by kinds of sentence: by the
number of words of the source, by how often the training text has its rarest
word, and by whether it tells a number. A seed draws sentences of all tests
together, as many as there are, with replacement. The same outputs of the
first test are scored by every BLEU that papers have printed, too.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from functools import cache
from statistics import fmean

from sacrebleu.metrics import BLEU

from annotated_transformer.translation import MosesWords

from .shared import shipped_translator
from .shared.grid import Result, grid
from .shared.shipped_translator import (
    SEARCH,
    bleu,
    corpus,
    redrawn,
    translator,
)

FIRST = "test_2016_flickr"
LENGTHS = (7, 10, 13, 16, 20)  # a kind ends before each; the last has no end
COUNTS = (1, 3, 10, 100)
NUMBER = re.compile(
    r"\d+|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
)
SEEDS = range(20)
RECIPE = shipped_translator.RECIPE | SEARCH


def words(text: str) -> list[str]:
    """The words of an English text, lower-cased, without punctuation."""
    return re.findall(r"[\w'-]+", text.lower())


@cache
def known() -> Counter[str]:
    """How often the training text has each English word."""
    return Counter(w for source, _ in corpus().train for w in words(source))


def kind(value: int, ends: Iterable[int]) -> str:
    """The kind of a number, by the first one: "0" is below ends[0]."""
    return str(max([0, *(end for end in ends if value >= end)]))


def kinds(source: str) -> list[str]:
    """The kinds of sentence to which a source belongs."""
    found = words(source)
    rarest = min((known()[word] for word in found), default=0)
    number = any(NUMBER.fullmatch(word) for word in found)
    return [
        f"words {kind(len(found), LENGTHS)}",
        f"rarest {kind(rarest, COUNTS)}",
        f"number {'yes' if number else 'no'}",
        "all",
    ]


@cache
def outputs() -> dict[str, list[tuple[str, str, str]]]:
    """Source, output and reference of each sentence of the tests."""
    found = {}
    for name, pairs in corpus().tests.items():
        sources, references = zip(*pairs, strict=True)
        ours = translator()(list(sources), **SEARCH)
        found[name] = list(zip(sources, ours, references, strict=True))
    return found


def by_kind(seed: int) -> Result:
    """Lower-cased BLEU of each kind of sentence, and its share of all."""
    rows = [row for test in outputs().values() for row in test]
    groups = defaultdict(list)
    for source, ours, reference in redrawn(rows, seed):
        for name in kinds(source):
            groups[name].append((ours, reference))
    found: Result = {}
    for name, pairs in groups.items():
        scored = bleu(pairs)
        found |= {
            f"{name}, share": len(pairs) / len(rows),
            f"{name}, bleu": scored.score,
            f"{name}, brevity": scored.bp,
        }
    return found


def split_compounds(text: str) -> str:
    """Words apart at their hyphens, as the paper's authors scored German."""
    return re.sub(r"(\S)-(\S)", r"\1 ##AT##-##AT## \2", text)


def by_score(seed: int) -> Result:
    """One output under every BLEU, on sentences drawn from the first test."""
    rows = redrawn(outputs()[FIRST], seed)
    ours, theirs = [row[1] for row in rows], [row[2] for row in rows]
    moses = MosesWords("de")
    cased = MosesWords("de").tokenizer
    cut: dict[str, Callable[[str], str]] = {
        "words": lambda text: cased.tokenize(text, return_str=True),
        "lower-cased words": moses,
        "compounds split": lambda text: split_compounds(
            cased.tokenize(text, return_str=True)
        ),
    }
    metrics = {
        "sacrebleu": BLEU(),
        "lower-cased": BLEU(lowercase=True),
        "intl": BLEU(tokenize="intl"),
        "spaces": BLEU(tokenize="none", force=True),
        "characters": BLEU(tokenize="char"),
    }
    found = {
        name: metric.corpus_score(ours, [theirs]).score
        for name, metric in metrics.items()
    }
    plain = BLEU(tokenize="none", force=True)
    for name, words_of in cut.items():
        sides = [[words_of(text) for text in side] for side in (ours, theirs)]
        found[name] = plain.corpus_score(sides[0], [sides[1]]).score
    single = BLEU(effective_order=True)
    found["mean of sentences"] = fmean(
        single.sentence_score(a, [b]).score
        for a, b in zip(ours, theirs, strict=True)
    )
    return found


RUNS = grid(by_kind, "kinds seed={seed}", seed=SEEDS)
RUNS |= grid(by_score, "scores seed={seed}", seed=SEEDS)
