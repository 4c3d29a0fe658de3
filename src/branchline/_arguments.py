"""Checks of what callers pass, with one sentence for each mistake."""

from __future__ import annotations

import math
import os
from collections.abc import Collection
from typing import Any, get_args

import msgspec

from branchline.errors import InvalidArgument, InvalidType

__all__ = ["require_choice", "require_json", "require_number", "require_path", "require_text"]

_DEEPEST = 90
"""How deeply a value may be nested. Readers go down 100 levels, and a record adds a few of its own."""
_DEEPEST_OF_OTHERS = 500
_MANY = 1 << 63
_MOST_BITS = 14_000
"""Python reads no integers that are longer."""
_SCALARS = frozenset({str, bool, type(None), msgspec.UnsetType})
_KEYS = frozenset({str, int})
_LONGEST_SHOWN = 200


def require_choice(name: str, value: object, choices: Any) -> None:
    """Raise InvalidArgument unless the value is one of a ``Literal``."""
    allowed = get_args(choices)
    if value not in allowed:
        raise InvalidArgument(f"{name} is {_listed(allowed)}, not {_shown(value)}")


def require_text(name: str, value: object, *, empty: bool = False) -> None:
    """Raise InvalidType unless the value is a text, and InvalidArgument if it is empty but must not be."""
    if not isinstance(value, str):
        raise InvalidType(f"{name} is a text, not {type(value).__name__}")
    if not value and not empty:
        raise InvalidArgument(f"{name} must not be empty")


def require_number(name: str, value: object, *, integer: bool = False) -> None:
    """Raise InvalidType unless the value is a number, InvalidArgument if it is negative or not finite."""
    if isinstance(value, bool) or not isinstance(value, int if integer else int | float):
        raise InvalidType(f"{name} is a number, not {_shown(value)}")
    if not 0 <= value < math.inf:
        raise InvalidArgument(f"{name} cannot be {_shown(value)}")


def require_path(name: str, value: object) -> str:
    """Return the text of a path. Raises InvalidType, or InvalidArgument for one that no system can have."""
    if not isinstance(value, str | os.PathLike):
        raise InvalidType(f"{name} is a path, not {type(value).__name__}")
    path = os.fspath(value)
    if not isinstance(path, str):
        raise InvalidType(f"{name} is a path of text, not of bytes: os.fsdecode() makes one")
    try:
        if b"\0" not in os.fsencode(path):
            return path
    except UnicodeEncodeError:
        pass
    raise InvalidArgument(f"{name} cannot be {_shown(path)}: no file can have this name")


def require_json(name: str, value: Any, *, finite: bool = True) -> None:
    """Raise an error unless the value, or the record, can be stored as JSON and read back unchanged.

    What JSON has no form for would be stored as something else: NaN as null, bytes as text, a set as a list.
    ``finite=False`` is for what another agent or a provider wrote: it allows NaN and infinity, and deeper
    values. Keys of objects may be numbers, which are read back as their text.
    """
    if _is_plain(value):
        return
    deepest = _DEEPEST if finite else _DEEPEST_OF_OTHERS
    open_ = [iter((value,))]
    while open_:
        for item in open_[-1]:
            kind = type(item)
            if kind in _SCALARS or (kind is int and -_MANY < item < _MANY):
                continue
            inner = item if kind is list or kind is tuple else _inside(name, item, finite=finite)
            if inner:
                if len(open_) > deepest:  # also where a value contains itself
                    raise InvalidArgument(f"{name} is nested more than {deepest} levels deep")
                open_.append(iter(inner))
                break
        else:
            open_.pop()


def _is_plain(value: Any) -> bool:
    """Return whether a value is certainly JSON: few objects, lists and scalars, as most messages are.

    It has fewer values than levels are allowed, so it is neither too deep nor part of itself.
    """
    found = [value]
    for item in found:  # grows meanwhile
        kind = type(item)
        if kind in _SCALARS or (kind is int and -_MANY < item < _MANY):
            continue
        if kind is dict:
            if not _KEYS.issuperset(map(type, item)):
                return False
            found += item.values()
        elif kind is list:
            found += item
        elif kind is not float or not math.isfinite(item):
            return False
        if len(found) > _DEEPEST:
            return False
    return True


def _inside(name: str, item: Any, *, finite: bool) -> Collection[Any]:
    """Return what a value contains. Raises an error if JSON has no form for the value itself."""
    if isinstance(item, dict):
        if not _KEYS.issuperset(map(type, item)):
            for key in item:
                if isinstance(key, bool) or not isinstance(key, str | int | float):
                    raise InvalidType(f"{name} has a key of type {type(key).__name__}; JSON has texts only")
                _inside(name, key, finite=True)
        return item.values()
    if isinstance(item, list | tuple):
        return item
    if isinstance(item, msgspec.Struct):
        return [getattr(item, field) for field in item.__struct_fields__]
    if isinstance(item, float):
        if finite and not math.isfinite(item):
            raise InvalidArgument(f"{name} holds {item}, which is no number of JSON")
    elif isinstance(item, int):
        if item.bit_length() > _MOST_BITS:
            raise InvalidArgument(f"{name} holds an integer of more than 4,000 digits, which no reader takes")
    elif not isinstance(item, str | msgspec.Raw):  # Raw is JSON already
        raise InvalidType(f"{name} holds a value of type {type(item).__name__}, which JSON has no form for")
    return ()


def _shown(value: object) -> str:
    """Return a value for a message: short, and of any size and depth."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


def _listed(allowed: tuple[Any, ...]) -> str:
    *others, last = (f'"{one}"' for one in allowed)
    return f"{', '.join(others)} or {last}" if others else last
