"""How nbval checks the chapters, beyond what it does by itself.

Of a cell with the tag "measured" the words are compared and the numbers are
not, since they differ from machine to machine; nor are the widths of columns,
which numbers can change. A kernel that dies while a
cell runs is named at once, not at its limit.

Where processes can be forked, kernels are forked from one that has imported
what most chapters do: each would take three seconds of a processor for it.
"""

import multiprocessing
import os
import re
import subprocess
import sys
import time
from queue import Empty

import pytest
from jupyter_client.provisioning import local_provisioner
from nbval.kernel import RunningKernel
from nbval.plugin import IPyNbCell

await_reply = RunningKernel.await_reply
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


def kernel(arguments: list[str], path: list[str], options: dict) -> None:
    """Be a kernel, with all that a process of its own would have."""
    os.setsid()  # signals to its group are for it alone
    os.chdir(options["cwd"] or ".")
    os.environ.clear()
    os.environ.update(options["env"], JPY_PARENT_PID=f"{os.getppid()}")
    sys.path[:] = path
    import matplotlib
    from ipykernel.kernelapp import launch_new_instance

    # else it is chosen by a variable, when matplotlib is imported
    matplotlib.rcParams["backend"] = (
        "module://matplotlib_inline.backend_inline"
    )
    launch_new_instance(arguments)


class Forked:
    """A kernel's process, for Jupyter, which expects a Popen."""

    stdin = stdout = stderr = None

    def __init__(self, command: list[str], **options: object) -> None:
        given = {name: options.get(name) for name in ("cwd", "env")}
        begin = command.index("ipykernel_launcher") + 1
        arguments = command[begin:], PATH, given
        self.process = FORKED.Process(target=kernel, args=arguments)
        self.process.start()
        self.pid = self.process.pid
        self.kill, self.terminate = self.process.kill, self.process.terminate
        while self.process.is_alive() and os.getpgid(self.pid) != self.pid:
            time.sleep(0.01)

    def poll(self) -> int | None:
        """The exit status, or None while it runs."""
        return self.process.exitcode

    def wait(self, timeout: float | None = None) -> int | None:
        """The exit status, once it has ended."""
        self.process.join(timeout)
        return self.process.exitcode

    def send_signal(self, number: int) -> None:
        """Interrupt it, for one."""
        os.kill(self.pid, number)


if "forkserver" in multiprocessing.get_all_start_methods():
    FORKED = multiprocessing.get_context("forkserver")
    FORKED.set_forkserver_preload(
        ["ipykernel.kernelapp", "matplotlib.pyplot", "torch._dynamo", "pytest"]
    )
    code = "import sys; print(*filter(None, sys.path), sep='\\n')"
    told = subprocess.check_output([sys.executable, "-c", code], text=True)
    PATH = told.splitlines()
    local_provisioner.launch_kernel = Forked
IPyNbCell.sanitize = words_of_measured
RunningKernel.await_reply = await_reply_or_death
