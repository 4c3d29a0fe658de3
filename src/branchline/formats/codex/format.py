"""Codex's rollout format: detection, reading, decompression, joining and writing."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from branchline.context import ContextMessage, ContextRules, ModelRef, milliseconds
from branchline.entries import (
    AssistantMessage,
    Compaction,
    CompactionSummaryMessage,
    Entry,
    Header,
    Message,
    MessageEntry,
    ToolResult,
    UserMessage,
    as_blocks,
    blocks_text,
    json_codec,
)
from branchline.errors import NotSupported
from branchline.formats.codex.home import HOME_OF, CodexHome, CodexSettings, ThreadNames
from branchline.formats.codex.log_index import CodexLogIndex
from branchline.formats.codex.packed import unpack
from branchline.formats.codex.reader import NAME, ZSTD, CodexReader
from branchline.formats.codex.records import SUMMARY_FIRST, decode_line
from branchline.formats.codex.rollouts import Name, assemble_rollout, rollout_name
from branchline.formats.codex.rows import ITEMS
from branchline.formats.copying_writer import CopyingWriter
from branchline.formats.derived_ids import is_uuid
from branchline.formats.entry_log import EntryLog
from branchline.formats.lines import head_lines
from branchline.formats.protocol import (
    CompressedFiles,
    Content,
    Format,
    FormatReader,
    FormatTraits,
    ReadingLimits,
    SplitFiles,
    header_in,
)
from branchline.tree import EntrySource

__all__ = ["CODEX"]

_LONGEST_RESULT = 12_000  # bytes
_HEAD_LINES = 64  # lines at the start of a file that detection examines
_LINES = frozenset({"session_meta", "turn_context", "response_item", "event_msg", "compacted", "world_state"})


def _as_sent(messages: list[ContextMessage]) -> list[ContextMessage]:
    """Return the messages as Codex sends them: consecutive thinking, text and calls form one answer."""
    sent: list[ContextMessage] = []
    for item in messages:
        message = item.message
        if sent and isinstance(message, AssistantMessage):
            before = sent[-1].message
            if isinstance(before, AssistantMessage):
                sent[-1] = ContextMessage(sent[-1].entry, _joined(before, message))
                continue
        sent.append(item)
    return sent


def _history_left(source: EntrySource, compaction: Compaction) -> tuple[Message, ...]:
    """Return what a compaction keeps; the summary is the last user message, or the first if written here."""
    del source
    tail = compaction.retained_tail or ()
    if not compaction.summary:
        return tail
    time = milliseconds(compaction.timestamp)
    if compaction.details == SUMMARY_FIRST:
        return (CompactionSummaryMessage(summary=compaction.summary, timestamp=time), *tail)
    return (*tail, UserMessage(content=compaction.summary, timestamp=time))


def _joined(before: AssistantMessage, after: AssistantMessage) -> AssistantMessage:
    """Join consecutive thinking, text and calls into one answer."""
    return msgspec.structs.replace(
        before,
        content=(*as_blocks(before.content), *as_blocks(after.content)),
        model=after.model or before.model,
        usage=after.usage or before.usage,
        stop_reason=after.stop_reason,
    )


TRAITS = FormatTraits(
    name="codex",
    records_cost=False,
    compressed_suffix=".zst",
    file_patterns=(
        "rollout-*.jsonl",
        "rollout-*.jsonl.zst",
        "*/*/*/rollout-*.jsonl",
        "*/*/*/rollout-*.jsonl.zst",
    ),
    unsupported={
        "elsewhere": "a rollout goes back only to before a prompt, and not over a compaction",
        "reset": "a rollout goes back only to before a prompt",
        "label": "Codex has no labels",
        "untitle": "Codex keeps the last name",
        "branch_summary": "Codex does not summarize branches",
        "thinking": "Codex sends reasoning only to the model that encrypted it",
        "context_edit": "Codex has no context edits",
        "custom": "Codex cannot store it",
        "custom_message": "Codex supports only prompts, answers, results and developer messages",
        "message": "Codex supports only user, assistant and tool messages",
        "usage": "Codex counts only the tokens of its own answers",
        "block": "Codex supports only text, images, tool calls and tool results",
        "half character": "Codex skips a line with a lone surrogate",
        "empty": "it contains nothing that Codex would send",
        "result": "the call that it answers does not precede it, or has a result already",
        "kept messages": "a compaction in a rollout holds the messages that it keeps",
    },
    compaction_embeds_tail=True,
    appendable=False,
    active_branch_last=True,
    rolls_back_turns=True,
    splits_answers=True,
    ends_with_position=True,
    continues_own_files=True,
)


class CodexFormatReader(FormatReader[CodexLogIndex]):
    """Reads Codex rollouts, legacy and paginated, back to those of 2025."""

    log_reader = CodexReader
    decode = staticmethod(decode_line)
    context_rules = ContextRules(finish=_as_sent, opening=_history_left)

    def sniff(self, head: bytes, path: str) -> bool:
        """Recognize a line in an envelope, the bare start of the oldest files, or a name like Codex's."""
        if head.startswith(ZSTD):
            return path.endswith(".zst") or NAME.search(path) is not None
        foreign = False
        for line in head_lines(head, _HEAD_LINES):
            if foreign and b'"payload"' not in line:
                continue  # not a line in an envelope; anything else would not be conclusive
            if (fields := json_codec.loads_object(line)) is not None:
                if _matches(fields, bare=not foreign):
                    return True
                if not foreign and b'"payload"' not in head:
                    return False
                foreign = True
        return not foreign and NAME.search(path) is not None

    def answer_model(self, transcript: EntryLog[CodexLogIndex], position: int) -> ModelRef | None:
        """Return the model from the settings of the answer's turn."""
        reading = transcript.reading
        model = reading.model_at(position)
        return ModelRef(provider=reading.provider_at(position) or "", id=model) if model else None

    def peek(self, head: bytes, path: str, *, whole: bool) -> Header | None:
        """Read the first lines; the second names the session that the thread was converted from."""
        return header_in(head, self.log_reader, path, whole=whole, lines=2)

    def merge_answers(self, before: AssistantMessage, after: AssistantMessage) -> AssistantMessage:
        return _joined(before, after)


def _matches(fields: dict[str, Any], *, bare: bool) -> bool:
    """Return whether this is a line in an envelope, or (``bare``) a first line of the oldest files."""
    kind = fields.get("type")
    if kind is not None and not isinstance(kind, str):
        return False
    if kind in _LINES:
        return isinstance(fields.get("payload"), dict)
    if not bare:
        return False
    if kind is None:
        oldest = "instructions" in fields and "timestamp" in fields and "id" in fields
        return oldest or fields.get("record_type") == "state"
    match fields:
        case {"type": "message", "role": str(), "content": [{"type": "input_text" | "output_text"}, *_]}:
            return True
        case {"type": "reasoning", "summary": list()} | {"call_id": str()}:
            return kind in ITEMS
        case _:
            return False


class RolloutFiles(CompressedFiles, SplitFiles):
    """Rollouts may be compressed; a paginated fork or revert begins in other rollouts."""

    def is_compressed(self, head: bytes) -> bool:
        return head.startswith(ZSTD)

    def decompress(self, read: Callable[[int, int], bytes]) -> Iterator[bytes]:
        """Raises NotSupported for a compressed session of another agent, too."""
        pieces = unpack(read)
        first = next(pieces, b"")
        if _is_of_another(first):
            raise NotSupported(
                "it is compressed, but not a Codex rollout, and only these are read compressed; "
                "unpack it with zstd -d first"
            )
        yield first
        yield from pieces

    def has_external_prefix(self, head: bytes) -> bool:
        """Return whether the first record says that the rollout begins in another one."""
        first, newline, _ = head.partition(b"\n")
        return b'"history_base"' in first or not newline

    def assemble(
        self, content: Content, path: str, find: Callable[[str], Content | None]
    ) -> Iterator[bytes] | None:
        name = rollout_name(path)
        return assemble_rollout(content, "" if name is None else name.rollout, find)

    def roots_near(self, path: str) -> list[str]:
        """Return the directories of neighbouring rollouts, including archived ones."""
        found = HOME_OF.match(path)
        if found is None:
            return [posixpath.dirname(path)]
        return [posixpath.join(found[1], "sessions"), posixpath.join(found[1], "archived_sessions")]

    def superseded(self, paths: Iterable[str]) -> set[str]:
        """Return rollouts of reverted threads; a thread's current rollout is the last by time and id."""
        threads: dict[str, dict[str, Name]] = {}
        for path in paths:
            if (name := rollout_name(path)) is not None:
                threads.setdefault(name.thread, {})[path] = name
        found: set[str] = set()
        for rollouts in threads.values():
            current = max(rollouts.values())
            found.update(path for path, name in rollouts.items() if name.rollout != current.rollout)
        return found


def _is_of_another(content: bytes) -> bool:
    """Return whether the start of some content has whole lines, and no line as Codex writes them."""
    if b'"payload"' in content or b"\n" not in content:
        return False
    found = [json_codec.loads_object(line) for line in head_lines(content, _HEAD_LINES)]
    objects = [fields for fields in found if fields is not None]
    return bool(objects) and not any(_matches(fields, bare=True) for fields in objects)


class CodexFormatWriter(CopyingWriter[CodexLogIndex]):
    """Writes new rollouts that Codex can resume; never changes existing ones."""

    def encode_header(self, header: Header) -> bytes:
        from branchline.formats.codex.writer import header_lines  # noqa: PLC0415

        if not is_uuid(header.id):
            raise NotSupported(f"cannot write a Codex session with the id {header.id!r}: not a UUID")
        return header_lines(header)

    def encode(self, entries: Sequence[Entry], index: CodexLogIndex) -> bytes:
        from branchline.formats.codex.writer import RolloutWriter  # noqa: PLC0415

        return RolloutWriter(index, TRAITS.unsupported_error).write(entries)

    def copied_lines(
        self, transcript: EntryLog[CodexLogIndex], positions: Sequence[int], header: Header
    ) -> Iterator[bytes]:
        from branchline.formats.codex.copies import copied_lines  # noqa: PLC0415

        yield self.encode_header(header)
        yield from copied_lines(transcript, positions)


class CodexLimits(ReadingLimits):
    """Codex shortens long results: those above 12,000 bytes for models that it does not know."""

    def unread(self, entry: Entry) -> tuple[str, ...]:
        message = entry.message if isinstance(entry, MessageEntry) else None
        if not isinstance(message, ToolResult):
            return ()
        text = blocks_text(message.content)
        if len(text.encode("utf-8", "surrogatepass")) <= _LONGEST_RESULT:
            return ()
        return ("with a long result that codex may shorten when it sends it (see tool_output_token_limit)",)


_FILES = RolloutFiles()
CODEX = Format(
    traits=TRAITS,
    reader=CodexFormatReader(),
    writer=CodexFormatWriter(),
    home=CodexHome(),
    compression=_FILES,
    splitting=_FILES,
    titles=ThreadNames(),
    limits=CodexLimits(),
    settings=CodexSettings(),
)
