"""What a line of Gemini CLI says: a message, or a change of the list of messages or of the metadata."""

from __future__ import annotations

import msgspec

__all__ = ["Change", "MessageRow", "Row"]


class _Named(msgspec.Struct, gc=False):
    id: str | None = None


class _Part(msgspec.Struct, gc=False, rename="camel"):
    text: str | None = None
    thought: bool = False
    function_response: _Named | None = None


class _Result(msgspec.Struct, gc=False):
    """Any object; nothing of it is kept."""


class _Call(msgspec.Struct, gc=False):
    id: str = ""
    result: tuple[_Result, ...] | None = None


class MessageRow(msgspec.Struct, gc=False, rename="camel"):
    """A message of the list."""

    id: str = ""
    timestamp: str = ""
    type: str = ""
    content: str | tuple[_Part, ...] | _Part | None = None
    tool_calls: tuple[_Call, ...] | None = None

    @property
    def parts(self) -> tuple[_Part, ...]:
        content = self.content
        if content is None or isinstance(content, str):
            return () if content is None else (_Part(text=content),)
        return content if isinstance(content, tuple) else (content,)

    @property
    def texts(self) -> list[str]:
        """The words in it, without thoughts."""
        if isinstance(self.content, str):
            return [self.content] if self.content else []
        return [part.text for part in self.parts if part.text and not part.thought]

    @property
    def answered_calls(self) -> list[str]:
        """The calls whose results the message carries as its parts."""
        if isinstance(self.content, str):
            return []
        return [part.function_response.id or "" for part in self.parts if part.function_response is not None]

    @property
    def finished_calls(self) -> list[str]:
        """The calls of an answer that have their results in it."""
        return [call.id for call in self.tool_calls if call.result] if self.tool_calls else []


class Change(msgspec.Struct, gc=False, rename="camel"):
    """What ``$set`` changes."""

    session_id: str = ""
    summary: str | None = None
    messages: tuple[MessageRow, ...] | None = None


class Row(MessageRow, gc=False, rename="camel"):
    """One line."""

    session_id: str = ""
    start_time: str = ""
    kind: str = ""
    summary: str | None = None
    directories: tuple[str, ...] | None = None
    change: Change | None = msgspec.field(name="$set", default=None)
    rewind_to: str | None = msgspec.field(name="$rewindTo", default=None)
