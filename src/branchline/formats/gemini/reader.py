"""Lines of Gemini CLI into a tree, by replaying them on the list of messages that the program keeps.

The file has no parents: a message follows the one before it in the list. A rewind cuts the list, so that what
it takes away is a branch and what follows is its sibling. A list that replaces the old one is a compaction,
unless it repeats the old one, as it does whenever a session is resumed: then the old messages stay.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from typing import Any, NamedTuple

from branchline.context import milliseconds
from branchline.entries import Header
from branchline.formats.common.gemini_parts import prompt_words
from branchline.formats.gemini.log_index import EntrySource, GeminiLogIndex, parent_of
from branchline.formats.gemini.rows import Change, MessageRow, Row
from branchline.formats.lines import Lines
from branchline.formats.log_index import ByteRange
from branchline.formats.typed_rows import TypedReader, row_from
from branchline.tree import ROOT

__all__ = ["CONTEXT_BEGINS", "GeminiReader"]

READ_ONLY = "sessions of Gemini CLI are read-only; fork it into a native session to continue"
CONTEXT_BEGINS = "<session_context>"
_NOTICES = frozenset({"info", "error", "warning"})
_WHOLE = EntrySource()


class _Item(NamedTuple):
    """One message of the list."""

    said: tuple[str, str] | None
    """Who said what, of prompts and answers; None for everything else."""
    position: int
    """Its entry."""
    before: int
    """What it hangs from."""


class GeminiReader(TypedReader[Row]):
    """Reads one session; its path tells the parent of a sub-agent."""

    format_name = "gemini"
    row_type = Row
    markers = (b'{"id":"', b'{"$set":', b'{"$rewindTo":', b'{"sessionId":"')
    reading: GeminiLogIndex

    def __init__(self, path: str = "") -> None:
        super().__init__(GeminiLogIndex())
        self._path = path
        self._list: list[_Item] = []
        self._places: dict[str, int] = {}  # of messages in the list, by id
        self._results: set[str] = set()  # the calls whose results have entries
        self._tip = ROOT
        self._session = self._time = self._kind = self._cwd = ""
        self._summary = self._prompt = self._spoken = ""

    # -- lines ----------------------------------------------------------------------------------------

    def take(self, fields: dict[str, Any], line: bytes, offset: int) -> None:
        row = row_from(fields, Row)
        if not (row.type or row.id or row.session_id or row.change or row.rewind_to is not None):
            if "$set" not in fields and "$rewindTo" not in fields:
                self.note_not_an_entry("no message and no change", line, offset)
            return
        self.take_one(row, line, offset)

    def take_rows(self, rows: Sequence[Row], lines: Lines) -> bool:
        if not lines.alone and not all(map(_is_regular, rows)):
            return False
        first, counts, start = len(self.reading.tree), [], 0
        for index, (row, end) in enumerate(zip(rows, lines.ends, strict=True)):
            before = len(self.reading.tree)
            self._take_row(row, lines.number + index, ByteRange(lines.offset + start, end - start))
            counts.append(len(self.reading.tree) - before)
            start = end + 1
        self.locate(first, lines, counts)
        return True

    def _take_row(self, row: Row, number: int, span: ByteRange) -> None:
        if row.change is not None:
            self._take_change(row.change, number)
        elif row.rewind_to is not None:
            self._rewind(row.rewind_to, number)
        elif row.session_id and not row.type:
            self._session = self._session or row.session_id
            self._time = self._time or row.start_time
            self._kind = self._kind or row.kind
            self._summary = row.summary or self._summary
            if row.directories and not self._cwd:
                self._cwd = row.directories[0]
        else:
            self._take_message(row, row.id or f"line-{number}", span)

    def _take_change(self, change: Change, number: int) -> None:
        self._summary = change.summary or self._summary
        if change.messages is None:
            return
        old = [(place, item.said) for place, item in enumerate(self._list) if item.said is not None]
        new = [(place, _said(message)) for place, message in enumerate(change.messages)]
        spoken = [(place, said) for place, said in new if said is not None]
        if [said for _, said in spoken[: len(old)]] == [said for _, said in old]:
            self._rename(change.messages, spoken, old)
            start = spoken[len(old)][0] if len(spoken) > len(old) else len(new)
            for place, message in enumerate(change.messages):
                if place >= start or not old:
                    source = EntrySource(message=place)
                    self._take_message(message, message.id or f"line-{number}.{place}", None, source)
        elif (kept := _subsequence([said for _, said in spoken], old)) is not None:
            self._rename(change.messages, spoken, kept)
        else:
            self._compact(change.messages, number)

    def _rename(
        self,
        messages: Sequence[MessageRow],
        spoken: Sequence[tuple[int, tuple[str, str]]],
        old: Sequence[tuple[int, Any]],
    ) -> None:
        """The messages of a list that repeats the old one may have other ids there."""
        for (place, _), (known, _) in zip(spoken, old, strict=False):
            if messages[place].id:
                self._places.setdefault(messages[place].id, known)

    def _compact(self, messages: Sequence[MessageRow], number: int) -> None:
        """The whole list was replaced by another one, which stands in this line."""
        position = self._add(f"line-{number}", "compaction", messages[-1].timestamp if messages else "")
        self._list, self._places = [], {}
        for message in messages:
            self._remember(message.id, _Item(_said(message), position, position))

    def _rewind(self, target: str, number: int) -> None:
        """Cut the list before a message; an unknown one empties it."""
        place = self._places.get(target, 0)
        before = self._list[place].before if self._list else self._tip
        if target not in self._places:
            before = ROOT
        del self._list[place:]
        self._places = {key: one for key, one in self._places.items() if one < place}
        self._tip = before
        self._add(f"line-{number}", "leaf", "")
        self._tip = before

    def _take_message(
        self, message: MessageRow, key: str, span: ByteRange | None, source: EntrySource = _WHOLE
    ) -> None:
        known = self._places.get(message.id) if message.id else None
        if known is not None and self._is_version(message, self._list[known]):
            if span is not None:
                self._replace(message, known, span)
            return
        before, said = self._tip, _said(message)
        position = self._add_message(message, key, source)
        self._remember(message.id, _Item(said, position, before))

    def _is_version(self, message: MessageRow, item: _Item) -> bool:
        """Whether this is the message in the list again, and not a result, which may have the same id."""
        role = self.reading.tree.roles[item.position]
        return (role == "assistant") == (message.type == "gemini")

    def _replace(self, message: MessageRow, place: int, span: ByteRange) -> None:
        """A newer version of a message; results that it brings follow."""
        reading, item = self.reading, self._list[place]
        reading.versions[item.position] = span
        self._list[place] = item._replace(said=_said(message))
        if reading.tree.roles[item.position] == "assistant":
            if any(map(str.strip, message.texts)):
                reading.tree.textless.discard(item.position)
            self._add_results(message, reading.tree.keys[item.position], _WHOLE)

    def _add_message(self, message: MessageRow, key: str, source: EntrySource) -> int:
        time, texts = message.timestamp, message.texts
        if calls := message.answered_calls:
            fresh = [call for call in dict.fromkeys(calls) if call not in self._results]
            if not fresh:
                return self._add(key, "custom", time, source=source)
            self._results.update(fresh)
            for number, call in enumerate(fresh):
                name = key if not number else f"{key}.{number + 1}"
                self._add(name, "message", time, "toolResult", source._replace(result_of=call))
            return self._tip
        match message.type:
            case "user" if texts and texts[0].lstrip().startswith(CONTEXT_BEGINS):
                return self._add(key, "custom_message", time, source=source)
            case "user":
                self._spoken = max(self._spoken, time)
                self._prompt = self._prompt or prompt_words(texts)
                return self._add(key, "message", time, "user", source)
            case "gemini":
                self._spoken = max(self._spoken, time)
                position = self._add(key, "message", time, "assistant", source)
                if not any(map(str.strip, texts)):
                    self.reading.tree.textless.add(position)
                self._add_results(message, key, source)
                return position
            case kind if kind in _NOTICES:
                return self._add(key, "custom_message", time, source=source)
            case _:
                return self._add(key, "custom", time, source=source)

    def _add_results(self, message: MessageRow, key: str, source: EntrySource) -> None:
        for call in message.finished_calls:
            if call not in self._results:
                self._results.add(call)
                about = source._replace(result_of=call)
                self._add(f"{key}:{call}", "message", message.timestamp, "toolResult", about)

    def _add(
        self,
        key: str,
        type: str,  # noqa: A002
        time: str,
        role: str | None = None,
        source: EntrySource = _WHOLE,
    ) -> int:
        """Add an entry behind the tip, and make it the tip."""
        tree = self.reading.tree
        name, count = key, 1
        while name in tree.positions:
            count += 1
            name = f"{key}#{count}"
        position = tree.add(name, self._tip, type=type, time=time, role=role)
        if source != _WHOLE:
            self.reading.sources[position] = source
        self._tip = position
        return position

    def _remember(self, key: str, item: _Item) -> None:
        if key:
            self._places.setdefault(key, len(self._list))
        self._list.append(item)

    # -- the end --------------------------------------------------------------------------------------

    def is_record(self, data: bytes) -> bool:
        return b'"timestamp":' in data or data.startswith((b'{"$', b'{"sessionId":'))

    def find_leaf(self) -> int:
        return self._tip

    def on_finish(self) -> None:
        reading = self.reading
        reading.title = self._summary.strip() or self._prompt or None
        reading.last_message_time = milliseconds(self._spoken)
        if reading.read_only is None:
            reading.read_only = READ_ONLY
        if not reading.lines:
            return
        parent = parent_of(self._path)
        name = posixpath.basename(self._path).removesuffix(".jsonl").removesuffix(".json")
        reading.header = Header(
            id=self._session or name,
            timestamp=self._time or next((time for time in reading.tree.times if time), ""),
            cwd=self._cwd,
            parent_session=parent,
            metadata={"kind": self._kind} if self._kind else None,
        )


def _is_regular(row: Row) -> bool:
    return bool(
        row.change is not None or row.rewind_to is not None or row.session_id or (row.id and row.type)
    )


def _said(message: MessageRow) -> tuple[str, str] | None:
    """Who said what; None for results, context and notices."""
    if message.type not in ("user", "gemini") or message.answered_calls:
        return None
    words = "".join(message.texts)
    return None if words.lstrip().startswith(CONTEXT_BEGINS) else (message.type, words)


def _subsequence(
    new: Sequence[tuple[str, str]], old: Sequence[tuple[int, Any]]
) -> list[tuple[int, Any]] | None:
    """Where the new list stands in the old one, in the same order; None if it has anything else."""
    found, place = [], 0
    for said in new:
        while place < len(old) and old[place][1] != said:
            place += 1
        if place == len(old):
            return None
        found.append(old[place])
        place += 1
    return found
