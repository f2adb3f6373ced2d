"""Sentence rules of the built-in corpus: what depends on what, and where."""

from .lexicon import (
    CONJUNCTIONS,
    COORDINATORS,
    NEUTRAL,
    NOUNS,
    PLACES,
    QUALITIES,
    ROLES,
    SAYING,
    SCENES,
    SENSES,
    TAKES,
    TRYING,
    VERBS,
    Choice,
)
from .phrases import NOTHING, Draw, Phrase, arrange
from .predicates import attaching, predicate_of, subject_of, tense_of

COMMA = Phrase(((",", -1),), ((",", -1),))  # one that both languages write
GERMAN_COMMA = Phrase((), ((",", 0),))
STATES = ("because", "although", "when", "while")
# Does a time that English puts last stay in the middle, or come first?
FRONTED = Choice((False, True), (0.8, 0.2), 0.5004024235381879)


def statement(draw: Draw, subject, predicate, tense) -> Phrase:
    """A main clause, perhaps with a time or a place at either end."""
    aside = NOTHING
    if draw.chance(0.35):
        aside = draw.time(tense)
    elif "travel" not in draw.phenomena and draw.chance(0.15):
        name = draw.pick(SCENES)
        aside = draw.place(name)
    if aside is NOTHING:
        return draw.clause(subject, predicate, tense)
    if draw.chance(0.5):
        clause = draw.clause(subject, predicate, tense, "inverted")
        return arrange((aside, clause))
    if draw.vary(FRONTED):
        clause = draw.clause(subject, predicate, tense, "inverted")
        return arrange((clause, aside), (aside, clause))
    return draw.clause(subject, predicate, tense, "main", aside)


def plain(draw: Draw) -> Phrase:
    """One clause, or two predicates of one subject."""
    tense = tense_of(draw)
    subject = subject_of(draw, tense)
    predicate = predicate_of(draw, subject, tense)
    if tense not in ("present", "past") or not draw.chance(0.2):
        return statement(draw, subject, predicate, tense)
    draw.phenomena.add("coordination")
    first = draw.clause(subject, predicate, tense)
    nobody = subject._replace(source=(), target=())
    more = draw.predicate(VERBS[subject.kind])
    second = draw.clause(nobody, more, tense)
    return arrange((first, draw.unit("and", "und"), second))


def attached(draw: Draw) -> Phrase:
    """One clause with a "with" that belongs to the verb or to the object."""
    tense = tense_of(draw)
    subject = subject_of(draw, tense, draw.pick(("person", "expert")))
    return statement(draw, subject, attaching(draw), tense)


def trying(draw: Draw) -> Phrase:
    """An infinitive with zu, which a separable verb takes inside."""
    draw.phenomena.add("infinitive")
    tense = draw.pick(("past", "past", "present", "perfect"))
    subject = subject_of(draw, tense, "person")
    effort = draw.verb(draw.pick(TRYING))
    deed = draw.predicate(VERBS["human"])
    english, _, infinitive = draw.verb_words(deed, "infinitive", False)
    head = statement(draw, subject, effort, tense)
    comma = GERMAN_COMMA if deed.middle else NOTHING
    tail = Phrase(english + deed.after, deed.middle + infinitive)
    return arrange((head, comma, tail))


def conjunction(draw: Draw, past: bool, known=None) -> tuple[str, Phrase]:
    """A subordinating conjunction: "when" is als or wenn by the time."""
    german = dict(CONJUNCTIONS["past" if past else "present"])
    word = draw.pick(known or tuple(german))
    return word, draw.unit(word, draw.vary(german[word]))


def joined(draw: Draw, link: Phrase, clause: Phrase, main) -> Phrase:
    """A subordinate clause after or before its main clause."""
    if draw.chance(0.5):
        first = arrange((link, clause, COMMA))
        return arrange((first, main("inverted")))
    return arrange((main("main"), GERMAN_COMMA, link, clause))


def subordinate(draw: Draw) -> Phrase:
    """Two clauses, two subjects."""
    past = draw.chance(0.6)
    tense = "past" if past else "present"
    word, link = conjunction(draw, past)
    first, second = subject_of(draw, tense), subject_of(draw, tense)
    inner = "pluperfect" if word == "after" else tense
    clause = draw.clause(
        first, predicate_of(draw, first, inner), inner, "final"
    )
    deed = predicate_of(draw, second, tense)
    return joined(
        draw,
        link,
        clause,
        lambda order: draw.clause(second, deed, tense, order),
    )


def saying(draw: Draw) -> Phrase:
    """A clause with dass, whose verb waits for the end."""
    tense = draw.pick(("past", "present"))
    speaker = subject_of(draw, tense, "person")
    word = draw.clause(speaker, draw.verb(draw.pick(SAYING)), tense)
    subject = subject_of(draw, tense)
    deed = predicate_of(draw, subject, tense)
    clause = draw.clause(subject, deed, tense, "final")
    that = draw.unit("that", "dass")
    return arrange((word, GERMAN_COMMA, that, clause))


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
    deed = draw.verb(verb)
    thing = draw.noun_phrase(verb.objects, deed.german.case, relative=tense)
    deed = deed._replace(after=thing.source, middle=thing.target)
    living = kind == "animal" and draw.chance(0.5)
    food = "taste" if thing.kind == "food" else "trait"
    quality = draw.pick(QUALITIES["mood" if living else food])
    pronoun = draw.pronoun(subject if living else thing, "nominative")
    if draw.chance(0.3):
        word = draw.pick(tuple(COORDINATORS))
        link = draw.unit(word, draw.vary(COORDINATORS[word]))
        main = draw.clause(subject, deed, tense)
        return arrange(
            (main, COMMA, link, draw.copula(pronoun, quality, past, "main"))
        )
    word = draw.pick(("because", "although"))
    german = dict(CONJUNCTIONS[tense])[word]
    link = draw.unit(word, draw.vary(german))
    main = statement(draw, subject, deed, tense)
    reason = draw.copula(pronoun, quality, past)
    return arrange((main, GERMAN_COMMA, link, reason))


def he_did_it(draw: Draw) -> Phrase:
    """When someone has done one thing to it, they do another to it."""
    past = draw.chance(0.7)
    tense = "past" if past else "present"
    person = subject_of(draw, tense, "person")
    verb = draw.pick(VERBS["handling"])
    first = draw.verb(verb)
    thing = draw.noun_phrase(verb.objects, first.german.case, relative=tense)
    first = first._replace(after=thing.source, middle=thing.target)
    others = tuple(
        v
        for v in TAKES[thing.noun.english]
        if v in VERBS["handling"] and v is not verb
    )
    second = draw.verb(draw.pick(others))
    word, link = conjunction(draw, past)
    inner = "pluperfect" if word == "after" else tense
    clause = draw.clause(person, first, inner, "final")
    it = draw.pronoun(thing, second.german.case)
    who = draw.pronoun(person, "nominative")
    second = second._replace(after=it.source, middle=it.target)
    main = draw.clause(who, second, tense, "inverted")
    return arrange((link, clause, COMMA, main))


def role(draw: Draw) -> Phrase:
    """He or she tells whether the doctor is an Arzt or an Ärztin."""
    draw.phenomena.add("role")
    sex = int(draw.chance(0.5))
    noun = draw.pick(ROLES)[sex]
    past = draw.chance(0.7)
    tense = "past" if past else "present"
    shape = draw.pick(("reason", "reason", "belief", "belonging"))
    someone = draw.noun_phrase((noun,), plural=False)
    if shape == "belonging":
        verb = draw.pick(VERBS["handling"])
        deed = draw.verb(verb)
        own = draw.noun_phrase(
            verb.objects, deed.german.case, determiner=("his", "her")[sex]
        )
        draw.cues.append((someone.link, own.source[0][1]))
        deed = deed._replace(after=own.source, middle=own.target)
        return statement(draw, someone, deed, tense)
    pronoun = draw.pronoun(someone, "nominative")
    draw.cues.append((someone.link, pronoun.link))
    quality = draw.pick(QUALITIES["mood"])
    if shape == "belief":
        deed = draw.verb(draw.pick(SAYING))
        main = draw.clause(someone, deed, tense)
        that = draw.unit("that", "dass")
        reason = draw.copula(pronoun, quality, past)
        return arrange((main, GERMAN_COMMA, that, reason))
    deed = draw.predicate(VERBS["handling"], relative=tense)
    _, link = conjunction(draw, past, STATES)
    reason = draw.copula(pronoun, quality, past)
    return joined(
        draw,
        link,
        reason,
        lambda order: draw.clause(someone, deed, tense, order),
    )


def sense(draw: Draw) -> Phrase:
    """A word of two senses, and a person or a place that decides."""
    draw.phenomena.add("sense")
    noun, cues = draw.pick(SENSES)
    cue = draw.pick(cues)
    tense = draw.pick(("past", "past", "present", "perfect"))
    deed = draw.verb(draw.pick(NEUTRAL))
    word = draw.noun_phrase((noun,), "accusative")
    deed = deed._replace(after=word.source, middle=word.target)
    if cue in PLACES:
        place = draw.place(cue)
        draw.cues.append((word.link, place.source[-1][1]))
        someone = subject_of(draw, tense, "person", relative=False)
        if draw.chance(0.5):
            clause = draw.clause(someone, deed, tense, "inverted")
            return arrange((place, clause))
        return draw.clause(someone, deed, tense, "main", place)
    past = tense != "present"
    expert = draw.noun_phrase((NOUNS[cue],), plural=False)
    draw.cues.append((word.link, expert.link))
    if draw.chance(0.35):
        time = draw.time(tense) if draw.chance(0.5) else NOTHING
        return draw.clause(expert, deed, tense, "main", time)
    tense = "past" if past else "present"
    someone = subject_of(draw, tense, "person", relative=False)
    quality = draw.pick(QUALITIES["mood"])
    _, link = conjunction(draw, past, STATES)
    reason = draw.copula(expert, quality, past)
    return joined(
        draw,
        link,
        reason,
        lambda order: draw.clause(someone, deed, tense, order),
    )
