"""The console: where a command says how it goes."""

from collections.abc import Callable
from typing import IO, Any, cast

from rich.console import Console

from annotated_transformer.errors import printable
from annotated_transformer.system.stdio import StandardError

__all__ = ["console"]


class Words(Console):
    """A console that writes out what would steer the terminal."""

    spelled: Callable[[str], str] = str  # how a command spells a message

    def out(self, *objects: Any, **options: Any) -> None:
        r"""Print as it is, without markup; what is not printable as \x1b."""
        words = (printable(self.spelled(str(x))) for x in objects)
        super().out(*words, **options)


console = Words(file=cast(IO[str], StandardError()))  # as much as rich needs
