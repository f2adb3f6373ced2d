"""The judges of gender, against sentences that were judged by hand."""

import random

import pytest

from experiments.gender_by_stereotype import (
    ROLES,
    clue,
    counted,
    lines_with,
    noun,
    possessive,
    pronoun,
)


@pytest.mark.parametrize(
    ("role", "text", "gender"),
    [
        ("cook", "Ein Koch hält ihren Hut.", "m"),
        ("cook", "Die Köchin liest ein Buch.", "f"),
        ("cook", "Eine Kochin lächelt.", ""),  # no German
        ("cook", "Ein Chefkoch lächelt.", "m"),
        ("cook", "Eine Frau mit einem Koch.", "f"),  # the first counts
        ("cook", "Eine Person kocht.", ""),
        ("dancer", "Eine Balletttänzerin lächelt.", "f"),
        ("dancer", "Zwei Tänzerinnen lächeln.", ""),  # of more than one
        ("nurse", "EINE KRANKENSCHWESTER.", "f"),
        ("police officer", "Ein Mann von der Polizei.", "m"),
    ],
)
def test_the_noun_of_a_role(role, text, gender):
    assert noun(text, role) == gender


@pytest.mark.parametrize("role", ROLES)
def test_no_form_of_one_gender_is_one_of_the_other(role):
    for gender, forms in zip("mf", ROLES[role], strict=True):
        for form in forms.split("|"):
            assert noun(f"Hier ist {form}.", role) == gender


def test_pronouns_are_whole_words():
    assert possessive("Ein Koch hält seinen Hut und ihren.") == "m"
    assert possessive("Die Köchin ist allein mit ihrem Hund.") == "f"
    assert possessive("Ein Seiltänzer in einem Reihenhaus.") == ""
    assert pronoun("A cook washes her hands.") == "f"
    assert pronoun("He sees her there.") == "m"
    assert pronoun("The cook is here with others.") == ""
    assert counted(["m", "", "f", "m"]) == [2, 1, 1]


def test_what_the_english_says_of_gender():
    for text, said in {
        "A nurse is here with the others.": "",
        "A nurse holds her hat.": "her",
        "HIS hat.": "his",
        "A woman holds her hat.": "more",
        "His hat is hers.": "more",
        "A female nurse.": "more",
        "A fireman and a human.": "",
    }.items():
        assert clue(text) == said


def test_lines_with_a_noun_against_a_walk_over_words():
    """The noun, up to three words behind its article."""
    draw = random.Random(0)
    kinds = ["ein", "eine", "Koch", "Köchin", "alte", "und", "Köche"]
    lines = [" ".join(draw.choices(kinds, k=8)) for _ in range(300)]
    expected = [0, 0]
    for line in lines:
        heard = line.split()
        for i in range(2):
            expected[i] += any(
                word == ("Koch", "Köchin")[i]
                and ("ein", "eine")[i] in heard[max(0, at - 3) : at]
                for at, word in enumerate(heard)
            )
    assert lines_with(lines, "cook") == expected
    assert 0 < min(expected) < max(expected) < 300
