"""Encodes entries as induscode lines, so that induscode selects the intended path.

induscode follows the last head line or, without one, takes the deepest entry. So a head is appended if the
file has one, or if the new entry would not be the deepest one for induscode. Otherwise none is written: a
head line would hide what induscode appends later.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from branchline.context import milliseconds
from branchline.context.builder import custom_content
from branchline.entries import (
    AssistantMessage,
    BashExecution,
    Block,
    BranchSummary,
    BranchSummaryMessage,
    Compaction,
    CompactionSummaryMessage,
    Content,
    CustomContent,
    CustomMessage,
    Entry,
    Image,
    Leaf,
    Message,
    MessageEntry,
    SystemMessage,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UnknownBlock,
    UnknownMessage,
    Usage,
    UserMessage,
    json_codec,
)
from branchline.formats.entry_refs import reference_id
from branchline.formats.extra_fields import typed_message
from branchline.formats.induscode.log_index import InduscodeLogIndex
from branchline.formats.induscode.records import DETAILS, FROM_HOOK, NOTE
from branchline.formats.induscode.rows import SCHEMA
from branchline.formats.json_values import text_of

__all__ = ["InduscodeWriter"]

Refuse = Callable[[str], Exception]
_encode = msgspec.json.Encoder().encode
_NODE_ROLES = {
    "user": "user",
    "assistant": "assistant",
    "toolResult": "tool",
    "compactionSummary": "condense",
    "branchSummary": "condense",
}
_TOKENS = (
    ("input", "input"),
    ("output", "output"),
    ("cacheRead", "cache_read"),
    ("cacheWrite", "cache_write"),
)


class _Written(NamedTuple):
    """An entry written in this batch, as the deepest-entry rule sees it."""

    depth: int
    id: str


class InduscodeWriter:
    """Encodes new entries for appending."""

    def __init__(self, reading: InduscodeLogIndex, refuse: Refuse) -> None:
        self._reading = reading
        self._refuse = refuse
        self._has_head = reading.has_head
        self._depths = None if reading.has_head else reading.program_depths()
        self._written: dict[str, _Written] = {}
        self._last: str | None = None
        self._wants_head = False

    def encode(self, entries: Iterable[Entry]) -> bytes:
        """Return all lines. Raises NotSupported if one of the entries cannot be stored."""
        lines = [line for entry in entries for line in self._lines(entry)]
        if self._last is not None and self._needs_head(self._last):
            lines.append(self._head(self._last))
        return b"".join(lines)

    def _lines(self, entry: Entry) -> Iterator[bytes]:
        match entry:
            case Leaf():
                self._has_head, self._last = True, None
                yield self._head(self._name(entry.target))
            case MessageEntry():
                yield self._entry(entry, typed_message(entry.message))
            case CustomMessage() if entry.custom_type == NOTE and entry.role == "user":
                meta = entry.details if isinstance(entry.details, dict) else None
                yield self._entry(entry, UserMessage(content=entry.content), meta, role="note")
            case CustomMessage():
                message = msgspec.structs.replace(custom_content(entry), timestamp=None)
                yield self._entry(entry, message)
            case BranchSummary():
                summary = BranchSummaryMessage(summary=entry.summary, from_id=entry.from_id or "root")
                self._wants_head = True
                yield self._entry(entry, summary, _meta(entry))
            case Compaction():
                yield from self._compaction(entry)
            case _:
                raise self._refuse(entry.type)

    def _compaction(self, entry: Compaction) -> Iterator[bytes]:
        """Yield a new root: the summary, followed by copies of the kept messages."""
        kept = entry.retained_tail
        if kept is None:
            if entry.first_kept not in (None, entry.id):
                raise self._refuse("kept entries")
            kept = ()
        self._has_head = True
        yield self._head(None)
        summary = CompactionSummaryMessage(summary=entry.summary, tokens_before=entry.tokens_before or 0)
        yield self._entry(msgspec.structs.replace(entry, parent=None), summary, _meta(entry))
        parent = entry.id
        for number, message in enumerate(kept):
            name = hashlib.sha256(f"{entry.id} {number}".encode()).hexdigest()[:16]
            copy = MessageEntry(id=name, parent=parent, timestamp=entry.timestamp, message=message)
            yield self._entry(copy, typed_message(message))
            parent = copy.id

    def _entry(
        self, entry: Entry, message: Message, meta: dict[str, Any] | None = None, *, role: str | None = None
    ) -> bytes:
        """Return the line of an entry; ``role`` is that of the node (default: that of its message)."""
        fields = _message(message, milliseconds(entry.timestamp) or 0, self._refuse)
        previous = self._name(entry.parent)
        self._written[entry.id] = _Written(self._depth(entry.parent) + 1, entry.id)
        self._last = entry.id
        line: dict[str, Any] = {
            "schema": SCHEMA,
            "kind": "entry",
            "id": entry.id,
            "prev": previous,
            "role": role or _NODE_ROLES.get(text_of(fields.get("role")), "note"),
            "message": fields,
            "at": entry.timestamp,
        }
        return self._line(line if meta is None else {**line, "meta": meta})

    def _head(self, leaf: str | None) -> bytes:
        header = self._reading.header
        session = "" if header is None else header.id
        return self._line({"schema": SCHEMA, "kind": "head", "sessionId": session, "leaf": leaf})

    def _line(self, fields: dict[str, Any]) -> bytes:
        try:
            return _encode(fields) + b"\n"
        except UnicodeEncodeError:
            raise self._refuse("half character") from None
        except OverflowError:  # an integer with more digits than the fast encoder accepts
            return json_codec.dumps(fields) + b"\n"

    def _name(self, key: str | None) -> str | None:
        """Return the id of an entry in the file."""
        if key is None or key in self._written:
            return key
        name = reference_id(self._reading, key)
        if name is None:
            raise self._refuse("repeated id")
        return name

    # -- whether induscode would find it --------------------------------------------------------------

    def _needs_head(self, last: str) -> bool:
        if self._has_head or self._wants_head or self._depths is None:
            return True
        best = max(self._written.values())
        if (deepest := self._depths.deepest) >= 0:
            best = max(best, _Written(self._depths.depth(deepest), self._reading.tree.keys[deepest]))
        return best.id != last

    def _depth(self, key: str | None) -> int:
        if key is None or self._has_head or self._wants_head or self._depths is None:
            return 0  # not used
        if key in self._written:
            return self._written[key].depth
        return self._depths.depth(self._reading.tree.position(key))


def _meta(entry: BranchSummary | Compaction) -> dict[str, Any] | None:
    """Return a summary's additional fields for ``meta``, which induscode leaves unchanged."""
    meta = {} if entry.details is None else {DETAILS: entry.details}
    if entry.from_hook is not None:
        meta[FROM_HOOK] = entry.from_hook
    return meta or None


# -- messages ---------------------------------------------------------------------------------------------


def _message(message: Message, now: int, refuse: Refuse) -> dict[str, Any]:
    """Return a message with its keys in order."""
    if isinstance(message, UnknownMessage):
        return {"role": message.role, **message.fields}
    if isinstance(message, SystemMessage):
        raise refuse("system")
    time = now if message.timestamp is None else round(message.timestamp)
    match message:
        case UserMessage():
            return {"role": "user", "content": _content(message.content), "timestamp": time}
        case AssistantMessage():
            return {
                "role": "assistant",
                "content": _parts(message.content),
                "api": message.api or "",
                "provider": message.provider or "",
                "model": message.model or "",
                "usage": _usage(message.usage or Usage()),
                "stopReason": message.stop_reason or "stop",
                **_present(errorMessage=message.error_message),
                "timestamp": time,
            }
        case ToolResult():
            return {
                "role": "toolResult",
                "toolCallId": message.tool_call_id,
                "toolName": message.tool_name,
                "content": _parts(message.content),
                **_present(details=message.details),
                "isError": message.is_error is True,
                "timestamp": time,
            }
        case BashExecution():
            return {
                "role": "bashExecution",
                "command": message.command,
                "output": message.output,
                **_present(exitCode=message.exit_code),
                "cancelled": message.cancelled is True,
                "truncated": message.truncated is True,
                "timestamp": time,
                **_present(
                    fullOutputPath=message.full_output_path, excludeFromContext=message.exclude_from_context
                ),
            }
        case CustomContent():
            return {
                "role": "custom",
                "customType": message.custom_type,
                "content": _content(message.content),
                "display": message.display is not False,
                "timestamp": time,
                **_present(details=message.details),
            }
        case BranchSummaryMessage():
            return {
                "role": "branchSummary",
                "summary": message.summary,
                "fromId": message.from_id or "root",
                "timestamp": time,
            }
        case CompactionSummaryMessage():
            before = round(message.tokens_before or 0)
            return {
                "role": "compactionSummary",
                "summary": message.summary,
                "tokensBefore": before,
                "timestamp": time,
            }


def _content(content: Content) -> str | list[dict[str, Any]]:
    return content if isinstance(content, str) else _parts(content)


def _parts(content: Content) -> list[dict[str, Any]]:
    blocks: tuple[Block, ...] = (Text(text=content),) if isinstance(content, str) else content
    return [_part(block) for block in blocks]


def _part(block: Block) -> dict[str, Any]:
    match block:
        case Text():
            return {"type": "text", "text": block.text, **_present(textSignature=block.text_signature)}
        case Thinking():
            signature = block.thinking_signature
            return {"type": "thinking", "thinking": block.thinking, **_present(thinkingSignature=signature)}
        case Image():
            return {"type": "image", "data": block.data, "mimeType": block.mime_type}
        case ToolCall():
            return {
                "type": "toolCall",
                "id": block.id,
                "name": block.name,
                "arguments": block.arguments,
                **_present(thoughtSignature=block.thought_signature),
            }
        case UnknownBlock():
            return block.fields


def _usage(usage: Usage) -> dict[str, Any]:
    costs = (*_TOKENS, ("total", "total"))
    return {
        **{wire: round(getattr(usage, name)) for wire, name in _TOKENS},
        "totalTokens": round(usage.context_tokens),
        "cost": {wire: float(getattr(usage.cost, name)) for wire, name in costs},
    }


def _present(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
