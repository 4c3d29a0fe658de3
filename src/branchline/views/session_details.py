"""The details of a session: usage, models, tools, files, errors."""

from __future__ import annotations

import msgspec

__all__ = ["SessionDetails"]


class SessionDetails(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Totals of one session. Entries that a fork copied count in the session where they were first seen."""

    tokens: int | float = 0
    cost: float | None = None
    """In dollars, recorded or estimated; None if it is unknown."""
    estimated: bool = False
    """Whether a part of the cost was computed from public prices."""
    models: tuple[str, ...] = ()
    """As ``provider/model``, the most used first."""
    tools: dict[str, int] = {}
    """How often each tool was called, the most used first."""
    files: tuple[str, ...] = ()
    """The files that tool calls name, the most used first."""
    errors: int = 0
    """Failed tool calls and failed answers."""
