"""Packages that only some uses of this one need."""

from importlib import import_module
from typing import Any

from annotated_transformer.errors import UserError

__all__ = ["needed"]


def needed(package: str, extra: str) -> Any:
    """The package, imported; UserError says how to install the extra."""
    try:
        return import_module(package)
    except ImportError as error:
        raise UserError(
            f"this needs the package {package}, which cannot be imported: "
            f"pip install 'annotated-transformer[{extra}]'"
        ) from error
