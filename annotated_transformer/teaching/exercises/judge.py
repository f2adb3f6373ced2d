"""How an answer is judged: by a reference, then by the mistakes often made."""

import copy
import inspect
import math
import sysconfig
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from numbers import Real
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

# Where code lies that is not the reader's: installed packages, and this one.
NOT_THEIRS = (
    sysconfig.get_path("purelib"),
    sysconfig.get_path("platlib"),
    sysconfig.get_path("stdlib"),
    str(Path(__file__).parents[2]),
)

Inputs = tuple[Any, ...]
Function = Callable[..., Any]
Case = tuple[Inputs, object, str | None]  # inputs, what came out, its fault


@dataclass(frozen=True)
class Exercise:
    """An exercise: what is asked, what is tried, what tends to go wrong.

    mistakes are wrong implementations, and signs are questions about an
    answer, `sign(answer, *inputs)`; the keys of both are the hints.
    """

    name: str
    chapter: str  # the stem of its notebook
    task: str  # what to write
    tried: str  # the inputs, in words
    inputs: Callable[[], Sequence[Inputs]]
    reference: Function
    mistakes: dict[str, Function]
    signs: dict[str, Callable[..., bool]] = field(default_factory=dict)
    slack: float = 0.0  # how far a number may be off where chance decides


def hint(exercise: Exercise, function: object) -> str | None:
    """What is wrong with a function; None if nothing was found."""
    cases: list[Case] = []
    for inputs in exercise.inputs():
        found, failure = call(function, inputs, exercise)
        if failure and not any(reason for *_, reason in cases):
            return failure
        if failure:  # the earlier case is the simpler one
            break
        wanted = exercise.reference(*inputs)
        reason = difference(found, wanted, exercise.slack)
        cases.append((inputs, found, reason))
    wrong = [case for case in cases if case[-1]]
    return diagnosis(exercise, cases, wrong) if wrong else None


def call(
    function: object, inputs: Inputs, exercise: Exercise
) -> tuple[object, str | None]:
    """What a function gives, and why it gives nothing, if so."""
    if not callable(function):
        return None, "Give the function itself, without calling it."
    with suppress(ValueError):  # some built-in functions have no signature
        try:
            inspect.signature(function).bind(*inputs)
        except TypeError:
            expected = ", ".join(names(exercise))
            return None, f"It cannot be called as f({expected})."
    given = copy.deepcopy(inputs)
    try:
        found = function(*given)
    except Exception as error:
        return None, f"For {shown(exercise, inputs)}, {raised(error)}"
    if not unchanged(given, inputs):
        return None, "The function changes its input: work on a copy."
    return found, None


def diagnosis(exercise: Exercise, cases: list[Case], wrong: list[Case]) -> str:
    """The hint of the mistake that explains the answers best."""
    for text, mistake in exercise.mistakes.items():
        if explains(mistake, cases, exercise.slack):
            return text
    for text, sign in exercise.signs.items():
        with suppress(RuntimeError, IndexError, AttributeError, TypeError):
            if any(sign(found, *inputs) for inputs, found, _ in wrong):
                return text
    for text, mistake in exercise.mistakes.items():
        if explains(mistake, wrong[:1], exercise.slack):  # one of several
            return text
    inputs, _, reason = wrong[0]
    return f"For {shown(exercise, inputs)}: {reason}"


def explains(mistake: Function, cases: list[Case], slack: float) -> bool:
    """Whether a wrong implementation gives the same answers."""
    return all(
        difference(found, mistake(*inputs), slack) is None
        for inputs, found, _ in cases
    )


def names(exercise: Exercise) -> list[str]:
    """What the inputs are called."""
    return [*inspect.signature(exercise.reference).parameters]


def shown(exercise: Exercise, inputs: Inputs) -> str:
    """The inputs of one case, as short as can be."""
    words = []
    for name, value in zip(names(exercise), inputs, strict=False):
        if isinstance(value, Tensor):
            words.append(f"{name} of shape {list(value.shape)}")
        elif isinstance(value, list) and len(str(value)) > 30:
            words.append(f"{len(value)} {name}")
        else:
            words.append(f"{name} = {value}")
    return ", ".join(words)


def raised(error: Exception) -> str:
    """Which error came, and the reader's own line that led to it."""
    theirs = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith(NOT_THEIRS)
    ]
    where = "it"
    if theirs:
        where = f"line {theirs[-1].lineno} (`{theirs[-1].line}`)"
    message = str(error).partition("\n")[0]
    return f"{where} ends in {type(error).__name__}: {message}"


def unchanged(given: Inputs, inputs: Inputs) -> bool:
    """Whether the inputs are still what they were."""
    return all(
        torch.equal(one, other) if isinstance(one, Tensor) else one == other
        for one, other in zip(given, inputs, strict=True)
    )


def difference(found: object, wanted: Any, slack: float) -> str | None:
    """How a result differs from the right one; None if it does not."""
    if isinstance(wanted, Tensor):
        return tensor_difference(found, wanted)
    if isinstance(wanted, Real):
        return number_difference(found, wanted, slack)
    if isinstance(found, Tensor):
        found = found.tolist()
    if not isinstance(found, list | tuple):
        return f"a {type(wanted).__name__} is asked for, not {kind(found)}."
    if isinstance(wanted, list):
        return None if list(found) == wanted else f"{found} is not right."
    if len(found) != len(wanted):
        return f"{len(wanted)} results are asked for, not {len(found)}."
    for place, pair in enumerate(zip(found, wanted, strict=True), 1):
        if reason := difference(*pair, slack):
            return f"result {place}: {reason}"
    return None


def number_difference(found: object, wanted: Real, slack: float) -> str | None:
    """The same, where a number is asked for."""
    if isinstance(found, Tensor) and found.numel() == 1:
        found = found.item()
    if not isinstance(found, Real):
        return f"a number is asked for, not {kind(found)}."
    if math.isclose(found, wanted, rel_tol=1e-4, abs_tol=slack):
        return None
    if math.isnan(found):
        return "the result is NaN."
    return f"{found:.4g} is too {'small' if found < wanted else 'large'}."


def tensor_difference(found: object, wanted: Tensor) -> str | None:
    """The same, where a tensor is asked for."""
    if not isinstance(found, Tensor):
        return f"a tensor is asked for, not {kind(found)}."
    if found.shape != wanted.shape:
        return (
            f"the shape is {list(found.shape)}, where "
            f"{list(wanted.shape)} is asked for."
        )
    if number_type(found) != number_type(wanted):
        return (
            f"the tensor has {number_type(found)} numbers, where "
            f"{number_type(wanted)} ones are asked for."
        )
    if found.isnan().any():
        return "there is NaN in the result: 0 / 0, 0 * inf or inf - inf."
    one, other = found.detach().double(), wanted.double()
    near = torch.isclose(one, other, 1e-4, 1e-5)
    if near.all():
        return None
    return (
        f"shape and type are right, but {(~near).sum()} of {near.numel()} "
        f"entries are not; the first is {(~near).nonzero()[0].tolist()}."
    )


def number_type(tensor: Tensor) -> str:
    """Boolean, real or whole: finer differences do not matter."""
    if tensor.dtype == torch.bool:
        return "boolean"
    return "real" if tensor.is_floating_point() else "whole"


def kind(value: object) -> str:
    """What a value is, as one says it."""
    if value is None:
        return "None (is there a `return`?)"
    if isinstance(value, Tensor):
        return f"a tensor of shape {list(value.shape)}"
    return type(value).__name__
