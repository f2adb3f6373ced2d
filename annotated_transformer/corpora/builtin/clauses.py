"""Clauses of the built-in corpus: the forms of a verb and their places."""

from .draw import (
    NOTHING,
    Draw,
    Nominal,
    Part,
    Phrase,
    Predicate,
    Words,
    arrange,
)
from .lexicon import ADJECTIVES, Modal, Tense, Verb

AUXILIARIES = {
    ("haben", "perfect"): ("hat", "haben"),
    ("haben", "pluperfect"): ("hatte", "hatten"),
    ("sein", "perfect"): ("ist", "sind"),
    ("sein", "pluperfect"): ("war", "waren"),
}
BE = (
    (("is", "ist"), ("are", "sind")),
    (("was", "war"), ("were", "waren")),
)


def bare_verb(draw: Draw, verb: Verb) -> Predicate:
    """A verb without its objects."""
    return Predicate(verb.english, draw.vary(verb.german), draw.link())


def third_person(base: str) -> str:
    """The English present after he, she or it."""
    if base.endswith(("s", "sh", "ch", "x", "o")):
        return base + "es"
    if base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "ies"
    return base + "s"


def verb_words(
    draw: Draw, predicate: Predicate, tense: Tense, plural: bool
) -> tuple[Words, Words, Words]:
    """English words; German words in second place, and at the end."""
    base, past, participle, particle = predicate.english
    german, verb, helper = predicate.german, predicate.link, draw.link()
    no = [("not", predicate.negation)] if predicate.negation else []
    infinitive = german.particle + german.infinitive
    if german.particle:
        draw.phenomena.add("separable")
    second = helper
    if isinstance(tense, Modal):
        english = [(w, helper) for w in tense.english[plural].split("_")]
        english += [(base, verb)]
        finite, rest = tense.german[plural], infinitive
    elif tense == "infinitive":
        english = [("to", verb), (base, verb)]
        finite = ""
        rest = f"{german.particle}zu{german.infinitive}"
        if not german.particle:
            rest = f"zu {german.infinitive}"
    elif tense == "perfect":
        finite = AUXILIARIES[german.auxiliary, tense][plural]
        rest = german.participle
        has = ("have" if plural else "has", helper)
        english = [has, *no, (participle, verb)]
    else:
        present, second = tense == "present", verb
        do = ("do" if plural else "does") if present else "did"
        form = base if plural else third_person(base)
        form = form if present else past
        english = [(do, verb), *no, (base, verb)] if no else [(form, verb)]
        finite, rest = german.past, german.particle
        if tense == "pluperfect":  # "after he came": simple in English
            finite = AUXILIARIES[german.auxiliary, tense][plural]
            rest = german.participle
        elif present:
            finite = german.infinitive if plural else german.present
        elif plural:
            finite += "n" if finite.endswith("e") else "en"
    if particle:
        english.append((particle, verb))
    seconds = ((finite, second),) if finite else ()
    ends = tuple((word, verb) for word in rest.split())
    return tuple(english), seconds, ends


def clause_of(
    draw: Draw,
    subject: Nominal,
    predicate: Predicate,
    tense: Tense,
    order: str = "main",
    time: Phrase = NOTHING,
) -> Phrase:
    """Subject and predicate in "main", "inverted" or "final" order."""
    if tense in ("perfect", "pluperfect"):
        draw.phenomena.add("perfect")
    if isinstance(tense, Modal):
        draw.phenomena.add("modal")
    english, second, end = verb_words(draw, predicate, tense, subject.plural)
    source = subject.source + english + predicate.after + time.source
    middle = time.target + predicate.middle
    if order == "main":
        return Phrase(source, subject.target + second + middle + end)
    if order == "inverted":
        draw.phenomena.add("inversion")
        return Phrase(source, second + subject.target + middle + end)
    draw.phenomena.add("verb-final")
    if predicate.german.particle and tense in ("present", "past"):
        end, second = ((end[0][0] + second[0][0], end[0][1]),), ()
    return Phrase(source, subject.target + middle + end + second)


def copula(
    draw: Draw,
    subject: Nominal,
    quality: str,
    past: bool,
    order: str = "final",
) -> Phrase:
    """The subject is, or was, of some quality."""
    be = draw.unit(*BE[past][subject.plural])
    adjective = draw.unit(quality, draw.vary(ADJECTIVES[quality])[0])
    german: dict[str, tuple[Part, ...]] = {
        "main": (subject, be, adjective),
        "inverted": (be, subject, adjective),
        "final": (subject, adjective, be),
    }
    return arrange((subject, be, adjective), german[order])
