"""Exercises: what is right passes, and each mistake gets its own hint.

The solutions are run with their chapters, which every test of the book does;
here they are asked for, and the mistakes that the exercises know are made.
"""

import itertools
import math
import re
from collections import Counter

import chapters
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from torch.utils._python_dispatch import _disable_current_modes

import annotated_transformer
from annotated_transformer import check_exercise
from annotated_transformer.attention import causal_mask
from annotated_transformer.data import make_batch, pad
from annotated_transformer.decoding import beam_search as package_search
from annotated_transformer.embedding import BOS, EOS, sinusoids
from annotated_transformer.model import PRESETS, parameter_count
from annotated_transformer.optimizer import inverse_sqrt_rate
from annotated_transformer.teaching.exercises import exercises
from annotated_transformer.teaching.exercises.judge import hint

EXERCISES = exercises()


def told(name, answer, capsys):
    """What `check_exercise` prints of an answer, on one line."""
    check_exercise(name, answer)
    return " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param(name, text, id=f"{name}: {text[:24]}")
        for name, exercise in EXERCISES.items()
        for text in exercise.mistakes
    ],
)
def test_a_mistake_gets_its_own_hint(name, text, capsys):
    """And that of no other mistake: each of them can be told apart."""
    said = told(name, EXERCISES[name].mistakes[text], capsys)
    assert said == f"{name}, a hint: {text}"


# ---- what readers write, in code of their own ----


def late_mask(query, key, value, mask):
    """Attention whose mask comes after the softmax."""
    weights = (query @ key.mT / query.size(-1) ** 0.5).softmax(-1)
    return (weights * mask) @ value


def shifted(targets):
    batch = make_batch([([EOS], [*target, EOS]) for target in targets])
    return batch.inputs, batch.labels


class Table:
    """A language in which the next token depends on the last: no state."""

    def select(self, rows, sentences):
        return self


def search(log_p, width, alpha, limit):
    def step(tokens, state):
        return log_p[tokens], state

    limits = torch.tensor([limit])
    return package_search(step, Table(), limits, width, alpha)[0][0].tokens


def never_ending(log_p, width, alpha, limit):
    tokens = [BOS]
    while len(tokens) <= limit:
        tokens.append(int(log_p[tokens[-1]].argmax()))
    return tokens[1:]


WRITTEN = [
    (
        "causal-mask",
        torch.nn.Transformer.generate_square_subsequent_mask,
        "This mask is made to be added",
    ),
    ("causal-mask", lambda n: torch.ones(n, n).tril(), "The mask holds num"),
    ("causal-mask", lambda n: causal_mask(n)[None], "The mask has two axes"),
    ("cached-mask", lambda c, n: torch.ones(n, c + n).tril(c), "The mask ho"),
    ("scaled-attention", late_mask, "The mask comes after"),
    (
        "shifted-targets",
        lambda t: (shifted(t)[0], pad([BOS, *row] for row in t)),
        "The labels contain BOS",
    ),
    (
        "shifted-targets",
        lambda t: (pad([BOS, *row, EOS] for row in t)[:, :-1], shifted(t)[1]),
        "EOS is among the inputs",
    ),
    ("beam-search", never_ending, "The output contains EOS"),
    ("beam-search", lambda *x: [BOS, *search(*x)], "The output begins"),
]


@pytest.mark.parametrize(("name", "answer", "start"), WRITTEN)
def test_a_reader_s_mistake_is_known(name, answer, start, capsys):
    said = told(name, answer, capsys)
    assert said.startswith(f"{name}, a hint: {start}")


def test_every_sign_is_reached():
    for name, exercise in EXERCISES.items():
        starts = [start for own, _, start in WRITTEN if own == name]
        for text in exercise.signs:
            assert text.startswith(tuple(starts)), text


LABS = "risk", "parsing", "decoder_only"
PLAIN = "16_bugs", "18_writing"  # without a check of exercises
CHAPTERS = [
    path
    for path in chapters.find_chapters()
    if (path.stem < "20" or path.stem in LABS) and path.stem not in PLAIN
]
CALL = re.compile(r'check_exercise\("([\w-]+)", ')


def asked_in(path, kind):
    """The exercises that a chapter's cells of one kind check, counted."""
    cells = chapters.read(path).cells
    return Counter(
        name
        for cell in cells
        if cell.cell_type == kind
        for name in CALL.findall(cell.source)
    )


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_chapter_has_its_exercises_and_solves_them(path):
    own = {e.name for e in EXERCISES.values() if e.chapter == path.stem}
    assert len(own) >= 2
    for kind in ("markdown", "code"):
        assert asked_in(path, kind) == Counter(own), kind
    printed = "".join(
        output.text
        for cell in chapters.read(path).cells
        if cell.cell_type == "code" and CALL.search(cell.source)
        for output in cell.outputs
        if output.output_type == "stream"
    )
    for name in own:
        assert f"{name}: right, tried on" in printed


def test_list_and_task(capsys):
    check_exercise()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == " 1 attention: causal-mask, scaled-attention"
    assert len(lines) == len(CHAPTERS)
    check_exercise("causal-mask")
    assert "write f(length)" in capsys.readouterr().out


def said_of(name, function):
    return hint(EXERCISES[name], function)


def test_error_in_the_function_becomes_a_hint_with_its_line():
    def broken(length):
        mask = torch.ones(length, length)
        return mask @ torch.ones(length + 1)  # the line

    with _disable_current_modes():  # which would have the last line
        said = said_of("causal-mask", broken)
    line = broken.__code__.co_firstlineno + 2
    assert f"For length = 5, line {line} (`return mask @" in said
    assert "RuntimeError" in said


@pytest.mark.parametrize(
    "name, function, start",
    [
        ("causal-mask", causal_mask(4), "Give the function itself"),
        ("causal-mask", lambda: None, "It cannot be called as f(length)"),
        ("causal-mask", lambda n: None, "For length = 5: a tensor is asked"),
        ("causal-mask", lambda n: causal_mask(n + 1), "For length = 5: the s"),
        ("layer-size", lambda d: "many", "For d_model = 6: a number"),
        ("layer-size", lambda d: math.nan, "For d_model = 6: the result is"),
        ("layer-norm", lambda x, *_: x / 0 * 0, "For x of shape [2, 3, 6]"),
        ("when-to-step", lambda n, a: [3], "For batches = 7, accumulate = 3:"),
        ("three-masks", lambda s, t: [s], "For source of shape [2, 5], targ"),
    ],
)
def test_what_fits_no_mistake_is_described(name, function, start):
    assert said_of(name, function).startswith(start)


def test_changing_the_input_is_told():
    def in_place(query, key, value, mask):
        query *= 1.5
        return late_mask(query / 1.5, key, value, mask)

    said = said_of("scaled-attention", in_place)
    assert said == "The function changes its input: work on a copy."


@given(st.data())
def test_one_flipped_cell_is_never_right(data):
    length = data.draw(st.sampled_from([5, 1, 2, 9]))
    cell = [data.draw(st.integers(0, length - 1)) for _ in range(2)]

    def flipped(n):
        mask = causal_mask(n)
        if n == length:
            mask[cell[0], cell[1]] ^= True
        return mask

    assert said_of("causal-mask", flipped) is not None


@given(st.integers(1, 40), st.integers(1, 20))
def test_references_agree_with_the_package(length, half):
    reference = {name: e.reference for name, e in EXERCISES.items()}
    assert torch.equal(reference["causal-mask"](length), causal_mask(length))
    table = reference["positions"](length, 2 * half)
    assert torch.allclose(table, sinusoids(length, 2 * half), atol=1e-6)
    assert math.isclose(
        reference["schedule"](length, half, 17),
        inverse_sqrt_rate(length + 1, half, 17),
    )
    narrow = annotated_transformer.ModelConfig(d_k=half, d_v=64)
    saved = parameter_count(PRESETS["base"]) - parameter_count(narrow)
    assert reference["row-b"](half) == saved


@given(st.integers(0, 10**6), st.integers(1, 4), st.sampled_from([0.0, 1.0]))
@example(492, 4, 0.0)
def test_reference_search_agrees_with_the_package(seed, width, alpha):
    draw = torch.Generator().manual_seed(seed)
    log_p = torch.randn(5, 5, generator=draw).log_softmax(-1)
    ours, theirs = (
        find(log_p, width, alpha, 5)
        for find in (EXERCISES["beam-search"].reference, search)
    )
    # outputs that take the same steps in another order are equally probable
    steps = [
        sorted(itertools.pairwise([BOS, *output, EOS][:6]))
        for output in (ours, theirs)
    ]
    assert steps[0] == steps[1]
