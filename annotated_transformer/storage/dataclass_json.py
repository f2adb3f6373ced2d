"""Dataclasses as JSON: what a stranger wrote is checked field by field."""

from dataclasses import MISSING, Field, fields, is_dataclass
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

from annotated_transformer.errors import check_kind

__all__ = ["FLAT", "from_plain", "of_type", "to_plain"]

FLAT = {"flat": True}  # a field whose entries stand beside the other fields
LARGEST = 10**12  # of whatever a field counts
HALVES = {chr(code) for code in range(0xD800, 0xE000)}  # no file holds them


def from_plain(kind: Any, plain: object, name: str = "") -> Any:
    """The dataclass of that kind that JSON gave.

    ValueError names the field that is missing, unknown or of another type,
    or that the dataclass itself refuses.
    """
    entries = of_type(dict, plain, name or kind.__name__)
    hints = get_type_hints(kind)
    flat = next((field.name for field in fields(kind) if is_flat(field)), "")
    given: dict[str, Any] = {flat: {}} if flat else {}
    for key, value in entries.items():
        where = f"{name}.{key}" if name else key
        if key in hints and key != flat:
            given[key] = read(hints[key], value, where)
        elif flat:
            given[flat][of_type(str, key, where)] = of_type(str, value, where)
        else:
            raise ValueError(f"there is no field {where!r:.80}")
    for field in fields(kind):
        if field.name not in given and needed(field):
            where = f"{name}.{field.name}" if name else field.name
            raise ValueError(f"{where} is missing")
    return kind(**given)


def read(kind: Any, value: object, name: str) -> Any:
    """A value of a field of that type."""
    if NoneType in get_args(kind):
        if value is None:
            return None
        (kind,) = {*get_args(kind)} - {NoneType}
    if kind is Any or is_dataclass(value):  # which was read before
        return value
    if is_dataclass(kind):
        return from_plain(kind, value, name)
    if get_origin(kind) is dict:
        found = of_type(dict, value, name)
        inner = get_args(kind)[1]
        return {
            of_type(str, key, name): read(inner, value, f"{name}.{key}")
            for key, value in found.items()
        }
    if get_origin(kind) is tuple:
        found = enumerate(of_type(list, value, name))
        inner = get_args(kind)[0]
        return tuple(read(inner, x, f"{name}[{i}]") for i, x in found)
    return of_type(kind, value, name)


def of_type(kind: type, value: Any, name: str) -> Any:
    """The value, if it is of that type; ValueError if not."""
    check_kind(name, value, kind)
    if type(value) is int and not 0 <= value <= LARGEST:
        shown = f"`{name}={value!r:.80}`"
        raise ValueError(f"{shown}: must be from 0 to {LARGEST:,}")
    if isinstance(value, str) and any(x in HALVES for x in value):
        raise ValueError(f"`{name}={value!r:.80}`: has half a character")
    return float(value) if kind is float else value


def needed(field: Field[Any]) -> bool:
    """True if a field has no default."""
    return field.default is MISSING and field.default_factory is MISSING


def is_flat(field: Field[Any]) -> bool:
    """True if a field is marked as FLAT."""
    return "flat" in field.metadata


def to_plain(part: Any) -> dict[str, Any]:
    """What from_plain reads: the fields but for those that are empty."""
    found: dict[str, Any] = {}
    for field in fields(part):
        value = getattr(part, field.name)
        if is_dataclass(value):
            value = to_plain(value)
        elif isinstance(value, tuple):
            value = [to_plain(one) for one in value]
        if is_flat(field):
            found |= value
        elif needed(field) or value not in (None, {}, []):
            found[field.name] = value
    return found
