"""Progress: a bar on a terminal, plain lines elsewhere."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress

from annotated_transformer.training import Update

__all__ = ["console", "progress"]

console = Console(stderr=True)


@contextmanager
def progress(steps: int, done: int) -> Iterator[Callable[[Update], None]]:
    """A function to call after each update; it moves a bar, if there is one.

    Lines printed to the console meanwhile appear above the bar.
    """
    if not console.is_terminal:
        yield lambda update: None
        return
    with Progress(console=console) as bar:
        task = bar.add_task("training", total=steps, completed=done)
        yield lambda update: bar.update(
            task,
            completed=update.step,
            description=f"loss {update.loss:.3f}",
        )
