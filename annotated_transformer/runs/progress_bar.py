"""Progress of a run on a terminal."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import Progress

from annotated_transformer.system.console import console
from annotated_transformer.training import Update

__all__ = ["progress_bar"]


@contextmanager
def progress_bar(steps: int, done: int) -> Iterator[Callable[[Update], None]]:
    """A function to call after each update; it moves a bar on a terminal.

    Lines printed meanwhile appear above the bar. A loss, for which a device
    is waited for, is shown once a second.
    """
    hidden, shown = console.quiet or not console.is_terminal, 0.0
    # redirected, what StandardError writes would come back to it for ever
    with Progress(
        console=console, redirect_stderr=False, disable=hidden
    ) as bar:
        task = bar.add_task("training", total=steps, completed=done)

        def show(update: Update) -> None:
            nonlocal shown
            bar.update(task, completed=update.step)
            if not hidden and time.monotonic() > shown + 1:
                update.check()
                bar.update(task, description=f"loss {float(update.loss):.3f}")
                shown = time.monotonic()

        yield show
