"""What somebody does, in which tense: subjects and predicates."""

from .clauses import bare_verb
from .draw import Draw, Nominal, Predicate, arrange
from .lexicon import (
    ATTACHING,
    ATTRIBUTES,
    GIVING,
    GOALS,
    GROUPS,
    INSTRUMENTS,
    KINDS,
    MODALS,
    NOUNS,
    PLACING,
    RIDE,
    TRAVEL,
    VERBS,
    WALK,
    Modal,
    Tense,
)
from .phrases import noun_phrase, place_phrase, verb_phrase


def tense_of(draw: Draw) -> Tense:
    """Past, present, perfect or a modal verb."""
    tenses = (("past", 4), ("present", 3), ("perfect", 2), ("modal", 2))
    tense = draw.pick([t for t, weight in tenses for _ in range(weight)])
    return draw.pick(MODALS) if tense == "modal" else tense


def time_of(tense: Tense) -> str:
    """Present or past: the time that a tense or a modal verb speaks of."""
    time = tense.time if isinstance(tense, Modal) else tense
    return "present" if time == "present" else "past"


def subject_of(
    draw: Draw, tense: Tense, kind: str = "", relative: bool = True
) -> Nominal:
    """Who acts; perhaps two of a kind, perhaps with a relative clause."""
    kind = kind or draw.pick(
        ("person", "person", "expert", "child", "animal", "animal", "vehicle")
    )
    shown = tense in ("present", "perfect")
    if kind in ("person", "expert", "animal") and draw.chance(0.12):
        draw.phenomena.add("coordination")
        pair = [noun_phrase(draw, KINDS[kind], plural=False) for _ in "ab"]
        both = arrange((pair[0], draw.unit("and", "und"), pair[1]))
        return pair[0]._replace(**both._asdict(), column=3)
    subject = noun_phrase(
        draw,
        KINDS[kind],
        shown=shown,
        relative=time_of(tense) if relative else "",
    )
    if any(word == "that" for word, _ in subject.source):
        draw.phenomena.add("agreement")
    return subject


def predicate_of(draw: Draw, subject: Nominal, tense: Tense) -> Predicate:
    """What one does; people do more than verb and object can say."""
    if subject.kind in ("person", "expert") and draw.chance(0.6):
        rule = draw.pick((attaching, attaching, giving, placing, travelling))
        return rule(draw)
    negative = not isinstance(tense, Modal) and draw.chance(0.12)
    verbs = VERBS[subject.kind]
    return verb_phrase(draw, verbs, negative=negative, relative=time_of(tense))


def attaching(draw: Draw) -> Predicate:
    """With an instrument or with a description: the verb tells."""
    draw.phenomena.add("attachment")
    verb = draw.pick(ATTACHING)
    bare = bare_verb(draw, verb)
    nouns = tuple(n for n in verb.objects if n.kind in ATTRIBUTES)
    thing = noun_phrase(draw, nouns, bare.german.case)
    tools = INSTRUMENTS[verb.english[0]]
    tool = bool(tools) and draw.chance(0.55)
    names = tools if tool else ATTRIBUTES[thing.kind]
    fitting = tuple(n for n in names if tool or n not in tools)
    many = thing.kind in ("food", "container", "dish") and not tool
    noun = noun_phrase(draw, tuple(NOUNS[n] for n in fitting), "dative", many)
    link = draw.link()
    phrase = arrange((draw.unit("with", "mit", link), noun))
    draw.cues.append((link, bare.link if tool else thing.link))
    parts = (phrase, thing) if tool else (thing, phrase)
    both = arrange((thing, phrase), parts)
    return bare._replace(after=both.source, middle=both.target)


def giving(draw: Draw) -> Predicate:
    """Two objects: English has two orders, German the dative first."""
    draw.phenomena.add("giving")
    bare = bare_verb(draw, draw.pick(GIVING))
    people = GROUPS["anyone"]
    person = noun_phrase(draw, people, "dative", determiner="the")
    thing = noun_phrase(draw, GROUPS["item"], "accusative")
    source = person.source + thing.source
    if draw.chance(0.5):
        to = (("to", draw.link()),)
        source = thing.source + to + person.source
    return bare._replace(after=source, middle=person.target + thing.target)


def placing(draw: Draw) -> Predicate:
    """Upright things are gestellt, flat ones gelegt, on an accusative."""
    draw.phenomena.add("placing")
    verb = draw.pick(PLACING)
    bare = bare_verb(draw, verb)
    thing = noun_phrase(draw, verb.objects, "accusative")
    surface = noun_phrase(draw, KINDS["surface"], "accusative", False)
    both = arrange((thing, draw.unit("on", "auf"), surface))
    draw.cues.append((bare.link, thing.link))
    return bare._replace(after=both.source, middle=both.target)


def travelling(draw: Draw) -> Predicate:
    """By what one goes decides the verb: gehen or fahren."""
    draw.phenomena.add("travel")
    means = draw.pick(tuple(TRAVEL))
    bare = bare_verb(draw, WALK if means == "on foot" else RIDE)
    goal = place_phrase(draw, draw.pick(GOALS), "accusative", "to")
    link = draw.link()
    way = draw.unit(means, draw.vary(TRAVEL[means]), link)
    draw.cues.append((bare.link, link))
    both = arrange((goal, way), (way, goal))
    return bare._replace(after=both.source, middle=both.target)
