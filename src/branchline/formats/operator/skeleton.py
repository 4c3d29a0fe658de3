"""What reading needs of Operator's lines when all of them are in good order, decoded many at a time.

A line that does not fit (another type, role, part or reason; a number where a text should be) is one that
Operator would skip, and has to be looked at with care.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from branchline.entries import jsontext

__all__ = ["Line", "Said", "decode_lines", "has_words"]


class _Part(msgspec.Struct, tag_field="type", gc=False):
    pass


class Words(_Part, tag="text", gc=False):
    content: msgspec.Raw = msgspec.Raw(b'""')


class Picture(_Part, tag="image", gc=False):
    pass


class Sound(_Part, tag="audio", gc=False):
    pass


class Thought(_Part, tag="thinking", gc=False):
    pass


class Call(_Part, tag="tool_call", gc=False):
    id: str = ""
    name: str = ""


class Answer(_Part, tag="tool_result", gc=False):
    id: str = ""


class Said(msgspec.Struct, gc=False):
    """A message."""

    role: Literal["system", "user", "assistant", "tool", "custom", "branch_summary", "compaction_summary"]
    contents: tuple[Words | Picture | Sound | Thought | Call | Answer, ...]
    timestamp: int | float | None = None
    stop_reason: Literal["stop", "length", "tool_calls", "content_filter", "abort", "error"] | None = None

    def is_spoken(self) -> bool:
        """Whether it shows something that was said, so that its time is the time of the last message."""
        return any(type(part) is Words or type(part) is Picture for part in self.contents)

    def is_quiet(self) -> bool:
        """An answer without words for a person that ended well."""
        if self.stop_reason not in (None, "stop", "tool_calls"):
            return False
        return not any(type(part) is Words and has_words(part.content) for part in self.contents)

    def calls(self) -> list[tuple[str, str]]:
        return [(part.id, part.name) for part in self.contents if type(part) is Call]

    def results(self) -> list[str]:
        return [part.id for part in self.contents if type(part) is Answer]


class Line(msgspec.Struct, gc=False):
    """An entry."""

    id: str
    timestamp: int | float
    type: Literal[
        "message",
        "thinking_level_change",
        "model_change",
        "compaction",
        "branch_summary",
        "label",
        "leaf",
        "session_info",
        "channel",
        "custom",
        "custom_message",
    ]
    parent_id: str | None = None
    message: Said | None = None
    label: str | None = None
    target_id: str | None = None
    name: str | None = None


decode_lines: Callable[[memoryview], Sequence[Line]] = msgspec.json.Decoder(Line).decode_lines


def has_words(text: msgspec.Raw) -> bool:
    """Whether the JSON text says anything but blanks."""
    data = bytes(text)
    if data[:1] != b'"':
        return False
    if 0x20 < data[1] < 0x7F and data[1] not in b'"\\':
        return True  # nearly always
    return bool(jsontext.loads(data).strip())
