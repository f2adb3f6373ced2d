"""The terminal: progress is shown on it, Ctrl-C and SIGTERM stop a run."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import Progress

if TYPE_CHECKING:  # it loads PyTorch, and the command line prints here
    from annotated_transformer.training import Update

__all__ = ["Interrupted", "console", "progress", "stop_signals"]

console = Console(stderr=True)


@contextmanager
def progress(steps: int, done: int) -> Iterator[Callable[["Update"], None]]:
    """A function to call after each update; it moves a bar, if there is one.

    Lines printed to the console meanwhile appear above the bar.
    """
    if console.quiet or not console.is_terminal:
        yield lambda update: None
        return
    with Progress(console=console) as bar:
        task = bar.add_task("training", total=steps, completed=done)
        yield lambda update: bar.update(
            task,
            completed=update.step,
            description=f"loss {update.loss:.3f}",
        )


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
    """Collect SIGINT and SIGTERM in a list in place of dying of them.

    A second Ctrl-C ends the program at once. Only the main thread may do
    this; elsewhere the list stays empty.
    """
    received: list[int] = []

    def receive(number: int, frame: object) -> None:
        if number == signal.SIGINT and number in received:
            raise KeyboardInterrupt
        received.append(number)

    numbers = [signal.SIGINT, signal.SIGTERM]
    if threading.current_thread() is not threading.main_thread():
        numbers = []
    before = {number: signal.signal(number, receive) for number in numbers}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
