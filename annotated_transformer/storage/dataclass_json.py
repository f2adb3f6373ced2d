"""Dataclasses as JSON: what a stranger wrote is checked field by field."""

from dataclasses import MISSING, Field, fields, is_dataclass
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

from annotated_transformer.errors import check_kind

__all__ = ["FLAT", "from_plain", "of_type", "to_plain"]

FLAT = {"flat": True}  # a field whose entries stand beside the other fields
NUMBERS = (0, 10**12)  # whole ones: whatever a field counts


def from_plain(kind: Any, plain: object, name: str = "") -> Any:
    """The dataclass of that kind that JSON gave.

    ValueError gives the path of the field that is missing, unknown or not
    what it must be.
    """
    entries = of_type(dict, plain, name or kind.__name__)
    path = f"{name}." if name else ""
    hints = get_type_hints(kind)
    flat = next((field.name for field in fields(kind) if is_flat(field)), "")
    given: dict[str, Any] = {flat: {}} if flat else {}
    for key, value in entries.items():
        if key in hints and key != flat:
            given[key] = read(hints[key], value, path + key)
        elif flat:
            given[flat] |= read(dict[str, str], {key: value}, name)
        else:
            raise ValueError(f"there is no field {path + key!r:.80}")
    for field in fields(kind):
        if field.name not in given and needed(field):
            raise ValueError(f"{path}{field.name} is missing")
    return kind(**given)


def read(kind: Any, value: object, name: str) -> Any:
    """The value of a field of that type."""
    if NoneType in get_args(kind):
        if value is None:
            return None
        (kind,) = {*get_args(kind)} - {NoneType}
    if kind is Any or is_dataclass(value):  # which was read before
        return value
    if is_dataclass(kind):
        return from_plain(kind, value, name)
    if get_origin(kind) is dict:
        inner = get_args(kind)[1]
        return {
            of_type(str, key, name): read(inner, entry, f"{name}.{key}")
            for key, entry in of_type(dict, value, name).items()
        }
    return of_type(kind, value, name)


def of_type(kind: type, value: Any, name: str) -> Any:
    """The value, if it is of that type; ValueError if not."""
    check_kind(name, value, kind, NUMBERS if kind is int else None)
    try:
        return float(value) if kind is float else value
    except OverflowError as error:
        raise ValueError(f"`{name}`: {error}") from error


def needed(field: Field[Any]) -> bool:
    """True if a field has no default."""
    return field.default is MISSING and field.default_factory is MISSING


def is_flat(field: Field[Any]) -> bool:
    """True if a field is marked as FLAT."""
    return "flat" in field.metadata


def to_plain(part: Any) -> dict[str, Any]:
    """What from_plain reads: the fields that are not empty."""
    found: dict[str, Any] = {}
    for field in fields(part):
        value = getattr(part, field.name)
        if is_dataclass(value):
            value = to_plain(value)
        if is_flat(field):
            found |= value
        elif needed(field) or value not in (None, {}):
            found[field.name] = value
    return found
