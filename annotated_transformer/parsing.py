"""Parsing as translation: trees as strings, and how they are scored (6.3).

Written in book/parsing.ipynb: edit the chapter, then `make package`.
"""

import random
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from annotated_transformer.errors import UserError, check_kind

__all__ = [
    "Tree",
    "leaves",
    "WORD",
    "linearise",
    "delinearise",
    "brackets",
    "Score",
    "bracket_score",
    "PEOPLE",
    "ANIMALS",
    "NOUNS",
    "VERBS",
    "WITH",
    "edge",
    "pick",
    "company",
    "relative",
    "noun_phrase",
    "verb_phrase",
    "sentence",
    "treebank",
]


class Tree(NamedTuple):
    """A phrase: its label, and its words and smaller phrases in order."""

    label: str  # without spaces
    children: tuple["Tree | str", ...]


def leaves(tree: Tree) -> list[str]:
    """The words of a tree, from left to right."""
    words: list[str] = []
    for child in tree.children:
        words += [child] if isinstance(child, str) else leaves(child)
    return words


WORD = "XX"  # stands for any word


def linearise(tree: Tree) -> str:
    """A tree as a string: labelled brackets around a symbol for each word."""
    inner = [
        WORD if isinstance(child, str) else linearise(child)
        for child in tree.children
    ]
    return " ".join([f"({tree.label}", *inner, f"){tree.label}"])


def delinearise(text: str, words: Sequence[str]) -> Tree | None:
    """The tree over the words that a string stands for.

    None if there is no such tree: an unmatched bracket, an empty phrase, no
    phrase around everything, or a different number of symbols than words.
    """
    waiting = list(words)[::-1]
    phrases: list[tuple[str, list]] = [("", [])]  # the open ones
    for token in text.split():
        label, children = phrases[-1]
        if token == WORD and waiting:
            children.append(waiting.pop())
        elif token.startswith("("):
            phrases.append((token[1:], []))
        elif token == f"){label}" and children and len(phrases) > 1:
            phrases.pop()
            phrases[-1][1].append(Tree(label, tuple(children)))
        else:
            return None
    whole = phrases[0][1]
    if waiting or len(phrases) > 1 or len(whole) != 1:
        return None
    return whole[0] if isinstance(whole[0], Tree) else None


def brackets(tree: Tree, start: int = 0) -> Counter[tuple[str, int, int]]:
    """How often each (label, first word, word after the last) occurs."""
    found: Counter[tuple[str, int, int]] = Counter()
    end = start
    for child in tree.children:
        if isinstance(child, Tree):
            found += brackets(child, end)
        end += len(leaves(child)) if isinstance(child, Tree) else 1
    found[tree.label, start, end] += 1
    return found


class Score(NamedTuple):
    """Precision, recall and F1 of brackets, as fractions."""

    precision: float
    recall: float
    f1: float


def bracket_score(found: Sequence[Tree | None], gold: Sequence[Tree]) -> Score:
    """Labelled brackets of a whole text; None is a tree without brackets."""
    right = written = wanted = 0
    for tree, reference in zip(found, gold, strict=True):
        ours = brackets(tree) if tree else Counter()
        theirs = brackets(reference)
        right += (ours & theirs).total()  # with multiplicity
        written += ours.total()
        wanted += theirs.total()
    return Score(
        right / max(1, written),
        right / max(1, wanted),
        2 * right / max(1, written + wanted),
    )


PEOPLE = ("man", "woman", "boy", "girl", "nurse", "king", "doctor", "sailor")
ANIMALS = ("dog", "cat", "horse", "fox", "bear", "goat")
NOUNS = PEOPLE + ANIMALS
VERBS = {  # each verb, with its subjects and its objects
    **dict.fromkeys(("laughed", "sang", "prayed"), (PEOPLE, ())),
    **dict.fromkeys(("howled", "grazed"), (ANIMALS, ())),
    **dict.fromkeys(("saw", "followed", "found"), (NOUNS, NOUNS)),
    **dict.fromkeys(("hit", "woke", "fed"), (PEOPLE, NOUNS)),
    **dict.fromkeys(("drew", "thanked"), (PEOPLE, PEOPLE)),
    **dict.fromkeys(("bit", "licked"), (ANIMALS, NOUNS)),
    **dict.fromkeys(("rode", "groomed"), (PEOPLE, ANIMALS)),
}
WITH = {  # what may follow "with", and the heads it fits
    "telescope": ("saw", "followed", "found", "king", "sailor"),
    "stick": ("hit", "woke", "followed", "man", "dog", "doctor"),
    "brush": ("groomed", "drew", "woman", "goat"),
    "spoon": ("fed", "hit", "nurse", "boy", "bear"),
    "lamp": ("found", "saw", "girl", "doctor", "sailor"),
    "bell": ("woke", "thanked", "goat", "cat", "horse", "nurse"),
    "rope": ("rode", "followed", "horse", "boy", "sailor", "bear"),
    "saddle": ("rode", "found", "horse", "king", "girl"),
    "song": ("thanked", "woke", "woman", "king"),
    "pencil": ("drew", "woke", "girl", "doctor", "fox"),
    "basket": ("fed", "found", "fox", "woman", "cat"),
    "tail": ("hit", "licked", "dog", "fox", "cat"),
}


def edge(tree: Tree) -> list[str]:
    """The verbs and nouns that the next phrase could modify, by form alone.

    These are the heads of the phrases that end where the tree ends.
    """
    words, first, last = leaves(tree), tree.children[0], tree.children[-1]
    if tree.label == "VP":
        heads = words[:1]
    elif tree.label == "NP":
        heads = edge(first)[:1] if isinstance(first, Tree) else words[-1:]
    else:
        heads = []
    return heads + (edge(last) if isinstance(last, Tree) else [])


def pick(rng: random.Random, items: Sequence[str]) -> str:
    """One of the items, all equally likely, the same in every Python."""
    return items[int(rng.random() * len(items))]


def company(rng: random.Random, phrase: Tree, outer: list[str]) -> Tree | None:
    """A "with" phrase that fits the head and no other candidate."""
    head, *others = edge(phrase) + outer
    fitting = [
        thing
        for thing, heads in WITH.items()
        if head in heads and not {*others} & {*heads}
    ]
    if not fitting:
        return None
    return Tree("PP", ("with", Tree("NP", ("the", pick(rng, fitting)))))


def relative(
    rng: random.Random, phrase: Tree, outer: list[str]
) -> Tree | None:
    """A clause whose verb fits the head and no other noun before it."""
    head, *others = edge(phrase) + outer
    role = int(rng.random() < 0.4)  # 0: the head is its subject, 1: its object
    fitting = [
        verb
        for verb, roles in VERBS.items()
        if head in roles[role] and not {*others} & {*roles[role]}
    ]
    if not fitting:
        return None
    verb = pick(rng, fitting)
    if role == 1:
        who = Tree("NP", ("the", pick(rng, VERBS[verb][0])))
        clause = Tree("S", (who, Tree("VP", (verb,))))
    else:
        clause = Tree("S", (verb_phrase(rng, verb, [head, *others]),))
    return Tree("SBAR", (Tree("WHNP", ("that",)), clause))


def noun_phrase(
    rng: random.Random, nouns: Sequence[str], outer: list[str]
) -> Tree:
    """A noun, perhaps with an owner, a "with" phrase or a clause."""
    phrase = Tree("NP", ("the", pick(rng, nouns)))
    if rng.random() < 0.12:
        owner = noun_phrase(rng, NOUNS, edge(phrase) + outer)
        phrase = Tree("NP", (phrase, Tree("PP", ("of", owner))))
    for modifier in (company, relative):
        if rng.random() < 0.3 and (more := modifier(rng, phrase, outer)):
            phrase = Tree("NP", (phrase, more))
    return phrase


def verb_phrase(rng: random.Random, verb: str, outer: list[str]) -> Tree:
    """A verb, its object if it takes one, perhaps a "with" phrase."""
    phrase = Tree("VP", (verb,))
    if objects := VERBS[verb][1]:
        thing = noun_phrase(rng, objects, [verb, *outer])
        phrase = Tree("VP", (verb, thing))
    if rng.random() < 0.4 and (more := company(rng, phrase, outer)):
        phrase = Tree("VP", (*phrase.children, more))
    return phrase


def sentence(rng: random.Random) -> Tree:
    """A sentence with exactly one sensible tree, and that tree."""
    verb = pick(rng, [*VERBS])
    subject = noun_phrase(rng, VERBS[verb][0], [])
    return Tree("S", (subject, verb_phrase(rng, verb, [])))


def treebank(
    count: int, seed: int, fewest: int = 1, most: int = 3
) -> list[Tree]:
    """Trees of distinct sentences with `fewest` to `most` modifiers.

    UserError if so many cannot be found.
    """
    check_kind("fewest", fewest, int, (0, most))
    rng = random.Random(seed)
    kept: dict[str, Tree] = {}
    vain = 0  # draws since the last that was kept
    while len(kept) < count:
        tree = sentence(rng)
        words = leaves(tree)
        modifiers = sum(words.count(word) for word in ("with", "of", "that"))
        text, vain = " ".join(words), vain + 1
        if fewest <= modifiers <= most and text not in kept:
            kept[text], vain = tree, 0
        if vain == 100_000:
            raise UserError(
                f"`count={count}`: only {len(kept)} different sentences have "
                f"{fewest} to {most} modifiers, as far as can be found"
            )
    return [*kept.values()]
