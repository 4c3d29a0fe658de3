"""The text of a session as documents, one for each message, and what each of them spent.

Said is what people and models wrote; tools is what was handed to tools and what came back. Everything in a
file counts, whatever branch it is on.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any, NamedTuple

from branchline.context import milliseconds
from branchline.context.usage import TOOLS_AND_SUMMARIES, model_name
from branchline.entries import (
    AssistantMessage,
    BashExecution,
    BranchSummary,
    Compaction,
    CustomMessage,
    Entry,
    MessageEntry,
    Text,
    Thinking,
    ToolResult,
    UnknownMessage,
    Usage,
    UsageEntry,
    blocks_text,
    message_text,
)
from branchline.formats import EntryLog, FormatReader
from branchline.tree import ROOT
from branchline.views.tool_calls import calls_of

__all__ = [
    "Document",
    "Spending",
    "documents_of",
    "git_branch_of",
    "off_path",
    "spending_before",
    "traits_of",
]

_TOGETHER = 512
_WINDOW = 64  # entries over which the records of one answer are spread at most
_TYPES = frozenset({"message", "custom_message", "compaction", "branch_summary", "usage"})
_PATHS = frozenset({"path", "file_path", "filePath", "notebook_path", "filename", "file", "target_file"})
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
_LONGEST_PATH = 1024
_LONGEST_TEXT = 1 << 20
_LARGEST = float(1 << 53)


class Spending(NamedTuple):
    """The tokens and the recorded cost of one call."""

    model: str
    """``provider/model``, as programs record it."""
    input: int | float
    output: int | float
    cache_read: int | float
    cache_write: int | float
    cache_write_1h: int | float
    total: int | float
    cost: float | None
    """None where the program does not record it."""
    answer: int | None = None
    """The same for every record of one answer, in all files; of these the one with the most output counts."""


class Document(NamedTuple):
    """One entry of a session that says, calls or spends something."""

    position: int
    entry: str
    offset: int
    length: int
    type: str
    role: str
    ms: int | None
    on_path: bool
    mark: int
    """The same for every copy of the entry in other files."""
    state: int
    """-1 for what came with a fork and has no time by which its copies are known, -2 for what is another
    session's; 0 for everything else."""
    said: str
    tools: str
    tool_names: str
    """The names of the tools that were called or answered, one per line."""
    files: tuple[str, ...]
    """The files that its tool calls name."""
    model: str
    """``provider/model`` of an answer; empty where nobody answers."""
    failed: bool
    """Whether it is the result of a failed call, or a failed answer."""
    spending: Spending | None


def documents_of(transcript: EntryLog, start: int = 0) -> Iterator[Document]:
    """The documents of a session that was read, from a position on. Payloads are decoded in chunks."""
    reading, tree = transcript.reading, transcript.tree
    active = _active(transcript)
    inherited, skipped = reading.inherited_entries, reading.counted_elsewhere
    answers, priced = reading.answer_ids, transcript.records_cost
    session = "" if reading.header is None else reading.header.id
    types, times, keys = tree.types, tree.times, tree.keys
    wanted = [
        position
        for position in range(start, len(tree))
        if types[position] in _TYPES and position not in tree.placeholders
    ]
    for first in range(0, len(wanted), _TOGETHER):
        chunk = wanted[first : first + _TOGETHER]
        for position, entry in zip(chunk, transcript.entries(chunk), strict=True):
            said = _said(entry)
            if said is None:
                continue
            role, words, tools, names, files, model = said
            time, key = times[position], keys[position]
            span = reading.span(position)
            kind = types[position]
            yield Document(
                position,
                key,
                span.offset,
                span.size,
                "continuation" if kind == "message" and position in tree.continuations else kind,
                role,
                milliseconds(time) if time else None,
                active is None or position in active,
                _mark(key, time or session, role),
                -2 if position < skipped else -1 if not time and position < inherited else 0,
                words[:_LONGEST_TEXT],
                tools[:_LONGEST_TEXT],
                names,
                files,
                model,
                _has_failed(entry),
                _spending(entry, answers.get(position), priced=priced),
            )


def off_path(transcript: EntryLog, end: int) -> list[int]:
    """The positions before ``end`` that are not on the active path."""
    active = _active(transcript)
    return [] if active is None else [place for place in range(end) if place not in active]


def spending_before(transcript: EntryLog, end: int) -> dict[int, Spending | None]:
    """What the last entries before ``end`` spent, in formats that write one answer in several records.

    The record that counts is known when the last of them is written.
    """
    if type(transcript.format.reader).merge_answers is FormatReader.merge_answers:
        return {}
    types = transcript.tree.types
    window = [place for place in range(max(0, end - _WINDOW), end) if types[place] == "message"]
    answers, priced = transcript.reading.answer_ids, transcript.records_cost
    return {
        position: _spending(entry, answers.get(position), priced=priced)
        for position, entry in zip(window, transcript.entries(window), strict=True)
    }


def traits_of(transcript: EntryLog) -> frozenset[str]:
    """What ``is:`` can ask for in a search: ``branch``, ``abandoned``, ``compacted``, ``fork``."""
    reading, tree = transcript.reading, transcript.tree
    traits = set()
    active = _active(transcript)
    if active is not None and any(
        kind == "message" and place not in active for place, kind in enumerate(tree.types)
    ):
        traits |= {"branch", "abandoned"}
    if "compaction" in tree.types:
        traits.add("compacted")
    if reading.header is not None and reading.header.parent_session:
        traits.add("fork")
    return frozenset(traits)


def git_branch_of(transcript: EntryLog) -> str | None:
    """The git branch that a session says it is about."""
    header = transcript.reading.header
    branch = None if header is None else (header.metadata or {}).get("gitBranch")
    return branch if isinstance(branch, str) and branch else None


def _active(transcript: EntryLog) -> set[int] | None:
    """The positions on the active path; None where these are all."""
    reading, tree = transcript.reading, transcript.tree
    path = tree.path_positions(reading.leaf) if reading.leaf != ROOT else []
    if len(path) == len(tree):
        return None
    return set(path)


def _mark(key: str, time: str, role: str) -> int:
    return _hash(f"{key}\n{time}\n{role}")


def _hash(words: str) -> int:
    text = words.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "little", signed=True)


_Said = tuple[str, str, str, str, tuple[str, ...], str]


def _said(entry: Entry) -> _Said | None:
    """Role, words, tool text, tool names and files of an entry; None for what is no document."""
    match entry:
        case MessageEntry(message=AssistantMessage() as message):
            return _answer(entry, message)
        case MessageEntry(message=ToolResult() as message):
            return "toolResult", "", blocks_text(message.content, "\n"), message.tool_name, (), ""
        case MessageEntry(message=BashExecution() as message):
            return "bashExecution", message.command, message.output, "", (), ""
        case MessageEntry(message=UnknownMessage() as message):
            return message.role, message_text(message), "", "", (), ""
        case MessageEntry():
            return str(entry.message.role), message_text(entry.message, "\n"), "", "", (), ""
        case CustomMessage():
            return "custom", blocks_text(entry.content, "\n"), "", "", (), ""
        case Compaction() | BranchSummary():
            return "summary", entry.summary, "", "", (), ""
        case UsageEntry():
            return "usage", "", "", "", (), ""
        case _:
            return None


def _answer(entry: Entry, message: AssistantMessage) -> _Said:
    content = message.content
    if isinstance(content, str):
        return "assistant", content, "", "", (), _model(message)
    words: list[str] = []
    tools: list[str] = []
    names: list[str] = []
    files: dict[str, None] = {}
    for block in content:
        if isinstance(block, Text):
            words.append(block.text)
        elif isinstance(block, Thinking):
            words.append(block.thinking)
    for call in calls_of(entry):
        names.append(call.name)
        texts = _strings(call.arguments)
        tools += (call.name, *texts)
        files.update(dict.fromkeys(_files(call.arguments, texts)))
    if message.error_message:
        words.append(message.error_message)
    return "assistant", "\n".join(words), "\n".join(tools), "\n".join(names), tuple(files), _model(message)


def _has_failed(entry: Entry) -> bool:
    match entry:
        case MessageEntry(message=ToolResult(is_error=True)):
            return True
        case MessageEntry(message=AssistantMessage(stop_reason="error")):
            return True
        case MessageEntry(message=BashExecution(exit_code=int(code))):
            return code != 0
        case _:
            return False


def _model(message: AssistantMessage) -> str:
    return model_name(message).strip("/") if message.model or message.response_model else ""


def _strings(value: Any) -> list[str]:
    """All texts inside some arguments."""
    found: list[str] = []
    waiting = [value]
    while waiting:
        match waiting.pop():
            case str() as text:
                found.append(text)
            case dict() as fields:
                waiting += reversed(fields.values())
            case list() as items:
                waiting += reversed(items)
            case _:
                pass
    return found


def _files(arguments: dict[str, Any], texts: list[str]) -> Iterator[str]:
    for name, value in arguments.items():
        if name in _PATHS and isinstance(value, str) and 0 < len(value) <= _LONGEST_PATH:
            yield value
    for text in texts:
        if "*** " in text:
            yield from (path.strip()[:_LONGEST_PATH] for path in _PATCHED.findall(text))


def _spending(entry: Entry, answer: str | None, *, priced: bool) -> Spending | None:
    match entry:
        case MessageEntry(message=AssistantMessage(usage=Usage() as usage) as message):
            model = model_name(message)
        case MessageEntry(message=ToolResult(usage=Usage() as usage)):
            model = TOOLS_AND_SUMMARIES
        case Compaction(usage=Usage() as usage) | BranchSummary(usage=Usage() as usage):
            model = TOOLS_AND_SUMMARIES
        case UsageEntry(usage=Usage() as usage):
            model = f"{entry.provider or ''}/{entry.model or ''}"
        case _:
            return None
    return Spending(
        model.strip("/"),
        _number(usage.input),
        _number(usage.output),
        _number(usage.cache_read),
        _number(usage.cache_write),
        _number(usage.cache_write_1h),
        _number(usage.context_tokens),
        float(_number(usage.cost.total)) if priced else None,
        None if answer is None else _hash(answer),
    )


def _number(value: Any) -> int | float:
    """A number that SQLite can keep and add up; what no program can have spent counts as nothing."""
    if not isinstance(value, int | float):
        return 0
    try:
        number = float(value)
    except OverflowError:
        return 0
    if not math.isfinite(number) or abs(number) > _LARGEST:
        return 0
    return int(number) if number.is_integer() else number
