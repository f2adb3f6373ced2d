"""Trees as strings for the translators, and how well they are parsed."""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from random import Random
from statistics import fmean

import torch

from annotated_transformer.data import Example, pad
from annotated_transformer.decoding import (
    beam_search,
    first_state,
    model_step,
)
from annotated_transformer.embedding import EOS, PAD, UNK
from annotated_transformer.model import EncoderDecoder
from annotated_transformer.parsing import (
    NOUNS,
    VERBS,
    WITH,
    WORD,
    Tree,
    bracket_score,
    delinearise,
    leaves,
    linearise,
    treebank,
)

from .grid import Result

Span = tuple[int, int]  # of words: the first, and the one after the last
MORE, ALPHA = 300, 0.3  # tokens beyond the source; length penalty (6.3)
TRAIN, VALID, TEST, DEEP = 2000, 300, 500, 200  # sentences


@cache
def trees() -> dict[str, list[Tree]]:
    """Training, validation and test trees of 1 to 3 modifiers, and deep ones.

    The deep ones have 4 to 6, which no model meets in training.
    """
    drawn = treebank(TRAIN + VALID + TEST, seed=0)
    found = {
        "test": drawn[:TEST],
        "valid": drawn[TEST : TEST + VALID],
        "train": drawn[TEST + VALID :],
    }
    return found | {"deep": treebank(DEEP, 0, fewest=4, most=6)}


@cache
def vocabulary() -> dict[str, int]:
    """The id of each word and each bracket of the training trees."""
    tokens = {
        token
        for tree in trees()["train"]
        for token in leaves(tree) + linearise(tree).split()
    }
    return {token: i for i, token in enumerate(sorted(tokens), UNK + 1)}


def ids(tokens: Iterable[str]) -> list[int]:
    """The ids of words or brackets, closed by EOS."""
    known = vocabulary()
    return [*(known.get(token, UNK) for token in tokens), EOS]


def training_trees(sentences: int) -> list[Tree]:
    """So many training trees, those of `trees` first."""
    return treebank(TEST + VALID + sentences, seed=0)[TEST + VALID :]


def examples(
    chosen: Sequence[Tree], exchanged: int | None = None
) -> list[Example]:
    """Sentences and their trees as ids.

    With a seed in exchanged, a tree has the sentence of another one of as
    many words: a control.
    """
    sources = [leaves(tree) for tree in chosen]
    if exchanged is not None:
        rng = Random(exchanged)
        drawn = rng.sample(sources, len(sources))
        drawn.sort(key=len)  # stable: chance decides among equal lengths
        places = sorted(range(len(sources)), key=lambda i: len(sources[i]))
        sources = [
            words for _, words in sorted(zip(places, drawn, strict=True))
        ]
    return [
        (ids(words), ids(linearise(tree).split()))
        for words, tree in zip(sources, chosen, strict=True)
    ]


def form(tree: Tree) -> str:
    """What is left of a sentence if only the kinds of its words are seen."""
    kinds = dict.fromkeys(VERBS, "verb") | dict.fromkeys(
        (*NOUNS, *WITH), "noun"
    )
    return " ".join(kinds.get(word, word) for word in leaves(tree))


def by_form(train: Sequence[Tree], test: Sequence[Tree]) -> list[str]:
    """The commonest tree of each sentence's form; nothing for a new form."""
    seen: dict[str, Counter[str]] = {}
    for tree in train:
        seen.setdefault(form(tree), Counter())[linearise(tree)] += 1
    best = {kind: found.most_common(1)[0][0] for kind, found in seen.items()}
    return [best.get(form(tree), "") for tree in test]


def parents(tree: Tree, start: int = 0) -> dict[Span, tuple[str, int]]:
    """Of each modifier, by its words: what it belongs to, from which word."""
    found: dict[Span, tuple[str, int]] = {}
    end = start
    for child in tree.children:
        here, end = end, end + 1
        if isinstance(child, Tree):
            end = here + len(leaves(child))
            found |= parents(child, here)
            if child.label in ("PP", "SBAR"):
                found[here, end] = (tree.label, start)
    return found


def scores(outputs: Sequence[str], gold: Sequence[Tree]) -> Result:
    """Bracket F1, exact and well-formed trees, modifiers in their place.

    "balanced" are the outputs that are a tree over some sentence, though its
    length may be another; "lenient_f1" counts their brackets too.
    """
    found = [
        delinearise(text, leaves(tree))
        for text, tree in zip(outputs, gold, strict=True)
    ]
    lenient = [
        delinearise(text, [WORD] * text.split().count(WORD))
        for text in outputs
    ]
    placed = [
        one is not None and parents(one).get(where) == parent
        for one, tree in zip(found, gold, strict=True)
        for where, parent in parents(tree).items()
    ]
    pairs = zip(found, gold, strict=True)
    result = bracket_score(found, gold)._asdict() | {
        "exact": fmean(one == tree for one, tree in pairs),
        "well_formed": fmean(one is not None for one in found),
        "placed": fmean(placed),
        "balanced": fmean(one is not None for one in lenient),
        "lenient_f1": bracket_score(lenient, gold).f1,
    }
    return {name: round(number, 4) for name, number in result.items()}


@torch.no_grad()
def parse(
    model: EncoderDecoder,
    sources: Sequence[list[int]],
    more: int = MORE,
    width: int = 1,
) -> list[str]:
    """What a model writes: at most so many tokens more than the source."""
    names = {i: token for token, i in vocabulary().items()}
    written = []
    for i in range(0, len(sources), 100):
        source = pad(sources[i : i + 100])
        step, state = model_step(model), first_state(model, source)
        limits = (source != PAD).sum(1) + more
        found = beam_search(step, state, limits, width, ALPHA)
        written += [
            " ".join(names.get(i, "?") for i in best[0].tokens)
            for best in found
        ]
    return written
