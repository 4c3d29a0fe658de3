"""Codex rollouts as a format: how they are recognized, read, unpacked and joined."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from branchline.context import ContextMessage, ContextRules, ModelRef
from branchline.entries import (
    AssistantMessage,
    CompactionSummaryMessage,
    Entry,
    Text,
    UserMessage,
    json_codec,
)
from branchline.formats.codex.home import HOME_OF, CodexHome, ThreadNames
from branchline.formats.codex.log_index import CodexReading
from branchline.formats.codex.packed import unpack
from branchline.formats.codex.reader import NAME, ZSTD, CodexReader
from branchline.formats.codex.records import decode_line
from branchline.formats.codex.rollouts import Name, assemble_rollout, rollout_name
from branchline.formats.codex.rows import ITEMS
from branchline.formats.entry_log import EntryLog
from branchline.formats.lines import head_lines
from branchline.formats.protocol import (
    CompressedFiles,
    Content,
    Format,
    FormatReader,
    FormatTraits,
    SplitFiles,
)

__all__ = ["CODEX"]

_LOOKED_AT = 64  # lines at the beginning
_LINES = frozenset({"session_meta", "turn_context", "response_item", "event_msg", "compacted", "world_state"})


def _as_sent(messages: list[ContextMessage]) -> list[ContextMessage]:
    """The messages as Codex sends them.

    Thoughts, words and calls that follow each other are one answer. The summary of a compaction is the last
    user message of the history that it leaves.
    """
    sent: list[ContextMessage] = []
    summary: ContextMessage | None = None
    for item in messages:
        message = item.message
        if summary is not None and item.entry != summary.entry:
            sent.append(summary)
            summary = None
        if isinstance(message, CompactionSummaryMessage):
            if message.summary:
                said = UserMessage(content=message.summary, timestamp=message.timestamp)
                summary = ContextMessage(item.entry, said)
            continue
        if sent and isinstance(message, AssistantMessage):
            before = sent[-1].message
            if isinstance(before, AssistantMessage):
                sent[-1] = ContextMessage(sent[-1].entry, _joined(before, message))
                continue
        sent.append(item)
    return sent if summary is None else [*sent, summary]


def _joined(before: AssistantMessage, after: AssistantMessage) -> AssistantMessage:
    """Thoughts, words and calls that follow each other are one answer."""
    return msgspec.structs.replace(
        before,
        content=(*_blocks(before), *_blocks(after)),
        model=after.model or before.model,
        usage=after.usage or before.usage,
        stop_reason=after.stop_reason,
    )


def _blocks(message: AssistantMessage) -> tuple[Any, ...]:
    content = message.content
    return (Text(text=content),) if isinstance(content, str) else content


TRAITS = FormatTraits(
    name="codex",
    summary_follows_tail=True,
    records_cost=False,
    compressed_suffix=".zst",
    file_patterns=(
        "rollout-*.jsonl",
        "rollout-*.jsonl.zst",
        "*/*/*/rollout-*.jsonl",
        "*/*/*/rollout-*.jsonl.zst",
    ),
)


class CodexFormatReader(FormatReader[CodexReading]):
    """Reads rollouts of Codex, legacy and paginated, back to those of 2025."""

    context_rules = ContextRules(finish=_as_sent)

    def sniff(self, head: bytes, path: str) -> bool:
        """A line in an envelope, or the bare beginning of the oldest files; or a name like Codex's."""
        if head.startswith(ZSTD):
            return path.endswith(".zst") or NAME.search(path) is not None
        foreign = False
        for line in head_lines(head, _LOOKED_AT):
            if foreign and b'"payload"' not in line:
                continue  # no line in an envelope, and nothing else would count any more
            if (fields := json_codec.loads_object(line)) is not None:
                if _is_ours(fields, bare=not foreign):
                    return True
                if not foreign and b'"payload"' not in head:
                    return False
                foreign = True
        return not foreign and NAME.search(path) is not None

    def log_reader(self, path: str = "") -> CodexReader:
        return CodexReader(path)

    def answer_model(self, transcript: EntryLog[CodexReading], position: int) -> ModelRef | None:
        """As the settings of its turn say."""
        reading = transcript.reading
        model, provider = reading.model_at(position), reading.meta.get("model_provider")
        if not model:
            return None
        return ModelRef(provider=provider if isinstance(provider, str) else "", id=model)

    def decode(self, line: bytes, index: CodexReading, position: int) -> Entry:
        return decode_line(line, index, position)

    def merge_answers(self, before: AssistantMessage, after: AssistantMessage) -> AssistantMessage:
        return _joined(before, after)


def _is_ours(fields: dict[str, Any], *, bare: bool) -> bool:
    """Whether this is a line in an envelope, or (``bare``) one of those that the oldest files begin with."""
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
        return unpack(read)

    def has_external_prefix(self, head: bytes) -> bool:
        """A paginated fork or revert copies nothing: its first record says where it begins."""
        first, newline, _ = head.partition(b"\n")
        return b'"history_base"' in first or not newline

    def assemble(
        self, content: Content, path: str, find: Callable[[str], Content | None]
    ) -> Iterator[bytes] | None:
        name = rollout_name(path)
        return assemble_rollout(content, "" if name is None else name.rollout, find)

    def roots_near(self, path: str) -> list[str]:
        """The directories of the rollouts beside this one, archived ones included."""
        found = HOME_OF.match(path)
        if found is None:
            return [posixpath.dirname(path)]
        return [posixpath.join(found[1], "sessions"), posixpath.join(found[1], "archived_sessions")]

    def superseded(self, paths: Iterable[str]) -> set[str]:
        """A reverted thread continues in a new rollout; the last one by time and id is current."""
        threads: dict[str, dict[str, Name]] = {}
        for path in paths:
            if (name := rollout_name(path)) is not None:
                threads.setdefault(name.thread, {})[path] = name
        found: set[str] = set()
        for rollouts in threads.values():
            current = max(rollouts.values())
            found.update(path for path, name in rollouts.items() if name.rollout != current.rollout)
        return found


_FILES = RolloutFiles()
CODEX = Format(
    traits=TRAITS,
    reader=CodexFormatReader(),
    home=CodexHome(),
    compression=_FILES,
    splitting=_FILES,
    titles=ThreadNames(),
)
