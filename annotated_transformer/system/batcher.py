"""Requests of many users, computed together."""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import chain
from typing import Any, Generic, NamedTuple, TypeVar

__all__ = ["Batcher"]

Input = TypeVar("Input")
Output = TypeVar("Output")


class Call(NamedTuple):
    """What one user asks for, and where the answer goes."""

    item: Any
    options: dict[str, Any]
    answer: asyncio.Future[Any]  # an output, or the exception instead of it
    latest: float  # when to begin, by the clock of the event loop


class Batcher(Generic[Input, Output]):
    """Gathers the calls of many users into batches for one function.

    The function takes a list of inputs and returns a list of as many
    outputs. It runs in a thread of its own, one batch after another, so that
    the event loop can accept calls meanwhile. A batch has at most `size`
    inputs, and no input waits longer than `wait` seconds for others, only for
    the batches before its own.

        translate = Batcher(Translator.load("multi30k-en-de"))
        german = await translate("A dog runs.")

    The options of a call are passed to the function, and inputs are computed
    together if their options are equal. A call that is cancelled before its
    batch begins is left out. If a batch fails, its inputs are computed one by
    one, so that an exception reaches only the call that causes it. Call a
    batcher from one event loop only.
    """

    def __init__(
        self,
        function: Callable[..., Iterable[Output]],
        size: int = 32,
        wait: float = 0.005,
    ):
        if size < 1 or not wait >= 0:
            raise ValueError(
                f"size = {size}, wait = {wait}: a batch has at least one "
                "input, which waits for 0 seconds or more"
            )
        self.function, self.size, self.wait = function, size, wait
        self.queue: asyncio.Queue[Call] = asyncio.Queue()
        self.worker: asyncio.Task[None] | None = None

    async def __call__(self, item: Input, **options: Any) -> Output:
        """The output for one input; the exception, if that is what comes."""
        loop = asyncio.get_running_loop()
        if self.worker is None:
            self.worker = loop.create_task(self.work())
        answer: asyncio.Future[Any] = loop.create_future()
        latest = loop.time() + self.wait
        self.queue.put_nowait(Call(item, options, answer, latest))
        found: Output | Exception = await answer
        if isinstance(found, Exception):
            raise found
        return found

    async def work(self) -> None:
        """Gather a batch and compute it, again and again."""
        while True:
            batch = await gather(self.queue, self.size)
            while batch := [x for x in batch if not x.answer.done()]:
                options = batch[0].options
                alike = [call for call in batch if call.options == options]
                found = await asyncio.to_thread(
                    outcomes,
                    self.function,
                    [call.item for call in alike],
                    options,
                )
                for call, outcome in zip(alike, found, strict=True):
                    if not call.answer.cancelled():
                        call.answer.set_result(outcome)


async def gather(queue: asyncio.Queue[Call], size: int) -> list[Call]:
    """The next calls: as many as size, or those until the first has waited."""
    batch: list[Call] = []
    with suppress(TimeoutError):
        async with asyncio.timeout(None) as limit:
            while len(batch) < size:
                call = await queue.get()
                if not call.answer.cancelled():
                    batch.append(call)
                    limit.reschedule(batch[0].latest)
    return batch


def outcomes(
    function: Callable[..., Iterable[Output]],
    items: list[Any],
    options: dict[str, Any],
) -> list[Output | Exception]:
    """For each input its output, or the exception that it causes."""
    try:
        found = [*function(items, **options)]
        if len(found) != len(items):
            raise ValueError(
                f"a batch of {len(items)} inputs has {len(found)} outputs"
            )
        return [*found]
    except Exception as error:
        if len(items) == 1:
            return [error]
        alone = (outcomes(function, [item], options) for item in items)
        return [*chain.from_iterable(alone)]
