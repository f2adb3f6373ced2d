"""Sentences of the built-in corpus: clauses, their order and their joints."""

from .clauses import bare_verb, clause_of, verb_words
from .draw import NOTHING, Draw, Nominal, Phrase, Predicate, arrange
from .lexicon import CONJUNCTIONS, SAYING, SCENES, TRYING, VERBS, Choice, Tense
from .phrases import place_phrase, time_phrase, verb_phrase
from .predicates import attaching, predicate_of, subject_of, tense_of

COMMA = Phrase(((",", -1),), ((",", -1),))  # one that both languages write
GERMAN_COMMA = Phrase((), ((",", 0),))
STATES = ("because", "although", "when", "while")
# Does a time that English puts last stay in the middle, or come first?
FRONTED = Choice((False, True), (0.8, 0.2), 0.5004024235381879)


def statement(
    draw: Draw, subject: Nominal, predicate: Predicate, tense: Tense
) -> Phrase:
    """A main clause, perhaps with a time or a place at either end."""
    aside = NOTHING
    if draw.chance(0.35):
        aside = time_phrase(draw, tense)
    elif "travel" not in draw.phenomena and draw.chance(0.15):
        name = draw.pick(SCENES)
        aside = place_phrase(draw, name)
    if aside is NOTHING:
        return clause_of(draw, subject, predicate, tense)
    if draw.chance(0.5):
        clause = clause_of(draw, subject, predicate, tense, "inverted")
        return arrange((aside, clause))
    if draw.vary(FRONTED):
        clause = clause_of(draw, subject, predicate, tense, "inverted")
        return arrange((clause, aside), (aside, clause))
    return clause_of(draw, subject, predicate, tense, "main", aside)


def plain(draw: Draw) -> Phrase:
    """One clause, or two predicates of one subject."""
    tense = tense_of(draw)
    subject = subject_of(draw, tense)
    predicate = predicate_of(draw, subject, tense)
    if tense not in ("present", "past") or not draw.chance(0.2):
        return statement(draw, subject, predicate, tense)
    draw.phenomena.add("coordination")
    first = clause_of(draw, subject, predicate, tense)
    nobody = subject._replace(source=(), target=())
    more = verb_phrase(draw, VERBS[subject.kind])
    second = clause_of(draw, nobody, more, tense)
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
    effort = bare_verb(draw, draw.pick(TRYING))
    deed = verb_phrase(draw, VERBS["human"])
    english, _, infinitive = verb_words(draw, deed, "infinitive", False)
    head = statement(draw, subject, effort, tense)
    comma = GERMAN_COMMA if deed.middle else NOTHING
    tail = Phrase(english + deed.after, deed.middle + infinitive)
    return arrange((head, comma, tail))


def conjunction(
    draw: Draw, past: bool, known: tuple[str, ...] = ()
) -> tuple[str, Phrase]:
    """A subordinating conjunction: "when" is als or wenn by the time."""
    german = dict(CONJUNCTIONS["past" if past else "present"])
    word = draw.pick(known or tuple(german))
    return word, draw.unit(word, draw.vary(german[word]))


def linked(
    draw: Draw,
    link: Phrase,
    clause: Phrase,
    subject: Nominal,
    predicate: Predicate,
    tense: Tense,
) -> Phrase:
    """A subordinate clause after or before its main clause, of a subject."""
    if draw.chance(0.5):
        main = clause_of(draw, subject, predicate, tense, "inverted")
        return arrange((link, clause, COMMA, main))
    main = clause_of(draw, subject, predicate, tense)
    return arrange((main, GERMAN_COMMA, link, clause))


def subordinate(draw: Draw) -> Phrase:
    """Two clauses, two subjects."""
    past = draw.chance(0.6)
    tense = "past" if past else "present"
    word, link = conjunction(draw, past)
    first, second = subject_of(draw, tense), subject_of(draw, tense)
    inner = "pluperfect" if word == "after" else tense
    clause = clause_of(
        draw, first, predicate_of(draw, first, inner), inner, "final"
    )
    deed = predicate_of(draw, second, tense)
    return linked(draw, link, clause, second, deed, tense)


def saying(draw: Draw) -> Phrase:
    """A clause with dass, whose verb waits for the end."""
    tense = draw.pick(("past", "present"))
    speaker = subject_of(draw, tense, "person")
    word = clause_of(draw, speaker, bare_verb(draw, draw.pick(SAYING)), tense)
    subject = subject_of(draw, tense)
    deed = predicate_of(draw, subject, tense)
    clause = clause_of(draw, subject, deed, tense, "final")
    that = draw.unit("that", "dass")
    return arrange((word, GERMAN_COMMA, that, clause))
