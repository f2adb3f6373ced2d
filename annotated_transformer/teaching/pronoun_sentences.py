"""The book's running example, and its variations by up to three words.

"The dog ate the soup because it was hungry." Another animal, another food or
another quality may change the German pronoun. The shipped model "pronouns"
was trained on none of these sentences.
"""

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from annotated_transformer.corpora.builtin.lexicon import (
    KINDS,
    QUALITIES,
    Noun,
)

PRONOUNS = ("er", "sie", "es")  # for masculine, feminine and neuter nouns


class Variation(NamedTuple):
    """The words put into the sentence, and which of PRONOUNS is right."""

    animal: str
    food: str
    quality: str
    right: int

    @property
    def source(self) -> str:
        """The English sentence."""
        return (
            f"The {self.animal} ate the {self.food} because it was "
            f"{self.quality}."
        )


def gender(noun: Noun) -> int | None:
    """The index of its pronoun in PRONOUNS; None if translations differ."""
    genders = {german.gender for german in noun.german.values}
    return genders.pop() if len(genders) == 1 else None


def variations(contested: bool = True) -> Iterator[Variation]:
    """Every variation; if contested, only those whose nouns differ in gender.

    Animals have moods and food has a taste, so the quality decides. Rabbits
    are left out: a Kaninchen is neuter, a Hase masculine.
    """
    for animal, food in product(KINDS["animal"], KINDS["food"]):
        genders = gender(animal), gender(food)
        if None in genders or (contested and genders[0] == genders[1]):
            continue
        for meant, kind in zip(genders, ("mood", "taste"), strict=True):
            for quality in QUALITIES[kind]:
                assert meant is not None
                yield Variation(animal.english, food.english, quality, meant)
