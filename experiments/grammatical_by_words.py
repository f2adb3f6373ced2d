"""How many words make grammatical English: a writer on shares of its text.

The writer of the chapter on language models learns from more and more words
of the built-in corpus, with as many updates each, of which the one with the
lowest validation loss is kept. Its sentences are judged by the grammar's word
classes: a sentence is grammatical if each run of six classes is in one of many
sentences that the grammar wrote. Adjectives before nouns do not count, since
any number of them may stand there. Fresh sentences say how many good ones the
judge knows, and the same with two words swapped how many bad ones it takes.
"""

import random
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import replace
from functools import cache
from typing import Any

import torch
from torch.nn import functional as F

from annotated_transformer.corpora.builtin import (
    example_splits,
    lexicon,
    sentence_pairs,
    words,
)
from annotated_transformer.corpora.builtin.clauses import third_person
from annotated_transformer.corpora.builtin.lexicon import Noun, Verb
from annotated_transformer.corpora.corpus import Corpus
from annotated_transformer.embedding import EOS
from annotated_transformer.modern import MODERN
from annotated_transformer.optimizer import adam, linear_rate, set_rate
from annotated_transformer.writing import (
    LanguageModel,
    LanguageModelConfig,
    sample,
)

from .shared.grid import Result, grid

Sentence = tuple[str, ...]
RECIPE: dict[str, Any] = {
    "model": {"layers": 2, "d_model": 64, "d_ff": 128, "heads": 4},
    "updates": 2700,
    "windows": 24,  # of an update
    "window": 32,  # words that are asked for
    "rate": 6e-3,
    "warmup": 50,
    "look": 50,  # updates between two validations
    "sentences": 20_000,  # of the whole text
    "valid": 500,
    "fresh": 1000,
    "written": 500,  # sentences of a writer that are judged
    "longest": 40,  # words of one
    "judge": 200_000,  # sentences that it has read
    "run": 6,  # classes
}
READ = (1000, 4000, 16_000, 64_000, 256_000)  # words


def nouns() -> Iterable[Noun]:
    """Every noun of the grammar."""
    yield from lexicon.NOUNS.values()
    for role in lexicon.ROLES:
        yield from role
    for sense, _ in lexicon.SENSES:
        yield sense


def verbs() -> Iterable[Verb]:
    """Every verb of the grammar."""
    for kind in lexicon.VERBS.values():
        yield from kind
    yield from lexicon.PLACING + lexicon.GIVING + lexicon.SAYING
    yield from (*lexicon.TRYING, lexicon.WALK, lexicon.RIDE)


@cache
def classes() -> dict[str, str]:
    """The class of each word that has others like it: all that it can be."""
    found: dict[str, set[str]] = {}

    def add(kind: str, *some: str) -> None:
        for word in some:
            found.setdefault(word, set()).add(kind)

    for noun in nouns():
        add("noun", noun.english)
        add("nouns", noun.plural)
    for verb in verbs():
        base, past, participle, _ = verb.english
        add("they do", base)
        add("it does", third_person(base))
        add("did", past)
        add("done", participle)
    others: dict[str, Iterable[str]] = {
        "adjective": lexicon.ADJECTIVES,
        "place": lexicon.PLACES,
        "several": ["many", *(numeral for numeral, _ in lexicon.NUMERALS)],
        "one": ["a", "an", "every"],
        "conjunction": (
            *("if", "before", "after", "because", "although"),
            *("when", "while"),
        ),
    }
    for kind, some in others.items():
        add(kind, *some)
    return {word: " or ".join(sorted(kinds)) for word, kinds in found.items()}


def classified(sentence: Iterable[str]) -> Sentence:
    """The classes of a sentence's words, without adjectives before nouns.

    A word of no class, such as *the*, is a class of its own. Only its case
    tells a first word from others, so case is left out.
    """
    lower = (word.lower() for word in sentence)
    row = [classes().get(word, word) for word in lower]
    kept: list[str] = []
    for place in reversed(range(len(row))):  # behind an adjective, a noun
        noun = bool(kept) and kept[-1].startswith("noun")
        if not (row[place] == "adjective" and noun):
            kept.append(row[place])
    return tuple(reversed(kept))


def runs_of(sentence: Iterable[str]) -> list[Sentence]:
    """The runs of six classes in a sentence, with a mark at either end."""
    row, size = ("<s>", *classified(sentence), "</s>"), RECIPE["run"]
    return [row[i : i + size] for i in range(max(1, len(row) - size + 1))]


@cache
def texts() -> tuple[list[Sentence], ...]:
    """What is learned, what chooses the update, and fresh sentences."""
    sizes = (RECIPE[part] for part in ("sentences", "valid", "fresh"))
    return tuple(
        [tuple(words(one.source)) for one in part]
        for part in example_splits(*sizes)
    )


@cache
def corpus() -> Corpus:
    """The same sentences, with their translations."""
    sizes = (RECIPE[part] for part in ("sentences", "valid", "fresh"))
    train, valid, test = (
        [(one.source, one.target) for one in part]
        for part in example_splits(*sizes)
    )
    pairs = Corpus.from_pairs(train, valid, tests={"fresh": test})
    return replace(pairs, name="grammar")


@cache
def judge() -> frozenset[Sentence]:
    """The runs of classes in many sentences of the grammar."""
    drawn = sentence_pairs(RECIPE["judge"], seed=1)
    return frozenset(x for one in drawn for x in runs_of(words(one.source)))


@cache
def names() -> list[str]:
    """All words that the grammar has, behind three marks."""
    drawn = {
        word for part in texts() for sentence in part for word in sentence
    }
    return ["<pad>", "<s>", "</s>", *sorted(drawn)]


def numbered(sentences: Iterable[Sentence]) -> list[int]:
    """One row of numbers; each sentence ends with the mark of its end."""
    number = {name: i for i, name in enumerate(names())}
    return [number[word] for s in sentences for word in (*s, "</s>")]


def learn(stream: list[int], seed: int) -> tuple[LanguageModel, float]:
    """The best writer of a training on a text, and its validation loss."""
    torch.manual_seed(seed)
    sizes = RECIPE["model"] | {"vocab_size": len(names()), "dropout": 0.0}
    model = LanguageModel(LanguageModelConfig(**sizes, **MODERN))
    optimizer, best = adam(model.parameters()), (torch.inf, model)
    length = RECIPE["window"] + 1
    windows = torch.tensor(stream).unfold(0, length, 1)
    held_out = torch.tensor(numbered(texts()[1])).unfold(0, length, length - 1)

    def loss(rows: torch.Tensor) -> torch.Tensor:
        logits = model.next_logits(rows[:, :-1])
        return F.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())

    for step in range(1, RECIPE["updates"] + 1):
        rate = linear_rate(
            step, RECIPE["rate"], RECIPE["warmup"], RECIPE["updates"]
        )
        set_rate(optimizer, rate)
        some = windows[torch.randint(len(windows), (RECIPE["windows"],))]
        optimizer.zero_grad()
        loss(some).backward()
        optimizer.step()
        if step % RECIPE["look"] == 0:
            with torch.inference_mode():
                found = loss(held_out).item()
            if found < best[0]:
                best = found, deepcopy(model)
    return best[1].eval(), best[0]


def written(model: LanguageModel) -> list[Sentence]:
    """Sentences that a writer draws; "..." is one that does not end."""
    start = torch.full((RECIPE["written"], 1), EOS)
    rows = sample(model, start, RECIPE["longest"])[:, 1:].tolist()
    return [
        tuple(names()[i] for i in row[: row.index(EOS)])
        if EOS in row
        else ("...",)
        for row in rows
    ]


def share(sentences: Iterable[Sentence]) -> float:
    """How many are grammatical: the judge knows each of their runs."""
    found = [judge().issuperset(runs_of(sentence)) for sentence in sentences]
    return sum(found) / len(found)


def write(seed: int, read: int) -> Result:
    """A writer that has read so many words, and how it writes."""
    text = random.Random(seed).sample(texts()[0], len(texts()[0]))
    stream = numbered(text)[:read]
    own = {*text[: stream.count(EOS) + 1]}
    model, loss = learn(stream, seed)
    sentences = written(model)
    new = [sentence for sentence in sentences if sentence not in own]
    return {
        "words": len({*stream}) - 1,
        "loss": round(loss, 4),
        "grammatical": share(sentences),
        "new": len(new) / len(sentences),
        "grammatical of the new": share(new) if new else 0.0,
        "examples": [" ".join(sentence) for sentence in new[:5]],
    }


def swapped(sentence: Sentence, draw: random.Random) -> Sentence:
    """A sentence whose two words at a drawn place have changed places."""
    i = draw.randrange(len(sentence) - 2)
    return *sentence[:i], sentence[i + 1], sentence[i], *sentence[i + 2 :]


def bounds(seed: int) -> Result:
    """What the judge says of fresh sentences, as they are and spoilt."""
    fresh, draw = texts()[2], random.Random(seed)
    return {
        "fresh": share(fresh),
        "swapped": share(swapped(each, draw) for each in fresh),
        "shuffled": share(
            tuple(draw.sample(each, len(each))) for each in fresh
        ),
        "runs": len(judge()),
    }


RUNS = grid(bounds, "bounds seed={seed}", seed=[0])
RUNS |= grid(write, "read={read} seed={seed}", read=READ, seed=range(3))
