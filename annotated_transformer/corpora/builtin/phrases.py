"""Phrases of the built-in corpus: nouns and what goes with them."""

from .clauses import bare_verb, clause_of
from .draw import NOBODY, NOTHING, Draw, Nominal, Phrase, Predicate, arrange
from .lexicon import (
    ADJECTIVES,
    ENDINGS,
    KINDS,
    NUMERALS,
    PLACES,
    QUALITIES,
    TAKES,
    TIMES,
    VERBS,
    Modal,
    Noun,
    Tense,
    Verb,
)

CONTRACTIONS = {"in dem": "im", "in das": "ins", "an dem": "am"}
OTHER = QUALITIES["thing"]


def noun_phrase(
    draw: Draw,
    nouns: tuple[Noun, ...],
    case: str = "nominative",
    plural: bool | None = None,
    determiner: str = "",
    shown: bool = False,  # the verb shows the number
    relative: str = "",  # the time of a relative clause that may follow
    negation: int = 0,
) -> Nominal:
    """A noun with determiner and adjective, perhaps a relative clause."""
    noun = draw.pick(nouns)
    for _ in range(9):  # rather a noun that is not yet in the sentence
        if noun.english not in draw.used:
            break
        noun = draw.pick(nouns)
    draw.used.add(noun.english)
    determiner = determiner or draw.pick(("the", "the", "the", "a"))
    plural = draw.chance(0.25) if plural is None else plural
    if not noun.plural:
        plural = False
        determiner = "the" if determiner == "a" else determiner
    if noun.plural == noun.english and determiner == "the" and not shown:
        determiner = "a"  # "the sheep" may be one or many
    german = draw.vary(noun.german)
    column = 3 if plural else german.gender
    link = draw.link()
    kein = determiner == "no"
    article, endings = determiner_words(
        draw, determiner, case, column, negation, bool(noun.plural)
    )
    parts = [article]
    if draw.chance(0.3):
        quality = draw.pick(QUALITIES.get(noun.kind, OTHER))
        stem = draw.vary(ADJECTIVES[quality])[1]
        ending = ENDINGS[endings][case][column]
        parts.append(draw.unit(quality, stem + ending))
    word = german.singular if case == "nominative" else german.oblique
    if plural:
        word = german.plural
        if case == "dative" and word[-1] not in "ns":
            word += "n"
    english = noun.plural if plural else noun.english
    parts.append(draw.unit(english, word, link))
    phrase = arrange(parts)
    whole = Nominal(*phrase, noun.kind, column, link, noun.english, kein)
    if relative and draw.clauses and draw.chance(0.28):
        draw.clauses -= 1
        clause = relative_clause(draw, whole, relative)
        joined = arrange((phrase, clause))
        whole = whole._replace(source=joined.source, target=joined.target)
    return whole


def determiner_words(
    draw: Draw,
    name: str,
    case: str,
    column: int,
    negation: int,
    count: bool,
) -> tuple[Phrase, str]:
    """The determiner, and the declension of the adjectives after it."""
    ein = ENDINGS["ein"][case][column]
    if name == "the":
        return draw.unit("the", ENDINGS["der"][case][column]), "weak"
    if name == "no":
        draw.phenomena.add("negation")
        article = "a" if column < 3 and count else ""
        return draw.unit(article, "kein" + ein, negation), "mixed"
    if name in ("his", "her"):
        possessive = {"his": "sein", "her": "ihr"}[name]
        return draw.unit(name, possessive + ein), "mixed"
    if column < 3:
        return draw.unit("a", "ein" + ein), "mixed"
    if draw.chance(0.4):
        return NOTHING, "strong"
    draw.phenomena.add("numeral")
    return draw.unit(*draw.pick(NUMERALS)), "strong"


def pronoun_for(draw: Draw, person: Nominal, case: str) -> Nominal:
    """He, she, it or they for a noun phrase."""
    subject = case == "nominative"
    if person.plural:
        english = "they" if subject else "them"
    elif person.kind in ("person", "expert"):
        pair = (("he", "him"), ("she", "her"))[person.column]
        english = pair[0] if subject else pair[1]
    else:
        english = "it"
        draw.phenomena.add("pronoun")
    link = draw.link()
    draw.cues.append((link, person.link))
    german = ENDINGS["er"][case][person.column]
    return Nominal(
        *draw.unit(english, german, link),
        person.kind,
        person.column,
        link,
        person.noun,
    )


def relative_clause(draw: Draw, head: Nominal, time: str) -> Phrase:
    """A relative clause: its pronoun is the subject or the object."""
    draw.phenomena |= {"relative", "verb-final"}
    that, case, subject = draw.link(), "nominative", NOBODY
    if head.kind in VERBS and draw.chance(0.5):
        subject = NOBODY._replace(column=head.column)
        predicate = verb_phrase(draw, VERBS[head.kind])
    else:
        verb = draw.pick(TAKES[head.noun])
        predicate = bare_verb(draw, verb)
        case = predicate.german.case
        subject = noun_phrase(draw, KINDS["person"], shown=time == "present")
    draw.cues.append((that, head.link))
    pronoun = ENDINGS["relative"][case][head.column]
    clause = clause_of(draw, subject, predicate, time, "final")
    opened = Phrase((("that", that),), ((",", 0), (pronoun, that)))
    return arrange((opened, clause, Phrase((), ((",", 0),))))


def place_phrase(
    draw: Draw, name: str, case: str = "dative", to: str = ""
) -> Phrase:
    """In, at or to a place: dative where, accusative whither."""
    english, choice = PLACES[name]
    german, gender, noun = draw.vary(choice)
    article = ENDINGS["der"][case]["mfn".index(gender)]
    joined = CONTRACTIONS.get(f"{german} {article}")
    draw.used.add(name)
    name_unit = draw.unit(name, noun)
    if joined:
        return arrange((draw.unit(f"{to or english} the", joined), name_unit))
    preposition = draw.unit(to or english, german)
    return arrange((preposition, draw.unit("the", article), name_unit))


def time_phrase(draw: Draw, tense: Tense) -> Phrase:
    """A time adverbial that goes with the tense."""
    time = tense.time if isinstance(tense, Modal) else tense
    word, choice = draw.pick(TIMES[time])
    return draw.unit(word, draw.vary(choice))


def verb_phrase(
    draw: Draw,
    verbs: tuple[Verb, ...],
    negative: bool = False,
    relative: str = "",
) -> Predicate:
    """A verb and its object, if it takes one; perhaps negated."""
    verb = draw.pick(verbs)
    bare = bare_verb(draw, verb)
    negation = draw.link() if negative else 0
    thing = NOBODY
    if verb.objects:
        thing = noun_phrase(
            draw,
            verb.objects,
            bare.german.case,
            determiner=(negative and draw.pick(("no", "the"))) or "",
            relative="" if negative else relative,
            negation=negation,
        )
    target = thing.target
    if negative:
        draw.phenomena.add("negation")
        target += () if thing.negated else (("nicht", negation),)
    return bare._replace(after=thing.source, middle=target, negation=negation)
