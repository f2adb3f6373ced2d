"""A kernel that dies while a cell runs is named at once, not at its limit."""

import time
from queue import Empty

import pytest
from nbval.kernel import RunningKernel

await_reply = RunningKernel.await_reply


def await_reply_or_death(
    kernel: RunningKernel, msg_id: str, timeout: float
) -> None:
    """nbval's await_reply, which would wait for a kernel that is gone."""
    end = time.monotonic() + timeout
    while True:
        try:
            return await_reply(kernel, msg_id, timeout=1)
        except Empty:
            if not kernel.is_alive():
                pytest.fail(
                    "the kernel died while it ran this cell: was there too "
                    "little memory?",
                    pytrace=False,
                )
            if time.monotonic() > end:
                raise


RunningKernel.await_reply = await_reply_or_death
