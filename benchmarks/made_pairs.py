"""Made-up pairs, as many as one likes, with the statistics of WMT's text.

    python -m benchmarks.made_pairs 4500000 FOLDER

writes FOLDER/pairs.en and FOLDER/pairs.de: nothing that anybody could read,
but words as rare and lines as long as those of WMT's English-German.
"""

import argparse
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np

FORMS = 250_000  # of words in a language
FLAT = 2.7  # Mandelbrot's: rank r comes 1 / (r + FLAT) times as often
WORDS, SPREAD = 18.0, 0.65  # of a line: their median, and of their logarithm
APART = 0.15  # the same of the lines of a pair
LONGEST = 150  # words
BLOCK = 10_000  # pairs that are drawn at once
ONSETS = [*"bdfghklmnprstvwz", "br", "sch", "st", "tr"]
VOWELS = [*"aaeeiioouu", "au", "ei"]
CODAS = ["", "", "", *"lnrst"]


def made_words(side: int) -> list[str]:
    """Distinct words, a language for each side, the frequent ones short."""
    rng = random.Random(side)
    found: dict[str, None] = {}
    while len(found) < FORMS:
        syllables = 1 + int(np.log(len(found) + 1) / 6 + rng.random() / 2)
        parts = (ONSETS, VOWELS, CODAS) * syllables
        word = "".join(map(rng.choice, parts))
        found[word.capitalize() if rng.random() < 0.1 else word] = None
    return [*found]


def made_lines(size: int, side: int, seed: int = 0) -> Iterator[str]:
    """Lines of one side; where those of the other are long, they are, too."""
    words = np.array(made_words(side), object)
    shares = np.cumsum(1 / (np.arange(FORMS) + FLAT))
    for start in range(0, size, BLOCK):
        number = min(BLOCK, size - start)
        both = np.random.default_rng([seed, start])
        own = np.random.default_rng([seed, start, side])
        logs = SPREAD * both.standard_normal(number)
        logs += APART * own.standard_normal(number)
        counts = (WORDS * np.exp(logs)).astype(int).clip(1, LONGEST)
        drawn = shares[-1] * own.random(counts.sum())
        text = words[np.searchsorted(shares, drawn)]
        for line in np.split(text, np.cumsum(counts)[:-1]):
            line[0] = line[0].capitalize()
            yield " ".join(line) + "."


def write_pairs(size: int, folder: Path, seed: int = 0) -> tuple[Path, Path]:
    """Files of so many lines; a shorter text is where a longer one begins."""
    paths = folder / "pairs.en", folder / "pairs.de"
    for side, path in enumerate(paths):
        with path.open("w", encoding="utf-8") as file:
            file.writelines(f"{x}\n" for x in made_lines(size, side, seed))
    return paths


if __name__ == "__main__":
    parser = argparse.ArgumentParser("benchmarks.made_pairs")
    parser.add_argument("pairs", type=int)
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    write_pairs(given.pairs, given.folder)
