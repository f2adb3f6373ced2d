"""Several languages in one model: four directions, and one never learned.

One model learns Multi30k from English to German, to French, and back from
both. Before each source stands a mark, the code of the language to write.
Beside it are models of one direction each, as large and with the same
subwords. The one model makes as many updates as each of them, or as many as
the four together. Both are asked for what none was shown: German to French,
at once or by way of English. A single model of that direction learns it.

Expected before the first run: at as many updates the one model is worse than
each single, at four times as many about as good, and better into English,
which it writes from two languages. Of German to French it makes English at
first, or German; by way of English it is nearly as good as what learned it.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from math import log
from statistics import fmean

from annotated_transformer.corpora.corpus import Corpus
from annotated_transformer.corpora.multi30k import MULTI30K_SUMS, multi30k
from annotated_transformer.data import Pair, Tokenizer
from annotated_transformer.model import EncoderDecoder, ModelConfig
from annotated_transformer.runs.prepare import learn_tokenizer
from annotated_transformer.runs.recipes import Recipe
from annotated_transformer.training import TrainConfig
from annotated_transformer.translation import Translator, corpus_scores

from .ladder_captions import SIZES as LADDER
from .shared.grid import Result, grid
from .shared.settings import Learning, Sizes
from .shared.training_loops import trained, validated
from .table3_captions import HELD_OUT

LEARNED = ("en-de", "de-en", "en-fr", "fr-en")
UNSEEN = "de-fr"
MARKS = {"en": "EN", "de": "DE", "fr": "FR"}
SIZES: Sizes = {**LADDER, "pre_norm": True}
LEARNING: Learning = {
    "steps": 800,
    "batch_tokens": 1024,
    "schedule": "linear",
    "warmup": 80,
    "peak_lr": 6e-3,
    "label_smoothing": 0.1,
    "clip": 1.0,
    "max_length": 128,
}
PIECES = 2000
RECIPE = {
    "model": SIZES,
    "train": LEARNING,
    "vocab_size": PIECES,
    "directions": [*LEARNED],
    "unseen": UNSEEN,
    "marks": MARKS,
}
BASE = Recipe(
    ModelConfig(**SIZES), TrainConfig(**LEARNING), PIECES, normalize=False
)


def marked(texts: Sequence[str], into: str) -> list[str]:
    """Texts behind the mark of the language to write."""
    return [f"{MARKS[into]} {text}" for text in texts]


@cache
def lines(language: str, part: str) -> list[str]:
    """The captions of a language to learn from, to look at or to test."""
    other = "de" if language == "en" else "en"
    text = multi30k(other, language)
    parts = {"train": text.train, "valid": text.valid, **text.tests}
    return [target for _, target in parts[part]]


def pairs(direction: str, part: str) -> list[Pair]:
    """A direction's pairs, with marked sources."""
    source, target = direction.split("-")
    sources = marked(lines(source, part), target)
    return [*zip(sources, lines(target, part), strict=True)]


@cache
def corpus() -> Corpus:
    """The four directions together."""
    train, valid, test = (
        [pair for direction in LEARNED for pair in pairs(direction, part)]
        for part in ("train", "valid", HELD_OUT)
    )
    text = Corpus.from_pairs(
        train, valid, tests={HELD_OUT: test}, name="multi30k"
    )
    return replace(text, checksums=MULTI30K_SUMS)


@cache
def tokenizer() -> Tokenizer:
    """The one vocabulary of all runs."""
    return learn_tokenizer(corpus(), BASE)


@cache
def learned(
    directions: tuple[str, ...], seed: int, times: int = 1
) -> EncoderDecoder:
    """A model of some directions, after so many times the updates."""
    steps = times * BASE.train.steps
    recipe = replace(BASE, train=replace(BASE.train, steps=steps))
    text = [pair for one in directions for pair in pairs(one, "train")]
    return trained(recipe, seed, text, tokenizer()).eval()


def translated(
    model: EncoderDecoder, texts: Sequence[str], into: str
) -> list[str]:
    """Greedy translations into the language of a mark."""
    return Translator(model, tokenizer())(marked(texts, into), beam=1)


@cache
def words(language: str) -> Counter[str]:
    """How often the captions to learn from have each word."""
    return Counter(
        word for line in lines(language, "train") for word in line.split()
    )


def language_of(text: str) -> str:
    """The language in whose captions the words are the most frequent."""

    def nats(language: str) -> float:
        known = words(language)
        size = known.total() + len(known)
        return -sum(log((known[word] + 1) / size) for word in text.split())

    return min(MARKS, key=nats)


def judged(outputs: Sequence[str], direction: str) -> Result:
    """BLEU of outputs for a direction's test, and their share by language."""
    references = lines(direction[-2:], HELD_OUT)
    found = Counter(map(language_of, outputs))
    return {
        f"bleu {direction}": corpus_scores(outputs, references).bleu,
        f"languages {direction}": [found[x] / len(outputs) for x in MARKS],
    }


def scores(model: EncoderDecoder, directions: Sequence[str]) -> Result:
    """Nats per subword of each direction's captions, and its outputs."""
    found: Result = {"parameters": sum(p.numel() for p in model.parameters())}
    for direction in directions:
        source, into = direction.split("-")
        text, limit = pairs(direction, "valid"), BASE.train.max_length
        known = validated(model, tokenizer(), text, limit)
        found[f"nats {direction}"] = known.loss
        outputs = translated(model, lines(source, HELD_OUT), into)
        found |= judged(outputs, direction)
    return found


def alone(seed: int, direction: str) -> Result:
    """A model of one direction."""
    return scores(learned((direction,), seed), [direction])


def by_english(to: EncoderDecoder, back: EncoderDecoder) -> Result:
    """German to French in two steps, each by a model that learned it."""
    english = translated(to, lines("de", HELD_OUT), "en")
    return judged(translated(back, english, "fr"), UNSEEN)


def two(seed: int) -> Result:
    """The unseen direction by two models of one direction."""
    return by_english(*(learned((x,), seed) for x in ("de-en", "en-fr")))


def together(seed: int, times: int) -> Result:
    """One model of four directions; the unseen one at once, and in steps."""
    model = learned(LEARNED, seed, times)
    steps = by_english(model, model)
    return scores(model, [*LEARNED, UNSEEN]) | {
        f"{name} by English": found for name, found in steps.items()
    }


def people(seed: int) -> Result:
    """How often the language of the test's own captions is found."""
    del seed
    return {
        language: fmean(
            language_of(line) == language for line in lines(language, HELD_OUT)
        )
        for language in MARKS
    }


SEEDS = range(3)
RUNS = grid(people, "people seed={seed}", seed=[0])
RUNS |= grid(
    alone,
    "alone {direction} seed={seed}",
    seed=SEEDS,
    direction=[*LEARNED, UNSEEN],
)
RUNS |= grid(two, "two models seed={seed}", seed=SEEDS)
RUNS |= grid(
    together,
    "together, {times} times the updates seed={seed}",
    seed=SEEDS,
    times=[1, len(LEARNED)],
)
# by seed: a run has what those before it have learned
RUNS = dict(sorted(RUNS.items(), key=lambda run: run[0][-1]))
