"""Typed Mistral Vibe lines: the few fields that the tree depends on."""

from __future__ import annotations

import msgspec

__all__ = ["Facts", "Row"]


class _Part(msgspec.Struct, gc=False):
    type: str = ""
    text: str | None = None


class _Message(msgspec.Struct, gc=False):
    role: str = ""
    content: tuple[_Part, ...] = ()

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.content if part.type == "text" and part.text)


class _Presence(msgspec.Struct, gc=False):
    """Any object; no fields are kept."""


class Facts(msgspec.Struct, gc=False):
    """Session metadata that changes over time."""

    title: str | None = None
    ended: int | float | None = None
    """The time of the last change, in milliseconds."""
    usage: _Presence | None = None


class Row(msgspec.Struct, gc=False):
    """One line: the session, a message, or changing metadata."""

    vibe: str = ""
    id: str | None = None
    parent: str | None = None
    kind: str | None = None
    cwd: str = ""
    time: str = ""
    branch: str | None = None
    message: _Message | None = None
    source: str = ""
    facts: Facts | None = None
