"""Sentences in which a word is decided by another, often in another clause."""

from .clauses import bare_verb, clause_of, copula
from .draw import NOTHING, Draw, Phrase, arrange
from .lexicon import (
    COORDINATORS,
    NEUTRAL,
    NOUNS,
    PLACES,
    QUALITIES,
    ROLES,
    SAYING,
    SENSES,
    TAKES,
    VERBS,
)
from .phrases import (
    noun_phrase,
    place_phrase,
    pronoun_for,
    time_phrase,
    verb_phrase,
)
from .predicates import subject_of
from .sentences import (
    COMMA,
    GERMAN_COMMA,
    STATES,
    conjunction,
    linked,
    statement,
)


def it_was(draw: Draw) -> Phrase:
    """Something does something to a thing, "because it was ...".

    The quality tells which of the two is meant: hungry or expensive.
    """
    past = draw.chance(0.7)
    tense = "past" if past else "present"
    kind = draw.pick(("animal", "animal", "person"))
    subject = subject_of(draw, tense, kind)
    verbs = VERBS["handling"] if kind == "person" else VERBS["grabbing"]
    verb = draw.pick(verbs)
    deed = bare_verb(draw, verb)
    thing = noun_phrase(draw, verb.objects, deed.german.case, relative=tense)
    deed = deed._replace(after=thing.source, middle=thing.target)
    living = kind == "animal" and draw.chance(0.5)
    food = "taste" if thing.kind == "food" else "trait"
    quality = draw.pick(QUALITIES["mood" if living else food])
    pronoun = pronoun_for(draw, subject if living else thing, "nominative")
    if draw.chance(0.3):
        word = draw.pick(tuple(COORDINATORS))
        link = draw.unit(word, draw.vary(COORDINATORS[word]))
        main = clause_of(draw, subject, deed, tense)
        return arrange(
            (main, COMMA, link, copula(draw, pronoun, quality, past, "main"))
        )
    _, link = conjunction(draw, past, ("because", "although"))
    main = statement(draw, subject, deed, tense)
    reason = copula(draw, pronoun, quality, past)
    return arrange((main, GERMAN_COMMA, link, reason))


def he_did_it(draw: Draw) -> Phrase:
    """When someone has done one thing to it, they do another to it."""
    past = draw.chance(0.7)
    tense = "past" if past else "present"
    person = subject_of(draw, tense, "person")
    verb = draw.pick(VERBS["handling"])
    first = bare_verb(draw, verb)
    thing = noun_phrase(draw, verb.objects, first.german.case, relative=tense)
    first = first._replace(after=thing.source, middle=thing.target)
    others = tuple(
        v
        for v in TAKES[thing.noun]
        if v in VERBS["handling"] and v is not verb
    )
    second = bare_verb(draw, draw.pick(others))
    word, link = conjunction(draw, past)
    inner = "pluperfect" if word == "after" else tense
    clause = clause_of(draw, person, first, inner, "final")
    it = pronoun_for(draw, thing, second.german.case)
    who = pronoun_for(draw, person, "nominative")
    second = second._replace(after=it.source, middle=it.target)
    main = clause_of(draw, who, second, tense, "inverted")
    return arrange((link, clause, COMMA, main))


def role(draw: Draw) -> Phrase:
    """He or she tells whether the doctor is an Arzt or an Ärztin."""
    draw.phenomena.add("role")
    sex = int(draw.chance(0.5))
    noun = draw.pick(ROLES)[sex]
    past = draw.chance(0.7)
    tense = "past" if past else "present"
    shape = draw.pick(("reason", "reason", "belief", "belonging"))
    someone = noun_phrase(draw, (noun,), plural=False)
    if shape == "belonging":
        verb = draw.pick(VERBS["handling"])
        deed = bare_verb(draw, verb)
        own = noun_phrase(
            draw,
            verb.objects,
            deed.german.case,
            determiner=("his", "her")[sex],
        )
        draw.cues.append((someone.link, own.source[0][1]))
        deed = deed._replace(after=own.source, middle=own.target)
        return statement(draw, someone, deed, tense)
    pronoun = pronoun_for(draw, someone, "nominative")
    draw.cues.append((someone.link, pronoun.link))
    quality = draw.pick(QUALITIES["mood"])
    if shape == "belief":
        deed = bare_verb(draw, draw.pick(SAYING))
        main = clause_of(draw, someone, deed, tense)
        that = draw.unit("that", "dass")
        reason = copula(draw, pronoun, quality, past)
        return arrange((main, GERMAN_COMMA, that, reason))
    deed = verb_phrase(draw, VERBS["handling"], relative=tense)
    _, link = conjunction(draw, past, STATES)
    reason = copula(draw, pronoun, quality, past)
    return linked(draw, link, reason, someone, deed, tense)


def sense(draw: Draw) -> Phrase:
    """A word of two senses, and a person or a place that decides."""
    draw.phenomena.add("sense")
    noun, cues = draw.pick(SENSES)
    cue = draw.pick(cues)
    tense = draw.pick(("past", "past", "present", "perfect"))
    deed = bare_verb(draw, draw.pick(NEUTRAL))
    word = noun_phrase(draw, (noun,), "accusative")
    deed = deed._replace(after=word.source, middle=word.target)
    if cue in PLACES:
        place = place_phrase(draw, cue)
        draw.cues.append((word.link, place.source[-1][1]))
        someone = subject_of(draw, tense, "person", relative=False)
        if draw.chance(0.5):
            clause = clause_of(draw, someone, deed, tense, "inverted")
            return arrange((place, clause))
        return clause_of(draw, someone, deed, tense, "main", place)
    past = tense != "present"
    expert = noun_phrase(draw, (NOUNS[cue],), plural=False)
    draw.cues.append((word.link, expert.link))
    if draw.chance(0.35):
        time = time_phrase(draw, tense) if draw.chance(0.5) else NOTHING
        return clause_of(draw, expert, deed, tense, "main", time)
    tense = "past" if past else "present"
    someone = subject_of(draw, tense, "person", relative=False)
    quality = draw.pick(QUALITIES["mood"])
    _, link = conjunction(draw, past, STATES)
    reason = copula(draw, expert, quality, past)
    return linked(draw, link, reason, someone, deed, tense)
