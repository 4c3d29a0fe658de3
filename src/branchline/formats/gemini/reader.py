"""Lines of Gemini CLI into a tree, by replaying them on the list of messages that the program keeps.

The file has no parents: a message follows the one before it in the list. A rewind cuts the list, so that what
it takes away is a branch and what follows is its sibling. A list that replaces the old one is a compaction,
unless it repeats the old one, as it does whenever a session is resumed: then the old messages stay.
"""

from __future__ import annotations

import posixpath
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, NamedTuple

from branchline.context import milliseconds
from branchline.entries import Header
from branchline.formats.common.gemini_parts import prompt_words
from branchline.formats.gemini.log_index import EntrySource, GeminiLogIndex, parent_of
from branchline.formats.gemini.rows import MessageRow, Row
from branchline.formats.lines import Lines
from branchline.formats.log_index import ByteRange
from branchline.formats.typed_rows import ReplayReader, row_from
from branchline.tree import ROOT

__all__ = ["CONTEXT_BEGINS", "GeminiReader"]

READ_ONLY = "sessions of Gemini CLI are read-only; fork it into a native session to continue"
CONTEXT_BEGINS = "<session_context>"
_NOTICES = frozenset({"info", "error", "warning"})
_WHOLE = EntrySource()


_Said = tuple[str, str]


class _Item(NamedTuple):
    """One message of the list."""

    said: _Said | None
    """Who said what, of prompts and answers; None for everything else."""
    position: int
    """Its entry."""
    before: int
    """What it hangs from."""


class GeminiReader(ReplayReader[Row]):
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
        self._said: list[tuple[int, _Said]] = []  # the prompts and answers of the list, and their places
        self._where: dict[_Said, list[int]] = {}
        self._results: set[str] = set()  # the calls whose results have entries
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

    def are_regular(self, rows: Sequence[Row]) -> bool:
        return all(
            (row.id and row.type) or row.change is not None or row.session_id or row.rewind_to is not None
            for row in rows
        )

    def replay(self, row: Row, number: int, lines: Lines, index: int) -> None:
        if row.change is not None:
            self._summary = row.change.summary or self._summary
            if row.change.messages is not None:
                self._take_list(row.change.messages, number)
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
            known = self._places.get(row.id) if row.id else None
            if known is not None and self._is_version(row, self._list[known]):
                self._replace(row, known, lines.span(index))
            else:
                self._take_message(row, row.id or f"line-{number}")

    def _take_list(self, messages: Sequence[MessageRow], number: int) -> None:
        """A list of messages in place of the one before."""
        spoken = [(place, said) for place, one in enumerate(messages) if (said := _said(one))]
        old = self._said
        if len(spoken) >= len(old) and [said for _, said in spoken[: len(old)]] == [said for _, said in old]:
            self._rename(messages, spoken, [place for place, _ in old])
            start = spoken[len(old)][0] if len(spoken) > len(old) else len(messages)
            for place, message in enumerate(messages):
                if place >= start or not old:
                    key = message.id or f"line-{number}.{place}"
                    if message.id not in self._places:
                        self._take_message(message, key, EntrySource(message=place))
        elif (kept := self._repeated([said for _, said in spoken])) is not None:
            self._rename(messages, spoken, kept)
        else:
            self._compact(messages, number)

    def _repeated(self, new: Sequence[_Said]) -> list[int] | None:
        """Where a new list stands in the old one, in the same order; None if it has anything else."""
        found: list[int] = []
        last = -1
        for said in new:
            places = self._where.get(said, ())
            number = bisect_right(places, last)
            if number == len(places):
                return None
            last = places[number]
            found.append(last)
        return found

    def _rename(
        self, messages: Sequence[MessageRow], spoken: Sequence[tuple[int, _Said]], known: Sequence[int]
    ) -> None:
        """The messages of a list that repeats the old one may have other ids there."""
        for (place, _), old in zip(spoken, known, strict=False):
            if messages[place].id:
                self._places.setdefault(messages[place].id, old)

    def _compact(self, messages: Sequence[MessageRow], number: int) -> None:
        """The whole list was replaced by another one, which stands in this line."""
        position = self._add(f"line-{number}", "compaction", messages[-1].timestamp if messages else "")
        self._list, self._places, self._said, self._where = [], {}, [], {}
        for message in messages:
            self._remember(message.id, _Item(_said(message), position, position))

    def _rewind(self, target: str, number: int) -> None:
        """Cut the list before a message; an unknown one empties it."""
        place = self._places.get(target, 0)
        before = self._list[place].before if self._list else self.tip
        if target not in self._places:
            before = ROOT
        del self._list[place:]
        self._places = {key: one for key, one in self._places.items() if one < place}
        while self._said and self._said[-1][0] >= place:
            self._where[self._said.pop()[1]].pop()
        self.move_to(before, f"line-{number}")

    def _take_message(self, message: MessageRow, key: str, source: EntrySource = _WHOLE) -> None:
        before, texts, calls = self.tip, message.texts, message.answered_calls
        position = self._add_message(message, key, source, texts, calls)
        said = None if calls else _said_by(message.type, texts)
        self._remember(message.id, _Item(said, position, before))

    def _is_version(self, message: MessageRow, item: _Item) -> bool:
        """Whether this is the message in the list again, and not a result, which may have the same id."""
        role = self.reading.tree.roles[item.position]
        return (role == "assistant") == (message.type == "gemini")

    def _replace(self, message: MessageRow, place: int, span: ByteRange) -> None:
        """A newer version of a message; results that it brings follow."""
        reading, item = self.reading, self._list[place]
        reading.versions[item.position] = span
        if reading.tree.roles[item.position] == "assistant":
            if any(map(str.strip, message.texts)):
                reading.tree.textless.discard(item.position)
            self._add_results(message, reading.tree.keys[item.position], _WHOLE)

    def _add_message(
        self, message: MessageRow, key: str, source: EntrySource, texts: list[str], calls: list[str]
    ) -> int:
        time = message.timestamp
        if calls:
            fresh = [call for call in dict.fromkeys(calls) if call not in self._results]
            if not fresh:
                return self._add(key, "custom", time, source=source)
            self._results.update(fresh)
            for number, call in enumerate(fresh):
                name = key if not number else f"{key}.{number + 1}"
                self._add(name, "message", time, "toolResult", source._replace(result_of=call))
            return self.tip
        match message.type:
            case "user" if texts and texts[0].startswith(CONTEXT_BEGINS):
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
        position = self.add(key, type, time, role)
        if source is not _WHOLE:
            self.reading.sources[position] = source
        return position

    def _remember(self, key: str, item: _Item) -> None:
        place = len(self._list)
        if key:
            self._places.setdefault(key, place)
        if item.said is not None:
            self._said.append((place, item.said))
            self._where.setdefault(item.said, []).append(place)
        self._list.append(item)

    # -- the end --------------------------------------------------------------------------------------

    def is_record(self, data: bytes) -> bool:
        return b'"timestamp":' in data or data.startswith((b'{"$', b'{"sessionId":'))

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


def _said(message: MessageRow) -> _Said | None:
    """Who said what; None for results, context and notices."""
    return None if message.answered_calls else _said_by(message.type, message.texts)


def _said_by(speaker: str, texts: list[str]) -> _Said | None:
    if speaker not in ("user", "gemini"):
        return None
    words = texts[0] if len(texts) == 1 else "".join(texts)
    return None if words.startswith(CONTEXT_BEGINS) else (speaker, words)
