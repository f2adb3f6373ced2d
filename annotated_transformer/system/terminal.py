"""The terminal: progress is shown on it, and signals stop a run."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import Progress

from annotated_transformer.errors import printable
from annotated_transformer.system.stdio import StandardError

if TYPE_CHECKING:  # it loads PyTorch, and the command line prints here
    from annotated_transformer.training import Update

__all__ = ["Interrupted", "console", "progress", "stop_signals"]


class Words(Console):
    """A console that writes out what would steer the terminal."""

    def out(self, *objects: Any, **options: Any) -> None:
        r"""Print as it is, without markup; what is not printable as \x1b."""
        super().out(*(printable(str(x)) for x in objects), **options)


console = Words(file=StandardError())


@contextmanager
def progress(steps: int, done: int) -> Iterator[Callable[["Update"], None]]:
    """A function to call after each update; it moves a bar, if there is one.

    The loss is that of the update before, which has been checked already: no
    device is waited for. Lines printed meanwhile appear above the bar.
    """
    if console.quiet or not console.is_terminal:
        yield lambda update: None
        return
    # what is redirected to the console would come back from StandardError,
    # which writes to whatever sys.stderr is at the time, for ever
    with Progress(console=console, redirect_stderr=False) as bar:
        task = bar.add_task("training", total=steps, completed=done)
        before: list[Update] = []

        def show(update: "Update") -> None:
            bar.update(task, completed=update.step)
            if before:
                loss, _ = before.pop().copies.read()
                bar.update(task, description=f"loss {loss:.3f}")
            before.append(update)

        yield show


class Interrupted(Exception):
    """A run was told to stop, and has written a checkpoint."""

    def __init__(self, signal_number: int, folder: Path, step: int):
        super().__init__(
            f"stopped after update {step}; the same command with --resume "
            f"(in Python resume=True) continues {folder}"
        )
        self.signal_number = signal_number


@contextmanager
def stop_signals() -> Iterator[list[int]]:
    """Collect SIGINT, SIGTERM and SIGHUP in a list in place of dying of them.

    A second Ctrl-C ends the program at once. Where SIGHUP is ignored, as
    nohup does, it still is. Only the main thread may do this; elsewhere the
    list stays empty.
    """
    received: list[int] = []

    def receive(number: int, frame: object) -> None:
        if number == signal.SIGINT and number in received:
            raise KeyboardInterrupt
        received.append(number)

    numbers = [signal.SIGINT, signal.SIGTERM]
    hangup = getattr(signal, "SIGHUP", None)  # Windows has none
    if hangup and signal.getsignal(hangup) != signal.SIG_IGN:
        numbers.append(hangup)
    if threading.current_thread() is not threading.main_thread():
        numbers = []
    before = {number: signal.signal(number, receive) for number in numbers}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
