"""Calls are gathered into batches, and each has its own answer."""

import asyncio
import copy
import threading

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotated_transformer.system.batcher import Batcher


class Function:
    """Doubles numbers, and keeps what it was called with."""

    def __init__(self):
        self.batches, self.running = [], threading.Lock()

    def __call__(self, items, **options):
        assert self.running.acquire(blocking=False), "two batches at once"
        self.batches.append((items, options))
        self.running.release()
        if "bad" in items:
            raise LookupError(f"a bad one among {len(items)}")
        return [2 * item for item in items if item is not None]


def answers(function, calls, leave=0, **settings):
    """What calls get, some of which are cancelled before they are computed."""

    async def everybody():
        double = Batcher(function, **settings)
        tasks = [asyncio.create_task(double(x, **y)) for x, y in calls]
        await asyncio.sleep(0)  # they are waiting
        for task in tasks[:leave]:
            task.cancel()
        async with asyncio.timeout(60):
            return await asyncio.gather(*tasks, return_exceptions=True)

    return asyncio.run(everybody())


@settings(max_examples=20)
@given(st.lists(st.integers(0, 2), max_size=20), st.integers(1, 6), st.data())
def test_each_call_has_its_own_answer_from_a_batch_of_equals(
    kinds, size, data
):
    """Who leaves in time is not computed."""
    function = Function()
    left = data.draw(st.integers(0, len(kinds)))
    calls = [(i, {"kind": kind}) for i, kind in enumerate(kinds)]
    found = answers(function, calls, leave=left, size=size)
    assert found[left:] == [2 * i for i in range(left, len(kinds))]
    computed = []
    for items, options in function.batches:
        assert all(options == {"kind": kinds[item]} for item in items)
        computed += items
    assert sorted(computed) == [*range(left, len(kinds))]
    fewest = sum(-(-kinds[left:].count(kind) // size) for kind in range(3))
    assert len(function.batches) == fewest


OPTIONS = [{}, {"kind": 0}, {"kind": float("nan")}, {"kind": [1, "a"]}]
RAISED = [LookupError, StopIteration, StopAsyncIteration, GeneratorExit]


@given(
    st.lists(
        st.tuples(
            st.none() | st.sampled_from([*RAISED, asyncio.CancelledError]),
            st.sampled_from(OPTIONS),
        ),
        min_size=1,
        max_size=6,
    ),
    st.integers(1, 3),
)
def test_every_call_has_an_answer_or_an_error(calls, size):
    """Whatever the function raises and the options are; later calls too."""

    def function(items, **options):
        for item in filter(None, items):
            raise item("no answer")
        return ["answer"] * len(items)

    async def everybody():
        batcher = Batcher(function, size=size)
        # options of their own, as each request has
        tasks = [
            asyncio.ensure_future(batcher(item, **copy.deepcopy(options)))
            for item, options in calls
        ]
        _, waiting = await asyncio.wait(tasks, timeout=10)
        assert not waiting and not batcher.calls
        async with asyncio.timeout(10):
            assert await batcher(None) == "answer"
        return await asyncio.gather(*tasks, return_exceptions=True)

    found = asyncio.run(everybody())
    ended = {GeneratorExit, asyncio.CancelledError} & {x for x, _ in calls}
    for (item, _), outcome in zip(calls, found, strict=True):
        if outcome == "answer":
            assert item is None
        elif isinstance(outcome, RuntimeError):
            assert ended or item is StopIteration
        else:
            assert item is type(outcome) is not StopIteration


def test_options_that_cannot_be_compared_leave_no_call_waiting():
    calls = [(item, {"kind": numpy.arange(3)}) for item in range(3)]
    assert {type(x) for x in answers(Function(), calls)} == {RuntimeError}


def test_an_exception_reaches_only_the_call_that_causes_it():
    calls = [(item, {}) for item in (1, "bad", None, 3)]
    first, error, short, last = answers(Function(), calls)
    assert (first, last) == (2, 6)
    assert isinstance(error, LookupError) and "among 1" in str(error)
    assert str(short) == "a batch of 1 inputs has 0 outputs"
    with pytest.raises(ValueError, match="at least one input"):
        Batcher(Function(), size=0)
