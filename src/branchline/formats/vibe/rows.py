"""What a line of a session of Mistral Vibe says: the few fields that its place in the tree depends on."""

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
    """Any object; nothing of it is kept."""


class Facts(msgspec.Struct, gc=False):
    """What changes while a session goes on."""

    title: str | None = None
    ended: int | float | None = None
    """When the session was last changed, in milliseconds."""
    usage: _Presence | None = None


class Row(msgspec.Struct, gc=False):
    """One line: the session itself, a message, or what changes as the session goes on."""

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
