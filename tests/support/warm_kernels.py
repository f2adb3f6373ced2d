"""Kernels for notebooks that are forks of one process: all begin imported.

Importing torch and matplotlib takes longer than running most chapters. Each
notebook has a process of its own still, so that none sees what another does.
"""

import atexit
import os
import signal
import subprocess
import sys
from functools import cache
from importlib import import_module
from pathlib import Path

import psutil
from ipykernel.kernelapp import IPKernelApp
from jupyter_client import BlockingKernelClient
from nbval.kernel import RunningKernel

IMPORTED = ["matplotlib.pyplot", "scipy.stats", "torch._dynamo"]
# A kernel would set this, but not for a matplotlib that is there before it.
INLINE = "module://matplotlib_inline.backend_inline"


class WarmKernel(RunningKernel):
    """What nbval runs the cells of a notebook in."""

    def __init__(self, cwd: str, startup_timeout: float) -> None:
        self.kc = BlockingKernelClient()
        self.kc.write_connection_file()
        forks = server()
        assert forks.stdin and forks.stdout
        forks.stdin.write(f"{cwd}\t{self.kc.connection_file}\n")
        forks.stdin.flush()
        self.process = psutil.Process(int(forks.stdout.readline()))
        # as long as it may take to start: on a busy machine, a beat is late
        self.kc.hb_channel.time_to_dead = startup_timeout
        self.kc.start_channels()
        self.kc.wait_for_ready(timeout=startup_timeout)

    def is_alive(self) -> bool:
        return self.process.is_running()

    def interrupt(self) -> None:
        self.process.send_signal(signal.SIGINT)

    def stop(self) -> None:
        self.kc.stop_channels()
        self.process.kill()
        self.kc.cleanup_connection_file()


@cache
def server() -> subprocess.Popen[str]:
    """The process that forks; it ends with this one."""
    process = subprocess.Popen(
        [sys.executable, "-P", __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"MPLBACKEND": INLINE},
    )
    atexit.register(process.communicate)
    return process


def serve() -> None:
    """Fork a kernel for each line that names a folder and a connection."""
    for name in IMPORTED:
        import_module(name)
    from annotated_transformer.corpora.builtin import examples

    sys.path.insert(0, str(Path(__file__).parent))  # cells must not see it
    from drawn_once import drawn_once
    from shaken import shaken

    del sys.path[0]
    examples.drawn_examples = drawn_once(25_000)  # many notebooks read them
    parent = os.getpid()
    signal.signal(signal.SIGCHLD, lambda *_: os.waitpid(-1, os.WNOHANG))
    for line in sys.stdin:
        if pid := os.fork():
            print(pid, flush=True)
            continue
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        folder, connection = line.rstrip("\n").split("\t")
        os.chdir(folder)
        sys.path.insert(0, "")  # as any kernel has it, but after -P
        shaken().__enter__()  # for as long as the kernel lives
        for number in range(3):
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
        words = ["-f", connection, f"--IPKernelApp.parent_handle={parent}"]
        IPKernelApp.launch_instance(words)
        return
    os._exit(0)  # torch takes a second to be taken down


if __name__ == "__main__":
    serve()
