"""A live session as plain rows: its tree, and what the person said on the way to here. Nothing is written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from branchline.entries import (
    AssistantMessage,
    BashExecution,
    BranchSummary,
    Compaction,
    ContextEdit,
    Custom,
    CustomContent,
    CustomMessage,
    Damaged,
    Entry,
    Label,
    Leaf,
    MessageEntry,
    ModelChange,
    SessionInfo,
    SystemMessage,
    ThinkingLevelChange,
    ToolCall,
    ToolResult,
    Unknown,
    UnknownMessage,
    UsageEntry,
    UserMessage,
    blocks_text,
    message_text,
)
from branchline.entries.messages import Message
from branchline.library.look import one_line
from branchline.library.records import BranchNode, PriorTurn
from branchline.session import Session
from branchline.tree import ROOT, walk_nodes

__all__ = ["branch_nodes", "entry_label", "prior_turns"]

_TOGETHER = 512


def branch_nodes(session: Session) -> Iterator[BranchNode]:
    """Every entry of every root, depth first; the subtree that leads to the leaf comes first."""
    tree, transcript = session.index, session.transcript
    leaf = ROOT if session.leaf is None else tree.position(session.leaf)
    labels: list[str] = []
    for start in range(0, len(tree), _TOGETHER):
        positions = range(start, min(start + _TOGETHER, len(tree)))
        labels += map(entry_label, transcript.entries(positions))
    for node in walk_nodes(tree, leaf):
        yield BranchNode(
            id=node.id,
            parent=node.parent,
            label=labels[node.position],
            depth=node.depth,
            is_leaf=node.is_leaf,
            is_current=node.is_current,
        )


def prior_turns(session: Session) -> Iterator[PriorTurn]:
    """The prompts with words on the active path, oldest first."""
    tree = session.index
    wanted = [key for key in session.path() if tree.roles[tree.positions[key]] == "user"]
    for entry in session.entries(wanted):
        if isinstance(entry, MessageEntry) and (text := message_text(entry.message)).strip():
            yield PriorTurn(id=entry.id, text=text, preview=one_line(text))


def entry_label(entry: Entry) -> str:
    """What an entry says, on one line, beginning with who says it."""
    match entry:
        case MessageEntry():
            return _message_label(entry.message)
        case Compaction():
            return _said("compaction", entry.summary)
        case BranchSummary():
            return _said("branch summary", entry.summary)
        case CustomMessage():
            return _said(entry.custom_type, blocks_text(entry.content, " "))
        case ModelChange():
            return f"[model: {one_line(entry.model_id)}]"
        case ThinkingLevelChange():
            return f"[thinking: {one_line(entry.thinking_level)}]"
        case Custom():
            return f"[custom: {one_line(entry.custom_type)}]"
        case Label():
            return f"[label: {one_line(entry.label or '') or '(cleared)'}]"
        case SessionInfo():
            return f"[title: {one_line(entry.name) or 'empty'}]"
        case ContextEdit():
            return f"[context {'omit' if entry.replacement is None else 'replace'}: {one_line(entry.target)}]"
        case UsageEntry():
            return f"[usage: {one_line(entry.kind)}]"
        case Leaf():
            return f"[leaf: {one_line(entry.target or '') or 'before the first entry'}]"
        case Damaged():
            return "[damaged]"
        case Unknown():
            return f"[{one_line(entry.type)}]"


def _message_label(message: Message) -> str:
    match message:
        case UserMessage():
            return _said("user", message_text(message, " "), empty="(no text)")
        case AssistantMessage():
            return f"assistant: {_answer(message)}"
        case ToolResult():
            mark = " failed" if message.is_error is True else ""
            return _said(f"{message.tool_name}{mark}", message_text(message, " "), empty="(no text)")
        case SystemMessage():
            return _said("system", message_text(message, " "))
        case BashExecution():
            return _said("bash", message.command)
        case CustomContent():
            return _said(message.custom_type, message_text(message, " "))
        case UnknownMessage():
            return _said(message.role, message_text(message, " "))
        case _:
            return _said("summary", message_text(message, " "))


def _answer(message: AssistantMessage) -> str:
    if words := one_line(message_text(message, " ")):
        return words
    if calls := [_call(block) for block in message.content if isinstance(block, ToolCall)]:
        return one_line(", ".join(calls))
    if message.stop_reason == "aborted":
        return "(aborted)"
    return one_line(message.error_message or "") or "(no content)"


def _call(call: ToolCall) -> str:
    first: Any = next(iter(call.arguments.values()), None)
    return f"[{call.name}: {one_line(first, 60)}]" if isinstance(first, str) else f"[{call.name}]"


def _said(who: str, words: str, *, empty: str = "") -> str:
    words = one_line(words) or empty
    name = who if who in ("user", "system") else f"[{one_line(who, 60)}]"
    return f"{name}: {words}" if words else name
