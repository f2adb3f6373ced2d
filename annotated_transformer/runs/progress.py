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
    """A function to call after each update; it moves a bar, if there is one.

    Lines printed meanwhile appear above the bar. A loss, for which a device
    is waited for, is shown once a second.
    """
    if console.quiet or not console.is_terminal:
        yield lambda update: None
        return
    # what is redirected to the console would come back from StandardError,
    # which writes to whatever sys.stderr is at the time, for ever
    with Progress(console=console, redirect_stderr=False) as bar:
        task, shown = (
            bar.add_task("training", total=steps, completed=done),
            0.0,
        )

        def show(update: Update) -> None:
            nonlocal shown
            bar.update(task, completed=update.step)
            if time.monotonic() > shown + 1:
                update.check()
                bar.update(task, description=f"loss {float(update.loss):.3f}")
                shown = time.monotonic()

        yield show
