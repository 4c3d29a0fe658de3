"""Typed transcript records: the few fields that the tree needs, and the kind of record they make.

The format has no specification, so any field may be missing or have an unusual type. The fast path decodes
many records at once and gives up at the first unusual one; the lenient path keeps every field of a record
that has the right type.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from zlib import crc32

import msgspec

from branchline.entries import json_codec
from branchline.formats import typed_rows
from branchline.formats.claude_code.kinds import (
    ANSWER,
    BOOKKEEPING,
    BOUNDARY,
    COMMAND,
    ERROR,
    HUMAN,
    INTERRUPT,
    META,
    MICRO,
    QUEUED,
    RESULT,
    RESUMED,
    SUMMARY,
    WRAPPER,
)

__all__ = [
    "ContentBlock",
    "Row",
    "RowShape",
    "decode_rows",
    "first_line",
    "row_from",
    "shape_of",
    "text_of",
    "wrapper_name",
]


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
    summary: bool | None = None


class CompactMetadata(msgspec.Struct, gc=False):
    preTokens: int | float | None = None  # noqa: N815
    preservedSegment: Preserved | None = None  # noqa: N815
    preservedMessages: Preserved | None = None  # noqa: N815
    compactedToolIds: tuple[str, ...] | None = None  # noqa: N815
    branchline: Preserved | None = None


class Row(msgspec.Struct, gc=False):
    """A record, as far as tree, title and leaf need it. Field names are those of the file."""

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
    requestId: str | None = None  # noqa: N815
    isSidechain: bool | None = None  # noqa: N815
    isMeta: bool | None = None  # noqa: N815
    isCompactSummary: bool | None = None  # noqa: N815
    isApiErrorMessage: bool | None = None  # noqa: N815
    forkedFrom: ForkedFrom | None = None  # noqa: N815
    promptSource: str | None = None  # noqa: N815
    message: RowMessage | None = None
    subtype: str | None = None
    attachment: Attached | None = None
    compactMetadata: CompactMetadata | None = None  # noqa: N815
    microcompactMetadata: CompactMetadata | None = None  # noqa: N815
    customTitle: str | None = None  # noqa: N815
    aiTitle: str | None = None  # noqa: N815
    summary: str | None = None
    leafUuid: str | None = None  # noqa: N815
    origin: str | None = msgspec.field(name="from", default=None)
    branchline: bool | str | None = None


@json_codec.build_once
def _decoder() -> msgspec.json.Decoder[Row]:
    """Build the decoder on first use: many commands only locate files."""
    return msgspec.json.Decoder(Row)


def decode_rows(data: memoryview) -> Sequence[Row]:
    """Decode many records, all of the usual shape; raises msgspec's errors."""
    return _decoder().decode_lines(data)


def row_from(fields: dict[str, Any]) -> Row | None:
    """Return the record in a JSON object, without fields of the wrong type; None if it has no type."""
    return typed_rows.row_from(fields, Row) if isinstance(fields.get("type"), str) else None


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
_CUT_SHORT = frozenset({"max_tokens", "refusal", "model_context_window_exceeded"})
"""Stop reasons that the user should see, even if an answer has no text."""


def text_of(content: str | tuple[ContentBlock, ...] | None) -> str:
    """Return the text of a message."""
    if content is None or isinstance(content, str):
        return content or ""
    if len(content) == 1:
        return content[0].text or ""
    return "\n".join([block.text for block in content if block.text])


class RowShape(msgspec.Struct, gc=False):
    """The properties of a record that branches and totals depend on."""

    kind: int
    mark: int
    """A fingerprint of the text; equal texts have equal numbers."""
    quiet: bool
    """Whether it is a textless answer."""
    calls: str
    """The ids of an answer's calls, or of the calls that a results record answers, one per line."""


def shape_of(row: Row) -> RowShape:
    """Classify a record; the only place that does."""
    message = row.message
    content = None if message is None else message.content
    text = thoughts = calls = answered = ""
    holds_results = False
    if isinstance(content, str):
        text = content
    else:
        for block in content or ():
            if block.text:
                text = f"{text}\n{block.text}" if text else block.text
            elif block.thinking:
                thoughts += block.thinking
            if block.type == "tool_result":
                holds_results = True
                if block.tool_use_id:
                    answered = f"{answered}\n{block.tool_use_id}" if answered else block.tool_use_id
            elif block.id and block.type.endswith("tool_use"):
                calls = f"{calls}\n{block.id}" if calls else block.id
    if row.type == "user":
        kind = RESULT if holds_results else _kind_of_user(row, text)
        return RowShape(kind, _fingerprint(text or thoughts), False, answered)
    kind = _kind_of(row)
    if kind != ANSWER:
        return RowShape(kind, _fingerprint(text or thoughts), False, "")
    quiet = (not text or text.isspace()) and (message is None or message.stop_reason not in _CUT_SHORT)
    return RowShape(ANSWER, _fingerprint(text or thoughts), quiet, calls)


def _fingerprint(text: str) -> int:
    """Return a fingerprint of a text, the same in every process; for long texts, of ends and length."""
    ends = text if len(text) <= 256 else text[:128] + text[-128:]
    return len(text) << 32 | crc32(ends.encode("utf-8", "surrogatepass"))


def _kind_of(row: Row) -> int:
    """Return the kind of a record other than a user record."""
    match row.type:
        case "assistant":
            message = row.message
            if row.isApiErrorMessage:
                return ERROR
            return RESUMED if message is not None and message.model == "<synthetic>" else ANSWER
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
    """Return the kind of a user record without results; the first matching test decides."""
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
    """Return the tag name of a wrapper."""
    found = _TAG.match(text.lstrip())
    return "caveat" if found is None else found[1]


_GLUED = re.compile(r"\s*<(ide_[A-Za-z0-9_-]*|system-reminder)(?:\s[^>]*)?>(?:(?!<\1).)*?</\1>", re.DOTALL)


def first_line(text: str) -> str:
    """Return the first non-empty line of a prompt, after the blocks that an editor put in front."""
    position = 0
    while found := _GLUED.match(text, position):
        position = found.end()
    return next((line.strip() for line in text[position:].split("\n") if line.strip()), "")
