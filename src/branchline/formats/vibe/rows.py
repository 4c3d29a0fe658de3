"""Typed Mistral Vibe lines: the few fields that the tree depends on."""

# Without `from __future__ import annotations`: msgspec would evaluate each of them from its text.

import msgspec

from branchline.entries import json_codec
from branchline.formats.json_values import text_of

__all__ = ["Facts", "Row"]

_decode_text = msgspec.json.Decoder(str).decode


class _Part(msgspec.Struct, gc=False):
    type: str = ""
    text: msgspec.Raw = msgspec.Raw(b"null")
    """JSON: tool results are not decoded."""

    @property
    def decoded(self) -> str:
        """The text; "" if it is of another type."""
        try:
            return _decode_text(self.text)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return text_of(json_codec.loads(self.text))


class _Message(msgspec.Struct, gc=False):
    role: str = ""
    content: list[_Part] = []

    @property
    def text(self) -> str:
        """The text of all parts."""
        return "".join([part.decoded for part in self.content if part.type == "text"])


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
