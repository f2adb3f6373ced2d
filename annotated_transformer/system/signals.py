"""Signals that ask a program to stop, when it is ready to."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


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
