"""Calls are gathered into batches, and each has its own answer."""

import asyncio
import threading

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
        return [2 * item for item in items]


@settings(max_examples=20)
@given(st.lists(st.integers(0, 2), max_size=20), st.integers(1, 6))
def test_each_call_has_its_own_answer_from_a_batch_of_equals(asked, size):
    function = Function()

    async def everybody():
        double = Batcher(function, size, wait=0.0)
        calls = [double(i, kind=kind) for i, kind in enumerate(asked)]
        return await asyncio.gather(*calls)

    assert asyncio.run(everybody()) == [2 * i for i in range(len(asked))]
    computed = []
    for items, options in function.batches:
        assert len(items) <= size
        assert all(options == {"kind": asked[item]} for item in items)
        computed += items
    assert sorted(computed) == [*range(len(asked))]


@pytest.mark.parametrize(("number", "size"), [(4, 2), (3, 60), (0, 1)])
def test_a_batch_begins_when_it_is_full_or_has_waited(number, size):
    function, wait = Function(), 0.2 if number < size else 600.0

    async def everybody():
        double = Batcher(function, size, wait)
        calls = [double(i) for i in range(number)]
        async with asyncio.timeout(60):
            await asyncio.gather(*calls)

    asyncio.run(everybody())
    sizes = [len(items) for items, _ in function.batches]
    full, rest = divmod(number, size)
    assert sizes == [size] * full + [rest] * bool(rest)


def test_an_exception_reaches_only_the_call_that_causes_it():
    async def everybody():
        double = Batcher(Function(), wait=0.0)
        calls = [double(item) for item in (1, "bad", 3)]
        return await asyncio.gather(*calls, return_exceptions=True)

    first, error, last = asyncio.run(everybody())
    assert (first, last) == (2, 6)
    with pytest.raises(LookupError, match="among 1"):
        raise error


def test_a_function_with_too_few_outputs_is_named():
    async def one():
        await Batcher(lambda items: items[1:])("a")

    with pytest.raises(ValueError, match="1 inputs has 0 outputs"):
        asyncio.run(one())


def test_who_leaves_before_the_batch_frees_the_place():
    function = Function()

    async def everybody():
        double = Batcher(function, size=2, wait=600.0)
        calls = [asyncio.create_task(double(i)) for i in range(3)]
        await asyncio.sleep(0)  # they are waiting
        calls[0].cancel()
        return await asyncio.gather(*calls, return_exceptions=True)

    asyncio.run(everybody())
    assert function.batches == [([1, 2], {})]


@pytest.mark.parametrize("wrong", [{"size": 0}, {"wait": -1.0}])
def test_a_batch_that_cannot_be_is_refused(wrong):
    with pytest.raises(ValueError, match="a batch has at least one input"):
        Batcher(Function(), **wrong)
