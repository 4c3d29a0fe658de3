"""Reads the lines of a transcript into an index: tree records, and metadata such as titles and leaf."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from itertools import compress
from typing import Any, NamedTuple

import msgspec

from branchline.context import milliseconds
from branchline.entries import Header, json_codec
from branchline.entries.skeleton import SalvagedIds
from branchline.formats.claude_code.home import agent_of
from branchline.formats.claude_code.kinds import (
    ANSWER,
    ASIDE,
    BOOKKEEPING,
    BOUNDARY,
    ERROR,
    HUMAN,
    META,
    MICRO,
    PROVENANCE,
    QUEUED,
    RESULT,
    RESUMED,
    SUMMARY,
)
from branchline.formats.claude_code.log_index import (
    NOT_SPENT,
    ClaudeCodeLogIndex,
    KeptRange,
    Repeat,
    answer_key,
    spent_at,
)
from branchline.formats.claude_code.rows import (
    CompactMetadata,
    Row,
    RowShape,
    decode_rows,
    first_line,
    row_from,
    shape_of,
    text_of,
)
from branchline.formats.lines import LineReader, Lines, holders
from branchline.formats.saved_attributes import SavedAttributes
from branchline.tree import ROOT

__all__ = ["ClaudeCodeReader"]

READ_ONLY = "Claude Code sessions are read-only; fork this one into a native session to continue"

_TYPES = {
    BOUNDARY: "compact_boundary",
    SUMMARY: "compaction",
    HUMAN: "message",
    QUEUED: "message",
    RESULT: "message",
    ANSWER: "message",
    ERROR: "message",
    RESUMED: "resume_mark",
}
_ROLES = {HUMAN: "user", QUEUED: "user", RESULT: "toolResult", ANSWER: "assistant", ERROR: "assistant"}
_NO_CALLS = frozenset({HUMAN, BOOKKEEPING})
_LEAVES = frozenset({HUMAN, QUEUED, RESULT, ANSWER, ERROR, RESUMED})
_CONVERSATION_KINDS = frozenset({HUMAN, QUEUED, ANSWER, ERROR})
_NEVER_STARTS = frozenset({BOUNDARY, RESULT, ANSWER, ERROR, RESUMED})
_SESSION_FILE = re.compile(r"(?:^|[/\\])([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})\.jsonl$")
_AGENT_FOLDER = re.compile(r"[/\\]([^/\\]+)[/\\]subagents[/\\]")
_UUID = re.compile(rb'"uuid"\s*:\s*"([^"\\]{1,200})"')
_PARENT = re.compile(rb'"parentUuid"\s*:\s*(?:"([^"\\]{0,200})"|null)')
_SPEAKING_TYPES = frozenset({"user", "assistant"})
_TYPED = "typed"
"""The source of prompts in releases that clear a context by starting a new file: such a root is a rewind."""
_REQUESTS = "api-request"  # and the shapes and blobs that such a record names
_BESIDE = frozenset(
    {
        "summary",
        "custom-title",
        "ai-title",
        "last-prompt",
        "file-history-snapshot",
        "queue-operation",
        "agent-name",
        "agent-color",
        "pr-link",
        "frame-link",
        "permission-mode",
        "mode",
        "worktree-state",
        "relocated",
        "bridge-session",
        "atis-latch",
        "tools-used",
        "cost-state",
        "api-request",
        "api-request-shape",
        "api-request-blob",
        PROVENANCE,
    }
)


class _LastPrompt(NamedTuple):
    """A ``last-prompt`` record and its position."""

    leaf: str
    position: int


class ClaudeCodeReader(LineReader):
    """Reads one file, whose name contains the session id and marks sub-agents."""

    format_name = "claude-code"
    markers = (b'{"parentUuid":', b'{"type":"', b'{"isSidechain":', b'{"uuid":"')
    begins_with_header = False
    reading: ClaudeCodeLogIndex

    def __init__(self, path: str = "") -> None:
        super().__init__(ClaudeCodeLogIndex())
        self._path = path
        self.reading.agent = agent_of(path)
        self.reading.linker.is_excerpt = self.reading.agent is not None
        self._titles: dict[str, str] = {}
        self._summaries: list[tuple[str, str]] = []
        self._last_prompts: list[_LastPrompt] = []
        self._leaf = ROOT
        self._cwd = self._git = self._first_time = ""
        self._prompt = self._last_activity = ""
        self._pending: KeptRange | None = None

    # -- records --------------------------------------------------------------------------------------

    def decode_rows(self, data: memoryview) -> Sequence[Row]:
        return decode_rows(data)

    def take(self, fields: dict[str, Any], line: bytes, offset: int) -> None:
        row = row_from(fields)
        if row is None:
            self.note_not_an_entry("an object without a type", line, offset)
        else:
            self.take_one(row, line, offset)

    def take_rows(self, rows: Sequence[Row], lines: Lines) -> bool:
        reading = self.reading
        first = len(reading.tree)
        counts: list[int] = []
        shapes = list(map(shape_of, rows))
        plain = list(map(_is_plain, rows, shapes))
        plain.append(False)
        done = 0
        while done < len(rows):
            stop = plain.index(False, done) if self._has_begun() else done
            # A file of plain records opens in a quarter less time than record by record.
            if stop - done > 1 and self._take_together(rows[done:stop], shapes[done:stop]):
                counts += [1] * (stop - done)
                done = stop
                continue
            for place in range(done, max(stop, done + 1)):
                counts.append(self._take_row(rows[place], shapes[place], lines.number + place))
            done = max(stop, done + 1)
        self.locate(first, lines, holders(counts))
        return True

    def _has_begun(self) -> bool:
        """Return whether the first records have provided all session metadata."""
        reading = self.reading
        return bool(
            self._cwd
            and self._prompt
            and self._first_time
            and (reading.own_from is not None or not reading.forked_from)
        )

    def _take_together(self, rows: Sequence[Row], shapes: Sequence[RowShape]) -> bool:
        """Add consecutive plain records; False, with nothing done, if a uuid was used before."""
        reading = self.reading
        uuids: list[str] = [row.uuid for row in rows]  # type: ignore[misc]
        if not reading.tree.register_keys(uuids):
            return False
        reading.session_ids.update({row.sessionId: None for row in rows if row.sessionId})
        first = len(reading.tree.parents)
        kinds = [shape.kind for shape in shapes]
        times = [row.timestamp or "" for row in rows]
        self._last_activity = max(
            self._last_activity, *compress(times, map(_CONVERSATION_KINDS.__contains__, kinds)), ""
        )
        reading.linker.add_stretch(
            uuids,
            [row.parentUuid for row in rows],
            kinds,
            types=[_TYPES.get(kind, "custom") for kind in kinds],
            times=times,
            roles=list(map(_ROLES.get, kinds)),
            quiet=[place for place, shape in enumerate(shapes, first) if shape.quiet],
            marks=[shape.mark for shape in shapes],
        )
        for position, row, shape in zip(range(first, first + len(rows)), rows, shapes, strict=True):
            if shape.kind not in _NO_CALLS:
                self._note_calls(position, row, shape)
        self._leaf = next(
            (
                place
                for place in range(first + len(rows) - 1, first - 1, -1)
                if kinds[place - first] in _LEAVES
            ),
            self._leaf,
        )
        reading.linker.exact.update([place for place, row in enumerate(rows, first) if row.branchline])
        return True

    def _note_calls(self, position: int, row: Row, shape: RowShape) -> None:
        """Record the calls that an answer makes or a result answers, and the answer's usage."""
        reading, message = self.reading, row.message
        if shape.calls:
            reading.linker.calls[position] = shape.calls
        if shape.kind == RESULT or message is None:
            return
        if message.id:
            answer = answer_key(message.id, row.requestId)
            known = reading.spending.get(answer)
            if known is not None:
                reading.tree.continuations.add(position)
            spent = NOT_SPENT if message.usage is None else spent_at(position, message.usage.output_tokens)
            if known is None or spent > known:
                reading.spending[answer] = spent
        if shape.calls and isinstance(message.content, tuple):
            for block in message.content:
                if block.id and block.type.endswith("tool_use"):
                    reading.tool_names[block.id] = block.name or ""

    def _take_row(self, row: Row, shape: RowShape, number: int) -> int:
        """Add one record; return the number of its entries."""
        reading = self.reading
        links, tree = reading.linker, reading.tree
        time = row.timestamp or ""
        if row.sessionId and row.sessionId not in reading.session_ids:
            reading.session_ids[row.sessionId] = None
        uuid = row.uuid
        if not uuid and row.type not in _SPEAKING_TYPES:
            return self._take_aside(row, number, time)
        if uuid and (holder := tree.positions.get(uuid)) is not None:
            if holder not in tree.placeholders:
                links.add_repeated(uuid, time=time)
                return 1
            tree.rename(holder, links.free_key(uuid))
        if uuid and isinstance(row.branchline, str) and self._is_repeat(row.branchline, row.parentUuid):
            return self._take_repeat(row, shape.kind, uuid, time)
        kind = shape.kind
        sidechain = row.isSidechain is True and reading.agent is None
        first = len(tree)
        if (
            uuid
            and row.parentUuid is None
            and not sidechain
            and links.has_begun
            and not row.branchline
            and row.promptSource != _TYPED
            and kind not in _NEVER_STARTS
        ):
            links.add_start_mark(uuid, time=time)
        position = links.add_record(
            uuid or links.free_key(f"line-{number}"),
            row.parentUuid,
            kind,
            type=_type_of(row, kind),
            time=time,
            role=_ROLES.get(kind),
            quiet=shape.quiet,
            logical=row.logicalParentUuid,
            mark=shape.mark,
            sidechain=sidechain,
            attached=not uuid,
        )
        if row.branchline:
            links.exact.add(position)
        if not self._first_time or not self._cwd:
            self._begin(row, time)
        if row.forkedFrom is not None and row.forkedFrom.sessionId:
            reading.forked_from[row.forkedFrom.sessionId] = None
        elif reading.own_from is None and reading.forked_from:
            reading.own_from = position
        if kind in _CONVERSATION_KINDS and time > self._last_activity:
            self._last_activity = time
        last = position
        if kind in (ANSWER, RESULT):
            self._note_calls(position, row, shape)
            if kind == RESULT:
                last = self._split_results(position, row)
        elif kind == HUMAN:
            if not (self._prompt or sidechain):
                self._prompt = first_line(text_of(None if row.message is None else row.message.content))
        elif kind == BOUNDARY:
            self._pending = _kept(row.compactMetadata)
            if _has_no_summary(row):
                reading.kept[position], self._pending = self._pending, None
        elif kind == SUMMARY:
            if self._pending is not None:
                reading.kept[position] = self._pending
                self._pending = None
        elif kind == MICRO:
            last = self._take_edits(position, row.microcompactMetadata)
        if kind in _LEAVES and not sidechain:
            self._leaf = last
        return last - first + 1

    def _is_repeat(self, place: str, parent: str | None) -> bool:
        """Return whether the file holds what such a record repeats; a fork by Claude Code may not."""
        reading = self.reading
        position = reading.tree.positions.get(place, ROOT)
        if position == ROOT:
            return False
        if position in reading.repeated or parent != place:
            return True
        kept = reading.kept.get(position)
        return kept is not None and kept.first in reading.tree.positions

    def _take_repeat(self, row: Row, kind: int, uuid: str, time: str) -> int:
        """Add a record that only Claude Code needs: it is empty, but later records are its children."""
        links = self.reading.linker
        position = links.add_record(
            uuid, str(row.branchline), BOOKKEEPING, type="custom", time=time, role=None
        )
        links.exact.add(position)
        self.reading.repeated[position] = Repeat(kind, row.parentUuid)
        return 1

    def _take_aside(self, row: Row, number: int, time: str) -> int:
        is_title = row.customTitle is not None or row.aiTitle is not None
        links = self.reading.linker
        key = links.free_key(f"line-{number}")
        position = links.add_aside(key, type="session_info" if is_title else "custom", time=time)
        if row.type.startswith(_REQUESTS):
            self.reading.withheld.add(position)
        match row.type:
            case "custom-title":
                self._titles["custom-title"] = row.customTitle or ""
            case "ai-title":
                self._titles["ai-title"] = row.aiTitle or ""
            case "summary" if row.summary and row.leafUuid:
                self._summaries.append((row.summary, row.leafUuid))
            case "last-prompt" if row.leafUuid:
                self._last_prompts.append(_LastPrompt(row.leafUuid, position))
            case "branchline":
                self._take_provenance(row)
            case _:
                pass
        return 1

    def _take_provenance(self, row: Row) -> None:
        """Read where the conversation came from."""
        if not self.reading.linker.has_begun:
            self.reading.converted_from = row.origin
            self._begin(row, row.timestamp or "")

    def _begin(self, row: Row, time: str) -> None:
        """Read session metadata from the first records."""
        self._first_time = self._first_time or time
        self._cwd = self._cwd or row.cwd or ""
        self._git = self._git or row.gitBranch or ""
        self.reading.version_text = self.reading.version_text or row.version or ""
        self.reading.background = self.reading.background or row.sessionKind == "bg"

    def _split_results(self, position: int, row: Row) -> int:
        """Add an entry for every result after the first, and one for other content beside them."""
        reading = self.reading
        links, key = reading.linker, reading.tree.keys[position]
        content = None if row.message is None else row.message.content
        blocks = content if isinstance(content, tuple) else ()
        results = [block for block in blocks if block.type == "tool_result"]
        last = position
        for number, block in enumerate(results[1:], 2):
            entry = links.free_key(f"{key}.{number}")
            last = links.add_entry(position, entry, RESULT, type="message", role="toolResult")
            reading.numbers[last] = number - 1
            if block.tool_use_id:
                links.calls[last] = block.tool_use_id
        if len(results) < len(blocks):
            entry = links.free_key(f"{key}.{len(results) + 1}")
            last = links.add_entry(position, entry, META, type="custom_message", role=None)
            reading.numbers[last] = len(results)
        return last

    def _take_edits(self, position: int, about: CompactMetadata | None) -> int:
        """Add an entry for every result that was removed from the context."""
        reading = self.reading
        key, last = reading.tree.keys[position], position
        for number, call in enumerate((about and about.compactedToolIds) or (), 2):
            if (result := reading.result_of(call)) is not None:
                entry = reading.linker.free_key(f"{key}.{number}")
                last = reading.linker.add_entry(position, entry, MICRO, type="context_edit", role=None)
                reading.edits[last] = result
        return last

    # -- damage, and the end --------------------------------------------------------------------------

    def salvage(self, data: bytes) -> SalvagedIds | None:
        """Return uuid and parent, if each occurs exactly once."""
        uuids, parents = _UUID.findall(data), _PARENT.findall(data)
        if len(uuids) != 1 or len(parents) != 1:
            return None
        parent = parents[0].decode("utf-8", "replace")
        return SalvagedIds(uuids[0].decode("utf-8", "replace"), parent or None)

    def is_record(self, data: bytes) -> bool:
        """Return whether this is a complete record; other objects may be part of one."""
        fields = json_codec.loads(data)
        kind = fields.get("type")
        if not isinstance(kind, str):
            return False
        if kind in _SPEAKING_TYPES:
            return isinstance(fields.get("message"), dict)
        return isinstance(fields.get("uuid"), str) or kind in _BESIDE

    def on_finish(self) -> None:
        reading = self.reading
        reading.last_message_time = milliseconds(self._last_activity)
        reading.title = self._find_title() or None
        reading.header = self._header() if reading.lines else None
        if reading.read_only is None:
            reading.read_only = READ_ONLY

    def saved_state(self) -> bytes | None:
        reading = self.reading
        return _encode((_SAVED.dump(self), _SAVED_FACTS.dump(reading), reading.linker.save()))

    def restore_state(self, state: bytes) -> None:
        own, known, links = _decode(state)
        _SAVED.load(self, own)
        _SAVED_FACTS.defer(self.reading, known)
        self.reading.linker.continue_from(links)

    def find_leaf(self) -> int:
        """Return the end of the branch of the last prompt, else the last record of the conversation.

        Claude Code also writes that record in the middle of a session and continues below it, or at a new
        start after the context was cleared.
        """
        reading = self.reading
        links = reading.linker
        for prompt in reversed(self._last_prompts):
            position = reading.tree.positions.get(prompt.leaf, ROOT)
            if position == ROOT or links.kinds[position] == ASIDE or position in links.sidechain:
                continue
            reading.leaf_named_by = "last-prompt"
            if self._is_end(position):
                return self._original(position)
            start = max((start for start in links.starts if start > prompt.position), default=ROOT)
            branch = links.copies.get(position, position) if start == ROOT else start
            leaf = links.newest_below(branch, _LEAVES)
            while leaf + 1 in reading.numbers:  # further entries of the same record
                leaf += 1
            return leaf
        if self._leaf == ROOT:
            reading.leaf_named_by = ""
            return ROOT
        reading.leaf_named_by = "last record"
        return links.newest_below(links.copies.get(self._leaf, self._leaf), _LEAVES)

    def _is_end(self, position: int) -> bool:
        """Return whether this record repeats another to end the path there, and nothing follows it."""
        reading = self.reading
        return position in reading.repeated and not any(
            reading.kinds[child] != ASIDE for child in reading.tree.child_positions(position)
        )

    def _original(self, position: int) -> int:
        """Return the parent of repeated records; for a record with several entries, the last one."""
        reading = self.reading
        while position in reading.repeated:
            position = reading.tree.parents[position]
        while position + 1 in reading.numbers:
            position += 1
        return position

    def _find_title(self) -> str:
        for source in ("custom-title", "ai-title"):
            if title := self._titles.get(source, "").strip():
                return title
        reading = self.reading
        for summary, leaf in reversed(self._summaries):
            position = reading.tree.positions.get(leaf)
            if position is not None and reading.kinds[position] != ASIDE:
                return summary.strip()
        return self._prompt

    def _header(self) -> Header:
        reading = self.reading
        first_session = next(iter(reading.session_ids), "")
        named = _SESSION_FILE.search(self._path)
        parent: str | None = None
        if reading.agent is not None:
            session = f"agent-{reading.agent}"
            folder = _AGENT_FOLDER.search(self._path)
            parent = folder[1] if folder else first_session
            parent = None if parent in ("", session) else parent
        else:
            session = named[1] if named else first_session
            parent = next((one for one in reading.forked_from if one != session), reading.converted_from)
        time = self._first_time
        if reading.forked_from and reading.own_from is not None:
            time = reading.tree.times[reading.own_from] or time
        about = {"version": reading.version_text, "gitBranch": self._git}
        return Header(
            id=session or posixpath.basename(self._path).removesuffix(".jsonl"),
            timestamp=time,
            cwd=self._cwd,
            parent_session=parent,
            metadata={name: value for name, value in about.items() if value} or None,
        )


_SAVED = SavedAttributes(
    _titles=dict[str, str],
    _summaries=list[tuple[str, str]],
    _last_prompts=list[_LastPrompt],
    _leaf=int,
    _cwd=str,
    _git=str,
    _first_time=str,
    _prompt=str,
    _last_activity=str,
    _pending=KeptRange | None,
)
_SAVED_FACTS = SavedAttributes(
    version_text=str,
    session_ids=dict[str, None],
    forked_from=dict[str, None],
    background=bool,
    own_from=int | None,
    numbers=dict[int, int],
    tool_names=dict[str, str],
    kept=dict[int, KeptRange],
    repeated=dict[int, Repeat],
    edits=dict[int, str],
    spending=dict[str, int],
    converted_from=str | None,
    leaf_named_by=str,
)
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[bytes, bytes, bytes]).decode


def _type_of(row: Row, kind: int) -> str:
    if kind == BOUNDARY and _has_no_summary(row):
        return "compaction"
    return _TYPES.get(kind) or ("custom_message" if kind >= META else "custom")


def _has_no_summary(row: Row) -> bool:
    """Return whether a boundary is a complete compaction, as branchline writes one without a summary."""
    about = None if row.compactMetadata is None else row.compactMetadata.branchline
    return about is not None and about.summary is False


def _is_plain(row: Row, shape: RowShape) -> bool:
    """Return whether a record is exactly one entry: a prompt, answer, single result or bookkeeping."""
    if not row.uuid or not row.parentUuid or row.isSidechain or row.forkedFrom or row.logicalParentUuid:
        return False
    if isinstance(row.branchline, str):
        return False
    if shape.kind == BOOKKEEPING:
        return row.type not in _SPEAKING_TYPES
    if row.message is None:
        return False
    if shape.kind == RESULT:
        content = row.message.content
        return content is not None and len(content) == 1
    return shape.kind in (HUMAN, ANSWER)


def _kept(about: CompactMetadata | None) -> KeptRange:
    if about is None:
        return KeptRange(None, None)
    segment, messages = about.branchline or about.preservedSegment, about.preservedMessages
    first = None if messages is None or not messages.uuids else messages.uuids[0]
    return KeptRange(first or (None if segment is None else segment.headUuid), about.preTokens)
