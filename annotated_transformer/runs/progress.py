"""Progress of a run on a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import Progress

from annotated_transformer.system.console import console
from annotated_transformer.training import Update

__all__ = ["progress"]


@contextmanager
def progress(steps: int, done: int) -> Iterator[Callable[[Update], None]]:
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

        def show(update: Update) -> None:
            bar.update(task, completed=update.step)
            if before:
                loss, _ = before.pop().copies.read()
                bar.update(task, description=f"loss {loss:.3f}")
            before.append(update)

        yield show
