"""Lines of Gemini CLI into a tree, by replaying them on the list of messages that the program keeps.

The file has no parents: a message follows the one before it in the list. A rewind cuts the list, so that what
it takes away is a branch and what follows is its sibling. A list that replaces the old one is a compaction,
unless it repeats the old one, as it does whenever a session is resumed: then the old messages stay. A saved
conversation that the user loads is added to the list, which then loses all messages before it.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from typing import Any

from branchline.context import milliseconds
from branchline.entries import Header
from branchline.formats.common.gemini_parts import prompt_words
from branchline.formats.gemini.log_index import EntryPart, GeminiLogIndex, parent_of
from branchline.formats.gemini.rows import CONTEXT_BEGINS, MessageRow, Row
from branchline.formats.lines import Lines
from branchline.formats.log_index import ByteRange
from branchline.formats.typed_rows import ReplayReader, row_from
from branchline.tree import ROOT

__all__ = ["GeminiReader"]

READ_ONLY = "sessions of Gemini CLI are read-only; fork it into a native session to continue"
_NOTICES = frozenset({"info", "error", "warning"})
_WHOLE = EntryPart()


_Said = tuple[str, str]


class GeminiReader(ReplayReader[Row]):
    """Reads one session; its path tells the parent of a sub-agent."""

    format_name = "gemini"
    row_type = Row
    markers = (b'{"id":"', b'{"$set":', b'{"$rewindTo":', b'{"sessionId":"')
    reading: GeminiLogIndex

    def __init__(self, path: str = "") -> None:
        super().__init__(GeminiLogIndex())
        self._path = path
        # The list, in columns: a record for each message would cost the garbage collector much time.
        self._entries: list[int] = []
        self._parents: list[int] = []  # of the first entry of each message
        self._said: list[_Said | None] = []
        self._places: dict[str, int] = {}  # of messages in the list, by id
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
        for row in rows:
            is_known = row.change is not None or (row.id and row.type)
            if not is_known and row.rewind_to is None and not row.session_id:
                return False
        return True

    def replay(self, row: Row, lines: Lines, index: int) -> None:
        change = row.change
        if change is not None:
            if change.summary:
                self._summary = change.summary
            if change.messages is not None:
                self._take_list(change.messages, lines.number + index)
        elif row.rewind_to is not None:
            self._rewind(row.rewind_to, lines.number + index)
        elif row.session_id and not row.type:
            self._session = self._session or row.session_id
            self._time = self._time or row.start_time
            self._kind = self._kind or row.kind
            self._summary = row.summary or self._summary
            if row.directories and not self._cwd:
                self._cwd = row.directories[0]
        else:
            known = self._places.get(row.id)
            if known is not None and self._is_version(row, self._entries[known]):
                self._replace(row, known, lines.span(index))
            else:
                self._take_message(row, row.id or f"line-{lines.number + index}")

    def _take_list(self, messages: Sequence[MessageRow], number: int) -> None:
        """A list of messages in place of the one before."""
        if self._begins_again(messages):
            self._drop_before(self._places[messages[0].id])
            return
        spoken = [(place, said) for place, one in enumerate(messages) if (said := _said(one))]
        old = [(place, said) for place, said in enumerate(self._said) if said is not None]
        if len(spoken) >= len(old) and [said for _, said in spoken[: len(old)]] == [said for _, said in old]:
            self._rename(messages, spoken, [place for place, _ in old])
            start = spoken[len(old)][0] if len(spoken) > len(old) else len(messages)
            for place, message in enumerate(messages):
                if place >= start or not old:
                    key = message.id or f"line-{number}.{place}"
                    if message.id not in self._places:
                        self._take_message(message, key, EntryPart(message=place))
        elif (kept := _repeated(old, [said for _, said in spoken])) is not None:
            self._rename(messages, spoken, kept)
        else:
            self._compact(messages, number)

    def _begins_again(self, messages: Sequence[MessageRow]) -> bool:
        """Whether a list is the end of the old one and has a context of its own: it was just loaded."""
        place = self._places.get(messages[0].id) if messages else None
        if not place or not messages[0].has_context or len(messages) != len(self._entries) - place:
            return False
        return all(self._places.get(message.id) == at for at, message in enumerate(messages, place))

    def _drop_before(self, place: int) -> None:
        """Make a message the first one of the list and a root of the tree; what precedes it is a branch."""
        self.relink(self._entries[place], ROOT)
        del self._entries[:place], self._parents[:place], self._said[:place]
        self._parents[0] = ROOT
        self._places = {key: at - place for key, at in self._places.items() if at >= place}

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
        self._entries, self._parents, self._said, self._places = [], [], [], {}
        for place, message in enumerate(messages):
            if message.id:
                self._places.setdefault(message.id, place)
            self._entries.append(position)
            self._parents.append(position)
            self._said.append(_said(message))

    def _rewind(self, target: str, number: int) -> None:
        """Cut the list before a message; an unknown one empties it."""
        place = self._places.get(target, 0)
        before = self._parents[place] if self._parents else self.tip
        if target not in self._places:
            before = ROOT
        del self._entries[place:], self._parents[place:], self._said[place:]
        self._places = {key: one for key, one in self._places.items() if one < place}
        self.move_to(before, f"line-{number}")

    def _take_message(self, message: MessageRow, key: str, source: EntryPart = _WHOLE) -> None:
        before, kind, time = self.tip, message.type, message.timestamp
        words, calls = message.said()
        said = None if calls else _said_by(kind, words)
        if calls:
            position = self._add_carried(calls, key, time, source)
        elif kind == "gemini":
            self._spoken = max(self._spoken, time)
            self._results.difference_update(message.calls_again())
            position = self._add(key, "message", time, "assistant", source)
            if not words or words.isspace():
                self.reading.tree.textless.add(position)
            if message.tool_calls:
                self._add_results(message, key, source)
        elif kind == "user" and said is not None:
            self._spoken = max(self._spoken, time)
            self._prompt = self._prompt or prompt_words(message.texts)
            position = self._add(key, "message", time, "user", source)
        else:
            is_shown = kind == "user" or kind in _NOTICES
            position = self._add(key, "custom_message" if is_shown else "custom", time, None, source)
        if message.id:
            self._places.setdefault(message.id, len(self._entries))
        self._entries.append(position)
        self._parents.append(before)
        self._said.append(said)

    def _add_carried(self, calls: Sequence[str], key: str, time: str, source: EntryPart) -> int:
        """The results that a message carries, of calls that have none yet."""
        fresh = [call for call in dict.fromkeys(calls) if call not in self._results]
        if not fresh:
            return self._add(key, "custom", time, None, source)
        self._results.update(fresh)
        for number, call in enumerate(fresh):
            name = key if not number else f"{key}.{number + 1}"
            self._add(name, "message", time, "toolResult", EntryPart(source.message, call))
        return self.tip

    def _is_version(self, message: MessageRow, position: int) -> bool:
        """Whether this is the message in the list again, and not a result, which may have the same id."""
        role = self.reading.tree.roles[position]
        return (role == "assistant") == (message.type == "gemini")

    def _replace(self, message: MessageRow, place: int, span: ByteRange) -> None:
        """A newer version of a message; results that it brings follow."""
        reading, position = self.reading, self._entries[place]
        reading.versions[position] = span
        tree = reading.tree
        if tree.roles[position] == "assistant":
            textless = tree.textless
            if position in textless and (words := message.said()[0]) and not words.isspace():
                textless.discard(position)
            if message.tool_calls:
                self._add_results(message, tree.keys[position], _WHOLE)

    def _add_results(self, message: MessageRow, key: str, source: EntryPart) -> None:
        """The results that an answer has in it, of calls that have none yet."""
        results = self._results
        for call in message.tool_calls or ():
            if call.result and (name := call.id) not in results:
                results.add(name)
                about = EntryPart(source.message, name)
                self._add(f"{key}:{name}", "message", message.timestamp, "toolResult", about)

    def _add(
        self,
        key: str,
        type: str,  # noqa: A002
        time: str,
        role: str | None = None,
        source: EntryPart = _WHOLE,
    ) -> int:
        if source is not _WHOLE:
            self.reading.sources[len(self.reading.tree.keys)] = source
        return self.add(key, type, time, role)

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


def _repeated(old: Sequence[tuple[int, _Said]], new: Sequence[_Said]) -> list[int] | None:
    """Where a new list stands in the old one, in the same order; None if it has anything else."""
    found: list[int] = []
    rest = iter(old)
    for said in new:
        place = next((place for place, one in rest if one == said), None)
        if place is None:
            return None
        found.append(place)
    return found


def _said(message: MessageRow) -> _Said | None:
    """Who said what; None for results, context and notices."""
    words, calls = message.said()
    return None if calls else _said_by(message.type, words)


def _said_by(speaker: str, words: str) -> _Said | None:
    if speaker not in ("gemini", "user") or words.startswith(CONTEXT_BEGINS):
        return None
    return speaker, words
