"""How nbval checks the chapters, beyond what it does by itself.

Of a cell with the tag "measured" the words are compared and the numbers are
not, since they differ from machine to machine; nor are the widths of columns,
which numbers can change. A kernel that dies while a
cell runs is named at once, not at its limit.
"""

import re
import time
from queue import Empty

import nbval.plugin
import pytest
from nbval.plugin import IPyNbCell
from warm_kernels import WarmKernel

await_reply = WarmKernel.await_reply
sanitize = IPyNbCell.sanitize
NUMBER = re.compile(r" *[-+]?\d[\d,]*(\.\d+)?(e[-+]\d+)?")
WIDTH = re.compile(r"--+| +")


def words_of_measured(cell: IPyNbCell, text: str) -> str:
    """nbval's sanitize, which also hides the numbers of a measured cell."""
    text = sanitize(cell, text)
    tags = cell.cell.metadata.get("tags", ())
    if "measured" not in tags:
        return text
    return WIDTH.sub(lambda found: found[0][0], NUMBER.sub(" 0", text))


def await_reply_or_death(
    kernel: WarmKernel, msg_id: str, timeout: float
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


IPyNbCell.sanitize = words_of_measured
nbval.plugin.RunningKernel = WarmKernel
WarmKernel.await_reply = await_reply_or_death
