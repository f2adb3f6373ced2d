"""Phrases of the built-in corpus, each built in both languages at once.

A word is a pair (text, link). Words of the two languages that carry the same
link translate each other; link 0 is a word without counterpart. A rule only
has to put the words of each language in order: the alignment follows.
"""

import random
from typing import NamedTuple

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
    Choice,
    GermanVerb,
    Modal,
    Noun,
    Verb,
)

Word = tuple[str, int]
AUXILIARIES = {
    ("haben", "perfect"): ("hat", "haben"),
    ("haben", "pluperfect"): ("hatte", "hatten"),
    ("sein", "perfect"): ("ist", "sind"),
    ("sein", "pluperfect"): ("war", "waren"),
}
CONTRACTIONS = {"in dem": "im", "in das": "ins", "an dem": "am"}


class Phrase(NamedTuple):
    """The words of one phrase in both languages."""

    source: tuple[Word, ...] = ()
    target: tuple[Word, ...] = ()


class Nominal(NamedTuple):
    """A noun phrase, with what other words agree with."""

    source: tuple[Word, ...]
    target: tuple[Word, ...]
    kind: str
    column: int  # 0 masculine, 1 feminine, 2 neuter, 3 plural
    link: int
    noun: Noun | None = None
    negated: bool = False  # "kein" has taken the "not"

    @property
    def plural(self) -> bool:
        """Whether verbs take their plural form."""
        return self.column == 3


class Predicate(NamedTuple):
    """A verb, and what follows it in each language."""

    english: tuple[str, ...]
    german: GermanVerb
    link: int
    after: tuple[Word, ...] = ()
    middle: tuple[Word, ...] = ()
    negation: int = 0  # the link of "not"


OTHER = QUALITIES["thing"]
NOTHING = Phrase()
NOBODY = Nominal((), (), "", 0, 0)


def arrange(source, target=None) -> Phrase:
    """One phrase of many: the parts in the order of each language."""
    target = source if target is None else target
    return Phrase(
        tuple(word for part in source for word in part.source),
        tuple(word for part in target for word in part.target),
    )


def third_person(base: str) -> str:
    """The English present after he, she or it."""
    if base.endswith(("s", "sh", "ch", "x", "o")):
        return base + "es"
    if base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "ies"
    return base + "s"


class Draw:
    """One random sentence in the making.

    Only `random()` is asked of the generator: its stream is the same in
    every version of Python, that of `choice` is not.
    """

    def __init__(self, rng: random.Random):
        self.uniform = rng.random
        self.links = 0
        self.probability = 1.0  # of the target given the source
        self.entropy = 0.0
        self.phenomena: set[str] = set()
        self.cues: list[tuple[int, int]] = []  # (decided, deciding) links
        self.used: set[str] = set()
        self.clauses = 1  # relative clauses that may still come

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self.uniform() < probability

    def pick(self, items):
        """One of the items, each as likely; part of the source."""
        return items[int(self.uniform() * len(items))]

    def vary(self, choice: Choice):
        """One of the free variants of the target, and note its chance."""
        if len(choice.values) == 1:
            return choice.values[0]
        draw, index = self.uniform(), 0
        while draw >= choice.probabilities[index] and (
            index < len(choice.values) - 1
        ):
            draw -= choice.probabilities[index]
            index += 1
        self.probability *= choice.probabilities[index]
        self.entropy += choice.entropy
        return choice.values[index]

    def link(self) -> int:
        """A new link."""
        self.links += 1
        return self.links

    def unit(self, source: str, target: str, link: int = 0) -> Phrase:
        """Words that translate each other as a whole."""
        link = link or self.link()
        return Phrase(
            tuple((word, link) for word in source.split()),
            tuple((word, link) for word in target.split()),
        )

    # --- Noun phrases

    def noun_phrase(
        self,
        nouns: tuple[Noun, ...],
        case: str = "nominative",
        plural: bool | None = None,
        determiner: str = "",
        shown: bool = False,  # the verb shows the number
        relative="",  # the time of a relative clause that may follow
        negation: int = 0,
    ) -> Nominal:
        """A noun with determiner and adjective, perhaps a relative clause."""
        noun = self.pick(nouns)
        for _ in range(9):  # rather a noun that is not yet in the sentence
            if noun.english not in self.used:
                break
            noun = self.pick(nouns)
        self.used.add(noun.english)
        determiner = determiner or self.pick(("the", "the", "the", "a"))
        plural = self.chance(0.25) if plural is None else plural
        if not noun.plural:
            plural = False
            determiner = "the" if determiner == "a" else determiner
        if noun.plural == noun.english and determiner == "the" and not shown:
            determiner = "a"  # "the sheep" may be one or many
        german = self.vary(noun.german)
        column = 3 if plural else german.gender
        link = self.link()
        kein = determiner == "no"
        article, endings = self.determiner(
            determiner, case, column, negation, bool(noun.plural)
        )
        parts = [article]
        if self.chance(0.3):
            quality = self.pick(QUALITIES.get(noun.kind, OTHER))
            stem = self.vary(ADJECTIVES[quality])[1]
            ending = ENDINGS[endings][case][column]
            parts.append(self.unit(quality, stem + ending))
        word = german.singular if case == "nominative" else german.oblique
        if plural:
            word = german.plural
            if case == "dative" and word[-1] not in "ns":
                word += "n"
        english = noun.plural if plural else noun.english
        parts.append(self.unit(english, word, link))
        phrase = arrange(parts)
        whole = Nominal(*phrase, noun.kind, column, link, noun, kein)
        if relative and self.clauses and self.chance(0.28):
            self.clauses -= 1
            clause = self.relative(whole, relative)
            joined = arrange((phrase, clause))
            whole = whole._replace(source=joined.source, target=joined.target)
        return whole

    def determiner(self, name, case, column, negation=0, count=True):
        """The determiner, and the declension of the adjectives after it."""
        ein = ENDINGS["ein"][case][column]
        if name == "the":
            return self.unit("the", ENDINGS["der"][case][column]), "weak"
        if name == "no":
            self.phenomena.add("negation")
            article = "a" if column < 3 and count else ""
            return self.unit(article, "kein" + ein, negation), "mixed"
        if name in ("his", "her"):
            possessive = {"his": "sein", "her": "ihr"}[name]
            return self.unit(name, possessive + ein), "mixed"
        if column < 3:
            return self.unit("a", "ein" + ein), "mixed"
        if self.chance(0.4):
            return NOTHING, "strong"
        self.phenomena.add("numeral")
        return self.unit(*self.pick(NUMERALS)), "strong"

    def pronoun(self, person: Nominal, case: str) -> Nominal:
        """He, she, it or they for a noun phrase."""
        subject = case == "nominative"
        if person.plural:
            english = "they" if subject else "them"
        elif person.kind in ("person", "expert"):
            pair = (("he", "him"), ("she", "her"))[person.column]
            english = pair[0] if subject else pair[1]
        else:
            english = "it"
            self.phenomena.add("pronoun")
        link = self.link()
        self.cues.append((link, person.link))
        german = ENDINGS["er"][case][person.column]
        return Nominal(
            *self.unit(english, german, link),
            person.kind,
            person.column,
            link,
            person.noun,
        )

    def relative(self, head: Nominal, time: str) -> Phrase:
        """A relative clause: its pronoun is the subject or the object."""
        self.phenomena |= {"relative", "verb-final"}
        that, case, subject = self.link(), "nominative", NOBODY
        if head.kind in VERBS and self.chance(0.5):
            subject = NOBODY._replace(column=head.column)
            predicate = self.predicate(VERBS[head.kind])
        else:
            verb = self.pick(TAKES[head.noun.english])
            predicate = self.verb(verb)
            case = predicate.german.case
            subject = self.noun_phrase(
                KINDS["person"], shown=time == "present"
            )
        self.cues.append((that, head.link))
        pronoun = ENDINGS["relative"][case][head.column]
        clause = self.clause(subject, predicate, time, "final")
        opened = Phrase((("that", that),), ((",", 0), (pronoun, that)))
        return arrange((opened, clause, Phrase((), ((",", 0),))))

    def place(self, name: str, case: str = "dative", to: str = "") -> Phrase:
        """In, at or to a place: dative where, accusative whither."""
        english, choice = PLACES[name]
        german, gender, noun = self.vary(choice)
        article = ENDINGS["der"][case]["mfn".index(gender)]
        joined = CONTRACTIONS.get(f"{german} {article}")
        self.used.add(name)
        name_unit = self.unit(name, noun)
        if joined:
            return arrange(
                (self.unit(f"{to or english} the", joined), name_unit)
            )
        preposition = self.unit(to or english, german)
        return arrange((preposition, self.unit("the", article), name_unit))

    def time(self, tense) -> Phrase:
        """A time adverbial that goes with the tense."""
        word, choice = self.pick(TIMES[getattr(tense, "time", tense)])
        return self.unit(word, self.vary(choice))

    # --- Verbs and clauses

    def verb(self, verb: Verb) -> Predicate:
        """A verb without its objects."""
        return Predicate(verb.english, self.vary(verb.german), self.link())

    def predicate(
        self, verbs: tuple[Verb, ...], negative=False, relative=""
    ) -> Predicate:
        """A verb and its object, if it takes one; perhaps negated."""
        verb = self.pick(verbs)
        bare = self.verb(verb)
        negation = self.link() if negative else 0
        source, target, kein = (), (), False
        if verb.objects:
            source, target, *_, kein = self.noun_phrase(
                verb.objects,
                bare.german.case,
                determiner=(negative and self.pick(("no", "the"))) or "",
                relative="" if negative else relative,
                negation=negation,
            )
        if negative:
            self.phenomena.add("negation")
            target += () if kein else (("nicht", negation),)
        return bare._replace(after=source, middle=target, negation=negation)

    def verb_words(self, predicate: Predicate, tense, plural: bool):
        """English words; German words in second place, and at the end."""
        base, past, participle, particle = predicate.english
        german, verb, helper = predicate.german, predicate.link, self.link()
        no = [("not", predicate.negation)] if predicate.negation else []
        infinitive = german.particle + german.infinitive
        if german.particle:
            self.phenomena.add("separable")
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

    def clause(
        self, subject, predicate, tense, order="main", time=NOTHING
    ) -> Phrase:
        """Subject and predicate in "main", "inverted" or "final" order."""
        for name in ("perfect", "pluperfect"):
            if tense == name:
                self.phenomena.add("perfect")
        if isinstance(tense, Modal):
            self.phenomena.add("modal")
        english, second, end = self.verb_words(
            predicate, tense, subject.plural
        )
        source = subject.source + english + predicate.after + time.source
        middle = time.target + predicate.middle
        if order == "main":
            return Phrase(source, subject.target + second + middle + end)
        if order == "inverted":
            self.phenomena.add("inversion")
            return Phrase(source, second + subject.target + middle + end)
        self.phenomena.add("verb-final")
        if predicate.german.particle and tense in ("present", "past"):
            end, second = ((end[0][0] + second[0][0], end[0][1]),), ()
        return Phrase(source, subject.target + middle + end + second)

    def copula(self, subject, quality, past: bool, order="final") -> Phrase:
        """The subject is, or was, of some quality."""
        verb = (("is", "ist"), ("are", "sind"), ("was", "war"))
        verb += (("were", "waren"),)
        be = self.unit(*verb[2 * past + subject.plural])
        adjective = self.unit(quality, self.vary(ADJECTIVES[quality])[0])
        german = {
            "main": (subject, be, adjective),
            "inverted": (be, subject, adjective),
            "final": (subject, adjective, be),
        }
        return arrange((subject, be, adjective), german[order])
