"""The words of the built-in corpus: `lexicon.toml` as typed tables."""

import math
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")
Entry = str | dict[str, float]  # one translation, or several and how likely


@dataclass(frozen=True)
class Choice(Generic[T]):
    """The free variants of a translation and their probabilities."""

    values: tuple[T, ...]
    probabilities: tuple[float, ...]
    entropy: float  # in nats


class GermanNoun(NamedTuple):
    """A noun's gender (0 masculine, 1 feminine, 2 neuter) and its forms."""

    gender: int
    singular: str
    plural: str
    oblique: str  # accusative and dative singular


class Noun(NamedTuple):
    """An English noun, its kind and its translation."""

    english: str
    plural: str  # "" for a mass noun
    kind: str
    german: Choice[GermanNoun]


class GermanVerb(NamedTuple):
    """The forms of a German verb; the particle is "" or separable."""

    particle: str
    infinitive: str
    present: str
    past: str
    participle: str
    auxiliary: str
    case: str


class Verb(NamedTuple):
    """English forms (base, past, participle, particle), and what it takes."""

    english: tuple[str, str, str, str]
    german: Choice[GermanVerb]
    objects: tuple[Noun, ...]


class Modal(NamedTuple):
    """Singular and plural of a modal verb, and the time it speaks of."""

    english: tuple[str, str]
    german: tuple[str, str]
    time: str


Tense = str | Modal


def _choice(entry: Entry, read: Callable[[str], T]) -> Choice[T]:
    """A string, or a table of strings with probabilities, each one read."""
    table = {entry: 1.0} if isinstance(entry, str) else entry
    weights = tuple(table.values())
    assert math.isclose(sum(weights), 1.0), entry
    entropy = -sum(p * math.log(p) for p in weights)
    return Choice(tuple(read(text) for text in table), weights, entropy)


def _german_noun(text: str) -> GermanNoun:
    gender, singular, plural, *rest = text.split()
    oblique = rest[0] if rest else singular
    return GermanNoun("mfn".index(gender), singular, plural, oblique)


def _german_verb(text: str) -> GermanVerb:
    first, present, past, participle, *marks = text.split()
    particle, _, infinitive = first.rpartition("|")
    auxiliary = "sein" if "ist" in marks else "haben"
    case = "dative" if "dat" in marks else "accusative"
    forms = (particle, infinitive, present, past, particle + participle)
    return GermanVerb(*forms, auxiliary, case)


def _adjective(text: str) -> tuple[str, str]:
    predicative, *stem = text.split()
    return predicative, stem[0] if stem else predicative


def _noun(english: str, kind: str, entry: Entry) -> Noun:
    german = _choice(entry, _german_noun)
    sibilant = english.endswith(("s", "x", "ch", "sh"))
    regular = english + ("es" if sibilant else "s")
    plural = _TABLES["plurals"].get(english, regular)
    mass = german.values[0].plural == "-"
    return Noun(english, "" if mass else plural, kind, german)


def _nouns(name: str) -> tuple[Noun, ...]:
    """The nouns of a kind or a group, or the one noun of that name."""
    if name in _TABLES["groups"]:
        parts = _TABLES["groups"][name]
        return tuple(noun for part in parts for noun in _nouns(part))
    return KINDS.get(name) or (NOUNS[name],)


def _verb(english: str, entry: Entry, objects: tuple[Noun, ...] = ()) -> Verb:
    base, past, participle, *particle = english.split()
    forms = (base, past, participle, " ".join(particle))
    return Verb(forms, _choice(entry, _german_verb), objects)


def _verbs(table: dict[str, dict[str, Entry]]) -> tuple[Verb, ...]:
    return tuple(
        _verb(english, entry, () if kind == "-" else GROUPS[kind])
        for english, senses in table.items()
        for kind, entry in senses.items()
    )


_TABLES = tomllib.loads(
    resources.files(__package__).joinpath("lexicon.toml").read_text("utf-8")
)
KINDS = {
    kind: tuple(_noun(word, kind, entry) for word, entry in table.items())
    for kind, table in _TABLES["nouns"].items()
}
NOUNS = {noun.english: noun for kind in KINDS.values() for noun in kind}
GROUPS = {name: _nouns(name) for name in (*_TABLES["groups"], *KINDS, *NOUNS)}
VERBS = {kind: _verbs(table) for kind, table in _TABLES["verbs"].items()}
VERBS["person"] = VERBS["expert"] = VERBS["human"]
# What people and animals do with things: verbs with no living object.
LIVING = {noun for kind in ("anyone", "animal") for noun in GROUPS[kind]}
VERBS["handling"], VERBS["grabbing"] = (
    tuple(
        verb
        for verb in VERBS[kind]
        if verb.objects and LIVING.isdisjoint(verb.objects)
    )
    for kind in ("human", "animal")
)
# The verbs by what they can be done to.
TAKES = {
    noun.english: tuple(v for v in VERBS["human"] if noun in v.objects)
    for noun in NOUNS.values()
}
ROLES = tuple(
    tuple(_noun(word, "person", german) for german in pair)
    for word, pair in _TABLES["roles"].items()
)
SENSES = tuple(
    (_noun(word, "odd", german), tuple(cues))
    for word, senses in _TABLES["senses"].items()
    for german, cues in senses.items()
)
# Place: English preposition, and German preposition, gender and noun.
PLACES = {
    place: (preposition, _choice(entry, lambda text: text.split()[1:]))
    for place, entry in _TABLES["places"].items()
    for preposition in [_choice(entry, str).values[0].split()[0]]
}
SCENES, GOALS = (tuple(names) for names in _TABLES["place_groups"].values())
TRAVEL = {
    means: _choice(entry, str) for means, entry in _TABLES["travel"].items()
}
ADJECTIVES = {
    english: _choice(entry, _adjective)
    for english, entry in _TABLES["adjectives"].items()
}
QUALITIES = {kind: tuple(w) for kind, w in _TABLES["qualities"].items()}
QUALITIES["expert"] = QUALITIES["person"]
PLACING = tuple(
    _verb("place placed placed", german, GROUPS[kind])
    for kind, german in _TABLES["place_on"].items()
)
GIVING, SAYING, TRYING = (
    tuple(_verb(english, entry) for english, entry in _TABLES[name].items())
    for name in ("verbs_of_giving", "verbs_with_that", "verbs_with_to")
)
WALK, RIDE = (
    _verb("go went gone", entry) for entry in _TABLES["motion"].values()
)
MODALS = tuple(
    Modal((forms[0], forms[1]), (forms[2], forms[3]), time)
    for time, lines in _TABLES["modals"].items()
    for forms in (line.split() for line in lines)
)
INSTRUMENTS = {v: tuple(n) for v, n in _TABLES["instruments"].items()}
ATTRIBUTES = {k: tuple(n) for k, n in _TABLES["attributes"].items()}
ATTACHING = tuple(
    verb
    for verb in VERBS["human"]
    if verb.english[0] in INSTRUMENTS
    and any(noun.kind in ATTRIBUTES for noun in verb.objects)
)
NEUTRAL = tuple(
    verb
    for verb in VERBS["human"]
    if verb.english[0] in _TABLES["neutral"]["verbs"]
)
CONJUNCTIONS, TIMES = (
    {
        time: tuple(
            (word, _choice(entry, str)) for word, entry in table.items()
        )
        for time, table in _TABLES[name].items()
    }
    for name in ("conjunctions", "times")
)
COORDINATORS = {
    word: _choice(entry, str)
    for word, entry in _TABLES["coordinators"].items()
}
NUMERALS = tuple(_TABLES["numerals"].items())
ENDINGS = _TABLES["endings"]
