"""Threads as lines: one for each message, in the order of the turns that created them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any

import msgspec

from branchline.context import milliseconds
from branchline.entries import Header, json_codec
from branchline.formats.common.derived_lines import EntryLines
from branchline.formats.common.tables import columns, text_of
from branchline.formats.json_values import iso_time
from branchline.formats.llm.conversations import unlisted_usage
from branchline.formats.llm.log_index import NAME
from branchline.formats.llm.message_lines import LINE_END, PartLines, json_value
from branchline.formats.llm.message_tree import MessageRow, messages_above
from branchline.formats.llm.rows import TurnRow, decode_turn
from branchline.formats.llm.values import earliest_time, latest_time, usage_of
from branchline.formats.protocol import Query

__all__ = ["thread_lines"]

_TURNS = """
SELECT id, tip_message_hash, json_object(
    'model', ifnull(CAST({model} AS TEXT), ''),
    'given', CASE typeof(input_tokens) WHEN 'integer' THEN input_tokens END,
    'made', CASE typeof(output_tokens) WHEN 'integer' THEN output_tokens END
), token_details, datetime_utc
FROM turns WHERE thread_id = ? ORDER BY id
"""  # SQLite encodes short values faster than Python


_TOGETHER = 256  # messages that are joined by one call
_LINE = LINE_END + b'{"message":"'
_PARTS = b',"parts":['
_PLAIN = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_:-"
_encode = msgspec.json.Encoder().encode


_Turn = tuple[Any, ...]
"""One model call: its id, the message that it ended with, model and tokens as JSON, details of them, time.

A plain tuple, because there is one for each answer.
"""


def thread_lines(query: Query, thread: tuple[Any, ...], tables: Collection[str]) -> Iterator[bytes]:
    """Yield the lines of a thread, given by its row and the tables of the log."""
    raw_id, name, tip, forked_from, created = thread
    thread_id = text_of(raw_id)
    turns = list(_turns(query, thread_id))
    times = [text_of(time) for *_, time in turns]
    begun = iso_time(earliest_time(times) or milliseconds(text_of(created)))
    end = iso_time(latest_time(times)) or begun
    header = Header(id=thread_id, version=3, timestamp=begun, parent_session=text_of(forked_from) or None)
    yield EntryLines(NAME).header(header)
    attachments = query("SELECT 1 FROM attachments LIMIT 1") if "attachments" in tables else ()
    parts = PartLines(query, has_attachments=any(attachments))
    messages = _Messages(parts, messages_above(query, [tip, *[turn[1] for turn in turns]]))
    for turn, time in zip(turns, times, strict=True):
        turn_id, own_tip, told, details, _ = turn
        if messages.add_path(own_tip, time, turn):
            continue
        call: TurnRow = decode_turn(told) or TurnRow()
        usage = usage_of(call.given, call.made, details)
        if usage is not None:  # the model repeated an earlier answer
            yield from messages.lines()
            fields = {"id": f"{text_of(turn_id)}/usage", "time": time, "model": call.model, "usage": usage}
            yield _line("usage", {**fields, "parent": messages.name_of(own_tip)})
    messages.add_path(tip, begun)
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


def _line(kind: str, fields: dict[str, Any]) -> bytes:
    return json_codec.dumps({kind: fields}) + b"\n"


def _turns(query: Query, thread_id: str) -> Iterator[_Turn]:
    model = "model"
    if "resolved_model" in columns(query, "turns"):
        model = "coalesce(nullif(CAST(resolved_model AS TEXT), ''), model)"
    return query(_TURNS.format(model=model), thread_id)


class _Messages:
    """The messages of a thread, of which each path adds those that no path before it contains."""

    def __init__(self, parts: PartLines, messages: dict[object, MessageRow]) -> None:
        self._parts = parts
        self._known = messages
        self._waiting = dict(messages)
        self._is_plain = _are_plain(messages)
        self._strings = _Strings()
        self._added: list[MessageRow] = []
        self._rest: list[bytes] = []  # the heads of their lines, behind the role
        self.last: object = None
        """The message that was added last."""

    def name_of(self, name: object) -> str | None:
        """Return the id of a message; None if it was not added."""
        return text_of(name) if name in self._known and name not in self._waiting else None

    def add_path(self, tip: object, time: str, turn: _Turn | None = None) -> bool:
        """Add the messages up to this one; False if there are none."""
        path: list[MessageRow] = []
        above = tip
        take = self._waiting.pop
        while (message := take(above, None)) is not None:
            path.append(message)
            above = message[2]
        if not path:
            return False
        path.reverse()
        written = _encode(time)
        rest = [written + _PARTS] * len(path)
        if turn is not None:
            rest[-1] = _with_turn(written, turn)
        if above != self.last:
            is_cycle = any(message[1] == above for message in path)
            parent = None if is_cycle else self.name_of(above)
            rest[0] = rest[0].removesuffix(_PARTS) + b',"parent":' + _encode(parent) + _PARTS
        self._added += path
        self._rest += rest
        self.last = tip
        return True

    def lines(self) -> Iterator[bytes]:
        """Yield the lines of the messages that were added since the last call."""
        added, rest = self._added, self._rest
        self._added, self._rest = [], []
        for start in range(0, len(added), _TOGETHER):
            together = slice(start, start + _TOGETHER)
            messages = added[together]
            yield from self._parts.lines(messages, self._heads(messages, rest[together]))

    def _heads(self, added: Sequence[MessageRow], rest: Sequence[bytes]) -> list[bytes]:
        _, names, _, roles = zip(*added, strict=True)
        if not self._is_plain:
            names = tuple(_encode(text_of(name))[1:-1] for name in names)
        pieces = (
            *(repeat(_LINE), names, repeat(b'","role":'), map(self._strings.__getitem__, roles)),
            *(repeat(b',"time":'), rest),
        )
        return list(map(b"".join, zip(*pieces, strict=False)))


class _Strings(dict[object, bytes]):
    """Columns with few values, as JSON strings."""

    def __missing__(self, value: object) -> bytes:
        self[value] = found = _encode(text_of(value))
        return found


def _with_turn(written: bytes, turn: _Turn) -> bytes:
    _, _, told, details, _ = turn
    if details:
        told = b'%b,"details":\t%b\t}' % (told[:-1], json_value(details))
    return b'%b,"turn":%b%b' % (written, told, _PARTS)


def _are_plain(names: Iterable[Any]) -> bool:
    """Return whether these are texts that JSON strings contain unchanged."""
    try:
        return not b"".join(names).translate(None, _PLAIN)
    except TypeError:
        return False
