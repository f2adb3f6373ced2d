"""Interruption: Ctrl-C and SIGTERM asked to wait for a safe moment."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["Interrupted", "stop_signals"]


class Interrupted(Exception):
    """A run was told to stop, and has written a checkpoint."""

    def __init__(self, signal_number: int, folder: Path, step: int):
        super().__init__(
            f"stopped after update {step}; the same command with --resume "
            f"continues {folder}"
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
