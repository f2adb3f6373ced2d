"""How nbval checks the chapters, beyond what it does by itself.

Kernels are forks of one process. Of a cell with the tag "measured" the words
are compared and the numbers are not, since they differ from machine to
machine; nor are the widths of columns, which numbers can change. A kernel
that dies while a cell runs is named at once, not at its limit.
"""

import re
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from queue import Empty

import pytest
from nbval.plugin import IPyNbCell, IPyNbFile
from warm_kernels import WarmKernel

NUMBER = re.compile(r" *[-+]?\d[\d,]*(\.\d+)?(e[-+]\d+)?")
WIDTH = re.compile(r"--+| +")


class Cell(IPyNbCell):
    """A cell whose numbers may be left out of the comparison."""

    def sanitize(self, text: str) -> str:
        """What is compared of an output."""
        text = super().sanitize(text)
        if "measured" not in self.cell.metadata.get("tags", ()):
            return text
        return WIDTH.sub(lambda found: found[0][0], NUMBER.sub(" 0", text))


class Kernel(WarmKernel):
    """A kernel that is waited for only as long as it lives."""

    def await_reply(self, msg_id: str, timeout: float) -> None:
        """Wait as nbval does, a second at a time."""
        end = time.monotonic() + timeout
        while True:
            try:
                return super().await_reply(msg_id, timeout=1)
            except Empty:
                if not self.is_alive():
                    pytest.fail(
                        "the kernel died while it ran this cell: was there "
                        "too little memory?",
                        pytrace=False,
                    )
                if time.monotonic() > end:
                    raise


class Notebook(IPyNbFile):
    """A notebook that is run in such a kernel, cell by cell."""

    def setup(self) -> None:
        """Begin a kernel of ours."""
        limit = self.config.option.nbval_kernel_startup_timeout
        self.kernel = Kernel(str(self.path.parent), limit)
        self.setup_sanitize_files()

    def collect(self) -> Iterator[Cell]:
        """nbval's cells, as ours."""
        for cell in super().collect():
            yield Cell.from_parent(
                self,
                name=cell.name,
                cell_num=cell.cell_num,
                cell=cell.cell,
                options=cell.options,
            )


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(
    file_path: Path, parent: pytest.Collector
) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Take nbval's notebooks as ours."""
    return [
        Notebook.from_parent(parent, path=file_path)
        if isinstance(found, IPyNbFile)
        else found
        for found in (yield)
    ]
