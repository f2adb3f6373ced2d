"""A thousand lines whose translations may change only for a reason.

What reads text (case, signs, sentences) must leave captions as captions are
written alone, and so must names and abbreviations. Where translations change
because weights or rules did, `python tests/text/test_frozen_outputs.py` writes
them anew, and the commit that does so says why.
"""

import csv
import random
from itertools import product
from pathlib import Path

import pytest

from annotated_transformer.corpora.multi30k import multi30k
from annotated_transformer.translation import Translator

FILE = Path(__file__).with_name("frozen_outputs.tsv")
CAPTIONS = {  # who and what, of one and of several; and where
    "en": (
        "A man|An old woman|A little girl|A brown dog|A woman in a red dress|"
        "A child with a hat|A young man wearing jeans|The band",
        "is sitting|runs|holds a camera|is smiling|jumps over a fence|"
        "eats ice cream|is reading a book|rides a bike|plays the guitar",
        "Two boys|Three men in helmets|People|Several workers",
        "stand|are playing soccer|look at the water|carry bags|wait",
        "on the beach|in front of a building|at night|on a bench|in the snow|"
        "in a park|near a car|on a busy street|behind a table|in a kitchen",
    ),
    "de": (
        "Ein Mann|Eine alte Frau|Ein kleines Mädchen|Ein brauner Hund|"
        "Eine Frau im roten Kleid|Ein Kind mit Hut|Ein junger Mann in Jeans|"
        "Die Band",
        "sitzt|rennt|hält eine Kamera|lächelt|springt über einen Zaun|"
        "isst Eis|liest ein Buch|fährt Rad|spielt Gitarre",
        "Zwei Jungen|Drei Männer mit Helmen|Leute|Mehrere Arbeiter",
        "stehen|spielen Fußball|blicken auf das Wasser|tragen Taschen|warten",
        "am Strand|vor einem Gebäude|nachts|auf einer Bank|im Schnee|"
        "in einem Park|neben einem Auto|auf einer Straße|an einem Tisch|"
        "in einer Küche",
    ),
}
WORDS = {  # names and abbreviations; words that small letters make others
    "en": (
        "IT WHO US USA UK TV DJ BMX NASA NYPD ATV CD DVD NYC ID UPS "
        "Bill Turkey Mark Rose Frank May Grace Will Jack Polish China "
        "Christmas Asian London Paris McDonald's"
    ),
    "de": (
        "Laufen laufen Morgen morgen Essen essen Spielen spielen Arm arm "
        "Weiß weiß Rot rot Alte alte Fliegen fliegen Reisen reisen Weg weg "
        "Band band Sie sie Ihr ihr Braut braut DJ BMX"
    ),
}


def lines(language: str) -> list[str]:
    """Captions, and words alone and in one."""
    one, does, some, do, where = (x.split("|") for x in CAPTIONS[language])
    captions = [*product(one, does, where), *product(some, do, where)]
    rng = random.Random(0)
    words = WORDS[language].split()
    inside = {"en": "A sign says {}.", "de": "Auf dem Schild steht {}."}
    return [
        *(f"{' '.join(x)}." for x in rng.sample(captions, 275)),
        *words,
        *map(inside[language].format, words),
    ]


def outputs(name: str) -> list[tuple[str, str, str]]:
    """The lines that a model reads and what it writes."""
    texts = lines("de" if "de-en" in name else "en")
    made = Translator.load(name)(texts)
    return [(name, x, y) for x, y in zip(texts, made, strict=True)]


MODELS = ("multi30k-en-de", "multi30k-de-en", "multi30k-en-fr")


def kept() -> list[tuple[str, ...]]:
    with FILE.open(encoding="utf-8", newline="") as file:
        return [tuple(row) for row in csv.reader(file, "excel-tab")]


@pytest.mark.parametrize("name", MODELS)
def test_what_was_translated_well_is_translated_so(name):
    """Up to one line of a hundred, since processors round differently."""
    was = [row for row in kept() if row[0] == name]
    now = outputs(name)
    assert [row[:2] for row in was] == [row[:2] for row in now]
    changed = [(x, y[2]) for x, y in zip(was, now, strict=True) if x != y]
    assert len(changed) <= len(was) // 100, changed


@pytest.mark.parametrize("name", MODELS)
def test_captions_and_abbreviations_are_read_as_they_are(name):
    reader = Translator.load(name).reader
    texts = [x for x in lines("de" if "de-en" in name else "en") if " " in x]
    for text in texts:
        (part,) = reader.line(text).parts
        assert (part.sentence, part.before, part.behind) == (text, "", "")


@pytest.mark.parametrize("name", MODELS)
def test_captions_of_the_tests_are_read_as_they_are(name, real_folder):
    """But for thirty of a thousand, and those without a capital."""
    translator = Translator.load(name)
    corpus = multi30k(target="fr" if name.endswith("fr") else "de")
    for pairs in corpus.tests.values():
        texts = [pair[name == "multi30k-de-en"] for pair in pairs]
        texts = [text for text in texts if text != text.lower()]
        assert len(texts) > 400
        changed = 0
        for text, reading in zip(
            texts, translator.reader.lines(texts), strict=True
        ):
            read = [part.whole(part.sentence) for part in reading.parts]
            changed += " ".join(read) != " ".join(text.split())
        assert changed <= 0.03 * len(texts)


if __name__ == "__main__":
    with FILE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, "excel-tab", lineterminator="\n")
        writer.writerows(row for name in MODELS for row in outputs(name))
