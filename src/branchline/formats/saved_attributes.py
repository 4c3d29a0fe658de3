"""Attributes of readers as bytes, for :mod:`branchline.formats.saved_index`."""

from __future__ import annotations

from functools import cache, cached_property
from typing import Any

import msgspec

__all__ = ["SavedAttributes"]

_PENDING = "_pending_attributes"


class SavedAttributes:
    """Names and types of the attributes that a class saves, private ones included."""

    def __init__(self, **types: Any) -> None:
        self._types = types

    @cached_property
    def _record(self) -> type[msgspec.Struct]:
        return msgspec.defstruct("SavedAttributes", list(self._types.items()), array_like=True)

    def dump(self, holder: object) -> bytes:
        """The values of the attributes. ValueError or OverflowError if one cannot be encoded."""
        return msgspec.msgpack.encode(self._record(*[getattr(holder, name) for name in self._types]))

    def load(self, holder: object, data: bytes) -> None:
        """Set the attributes to the values that :meth:`dump` returned."""
        saved = msgspec.msgpack.decode(data, type=self._record)
        for name in self._types:
            setattr(holder, name, getattr(saved, name))

    def defer(self, holder: Any, data: bytes) -> None:
        """Load the attributes when one of them is first read: most are needed only if the log grows.

        Loading those of a Claude Code session of 105 MB takes longer than all the rest of opening it.
        """
        vars(holder)[_PENDING] = (self, data)
        for name in self._types.keys() & vars(holder).keys():
            delattr(holder, name)
        # Another class until then: with `__getattr__` every attribute takes twice as long to read.
        holder.__class__ = _deferred(holder.__class__)


@cache
def _deferred(holder: type) -> type:
    def load(self: Any, name: str) -> Any:
        pending = vars(self).pop(_PENDING, None)
        self.__class__ = holder
        if pending is not None:
            saved, data = pending
            saved.load(self, data)
        return getattr(self, name)

    return type(holder.__name__, (holder,), {"__getattr__": load})
