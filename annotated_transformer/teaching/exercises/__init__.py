"""Exercises that answer: right, or which mistake it is.

A chapter asks for a function, and `check_exercise` tries it on several inputs
against a reference that shares no code with the chapters.
"""

import textwrap
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from itertools import groupby

from annotated_transformer.errors import UserError
from annotated_transformer.teaching.exercises.judge import Exercise, hint

CHAPTERS = (
    *("attention", "heads", "embedding", "layers", "model"),
    *("data", "loss", "optimizer", "training"),
    *("decoding", "translation", "inside_heads"),
    *("sequences", "recurrence", "variations"),
    *("modern", "scale", "risk", "parsing", "decoder_only"),
)


@cache
def exercises() -> dict[str, Exercise]:
    """All exercises by name, in the order of the book, loaded when asked."""
    parts = (import_module(f"{__name__}.{chapter}") for chapter in CHAPTERS)
    return {
        exercise.name: exercise
        for part in parts
        for exercise in part.EXERCISES
    }


def contents() -> str:
    """The names of all exercises, chapter by chapter."""
    lines = []
    for chapter, group in groupby(exercises().values(), lambda e: e.chapter):
        title = chapter.lstrip("0123456789_")
        number, title = chapter.removesuffix(title), title.replace("_", " ")
        names = ", ".join(exercise.name for exercise in group)
        lines.append(f"{number.strip('_').lstrip('0'):>2} {title}: {names}")
    return "\n".join(lines)


def check_exercise(name: str | None = None, answer: object = None) -> None:
    """Print whether a function solves an exercise, and if not, a hint.

    Without an answer, print what is asked; without a name, all exercises.
    UserError for a name that no exercise has.

    >>> mine = lambda length: torch.ones(length, length).tril()
    >>> check_exercise("causal-mask", mine)
    causal-mask, a hint: The mask holds numbers. Ours is boolean ...
    """
    if name is None:
        print(contents())
        return
    if name not in exercises():
        near = get_close_matches(name, exercises(), 1)
        meant = f"; did you mean {near[0]!r}?" if near else ":"
        raise UserError(f"no exercise is called {name!r}{meant}\n{contents()}")
    exercise = exercises()[name]
    if answer is None:
        line = f"{name}: {exercise.task}"
    elif text := hint(exercise, answer):
        line = f"{name}, a hint: {text}"
    else:
        line = f"{name}: right, tried on {exercise.tried}"
    print(textwrap.fill(line, 76, subsequent_indent="  "))
