"""Threads as lines: one for each message, in the order of the turns that created them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain, islice, repeat
from typing import Any

import msgspec

from branchline.context import milliseconds
from branchline.entries import Header, json_codec
from branchline.formats.common.derived_lines import EntryLines
from branchline.formats.common.tables import columns, text_of
from branchline.formats.json_values import iso_time
from branchline.formats.llm.conversations import unlisted_usage
from branchline.formats.llm.log_index import NAME
from branchline.formats.llm.message_lines import PARTS, Head, PartLines, json_value
from branchline.formats.llm.message_tree import MessageTree, Stretch
from branchline.formats.llm.rows import TurnRow, decode_turn
from branchline.formats.llm.values import earliest_time, latest_time, usage_of
from branchline.formats.protocol import Query

__all__ = ["thread_lines"]

_TURNS = """
SELECT rowid, tip_message_hash, json_object(
    'model', ifnull(CAST({model} AS TEXT), ''),
    'given', CAST(input_tokens AS INTEGER),
    'made', CAST(output_tokens AS INTEGER)
), token_details, datetime_utc, {is_silent}
FROM turns WHERE thread_id = ? ORDER BY id
"""  # SQLite encodes short values faster than Python


_TOGETHER = 256  # messages that are joined by one call
_LINE = b'{"message":"'
_PLAIN = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_:-"
_encode = msgspec.json.Encoder().encode
_encode_lines = msgspec.json.Encoder().encode_lines


_Turn = tuple[Any, ...]
"""One model call: its row, the message that it ended with, model and tokens as JSON, details of them, time,
and whether the model answered nothing, so that the call ended with the prompt.

A plain tuple, because there is one for each answer.
"""
_Call = tuple[_Turn, bytes]
"""A turn, and its time as JSON."""


def thread_lines(query: Query, thread: tuple[Any, ...], tables: Collection[str]) -> Iterator[bytes]:
    """Yield the lines of a thread, given by its row and the tables of the log."""
    raw_id, name, tip, forked_from, created = thread
    thread_id = text_of(raw_id)
    turns = list(_turns(query, thread_id))
    times = [text_of(turn[4]) for turn in turns]
    begun = iso_time(earliest_time(times) or milliseconds(text_of(created)))
    end = iso_time(latest_time(times)) or begun
    header = Header(id=thread_id, version=3, timestamp=begun, parent_session=text_of(forked_from) or None)
    yield EntryLines(NAME).header(header)
    attachments = query("SELECT 1 FROM attachments LIMIT 1") if "attachments" in tables else ()
    parts = PartLines(query, has_attachments=any(attachments))
    messages = _Messages(parts, MessageTree(query, [tip, *[turn[1] for turn in turns]]))
    calls = list(zip(turns, _json_texts(times), strict=True))
    if any(turn[5] for turn in turns) or not messages.add_turns(calls):
        for turn, time in calls:
            head = time + PARTS if turn[5] else _last_head(turn, time)
            is_answered = messages.add_path(turn[1], time, head) and not turn[5]
            if not is_answered and (call := _usage(query, turn)) is not None:
                yield from messages.lines()  # the model repeated an earlier answer, or said nothing
                yield _line("usage", {**call, "parent": messages.name_of(turn[1])})
    time = _encode(begun)
    messages.add_path(tip, time, time + PARTS)
    yield from messages.lines()
    if "responses" in tables:
        for unlisted in unlisted_usage(query, thread_id):
            yield _line("usage", unlisted)
    fields = {"title": text_of(name)} if name else {}
    leaf = messages.name_of(tip)
    if leaf is not None and tip != messages.last:
        fields["leaf"] = leaf
    if fields:
        yield _line("end", {"id": thread_id, "time": end, **fields})


def _last_head(turn: _Turn, time: bytes) -> bytes:
    """Return what the line of the last message of a turn has from the time on, up to the parts."""
    _, _, told, details, *_ = turn
    if details:
        return b'%b,"turn":%b,"details":\t%b\t%b' % (time, told, json_value(details), PARTS)
    return b'%b,"turn":%b%b' % (time, told, PARTS)


def _usage(query: Query, turn: _Turn) -> dict[str, Any] | None:
    """Return the tokens of a turn that added no message, if they are known."""
    row, _, told, details, time, _ = turn
    call: TurnRow = decode_turn(told) or TurnRow()
    usage = usage_of(call.given, call.made, details)
    if usage is None:
        return None
    ((turn_id,),) = query("SELECT id FROM turns WHERE rowid = ?", row)
    return {"id": f"{text_of(turn_id)}/usage", "time": text_of(time), "model": call.model, "usage": usage}


def _line(kind: str, fields: dict[str, Any]) -> bytes:
    return json_codec.dumps({kind: fields}) + b"\n"


def _turns(query: Query, thread_id: str) -> Iterator[_Turn]:
    known = columns(query, "turns")
    model = "model"
    if "resolved_model" in known:
        model = "coalesce(nullif(CAST(resolved_model AS TEXT), ''), model)"
    is_silent = "parent_message_hash = tip_message_hash" if "parent_message_hash" in known else "NULL"
    return query(_TURNS.format(model=model, is_silent=is_silent), thread_id)


class _Messages:
    """The messages of a thread, of which each path adds those that no path before it contains."""

    def __init__(self, parts: PartLines, tree: MessageTree) -> None:
        self._parts = parts
        self._tree = tree
        self._is_plain = _are_plain(tree.names())
        self._roles = _Roles()
        self._added: list[Stretch] = []
        self._rest: list[Iterable[bytes]] = []  # the heads of their lines, from the time on
        self.name_of = tree.name_of
        self.last: object = None
        """The message that was added last."""

    def add_turns(self, calls: Sequence[_Call]) -> bool:
        """Add the messages of all turns, if each turn continues the one before; nothing and False if not."""
        tips = [turn[1] for turn, _ in calls]
        found = self._tree.take_ascending(tips)
        if found is None:
            return False
        own, sizes = found
        self._added.append((own, 0, own.taken))
        self._rest.append(_rest_of_turns(calls, sizes))
        self.last = tips[-1]
        return True

    def add_path(self, tip: object, time: bytes, head: bytes) -> bool:
        """Add the messages up to this one; False if there are none.

        ``time`` is that of all of them, and ``head`` what the line of the last one has from there on.
        """
        path, above = self._tree.take_path(tip)
        if not path:
            return False
        size = sum([end - start for _, start, end in path])
        rest = [*[time + PARTS] * (size - 1), head]
        if above != self.last:
            is_cycle = any(above in own.names[start:end] for own, start, end in path)
            parent = _encode(None if is_cycle else self.name_of(above))
            rest[0] = b'%b,"parent":%b%b' % (time, parent, rest[0].removeprefix(time))
        for stretch in reversed(path):
            self._add(stretch)
        self._rest.append(rest)
        self.last = tip
        return True

    def _add(self, stretch: Stretch) -> None:
        if self._added:
            own, start, end = self._added[-1]
            if own is stretch[0] and end == stretch[1]:
                self._added[-1] = (own, start, stretch[2])
                return
        self._added.append(stretch)

    def lines(self) -> Iterator[bytes]:
        """Yield the lines of the messages that were added since the last call."""
        added, rest = self._added, chain.from_iterable(self._rest)
        self._added, self._rest = [], []
        for own, first, last in added:
            for start in range(first, last, _TOGETHER):
                end = min(start + _TOGETHER, last)
                names = own.names[start:end]
                heads = self._heads(names, own.roles[start:end], rest)
                yield self._parts.lines(own.row + start, names, heads)

    def _heads(self, names: Sequence[Any], roles: Sequence[Any], rest: Iterator[bytes]) -> list[Head]:
        if not self._is_plain:
            names = [_encode(text_of(name))[1:-1] for name in names]
        pieces = repeat(_LINE), names, map(self._roles.__getitem__, roles), islice(rest, len(names))
        return list(zip(*pieces, strict=False))


def _rest_of_turns(calls: Iterable[_Call], sizes: Iterable[int]) -> Iterator[bytes]:
    """Yield the heads of the lines of turns that add this many messages, from the time on."""
    for (turn, time), size in zip(calls, sizes, strict=True):
        if size > 1:
            yield from repeat(time + PARTS, size - 1)
        yield _last_head(turn, time)


def _json_texts(texts: Sequence[str]) -> list[bytes]:
    """Return texts as JSON strings."""
    return _encode_lines(texts).split(b"\n")[:-1]


class _Roles(dict[object, bytes]):
    """What a line has between the name of a message and its time, by the role."""

    def __missing__(self, role: object) -> bytes:
        self[role] = found = b'","role":%b,"time":' % _encode(text_of(role))
        return found


def _are_plain(names: Iterable[Any]) -> bool:
    """Return whether these are texts that JSON strings contain unchanged."""
    try:
        return not b"".join(names).translate(None, _PLAIN)
    except TypeError:
        return False
