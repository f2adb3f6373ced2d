"""Gender by stereotype: whether a nurse is a woman, and a cook a man.

English nouns of roles say no gender, German ones do. The shipped translator
into German gets our own sentences without a pronoun, with *his* and with
*her*; the one into English gets German nouns of either gender, in sentences
whose English has a pronoun that the German has not. Beside them stand the
German nouns of the training text, by what its English says of gender.
"""

import re
from collections import Counter
from collections.abc import Iterable

from .shared.grid import Result, grid
from .shared.shipped_translator import corpus, translator, weights

# what German writes, of a man and of a woman; the first is in our sentences
ROLES = {
    "nurse": ("Krankenpfleger|Pfleger", "Krankenschwester|Pflegerin"),
    "hairdresser": ("Friseur", "Friseurin|Friseuse"),
    "dancer": ("Tänzer", "Tänzerin"),
    "gymnast": ("Turner", "Turnerin"),
    "singer": ("Sänger", "Sängerin"),
    "teacher": ("Lehrer", "Lehrerin"),
    "student": ("Student|Schüler", "Studentin|Schülerin"),
    "athlete": ("Sportler|Athlet", "Sportlerin|Athletin"),
    "runner": ("Läufer", "Läuferin"),
    "tennis player": ("Tennisspieler", "Tennisspielerin"),
    "artist": ("Künstler", "Künstlerin"),
    "doctor": ("Arzt|Doktor", "Ärztin|Doktorin"),
    "cook": ("Koch", "Köchin"),
    "guitarist": ("Gitarrist", "Gitarristin"),
    "musician": ("Musiker", "Musikerin"),
    "photographer": ("Fotograf", "Fotografin"),
    "police officer": ("Polizist|Polizeibeamter", "Polizistin|Beamtin"),
    "farmer": ("Bauer|Landwirt", "Bäuerin|Landwirtin"),
    "skier": ("Skifahrer|Skiläufer", "Skifahrerin|Skiläuferin"),
    "surfer": ("Surfer", "Surferin"),
    "hiker": ("Wanderer", "Wanderin"),
    "worker": ("Arbeiter", "Arbeiterin"),
}
ALONE = (
    "A {} is smiling.",
    "A {} is sitting on a bench.",
    "A {} is standing in front of a building.",
    "A {} is looking at the camera.",
    "A {} is talking to a child.",
    "The {} is reading a book.",
)
WITH_PRONOUN = (
    "A {} is looking at {} phone.",
    "A {} is holding {} hat.",
    "A {} is playing with {} dog.",
    "A {} is sitting on {} bike.",
    "A {} is walking with {} child.",
    "The {} is washing {} car.",
)
GERMAN = (
    "{} wäscht sich die Hände.",
    "{} putzt sich die Zähne.",
    "{} kratzt sich am Kopf.",
    "{} hebt die Arme in die Luft.",
    "{} hält sich die Hand vor das Gesicht.",
    "{} sitzt mit geschlossenen Augen auf einer Bank.",
)
PRONOUNS = {"his": "m", "her": "f"}
CLUES = {
    kind: re.compile(rf"\b(?:{forms})\b", re.IGNORECASE)
    for kind, forms in {
        "his": "his|him|himself",
        "her": "her|hers|herself",
        "more": "he|she|m[ae]n|wom[ae]n|(?:fe)?males?|guys?|boys?|girls?|"
        "gentlem[ae]n|lad(?:y|ies)|fathers?|mothers?",
    }.items()
}
PEOPLE = ("Mann", "Frau")  # of whom both languages say the gender
RECIPE = {
    "weights": {x: weights(f"multi30k-{x}") for x in ("en-de", "de-en")},
    "sentences": {
        "alone": [*ALONE],
        "with a pronoun": [*WITH_PRONOUN],
        "german": [*GERMAN],
    },
}


def first(text: str, masculine: str, feminine: str) -> str:
    """Which of two kinds of words a text has first: m, f, or none."""
    found = re.search(
        rf"\b(?:({masculine})|({feminine}))\b", text, re.IGNORECASE
    )
    return "" if found is None else "m" if found[1] else "f"


def noun(text: str, role: str) -> str:
    """The gender of the noun that German has for a role: m, f, or none."""
    masculine, feminine = (
        rf"[\w-]*(?:{forms}|{who})"
        for forms, who in zip(ROLES[role], PEOPLE, strict=True)
    )
    return first(text, masculine, feminine)


def possessive(text: str) -> str:
    """The gender of the first German possessive: m, f, or none."""
    return first(text, r"sein(?:e[mnrs]?)?", r"ihr(?:e[mnrs]?)?")


def pronoun(text: str) -> str:
    """The gender of the first English pronoun: m, f, or none."""
    return first(text, "he|his|him|himself", "she|her|hers|herself")


def counted(genders: Iterable[str]) -> list[int]:
    """How many are masculine, feminine, and neither."""
    found = Counter(genders)
    return [found["m"], found["f"], found[""]]


def into_german(seed: int) -> Result:
    """Of each role the genders of the nouns that are written, by clue.

    "possessives" are the genders of German's own pronouns, in all roles.
    """
    model = translator()
    clues = ("alone", "his", "her", "male", "female")
    found: Result = {name: {} for name in clues}
    said: dict[str, list[str]] = {"his": [], "her": []}
    for role in ROLES:
        outputs = model([each.format(role) for each in ALONE])
        found["alone"][role] = counted(noun(x, role) for x in outputs)
        for word in ("male", "female"):
            outputs = model([each.format(f"{word} {role}") for each in ALONE])
            found[word][role] = counted(noun(x, role) for x in outputs)
        for word in PRONOUNS:
            outputs = model([x.format(role, word) for x in WITH_PRONOUN])
            found[word][role] = counted(noun(x, role) for x in outputs)
            said[word] += [possessive(x) for x in outputs]
    found["possessives"] = {word: counted(x) for word, x in said.items()}
    return found


def into_english(seed: int) -> Result:
    """Of each noun, masculine and feminine, the pronouns that are written.

    "people" are a man and a woman, in the same sentences.
    """
    model = translator("multi30k-de-en")
    found: Result = {}
    for role, forms in (ROLES | {"people": PEOPLE}).items():
        found[role] = []
        for article, names in zip(("Ein", "Eine"), forms, strict=True):
            who = f"{article} {names.partition('|')[0]}"
            outputs = model([each.format(who) for each in GERMAN])
            found[role].append(counted(map(pronoun, outputs)))
    return found


def lines_with(lines: Iterable[str], role: str) -> list[int]:
    """How many lines have *ein* with the one noun, and *eine* with the other.

    Two words may stand between them. The nouns' plurals are not counted, nor
    are the other cases, where masculine forms are those of the plural.
    """
    forms = [
        re.compile(rf"\b{article}(?: \w+){{0,2}} (?:{names})\b", re.IGNORECASE)
        for article, names in zip(("ein", "eine"), ROLES[role], strict=True)
    ]
    found = [0, 0]
    for line in lines:
        for i, form in enumerate(forms):
            found[i] += form.search(line) is not None
    return found


def clue(text: str) -> str:
    """What an English text says of gender: his, her, more, or nothing.

    "more" is any other word that says one, or words of both genders.
    """
    said = {kind for kind, form in CLUES.items() if form.search(text)}
    return "" if not said else said.pop() if len(said) == 1 else "more"


def of_the_text(seed: int) -> Result:
    """How often the German captions have either noun, by the English clue."""
    found: Result = {}
    for name, kind in {"alone": "", "his": "his", "her": "her"}.items():
        lines = [
            target for source, target in corpus().train if clue(source) == kind
        ]
        found[name] = {role: lines_with(lines, role) for role in ROLES}
    return found


RUNS = grid(into_german, "en-de seed={seed}", seed=[0])
RUNS |= grid(into_english, "de-en seed={seed}", seed=[0])
RUNS |= grid(of_the_text, "text seed={seed}", seed=[0])
