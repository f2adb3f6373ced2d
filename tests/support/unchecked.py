"""A block of code in which the package does not check shapes and types."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from jaxtyping import config


@contextmanager
def unchecked() -> Iterator[None]:
    """As it is outside of the tests; several times as fast, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(config, "jaxtyping_disable", True)
        yield
