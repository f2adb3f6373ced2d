"""The book's own tools: its claims, intervals and recorded runs."""

from pathlib import Path

BOOK = Path(__file__).parents[1]  # the folder of the book
