"""Packages that only some uses of this one need."""

from importlib import import_module
from typing import Any

from annotated_transformer.errors import UserError

__all__ = ["needed"]


def needed(module: str, extra: str) -> Any:
    """The module, imported; UserError says how to install the extra."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise UserError(
            f"this needs the package {package}, which cannot be imported: "
            f"pip install 'annotated-transformer[{extra}]'"
        ) from error
