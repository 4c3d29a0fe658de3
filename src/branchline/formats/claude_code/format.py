"""Claude Code's transcript format: detection, reading and writing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from branchline.context import ContextRules, ModelRef, milliseconds
from branchline.context.context import ContextMessage
from branchline.entries import (
    AssistantMessage,
    Compaction,
    CompactionSummaryMessage,
    Content,
    Entry,
    Header,
    Message,
    Text,
    json_codec,
)
from branchline.errors import NotSupported
from branchline.formats.claude_code.home import ClaudeCodeHome
from branchline.formats.claude_code.kinds import CLEARED, ERROR, PROVENANCE
from branchline.formats.copying_writer import CopyingWriter
from branchline.formats.protocol import EntryTexts, Format, FormatReader, FormatTraits
from branchline.tree import EntrySource

if TYPE_CHECKING:
    from branchline.formats.claude_code.log_index import ClaudeCodeLogIndex
    from branchline.formats.claude_code.reader import ClaudeCodeReader
    from branchline.formats.entry_log import EntryLog
    from branchline.formats.entry_text import EntryText
    from branchline.formats.log_index import LineChunk

__all__ = ["CLAUDE_CODE"]

_SPEAKING = frozenset({"user", "assistant"})
_RECORD = frozenset({"uuid", "parentUuid", "sessionId"})
_OF_OTHERS = frozenset({"session", "title", "meta", "session_meta"})
_TREE = frozenset({"system", "attachment", "progress"})
_BESIDE = {
    "summary": "leafUuid",
    "custom-title": "customTitle",
    "ai-title": "aiTitle",
    "last-prompt": "sessionId",
    "file-history-snapshot": "snapshot",
    "queue-operation": "operation",
    "permission-mode": "permissionMode",
    "mode": "sessionId",
    "agent-name": "sessionId",
    "worktree-state": "sessionId",
    "bridge-session": "sessionId",
    PROVENANCE: "sessionId",
}
_CUT = (
    rb'\{\s*(?:"parentUuid"\s*:\s*(?:null|")|"type"\s*:\s*"(?:user|assistant|summary|file-history-snapshot|'
    rb'queue-operation|attachment|progress|ai-title|custom-title|last-prompt)"\s*,)'
)
_CWD = rb'(?m)^[^\n]{0,1000}?"cwd"\s*:\s*("[^"\\]{1,4000}")'
_PLACE = r"[/\\]projects[/\\][^/\\]+[/\\](?:.*[/\\])?[^/\\]+\.jsonl$"


class _Answer(msgspec.Struct, gc=False):
    model: str | None = None


class _Record(msgspec.Struct, gc=False):
    message: _Answer


@json_codec.build_once
def _decoder() -> msgspec.json.Decoder[_Record]:
    return msgspec.json.Decoder(_Record)


def _summary_left(source: EntrySource, compaction: Compaction) -> tuple[Message, ...]:
    """Return what replaces a compaction; Claude Code does not send an empty summary."""
    del source
    if not compaction.summary.strip():
        return ()
    time = milliseconds(compaction.timestamp)
    before = compaction.tokens_before
    return (CompactionSummaryMessage(summary=compaction.summary, tokens_before=before, timestamp=time),)


def _as_sent(messages: list[ContextMessage]) -> list[ContextMessage]:
    """Return the messages with whole answers, without those that Claude Code does not send."""
    return [item for item in _merge_answers(messages) if not _is_blank(item.message)]


def _is_blank(message: Message) -> bool:
    """Return whether an answer holds nothing but blank text, which Anthropic's API refuses."""
    if not isinstance(message, AssistantMessage):
        return False
    if isinstance(message.content, str):
        return not message.content.strip()
    return all(isinstance(block, Text) and not block.text.strip() for block in message.content)


def _merge_answers(messages: list[ContextMessage]) -> list[ContextMessage]:
    """Merge the records of each answer into one message, at the position of the first; results follow."""
    merged: list[ContextMessage] = []
    places: dict[str, int] = {}
    for item in messages:
        message, place = item.message, len(merged)
        if isinstance(message, AssistantMessage) and message.response_id is not None:
            place = places.setdefault(message.response_id, place)
            if place < len(merged):
                first = merged[place].message
                assert isinstance(first, AssistantMessage)
                merged[place] = ContextMessage(merged[place].entry, _merged(first, message))
                continue
        merged.append(item)
    return merged


def _merged(before: AssistantMessage, after: AssistantMessage) -> AssistantMessage:
    return msgspec.structs.replace(
        before,
        content=_joined(before.content, after.content),
        usage=after.usage or before.usage,
        stop_reason=after.stop_reason or before.stop_reason,
        raw_stop_reason=after.raw_stop_reason or before.raw_stop_reason,
    )


def _joined(one: Content, other: Content) -> Content:
    """Return the blocks of two records of one answer; the later one may repeat those of the first."""
    if isinstance(one, str) or isinstance(other, str):
        return other if isinstance(one, str) else one
    return other if other[: len(one)] == one else one + other


TRAITS = FormatTraits(
    name="claude-code",
    records_cost=False,
    keeps_days=30,
    keeps_days_setting="cleanupPeriodDays",
    file_patterns=("*/*.jsonl",),
    subagent_patterns=("*/*/subagents/**/agent-*.jsonl",),
    unsupported={
        "label": "Claude Code has no labels",
        "untitle": "Claude Code keeps the last title",
        "branch_summary": "Claude Code does not summarize branches",
        "thinking": "Claude Code sends thinking only to the model that signed it",
        "thinking_level_change": "Claude Code does not record how hard a model thinks",
        "model_change": "in Claude Code only answers name a model",
        "context_edit": "Claude Code has no context edits",
        "custom": "Claude Code cannot store it",
        "custom_message": "Claude Code supports only prompts, answers, results and hidden context",
        "message": "Claude Code supports only user, assistant and tool messages",
        "usage": "Claude Code records tokens with its own answers only",
        "block": "Claude Code supports only text, images, tool calls and tool results",
        "half character": "Anthropic's API rejects every request with a lone surrogate",
        "empty": "Claude Code drops messages without content",
        "result": "the call that it answers does not precede it, or has a result already",
        "kept messages": "Claude Code names the messages that a compaction keeps",
    },
    appendable=False,
    active_branch_last=True,
    lists_last_prompt=True,
    ends_with_position=True,
    rounds_integers=True,
)


class ClaudeCodeFormatReader(FormatReader["ClaudeCodeLogIndex"]):
    """Reads transcripts of Claude Code up to 2.1."""

    context_rules = ContextRules(
        boundaries=frozenset({"compact_boundary", CLEARED}), finish=_as_sent, opening=_summary_left
    )

    def sniff(self, head: bytes, path: str) -> bool:
        """Recognize a record of the tree, or a known metadata record, before any other object.

        Every release adds kinds: an unknown one is not conclusive if records of the tree follow.
        """
        from branchline.formats.lines import head_lines  # noqa: PLC0415  searches read no file

        strange = False
        for line in head_lines(head):
            if not line.strip():
                continue
            try:
                fields = json_codec.loads(line)
            except ValueError:
                if not strange and re.match(_CUT, line):
                    return True
                continue
            if isinstance(fields, dict):
                if _matches(fields) and (not strange or fields.keys() >= _RECORD):
                    return True
                if not isinstance(kind := fields.get("type"), str) or kind in _OF_OTHERS:
                    return False
                strange = True
        return not head and re.search(_PLACE, path) is not None

    def log_reader(self, path: str = "") -> ClaudeCodeReader:
        from branchline.formats.claude_code.reader import ClaudeCodeReader  # noqa: PLC0415  as above

        return ClaudeCodeReader(path)

    def answer_model(self, transcript: EntryLog[ClaudeCodeLogIndex], position: int) -> ModelRef | None:
        """Return the model of an answer without decoding its content and usage."""
        reading = transcript.reading
        try:
            model = _decoder().decode(transcript.raw(position)).message.model
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return super().answer_model(transcript, position)
        if not model or (reading.kinds[position] == ERROR and model == "<synthetic>"):
            return None
        return ModelRef(provider="anthropic", id=model)

    def peek(self, head: bytes, path: str, *, whole: bool) -> Header | None:
        """Return the header from the first records; of a very long record only the start is read."""
        header = super().peek(head, path, whole=whole)
        if whole and (header is None or not header.cwd) and (found := re.search(_CWD, head)) is not None:
            named = Header(id=TRAITS.key_of(path)) if header is None else header
            header = msgspec.structs.replace(named, cwd=str(json_codec.loads(found[1])))
        return header

    def decode(self, line: bytes, index: ClaudeCodeLogIndex, position: int) -> Entry:
        from branchline.formats.claude_code.records import decode_record  # noqa: PLC0415  as above

        return decode_record(line, index, position)

    def merge_answers(self, before: AssistantMessage, after: AssistantMessage) -> AssistantMessage | None:
        """Merge records of the same response into one answer."""
        same = before.response_id is not None and before.response_id == after.response_id
        return _merged(before, after) if same else None


def _matches(fields: dict[str, Any]) -> bool:
    kind = fields.get("type")
    if not isinstance(kind, str):
        return False
    if kind in _SPEAKING:
        message = fields.get("message")
        return isinstance(message, dict) and "content" in message and "parentId" not in fields
    if kind in _TREE or "uuid" in fields:
        return "uuid" in fields and ("parentUuid" in fields or "sessionId" in fields)
    return _BESIDE.get(kind, "") in fields


class ClaudeCodeFormatWriter(CopyingWriter["ClaudeCodeLogIndex"]):
    """Writes new transcripts that Claude Code 2.1 can resume; never changes existing ones."""

    def session_id(self, fresh: str, timestamp: str) -> str:
        from branchline.formats.derived_ids import uuid4_from  # noqa: PLC0415  searches write nothing

        del timestamp
        return uuid4_from(fresh)

    def encode_header(self, header: Header) -> bytes:
        from branchline.formats.claude_code.writer import provenance_line  # noqa: PLC0415
        from branchline.formats.derived_ids import is_uuid  # noqa: PLC0415

        if not is_uuid(header.id):
            raise NotSupported(f"cannot write a Claude Code session with the id {header.id!r}: not a UUID")
        return provenance_line(header)

    def encode(self, entries: Sequence[Entry], index: ClaudeCodeLogIndex) -> bytes:
        from branchline.formats.claude_code.writer import TranscriptWriter  # noqa: PLC0415

        return TranscriptWriter(index, TRAITS.unsupported_error).write(entries)

    def copied_lines(
        self, transcript: EntryLog[ClaudeCodeLogIndex], positions: Sequence[int], header: Header
    ) -> Iterator[bytes]:
        """Yield the first line, then the records at these positions, each once, with the new session id.

        Uuids are unchanged, as in Claude Code's own forks. Recorded API requests are not copied.
        """
        yield self.encode_header(header)
        reading = transcript.reading
        before = None
        for position in sorted(positions):
            if (span := reading.span(position)) == before or position in reading.withheld:
                continue
            before = span
            line = transcript.raw(position)
            fields = json_codec.loads_object(line)
            if fields is None or fields.get("type") == PROVENANCE:
                continue
            if fields.get("sessionId") not in (None, header.id):
                line = json_codec.dumps({**fields, "sessionId": header.id})
            yield line + b"\n"


class ClaudeCodeTexts(EntryTexts["ClaudeCodeLogIndex"]):
    """Extracts the text of prompts, answers and results in bulk."""

    def texts(
        self, data: bytes, index: ClaudeCodeLogIndex, block: LineChunk
    ) -> Sequence[EntryText | None] | None:
        from branchline.formats.claude_code.texts import record_texts  # noqa: PLC0415  only indexing needs it

        return record_texts(data, index, block)


CLAUDE_CODE = Format(
    traits=TRAITS,
    reader=ClaudeCodeFormatReader(),
    writer=ClaudeCodeFormatWriter(),
    home=ClaudeCodeHome(),
    texts=ClaudeCodeTexts(),
)
