"""What the tests of conversion share: the samples, what a session says to a model, and rich sessions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

import strategies
from branchline.context import NO_RESULT, build_context, model_messages
from branchline.entries import (
    Compaction,
    ContextEdit,
    Entry,
    Header,
    Image,
    Label,
    Leaf,
    SystemMessage,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    encode_entry,
    encode_header,
)
from branchline.errors import NotASession
from branchline.formats import CODEX, PI, EntryLog, Format, detect
from branchline.plugins.formats import formats
from support import CORPUS

PROGRAMS = ("pi", "oh-my-pi", "operator", "induscode", "zot", "piglet", "claude-code", "codex")
TARGETS = {format_.name: format_ for format_ in formats() if format_.writer is not None}
APPENDABLE = {name: format_ for name, format_ in TARGETS.items() if format_.traits.appendable}
"""Without the programs whose sessions are written as new files only."""
HEADER = Header(
    id="01990000-0000-7000-8000-000000000001",
    version=3,
    timestamp="2030-01-01T00:00:00.000Z",
    cwd="/home/u/project",
    parent_session="/home/u/source.jsonl",
)
EXPECTED = frozenset({"below-head", "empty"})
"""What a healthy file of induscode may be said to be: standing above its newest entry, or without entries."""


def read(data: bytes, format_: Format | None = None, name: str = "session.jsonl") -> EntryLog:
    found = detect(data[:65536], name) if format_ is None else format_
    return EntryLog(found, lambda offset, size: data[offset : offset + size], name)


def written(data: bytes, target: Format) -> EntryLog:
    """What a format reads in a file that was made for it."""
    return read(data, target, target.home.file_key(HEADER) + target.traits.suffix)


def samples(*programs: str) -> list[Path]:
    """The sessions of the corpus, healthy and damaged; of pi, which has very many, every third."""
    return [
        path
        for program in programs or PROGRAMS
        for path in list(session_files(CORPUS / program))[:: 3 if program == "pi" else 1]
    ]


def session_files(root: Path) -> Iterator[Path]:
    """The session files below a folder that have entries."""
    for path in sorted(root.rglob("*")):
        if path.suffix not in (".jsonl", ".ndjson") or not path.stat().st_size:
            continue
        try:
            found = read(path.read_bytes(), name=str(path))
        except NotASession:
            continue
        if len(found.tree):
            yield path


# -- what a model sees ------------------------------------------------------------------------------------


_EMPTY_SUMMARY = re.compile(r"<summary>\n(?:\(no summary available\))?\n</summary>")


def said(
    session: EntryLog, leaf: int | None = None, target: Format | None = None
) -> list[tuple[str, list[Any]]]:
    """The conversation as a model sees it: roles, words, pictures, thoughts, calls and results.

    Messages of one role that follow each other are one; who is told nothing hears nothing. Calls are numbered,
    because some formats name them anew. With a target, what its format never holds is left out.
    """
    return [_without_limits(turn, target) for turn in _numbered(_said(session, leaf), target)]


def _numbered(turns: list[tuple[str, list[Any]]], target: Format | None) -> list[tuple[str, list[Any]]]:
    """The calls by the order in which they were made; where results must follow, those that are missing."""
    numbers: dict[str, int] = {}
    found: list[tuple[str, list[Any]]] = []
    waiting: list[int] = []
    for role, parts in turns:
        made: list[Any] = []
        if role != "ToolResult" and target is not None and not target.traits.appendable:
            found += [("ToolResult", [("result of", call, True), ("words", NO_RESULT)]) for call in waiting]
            waiting = []
        for part in parts:
            if part[0] == "call":
                numbers[part[1]] = len(numbers)
                waiting.append(numbers[part[1]])
                made.append(("call", numbers[part[1]], *part[2:]))
            elif part[0] == "result of":
                made.append(("result of", numbers.get(part[1], part[1]), part[2]))
                waiting = [call for call in waiting if call != numbers.get(part[1])]
            else:
                made.append(part)
        found.append((role, made))
    if target is not None and not target.traits.appendable:
        found += [("ToolResult", [("result of", call, True), ("words", NO_RESULT)]) for call in waiting]
    return found


def _without_limits(turn: tuple[str, list[Any]], target: Format | None) -> tuple[str, list[Any]]:
    role, parts = turn
    if target is not None and "thinking" in target.traits.unsupported:
        parts = [part for part in parts if part[0] != "thought"]
    if target is CODEX:
        parts = [(*part[:2], False) if part[0] == "result of" else part for part in parts]
    return role, parts


def _said(session: EntryLog, leaf: int | None) -> list[tuple[str, list[Any]]]:
    here = session.tree.nearest_conversation_entry(session.reading.leaf) if leaf is None else leaf
    found: list[tuple[str, list[Any]]] = []
    for message in model_messages(item.message for item in build_context(session, here).messages):
        if isinstance(message, SystemMessage):
            continue
        role, parts = type(message).__name__, _parts(message)
        waits = found and any(part[0] == "call" for part in found[-1][1])  # for results, which come between
        if found and found[-1][0] == role and role != "ToolResult" and not waits:
            found[-1][1].extend(parts)
        elif parts:
            found.append((role, parts))
    return found


def _parts(message: Any) -> list[Any]:
    content = message.content
    parts: list[Any] = []
    if isinstance(message, ToolResult):
        parts.append(("result of", message.tool_call_id, message.is_error is True))
    for block in (Text(text=content),) if isinstance(content, str) else content:
        match block:
            case Text():
                if block.text.strip() and not _EMPTY_SUMMARY.search(block.text):
                    parts.append(("words", block.text))
            case Image():
                parts.append(("picture", block.data))
            case Thinking():
                parts.append(("thought", block.thinking))
            case ToolCall():
                parts.append(("call", block.id, block.name, sorted(map(str, block.arguments.items()))))
            case _:
                parts.append(("unknown",))
    return parts


# -- rich sessions ----------------------------------------------------------------------------------------

_KINDS = [
    *["message"] * 8,
    *["custom_message", "branch_summary", "compaction", "context_edit"],
    *["label", "session_info", "leaf", "custom", "usage", "model_change", "thinking_level_change", "unknown"],
]


@st.composite
def rich_sessions(draw: st.DrawFn, most: int = 14) -> bytes:
    """A native session with entries of every kind, each hanging from an earlier one, nothing damaged."""
    lines = [encode_header(Header(id="rich", version=3, timestamp="2026-01-01T00:00:00.000Z", cwd="/home/u"))]
    keys: list[str] = []
    for number in range(draw(st.integers(1, most))):
        entry = draw(strategies.entry_strategies[draw(st.sampled_from(_KINDS))])
        above: st.SearchStrategy[str | None] = st.sampled_from([*keys, None]) if keys else st.none()
        parent = keys[-1] if keys and draw(st.integers(0, 3)) > 0 else draw(above)
        entry = _placed(draw, entry, f"{number:04x}aaaa", parent, keys)
        lines.append(encode_entry(entry))
        keys.append(entry.id)
    return b"".join(lines)


def _placed(draw: st.DrawFn, entry: Entry, key: str, parent: str | None, keys: list[str]) -> Entry:
    import msgspec

    changes: dict[str, Any] = {"id": key, "parent": parent}
    if isinstance(entry, Compaction):
        changes["first_kept"] = draw(st.sampled_from([*keys, key, None]))
        if draw(st.booleans()):
            changes["retained_tail"] = None
    if isinstance(entry, Label | ContextEdit):
        changes["target"] = draw(st.sampled_from([*keys, "nobody"]))
    if isinstance(entry, Leaf):
        target = draw(st.sampled_from([*keys, None]))
        changes |= {"target": target, "parent": target}
    return msgspec.structs.replace(entry, **changes)


__all__ = [
    "EXPECTED",
    "HEADER",
    "PI",
    "PROGRAMS",
    "TARGETS",
    "read",
    "rich_sessions",
    "said",
    "samples",
    "session_files",
    "written",
]
