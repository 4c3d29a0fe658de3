"""Checks of what callers pass, with one sentence for each mistake."""

from __future__ import annotations

import math
from typing import Any, get_args

import msgspec

from branchline.errors import InvalidArgument, InvalidType

__all__ = ["require_choice", "require_json", "require_number", "require_text"]

_SCALARS = frozenset({str, int, bool, type(None), msgspec.UnsetType})


def require_choice(name: str, value: object, choices: Any) -> None:
    """Raise InvalidArgument unless the value is one of a ``Literal``."""
    allowed = get_args(choices)
    if value not in allowed:
        raise InvalidArgument(f"{name} is {_listed(allowed)}, not {value!r}")


def require_text(name: str, value: object, *, empty: bool = False) -> None:
    """Raise InvalidType unless the value is a text, and InvalidArgument if it is empty but must not be."""
    if not isinstance(value, str):
        raise InvalidType(f"{name} is a text, not {type(value).__name__}")
    if not value and not empty:
        raise InvalidArgument(f"{name} must not be empty")


def require_number(name: str, value: object, *, integer: bool = False) -> None:
    """Raise InvalidType unless the value is a number, InvalidArgument if it is negative or not finite."""
    if isinstance(value, bool) or not isinstance(value, int if integer else int | float):
        raise InvalidType(f"{name} is a number, not {value!r}")
    if not 0 <= value < math.inf:
        raise InvalidArgument(f"{name} cannot be {value!r}")


def require_json(name: str, value: Any, *, finite: bool = True) -> None:
    """Raise an error unless the value, or the record, can be stored as JSON and read back unchanged.

    What JSON has no form for would be stored as something else: NaN as null, bytes as text, a set as a list.
    ``finite=False`` allows NaN and infinity, which other agents write. Keys of objects are not looked at:
    those that are numbers are read back as their text.
    """
    waiting = [value]
    while waiting:
        item = waiting.pop()
        kind = type(item)
        if kind in _SCALARS:
            continue
        if kind is dict:
            waiting += item.values()
        elif kind is list or kind is tuple:
            waiting += item
        elif isinstance(item, float):
            if finite and not math.isfinite(item):
                raise InvalidArgument(f"{name} holds {item}, which is no number of JSON")
        elif isinstance(item, msgspec.Struct):
            waiting += [getattr(item, field) for field in item.__struct_fields__]
        elif isinstance(item, dict):
            waiting += item.values()
        elif isinstance(item, list | tuple):
            waiting += item
        elif not isinstance(item, str | int | msgspec.Raw):  # Raw is JSON already
            raise InvalidType(f"{name} holds a value of type {kind.__name__}, which JSON has no form for")


def _listed(allowed: tuple[Any, ...]) -> str:
    *others, last = (f'"{one}"' for one in allowed)
    return f"{', '.join(others)} or {last}" if others else last
