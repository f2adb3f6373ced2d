"""A pronoun whose noun is in the sentence before, and a translator of both.

The built-in grammar's sentences that end with "because it was hungry" or the
like are cut in two: "The dog ate the soup. It was hungry." One translator
learns both sentences at once, another each by itself, of the same texts in as
many updates. None of them reads the book's sentence or a variation of it.

New texts are translated, and all variations of the book's sentence. A text is
contested where nouns of different gender stand before "it". Of the second
sentence alone no more can be known than how often the training text has each
pronoun there. The rule "shares" takes the most frequent one, and its nats are
the least that a translator of single sentences needs for a pronoun, on
average, where the words before it are given.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import islice
from math import log
from statistics import fmean
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from annotated_transformer.corpora.builtin import (
    GrammarExample,
    sentence_pairs,
)
from annotated_transformer.corpora.corpus import Corpus
from annotated_transformer.corpora.generated import FOLLOWED
from annotated_transformer.data import Pair, Tokenizer, pad
from annotated_transformer.embedding import BOS
from annotated_transformer.model import Transformer
from annotated_transformer.runs.prepare import learn_tokenizer
from annotated_transformer.runs.recipes import RECIPES
from annotated_transformer.teaching.pronoun_sentences import (
    PRONOUNS,
    variations,
)
from annotated_transformer.translation import Translator, corpus_scores

from .pronoun_resolution import cases, pronouns_in
from .shared.grid import Result, grid
from .shared.training_loops import trained

DRAWN = {"train": 120_000, "valid": 2_000, "test": 25_000}  # before the cut
DRAWN_SEED = 2000
SECOND = "It was hungry."  # whose shares and chances are kept
BASE = replace(
    RECIPES["pronouns"],
    train=replace(RECIPES["pronouns"].train, steps=3000),
    vocab_size=1000,
)
RECIPE = BASE.as_json() | {"drawn": DRAWN, "second": SECOND}
WAYS = ("both at once", "one at a time")
ENGLISH = re.compile(r"(.+?),? (because|although|and|but) (\w+ \w+ \w+)\.")
GERMAN = re.compile(r"(.+), (\w+) (er|sie|es) (\w+) (\w+)\.")
ORDERED = {"und", "aber", "doch"}  # that leave the verb in its place


class Text(NamedTuple):
    """Two sentences in both languages, and the one that they were."""

    source: tuple[str, str]
    target: tuple[str, str]
    example: GrammarExample

    @property
    def pair(self) -> Pair:
        """Both sentences as one text."""
        return " ".join(self.source), " ".join(self.target)

    @property
    def singles(self) -> list[Pair]:
        """Each sentence as a text."""
        return [*zip(self.source, self.target, strict=True)]


def cut(example: GrammarExample) -> Text | None:
    """A sentence in two, if it ends with a clause of three words."""
    english = ENGLISH.fullmatch(example.source)
    german = GERMAN.fullmatch(example.target)
    if not english or not german or FOLLOWED.fullmatch(example.source):
        return None
    first, word, pronoun, one, other = german.groups()
    verb, quality = (one, other) if word in ORDERED else (other, one)
    return Text(
        (f"{english[1]}.", f"{english[3].capitalize()}."),
        (f"{first}.", f"{pronoun.capitalize()} {verb} {quality}."),
        example,
    )


@cache
def texts() -> dict[str, list[Text]]:
    """What is learned from, looked at and tested; these two are new."""
    drawn = iter(sentence_pairs(sum(DRAWN.values()), DRAWN_SEED))
    parts: dict[str, list[Text]] = {}
    read: set[str] = set()
    for name, count in DRAWN.items():
        found = filter(None, map(cut, islice(drawn, count)))
        parts[name] = [text for text in found if text.pair[0] not in read]
        read |= {text.pair[0] for text in parts["train"]}
    return parts


@cache
def corpus() -> Corpus:
    """The texts of two sentences."""
    train, valid, test = (
        [text.pair for text in some] for some in texts().values()
    )
    tests = {"test": test}
    return Corpus.from_pairs(train, valid, tests=tests, name="two sentences")


@cache
def tokenizer() -> Tokenizer:
    """The one vocabulary of all runs."""
    return learn_tokenizer(corpus(), BASE)


@cache
def asked() -> dict[str, list[Text]]:
    """The tested texts whose "it" means a thing or an animal, by kind."""
    of = {text.example.source: text for text in texts()["test"]}
    found = [*cases(text.example for text in of.values())]
    return {
        "all": [of[case.example.source] for case in found],
        "contested": [
            of[case.example.source] for case in found if case.contested
        ],
    }


def pronoun(text: Text) -> str:
    """With which the second German sentence begins."""
    return pronouns_in(text.target[1])[0]


@cache
def shares() -> dict[str, Counter[str]]:
    """By second sentence, how often the training text has each pronoun."""
    found: dict[str, Counter[str]] = {}
    for text in texts()["train"]:
        found.setdefault(text.source[1], Counter())[pronoun(text)] += 1
    return found


def share(second: str, said: str) -> float:
    """That of a pronoun after a second sentence."""
    counts = shares()[second]
    return counts[said] / counts.total()


def by_shares(seed: int) -> Result:
    """What the second sentence alone says of the pronoun."""
    del seed
    result: Result = {
        name: fmean(
            shares()[x.source[1]].most_common(1)[0][0] == pronoun(x)
            for x in some
        )
        for name, some in asked().items()
    }
    nats = [-log(share(x.source[1], pronoun(x))) for x in asked()["all"]]
    return result | {
        "nats": fmean(nats),
        "chances": [share(SECOND, said) for said in PRONOUNS],
        "texts": {name: len(some) for name, some in texts().items()}
        | {name: len(some) for name, some in asked().items()},
    }


@torch.no_grad()
def chances(
    model: Transformer, given: Sequence[Pair]
) -> Float[Tensor, "texts pronouns"]:
    """Of each of PRONOUNS as the next word, after what is written so far."""
    pieces = tokenizer()
    ids = [pieces.encode(said.capitalize())[0] for said in PRONOUNS]
    rows = []
    for source, written in given:
        target = [BOS, *pieces.encode(written)[:-1]]  # without the end
        logits = model(pad([pieces.encode(source)]), torch.tensor([target]))
        rows.append(logits[0, -1].softmax(-1)[ids])
    return torch.stack(rows)


def given(way: str, text: Text) -> Pair:
    """What the pronoun is predicted from: a source, and what is written."""
    if way == "both at once":
        return text.pair[0], text.target[0]
    return text.source[1], ""


def train(way: str, seed: int) -> Result:
    """Train; pronouns that are right, and how well they are predicted."""
    pieces = tokenizer()
    learned = texts()["train"]
    pairs = [text.pair for text in learned]
    if way == "one at a time":
        pairs = [pair for text in learned for pair in text.singles]
    model = trained(BASE, seed, pairs, pieces)
    split = "en" if way == "one at a time" else ""
    translator = Translator(model.eval(), pieces, beam=1, split=split)
    some = asked()["all"]
    outputs = dict(
        zip(some, translator([x.pair[0] for x in some]), strict=True)
    )
    result: Result = {
        name: fmean(pronouns_in(outputs[x]) == [pronoun(x)] for x in found)
        for name, found in asked().items()
    }
    swaps = [*variations()]
    written = translator(
        [
            f"The {x.animal} ate the {x.food}. It was {x.quality}."
            for x in swaps
        ]
    )
    result["variations"] = fmean(
        pronouns_in(text) == [PRONOUNS[x.right]]
        for x, text in zip(swaps, written, strict=True)
    )
    places = torch.tensor([PRONOUNS.index(pronoun(x)) for x in some])
    found = chances(model, [given(way, x) for x in some])
    nats = -found.log().gather(1, places[:, None])
    result["nats"] = nats.mean().item()
    references = [x.pair[1] for x in some]
    result["bleu"] = corpus_scores([*outputs.values()], references).bleu
    if way == "one at a time":
        (alone,) = chances(model, [(SECOND, "")]).tolist()
        result["chances"] = alone
    return result


RUNS = grid(by_shares, "shares seed={seed}", seed=[0])
RUNS |= grid(train, "{way} seed={seed}", way=WAYS, seed=range(3))
