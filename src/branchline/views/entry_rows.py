"""The text of an entry: in a row of the tree, for the search in the tree, and for the clipboard.

The texts are unfiltered; the screen that shows them passes them through
:func:`branchline.views.text.safe`.
"""

from __future__ import annotations

import math
from typing import assert_never

from branchline.context.javascript import utf16_cut
from branchline.entries import (
    AssistantMessage,
    BashExecution,
    BranchSummary,
    Compaction,
    ContextEdit,
    Custom,
    CustomMessage,
    Damaged,
    Entry,
    Label,
    Leaf,
    Message,
    MessageEntry,
    ModelChange,
    SessionInfo,
    ThinkingLevelChange,
    ToolResult,
    Unknown,
    UsageEntry,
    UserMessage,
    blocks_text,
    message_text,
)
from branchline.tree import EntrySource
from branchline.views.call_results import CallPairs
from branchline.views.file_mentions import with_mentions
from branchline.views.humanize import as_float
from branchline.views.spans import Line, Span, make_line
from branchline.views.tool_calls import Call, single_line
from branchline.views.tool_results import result_view
from branchline.views.tool_views import call_text

__all__ = ["RowTexts", "copy_text", "row_text", "search_text"]

_MESSAGE_LENGTH = 200
_ERROR_LENGTH = 80
_ROW_LENGTH = 1000
"""The longest row, in characters; no screen is wider."""


class RowTexts:
    """The row texts of one session; tool results show their calls."""

    def __init__(self, source: EntrySource, *, home: str = "") -> None:
        self.source = source
        self.home = home
        self._calls = CallPairs(source)

    def __call__(self, position: int) -> str:
        return self.of(position, self.source.entry(position))

    def of(self, position: int, entry: Entry) -> str:
        """Return the row text of an entry that was read."""
        call = None
        if isinstance(entry, MessageEntry) and isinstance(entry.message, ToolResult):
            self._calls.note([position], [entry])
            call = self._calls.call_at(position)
        text = row_text(entry, call=call, home=self.home)
        return (text if text or not self._is_foreign else _foreign_text(entry))[:_ROW_LENGTH]

    def outcome(self, position: int) -> Line:
        """Return the outcome of a tool result: a mark if it failed, exit code, duration."""
        if self.source.tree.roles[position] != "toolResult":
            return ()
        entry = self.source.entry(position)
        if not isinstance(entry, MessageEntry) or not isinstance(entry.message, ToolResult):
            return ()
        view = result_view(entry.message)
        facts = Span(f" {' · '.join(view.facts)}" if view.facts else "", "dim")
        return make_line(Span(" ✗" if view.failed else "", "error"), facts)

    @property
    def _is_foreign(self) -> bool:
        """Whether another agent than pi wrote the session: then rows that are empty in pi show their type."""
        return getattr(getattr(self.source, "format", None), "name", "pi") != "pi"


def row_text(entry: Entry, *, call: Call | None = None, home: str = "") -> str:
    """Return one line about an entry; ``call`` is the call of a tool result. Unknown types are empty."""
    match entry:
        case MessageEntry():
            return _message_row(entry.message, call, home)
        case CustomMessage():
            return f"[{entry.custom_type}]: {single_line(blocks_text(entry.content))}".strip()
        case Compaction():
            thousands = as_float(entry.tokens_before or 0) / 1000 + 0.5
            return f"[compaction: {math.floor(thousands) if math.isfinite(thousands) else thousands}k tokens]"
        case BranchSummary():
            return f"[branch summary]: {single_line(entry.summary)}".strip()
        case ModelChange():
            return f"[model: {single_line(entry.model_id)}]"
        case ThinkingLevelChange():
            return f"[thinking: {single_line(entry.thinking_level)}]"
        case Custom():
            return f"[custom: {single_line(entry.custom_type)}]"
        case ContextEdit():
            return f"[context {_edit(entry)}: {entry.target}]"
        case Label():
            return f"[label: {'(cleared)' if entry.label is None else entry.label}]"
        case SessionInfo():
            return f"[title: {entry.name or 'empty'}]"
        case Damaged():
            return f"[damaged]: {single_line(entry.text[:_ERROR_LENGTH])}"
        case UsageEntry() | Leaf() | Unknown():
            return ""
        case _:
            assert_never(entry)


def _foreign_text(entry: Entry) -> str:
    """The row text of an entry with nothing but a type."""
    match entry:
        case UsageEntry():
            return f"[usage: {single_line(entry.kind)}]"
        case Leaf():
            return f"[moved to {'the start' if entry.target is None else single_line(entry.target)}]"
        case _:
            return f"[{single_line(entry.type)}]"


def _message_row(message: Message, call: Call | None, home: str) -> str:
    match message:
        case UserMessage():
            return f"user: {_beginning(with_mentions(message_text(message)))}".strip()
        case AssistantMessage() if _failed_silently(message):
            return f"error: {utf16_cut(single_line(message.error_message or ''), _ERROR_LENGTH)}"
        case AssistantMessage():
            return f"assistant: {_beginning(message_text(message)) or _silence(message)}"
        case ToolResult():
            return f"[{message.tool_name}]" if call is None else call_text(call, home)
        case BashExecution():
            return f"[bash]: {single_line(message.command)}".strip()
        case _:
            return f"[{message.role}]"


def _beginning(text: str) -> str:
    return single_line(utf16_cut(text, _MESSAGE_LENGTH))


def _silence(message: AssistantMessage) -> str:
    """Why an answer has no text."""
    if message.stop_reason == "aborted":
        return "(aborted)"
    return "(no content)"


def _failed_silently(message: AssistantMessage) -> bool:
    """Whether an answer has an error and no text."""
    return (
        bool(message.error_message)
        and message.stop_reason != "aborted"
        and not single_line(utf16_cut(message_text(message), _MESSAGE_LENGTH))
    )


def _edit(entry: ContextEdit) -> str:
    return "omit" if entry.replacement is None else "replace"


def search_text(entry: Entry) -> str:
    """Return the text of an entry for a search; the caller ignores case."""
    match entry:
        case MessageEntry():
            message = entry.message
            parts = [message.role, utf16_cut(message_text(message), _MESSAGE_LENGTH)]
        case CustomMessage():
            parts = [entry.custom_type, blocks_text(entry.content)]
        case Compaction():
            parts = ["compaction"]
        case BranchSummary():
            parts = ["branch summary", entry.summary]
        case SessionInfo():
            parts = ["title", entry.name]
        case ModelChange():
            parts = ["model", entry.model_id]
        case ThinkingLevelChange():
            parts = ["thinking", entry.thinking_level]
        case Custom():
            parts = ["custom", entry.custom_type]
        case ContextEdit():
            parts = ["context edit", _edit(entry), entry.target]
        case Label():
            parts = ["label", entry.label or ""]
        case Damaged():
            parts = ["damaged", entry.text[:_MESSAGE_LENGTH]]
        case UsageEntry() | Leaf() | Unknown():
            parts = []
        case _:
            assert_never(entry)
    return " ".join(filter(None, parts))


def copy_text(entry: Entry) -> str:
    """Return the whole text of an entry for the clipboard: a message, a command, a summary, an error."""
    match entry:
        case MessageEntry():
            text = message_text(entry.message)
            if isinstance(entry.message, AssistantMessage) and not text.strip():
                return entry.message.error_message or ""
            return text
        case CustomMessage():
            return blocks_text(entry.content)
        case Compaction() | BranchSummary():
            return entry.summary
        case Damaged():
            return entry.text
        case _:
            return ""
