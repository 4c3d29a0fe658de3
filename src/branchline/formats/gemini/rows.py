"""What a line of Gemini CLI says: a message, or a change of the list of messages or of the metadata."""

# Without `from __future__ import annotations`: msgspec would evaluate each of them from its text.

from collections.abc import Sequence

import msgspec

__all__ = ["CONTEXT_BEGINS", "Change", "MessageRow", "Row"]

CONTEXT_BEGINS = "<session_context>"
"""The program's own words to the model, before the first prompt or as a part of it."""


class _Named(msgspec.Struct, gc=False):
    id: str | None = None


class _Part(msgspec.Struct, gc=False, rename="camel"):
    text: str | None = None
    thought: bool = False
    function_call: _Named | None = None
    function_response: _Named | None = None


class _Result(msgspec.Struct, gc=False):
    """Any object; nothing of it is kept."""


class _Call(msgspec.Struct, gc=False):
    id: str = ""
    result: list[_Result] | None = None


class MessageRow(msgspec.Struct, gc=False, rename="camel"):
    """A message of the list."""

    id: str = ""
    timestamp: str = ""
    type: str = ""
    content: str | list[_Part] | _Part | None = None
    tool_calls: list[_Call] | None = None

    def said(self) -> tuple[str, Sequence[str]]:
        """The words in it, without thoughts, and the calls whose results it carries as its parts."""
        content = self.content
        if isinstance(content, str):
            return content, ()
        if content is None:
            return "", ()
        parts = content if isinstance(content, list) else (content,)
        if len(parts) == 1:  # as nearly all have
            response, text = parts[0].function_response, parts[0].text
            words = "" if text is None or parts[0].thought else text
            return words, () if response is None else (response.id or "",)
        calls = [part.function_response.id or "" for part in parts if part.function_response is not None]
        return "".join(self.texts), calls

    def calls_again(self) -> list[str]:
        """The calls that are parts of its content, as in an answer that was saved and loaded."""
        content = self.content
        if not isinstance(content, list):
            return []
        return [part.function_call.id or "" for part in content if part.function_call is not None]

    @property
    def has_context(self) -> bool:
        """Whether it begins with the context of a session."""
        content = self.content
        first = content[0] if isinstance(content, list) and content else content
        text = first.text if isinstance(first, _Part) else first
        return isinstance(text, str) and text.startswith(CONTEXT_BEGINS)

    @property
    def texts(self) -> list[str]:
        """The words of each of its parts, without the context before a prompt."""
        content = self.content
        if content is None or isinstance(content, str):
            return [content] if content else []
        parts = content if isinstance(content, list) else (content,)
        found = [part.text for part in parts if part.text and not part.thought]
        return found[1:] if len(found) > 1 and found[0].startswith(CONTEXT_BEGINS) else found


class Change(msgspec.Struct, gc=False, rename="camel"):
    """What ``$set`` changes."""

    session_id: str = ""
    summary: str | None = None
    messages: list[MessageRow] | None = None


class Row(MessageRow, gc=False, rename="camel"):
    """One line."""

    session_id: str = ""
    start_time: str = ""
    kind: str = ""
    summary: str | None = None
    directories: list[str] | None = None
    change: Change | None = msgspec.field(name="$set", default=None)
    rewind_to: str | None = msgspec.field(name="$rewindTo", default=None)
