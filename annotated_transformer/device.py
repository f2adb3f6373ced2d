"""The device: the fastest at hand, or the one asked for."""

import torch

from annotated_transformer.errors import UserError

__all__ = ["choose_device"]


def choose_device(name: str | None = None) -> str:
    """The device of that name, or the fastest at hand; UserError if absent."""
    here = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    if name is None:
        return next(kind for kind in here if here[kind])
    if not here.get(name.partition(":")[0]):
        raise UserError(
            f"device {name!r} is not at hand; choose from "
            f"{', '.join(kind for kind in here if here[kind])}"
        )
    return name
