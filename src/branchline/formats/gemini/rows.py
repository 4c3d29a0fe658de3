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

    def said(self) -> tuple[list[str], list[str]]:
        """The words in it, without thoughts, and the calls whose results it carries as its parts."""
        content = self.content
        if isinstance(content, str):
            return [content] if content else [], []
        texts: list[str] = []
        calls: list[str] = []
        for part in () if content is None else content if isinstance(content, tuple) else (content,):
            if part.text and not part.thought:
                texts.append(part.text)
            if part.function_response is not None:
                calls.append(part.function_response.id or "")
        return texts, calls

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
