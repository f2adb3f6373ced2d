"""Dataclasses from JSON: what a stranger wrote is checked field by field."""

from dataclasses import MISSING, fields, is_dataclass
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

from ..errors import check_kind

NUMBERS = (0, 10**12)  # whole ones: whatever a field counts


def from_plain(kind: Any, plain: object, name: str = "") -> Any:
    """The dataclass of that kind whose `asdict` JSON gave.

    ValueError gives the path of the field that is missing, unknown or not
    what it must be.
    """
    entries = of_type(dict, plain, name or kind.__name__)
    path = f"{name}." if name else ""
    known = {field.name: field for field in fields(kind)}
    for key in entries:
        if key not in known:
            raise ValueError(f"there is no field {path + key!r:.80}")
    for key, field in known.items():
        needed = field.default is field.default_factory is MISSING
        if needed and key not in entries:
            raise ValueError(f"{path}{key} is missing")
    hints = get_type_hints(kind)
    return kind(**{x: read(hints[x], entries[x], path + x) for x in entries})


def read(kind: Any, value: object, name: str) -> Any:
    """The value of a field of that type."""
    if NoneType in get_args(kind):
        if value is None:
            return None
        (kind,) = {*get_args(kind)} - {NoneType}
    if is_dataclass(value):  # which was read before
        return value
    if is_dataclass(kind):
        return from_plain(kind, value, name)
    if get_origin(kind) is dict:
        inner = get_args(kind)[1]
        entries = of_type(dict, value, name)
        return {x: read(inner, entries[x], f"{name}.{x}") for x in entries}
    if get_origin(kind) is list:
        (inner,) = get_args(kind)
        items = enumerate(of_type(list, value, name))
        return [read(inner, item, f"{name}.{i}") for i, item in items]
    return of_type(kind, value, name)


def of_type(kind: type, value: Any, name: str) -> Any:
    """The value, if it is of that type; ValueError if not."""
    check_kind(name, value, kind, NUMBERS if kind is int else None)
    try:
        return float(value) if kind is float else value
    except OverflowError as error:
        raise ValueError(f"`{name}`: {error}") from error
