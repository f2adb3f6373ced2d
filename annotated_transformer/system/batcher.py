"""Requests of many users, computed together."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any


class Batcher:
    """Gathers the calls of many users into batches for one function.

    The function takes a list of inputs and returns a list with an output for
    each. It runs in a thread of its own, one batch after another, so that the
    event loop can accept calls meanwhile. A batch begins `wait` seconds
    after its first input, or when the batch before it has ended, and has at
    most `size` of the inputs that have come until then.

        translate = Batcher(Translator.load("multi30k-en-de"))
        german = await translate("A dog runs.")

    The options of a call are passed to the function, and inputs are computed
    together if their options are equal. A call that is cancelled before its
    batch begins is left out. If a batch fails, its inputs are computed one by
    one, so that an exception reaches only the call that causes it; a
    StopIteration comes as a RuntimeError. Call a batcher from one event loop
    only.
    """

    def __init__(
        self,
        function: Callable[..., Iterable[Any]],
        size: int = 32,
        wait: float = 0.005,
    ):
        if size < 1:
            raise ValueError(f"size = {size}: a batch has at least one input")
        self.function, self.size, self.wait = function, size, wait
        self.calls: dict[asyncio.Future[Any], tuple[Any, dict[str, Any]]] = {}
        self.worker: asyncio.Task[None] | None = None

    async def __call__(self, item: Any, **options: Any) -> Any:
        """The output for one input; the exception, if that is what comes."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Any] = loop.create_future()
        self.calls[answer] = item, options
        if self.worker is None:
            self.worker = loop.create_task(self.work())
        try:
            return await answer
        finally:
            self.calls.pop(answer, None)

    async def work(self) -> None:
        """Compute one batch after another, until no call is left.

        What ends it before reaches all calls that would wait for ever.
        """
        batch: list[asyncio.Future[Any]] = []
        try:
            await asyncio.sleep(self.wait)
            while self.calls:
                _, options = next(iter(self.calls.values()))
                alike = [
                    answer
                    for answer, (_, own) in self.calls.items()
                    if own == options
                ]
                batch = alike[: self.size]
                items = [self.calls.pop(answer)[0] for answer in batch]
                found = await asyncio.to_thread(self.outcomes, items, options)
                for answer, outcome in zip(batch, found, strict=True):
                    if answer.cancelled():
                        continue
                    if isinstance(outcome, Exception):
                        answer.set_exception(outcome)
                    else:
                        answer.set_result(outcome)
        except BaseException as error:
            for answer in (*batch, *self.calls):
                if not answer.done():
                    told = RuntimeError(f"not computed, for {error!r}")
                    answer.set_exception(told)
            raise
        finally:
            self.worker = None

    def outcomes(self, items: list[Any], options: dict[str, Any]) -> list[Any]:
        """For each input its output, or the exception that it causes."""
        try:
            found = [*self.function(items, **options)]
            if len(found) != len(items):
                raise ValueError(
                    f"a batch of {len(items)} inputs has {len(found)} outputs"
                )
        except Exception as error:
            if len(items) > 1:
                return [self.outcomes([item], options)[0] for item in items]
            if isinstance(error, StopIteration):  # which no coroutine raises
                return [RuntimeError(f"the function raised {error!r}")]
            return [error]
        return found
