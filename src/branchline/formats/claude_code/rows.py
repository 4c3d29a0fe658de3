"""What a line of a transcript is: the few fields that a tree needs, and the kind of record they make.

Nothing about these files is promised, so every field may be missing or of another type than usual. The fast
way takes many records at once and gives up on the first one that is unusual; the lenient way keeps of a
record whatever has the right type.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

__all__ = [
    "ANSWER",
    "ASIDE",
    "BOOKKEEPING",
    "BOUNDARY",
    "COMMAND",
    "ERROR",
    "HUMAN",
    "INTERRUPT",
    "META",
    "MICRO",
    "QUEUED",
    "RESULT",
    "RESUMED",
    "SUMMARY",
    "WRAPPER",
    "ContentBlock",
    "Row",
    "decode_rows",
    "first_line",
    "kind_of",
    "row_from",
    "text_of",
    "wrapper_name",
]

# What a record is. Bookkeeping comes first: everything up to MICRO counts as such.
BOOKKEEPING, BOUNDARY, MICRO = 0, 1, 2
META, COMMAND, WRAPPER, INTERRUPT, SUMMARY, QUEUED = 3, 4, 5, 6, 7, 8
HUMAN, RESULT, ANSWER, ERROR, RESUMED = 9, 10, 11, 12, 13
ASIDE = 14
"""A record that hangs on the session and not in the tree."""


class ContentBlock(msgspec.Struct, gc=False):
    """One block of a message, of any type."""

    type: str = ""
    text: str | None = None
    thinking: str | None = None
    id: str | None = None
    name: str | None = None
    tool_use_id: str | None = None


class Spent(msgspec.Struct, gc=False):
    output_tokens: int | float | None = None


class RowMessage(msgspec.Struct, gc=False):
    """The message of a record."""

    id: str | None = None
    model: str | None = None
    content: str | tuple[ContentBlock, ...] | None = None
    stop_reason: str | None = None
    usage: Spent | None = None


class Attached(msgspec.Struct, gc=False):
    type: str = ""
    prompt: str | tuple[ContentBlock, ...] | None = None


class ForkedFrom(msgspec.Struct, gc=False):
    sessionId: str | None = None  # noqa: N815


class Preserved(msgspec.Struct, gc=False):
    headUuid: str | None = None  # noqa: N815
    uuids: tuple[str, ...] | None = None


class CompactMetadata(msgspec.Struct, gc=False):
    preTokens: int | float | None = None  # noqa: N815
    preservedSegment: Preserved | None = None  # noqa: N815
    preservedMessages: Preserved | None = None  # noqa: N815
    compactedToolIds: tuple[str, ...] | None = None  # noqa: N815


class Row(msgspec.Struct, gc=False):
    """A record, as far as tree, title and leaf need it. The names are those of the file."""

    type: str
    uuid: str | None = None
    parentUuid: str | None = None  # noqa: N815
    logicalParentUuid: str | None = None  # noqa: N815
    timestamp: str | None = None
    sessionId: str | None = None  # noqa: N815
    cwd: str | None = None
    version: str | None = None
    gitBranch: str | None = None  # noqa: N815
    sessionKind: str | None = None  # noqa: N815
    agentId: str | None = None  # noqa: N815
    requestId: str | None = None  # noqa: N815
    isSidechain: bool | None = None  # noqa: N815
    isMeta: bool | None = None  # noqa: N815
    isCompactSummary: bool | None = None  # noqa: N815
    isApiErrorMessage: bool | None = None  # noqa: N815
    forkedFrom: ForkedFrom | None = None  # noqa: N815
    message: RowMessage | None = None
    subtype: str | None = None
    attachment: Attached | None = None
    compactMetadata: CompactMetadata | None = None  # noqa: N815
    microcompactMetadata: CompactMetadata | None = None  # noqa: N815
    customTitle: str | None = None  # noqa: N815
    aiTitle: str | None = None  # noqa: N815
    summary: str | None = None
    leafUuid: str | None = None  # noqa: N815


_decode_rows = msgspec.json.Decoder(Row).decode_lines


def decode_rows(data: bytes | memoryview) -> Sequence[Row]:
    """Many records, all of the usual shape; what msgspec raises goes through."""
    return _decode_rows(data)


def row_from(fields: dict[str, Any]) -> Row | None:
    """The record in a JSON object, without what has the wrong type; None when it does not say its type."""
    try:
        return msgspec.convert(fields, Row)
    except (msgspec.MsgspecError, RecursionError):
        pass
    return _what_fits(Row, fields) if isinstance(fields.get("type"), str) else None


_NESTED: dict[str, Any] = {
    "message": RowMessage,
    "attachment": Attached,
    "usage": Spent,
    "forkedFrom": ForkedFrom,
    "compactMetadata": CompactMetadata,
    "microcompactMetadata": CompactMetadata,
    "preservedSegment": Preserved,
    "preservedMessages": Preserved,
}


def _what_fits(record: Any, fields: dict[str, Any]) -> Any:
    """As much of a record as has the right type. The nesting of the records bounds the recursion."""
    values: dict[str, Any] = {}
    for field in msgspec.structs.fields(record):
        value = fields.get(field.encode_name)
        if value is None:
            continue
        if field.name in _NESTED:
            if isinstance(value, dict):
                values[field.name] = _what_fits(_NESTED[field.name], value)
        elif field.name in ("content", "prompt") and isinstance(value, list):
            values[field.name] = tuple(
                _what_fits(ContentBlock, item) for item in value if isinstance(item, dict)
            )
        elif field.type is not Any:
            try:
                values[field.name] = msgspec.convert(value, field.type)
            except (msgspec.MsgspecError, RecursionError):
                continue
    return record(**values)


# -- kinds ------------------------------------------------------------------------------------------------

_COMMAND = ("<command-name>", "<command-message>")
_WRAPPERS = (
    "<local-command-",
    "<bash-input>",
    "<bash-stdout>",
    "<bash-stderr>",
    "Caveat: The messages below",
    "<system-reminder>",
    "<task-notification>",
    "<teammate-message",
    "<user-memory-input>",
    "<user-prompt-submit-hook>",
)
_INTERRUPT = "[Request interrupted by user"


def text_of(content: str | tuple[ContentBlock, ...] | None) -> str:
    """The words of a message."""
    if content is None or isinstance(content, str):
        return content or ""
    if len(content) == 1:
        return content[0].text or ""
    return "\n".join([block.text for block in content if block.text])


def kind_of(row: Row, text: str) -> int:
    """What a record is, when its words are these. The tests of section 4, first match."""
    match row.type:
        case "user":
            return _kind_of_user(row, text)
        case "assistant":
            said = row.message
            if row.isApiErrorMessage:
                return ERROR
            return RESUMED if said is not None and said.model == "<synthetic>" else ANSWER
        case "system":
            if row.subtype == "compact_boundary":
                return BOUNDARY
            return MICRO if row.subtype == "microcompact_boundary" else BOOKKEEPING
        case "attachment" if row.attachment is not None and row.attachment.type == "queued_command":
            prompt = text_of(row.attachment.prompt).lstrip()
            return WRAPPER if prompt.startswith(_WRAPPERS) else QUEUED
        case _:
            return BOOKKEEPING


def _kind_of_user(row: Row, text: str) -> int:
    content = None if row.message is None else row.message.content
    if content is not None and not isinstance(content, str):
        for block in content:
            if block.type == "tool_result":
                return RESULT
    if row.isCompactSummary:
        return SUMMARY
    if row.isMeta:
        return META
    beginning = text[:256].lstrip() or text.lstrip()
    if not beginning.startswith(("<", "C", "[")):
        return HUMAN
    if beginning.startswith(_COMMAND):
        return COMMAND
    if beginning.startswith(_WRAPPERS):
        return WRAPPER
    return INTERRUPT if beginning.startswith(_INTERRUPT) else HUMAN


_TAG = re.compile(r"<([a-z][a-z-]*)")


def wrapper_name(text: str) -> str:
    """What a wrapper is called: the name of its tag."""
    found = _TAG.match(text.lstrip())
    return "caveat" if found is None else found[1]


_GLUED = re.compile(r"\s*<(ide_[A-Za-z0-9_-]*|system-reminder)(?:\s[^>]*)?>(?:(?!<\1).)*?</\1>", re.DOTALL)


def first_line(text: str) -> str:
    """The first line of a prompt with words, behind the blocks that an editor put in front."""
    position = 0
    while found := _GLUED.match(text, position):
        position = found.end()
    return next((line.strip() for line in text[position:].split("\n") if line.strip()), "")
