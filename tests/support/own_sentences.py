"""Sentences of our own, in English and German."""

from pathlib import Path

FILE = Path(__file__).parents[1] / "storage" / "own_sentences.tsv"
OWN = [line.split("\t") for line in FILE.read_text("utf-8").splitlines()]
