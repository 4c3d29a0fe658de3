"""Rows of a zot session into a reading: one line of entries, each hanging from the one before it.

Rows have no ids. An entry gets one from the end of its row, where its time stands: the same on every load,
and the same in a fork, which copies the bytes of its parent's rows. A row that occurs again is told apart by a
number.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from hashlib import blake2b
from itertools import compress
from typing import Any, Literal, NamedTuple

import msgspec

from branchline.context import milliseconds
from branchline.entries import Header, jsontext
from branchline.formats.base import Reading
from branchline.formats.golang import utc_time, utc_times
from branchline.formats.lines import LinesReader, bulk

__all__ = ["Meta", "Sums", "ZotReader", "ZotReading", "is_meta", "sums_of"]

_TAIL = 128  # the part of a row that its id is made of
_NAME = re.compile(r"(?:^|[/\\])(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)-([^/\\]{1,8})\.jsonl$")
_SPEAKERS = frozenset({"user", "assistant"})
_ROLES = {"user": "user", "assistant": "assistant", "tool": "toolResult"}
_NO_META = "no row in it tells which session it is"


class Sums(msgspec.Struct, frozen=True, gc=False):
    """The running totals of a usage row."""

    input_tokens: int | float = 0
    output_tokens: int | float = 0
    cache_read_tokens: int | float = 0
    cache_write_tokens: int | float = 0
    cost_usd: int | float = 0


class Meta(NamedTuple):
    """A meta row: from which entry on it is in force, and what it says."""

    position: int
    fields: dict[str, Any]


class ZotReading(Reading):
    """A reading that also knows what zot's rows mean only together with the rows before them."""

    def __init__(self) -> None:
        super().__init__("zot")
        self.version = self.current_version = 1
        self.metas: list[Meta] = []
        self.before: dict[int, Sums] = {}
        """For each usage entry the totals before it."""
        self.sums = Sums()
        self.numbers: dict[int, int] = {}
        """For each tool result that is not the first of its row: which one it is."""
        self.tool_names: dict[int, str] = {}
        self.calls: dict[str, str] = {}
        """What the last answer asked for and nobody has answered yet: names of tools by call."""
        self.calls_open = False
        """Whether that answer is the last message of the file."""
        self.message_rows = 0
        self.own_from: int | None = None
        """The entry of the first message that did not come with the fork."""

    def meta_at(self, position: int) -> dict[str, Any]:
        """The meta row in force at an entry; the first one for what stands before it."""
        if not self.metas:
            return {}
        return self.metas[max(0, bisect_right(self.metas, position, key=_position_of) - 1)].fields

    @property
    def inherited(self) -> int:
        """How many entries came with the fork: everything before its first message of its own."""
        if self.header is None or self.header.parent_session is None:
            return 0
        return len(self.tree) if self.own_from is None else self.own_from


def _position_of(meta: Meta) -> int:
    return meta.position


# -- rows as nearly all files have them, decoded no further than a tree asks ------------------------------


class _Words(msgspec.Struct, gc=False):
    text: str = ""
    id: str | None = None
    name: str | None = None


class _Result(msgspec.Struct, gc=False):
    call_id: str


class _User(msgspec.Struct, tag_field="role", tag="user", gc=False):
    time: str = ""
    meta: Any = None


class _Answer(msgspec.Struct, tag_field="role", tag="assistant", gc=False):
    content: tuple[_Words, ...] | None = None
    time: str = ""


class _Results(msgspec.Struct, tag_field="role", tag="tool", gc=False):
    content: tuple[_Result, ...] | None = None
    time: str = ""


_Message = _User | _Answer | _Results


class _Row(msgspec.Struct, gc=False):
    type: Literal["message", "usage"]
    message: _Message | None = None
    cumulative: Sums | None = None


_ROLE_OF = {_User: "user", _Answer: "assistant", _Results: "toolResult", type(None): None}
_decode_rows = msgspec.json.Decoder(_Row).decode_lines


class ZotReader(LinesReader):
    """Reads the rows of one file; the path tells id and start where no row does."""

    format_name = "zot"
    markers = (b'{"type":"', b'{"title":"')
    reading: ZotReading

    def __init__(self, path: str = "") -> None:
        super().__init__()
        self.reading = ZotReading()
        self._path = path
        self._repeats: dict[str, int] = {}
        self._spoken = ""

    # -- many rows at once ----------------------------------------------------------------------------

    def take_regular(self, data: bytes, end: int, offset: int) -> bool:
        """Messages and usage as zot writes them; False, and nothing done, when anything else is among them."""
        found = bulk(data, end, _decode_rows)
        if found is None:
            return False
        rows: Sequence[_Row] = found.values
        types: list[str] = [row.type for row in rows]
        messages = [row.message for row in rows]
        silent = [row for row in rows if row.message is None]
        spent = [row.cumulative for row in silent if row.type == "usage" and row.cumulative is not None]
        if len(spent) != len(silent) or types.count("usage") != len(silent):
            return False
        tree = self.reading.tree
        first = len(tree)
        roles = [_ROLE_OF[type(message)] for message in messages]
        said = ["" if message is None else message.time for message in messages]
        self._spoken = next(compress(reversed(said), map(_SPEAKERS.__contains__, reversed(roles))), self._spoken)
        times = utc_times(said)
        self._look_for_own_in(messages, times)
        shared = _shared(messages)
        self._claim(_digests(data, found.ends), shared)
        self._place(first, offset, found.ends, shared)
        for number in sorted(shared, reverse=True):
            for column in (types, roles, times, messages):
                column[number:number] = [column[number]] * (shared[number] - 1)  # type: ignore[call-overload]
        quiet = self._listen(first, messages)
        self._spend([place for place, message in enumerate(messages, first) if message is None], spent)
        tree.fill(list(range(first - 1, first - 1 + len(types))), types, times, roles, quiet)
        return True

    def _claim(self, digests: list[str], shared: dict[int, int]) -> None:
        """Give the entries of these rows their keys."""
        tree = self.reading.tree
        if not self._repeats and len(set(digests)) == len(digests) and tree.claim(_spread(digests, shared)):
            return
        tree.claim(_spread(self._numbered(digests), shared))

    def _listen(self, first: int, messages: list[_Message | None]) -> list[int]:
        """Remember what answers ask for and what their results are named; returns the answers without words."""
        reading = self.reading
        quiet = []
        result = 0
        for position, message in enumerate(messages, first):
            if type(message) is _Answer:
                if self._answered(message.content or ()):
                    quiet.append(position)
            elif type(message) is _Results:
                reading.calls_open = False
                results = message.content or ()
                if result:
                    reading.numbers[position] = result
                if results and (name := reading.calls.get(results[result].call_id)):
                    reading.tool_names[position] = name
                result = (result + 1) % (len(results) or 1)
            elif message is not None:
                reading.calls_open = False
        return quiet

    def _spend(self, positions: list[int], spent: list[Sums]) -> None:
        """Take in totals; what each row adds is told by those before it."""
        if spent:
            reading = self.reading
            reading.before.update(zip(positions, [reading.sums, *spent], strict=False))
            reading.sums = spent[-1]

    def _look_for_own_in(self, messages: list[_Message | None], times: list[str]) -> None:
        """Count messages, and find the first one that did not come with the fork."""
        reading = self.reading
        position = len(reading.tree)
        for number, message in enumerate(messages):
            if reading.own_from is not None:
                reading.message_rows += len(messages) - number - messages[number:].count(None)
                break
            if message is not None:
                summary = type(message) is _User and _is_summary(message.meta)
                self._count_message(position, times[number], summary=summary)
            results = message.content or () if type(message) is _Results else ()
            position += len(results) or 1

    def _place(self, first: int, offset: int, ends: list[int], shared: dict[int, int]) -> None:
        """Say where the entries of these rows lie."""
        if not shared:
            self.add_block(first, offset, ends)
            return
        reading = self.reading
        start = 0
        for number, end in enumerate(ends):
            reading.lines += 1
            for _ in range(shared.get(number, 1)):
                reading.place(first, offset + start, end - start, reading.lines)
                first += 1
            start = end + 1

    def _answered(self, content: Sequence[_Words]) -> bool:
        """Remember what an answer asks for; whether it has no words for a person."""
        reading = self.reading
        calls, spoken = {}, False
        for block in content:
            if block.name is not None and block.id is not None:
                calls[block.id] = block.name
            elif block.text and not spoken and block.text.strip():
                spoken = True
        reading.calls, reading.calls_open = calls, True
        return not spoken

    def _numbered(self, keys: list[str]) -> list[str]:
        known = self.reading.tree.positions
        fresh: set[str] = set()
        numbered = []
        for key in keys:
            if key in known or key in fresh:
                count = self._repeats[key] = self._repeats.get(key, 1) + 1
                numbered.append(f"{key}-{count}")
            else:
                fresh.add(key)
                numbered.append(key)
        return numbered

    # -- one row at a time ----------------------------------------------------------------------------

    def take(self, fields: dict[str, Any], line: bytes, offset: int) -> None:
        kind = fields.get("type")
        if not isinstance(kind, str):
            self.note_not_an_entry("an object without a type", line, offset)
        elif kind == "meta" and isinstance(fields.get("meta"), dict):
            self._take_meta(fields["meta"], line, offset)
        elif kind == "message" and isinstance(fields.get("message"), dict):
            self._take_message(fields["message"], line, offset)
        elif kind == "usage" and (sums := sums_of(fields)) is not None:
            position = self._add(line, offset, type="usage")
            self.reading.before[position] = self.reading.sums
            self.reading.sums = sums
        elif kind == "rename" and isinstance(title := fields.get("title"), str):
            self._add(line, offset, type="session_info")
            self.reading.title = title.strip() or self.reading.title
        else:
            self._add(line, offset, type="custom")

    def _take_meta(self, fields: dict[str, Any], line: bytes, offset: int) -> None:
        reading = self.reading
        if not is_meta(fields):
            self._add(line, offset, type="custom")
            return
        if not reading.metas:
            reading.header_line, reading.header_end = line, offset + len(line)
        if isinstance(title := fields.get("title"), str):
            reading.title = title.strip() or reading.title
        model = fields.get("model")
        reading.metas.append(Meta(len(reading.tree), fields))
        if (isinstance(model, str) and model) or len(reading.metas) > 1:
            self._add(line, offset, type="model_change")
        reading.header = _header([meta.fields for meta in reading.metas])

    def _take_message(self, message: dict[str, Any], line: bytes, offset: int) -> None:
        reading = self.reading
        role = message.get("role")
        time = message.get("time")
        said = time if isinstance(time, str) else ""
        native = utc_time(said)
        role = role if isinstance(role, str) else ""
        content = message.get("content")
        quiet = False
        if role == "assistant":
            quiet = self._answered(_words(content))
        else:
            reading.calls_open = False
        if role in ("user", "assistant"):
            self._spoken = said
        count = _result_count(message)
        key = self._key(line)
        self._count_message(len(reading.tree), native, summary=_is_summary(message.get("meta")))
        for number in range(count):
            position = self._add(
                line,
                offset,
                key=f"{key}.{number + 1}" if number else key,
                type="message",
                time=native,
                role=_ROLES.get(role, role),
                quiet=quiet,
            )
            if number:
                reading.numbers[position] = number
            if role == "tool" and (name := reading.calls.get(_call_of(content, number))):
                reading.tool_names[position] = name

    def _count_message(self, position: int, time: str, *, summary: bool) -> None:
        """Notice where a fork says something of its own: behind what it asked for, or younger than itself."""
        reading = self.reading
        if reading.own_from is None and reading.header is not None and not summary:
            fork_point = (reading.header.metadata or {}).get("fork_point", 0)
            if reading.message_rows >= fork_point or time > reading.header.timestamp > "":
                reading.own_from = position
        reading.message_rows += 1

    def _add(
        self,
        line: bytes,
        offset: int,
        *,
        type: str,  # noqa: A002
        key: str = "",
        time: str = "",
        role: str | None = None,
        quiet: bool = False,
    ) -> int:
        keys = self.reading.tree.keys
        return self.add(
            key or self._key(line),
            keys[-1] if keys else None,
            line,
            offset,
            type=type,
            time=time,
            role=role,
            quiet=quiet,
        )

    def _key(self, line: bytes) -> str:
        digest = blake2b(line.strip()[-_TAIL:], digest_size=8)
        return self._numbered([digest.hexdigest()])[0]

    def is_record(self, data: bytes) -> bool:
        """A row of one of the kinds that zot writes; other objects may be a part of one."""
        fields = jsontext.loads(data)
        match fields.get("type"):
            case "meta" | "message" | "usage" as kind:
                return isinstance(fields.get(kind), dict)
            case "rename":
                return isinstance(fields.get("title"), str)
            case _:
                return False

    def settled(self) -> None:
        reading = self.reading
        reading.last_message_time = milliseconds(utc_time(self._spoken))
        if reading.metas:
            if reading.read_only == _NO_META:
                reading.read_only = None
            return
        if reading.lines:
            reading.read_only = _NO_META
            reading.note_end("no-header", "no readable meta row; opened read-only", line=1)
        reading.header = _header_from_name(self._path) if reading.lines else None


# -- columns of many rows ---------------------------------------------------------------------------------


def _digests(data: bytes, ends: list[int]) -> list[str]:
    """What the ids of rows that follow each other are made of: the end of each row."""
    starts = [0, *[end + 1 for end in ends]]
    return [
        blake2b(data[start if start > end - _TAIL else end - _TAIL : end], digest_size=8).hexdigest()
        for start, end in zip(starts, ends, strict=False)
    ]


def _shared(messages: Sequence[_Message | None]) -> dict[int, int]:
    """The rows with more than one result, and how many."""
    return {
        number: len(message.content)
        for number, message in enumerate(messages)
        if type(message) is _Results and message.content and len(message.content) > 1
    }


def _spread(keys: list[str], shared: dict[int, int]) -> list[str]:
    """The keys of entries from those of rows, where some rows hold several."""
    if not shared:
        return keys
    return [
        f"{key}.{place + 1}" if place else key
        for number, key in enumerate(keys)
        for place in range(shared.get(number, 1))
    ]


# -- what rows say ----------------------------------------------------------------------------------------


def is_meta(fields: Any) -> bool:
    """Whether this is what a meta row holds: something that names a session."""
    return isinstance(fields, dict) and isinstance(fields.get("id"), str) and bool(fields["id"])


def _result_count(message: dict[str, Any]) -> int:
    """How many entries a message row is: one, or in a row of tool results one for each."""
    content = message.get("content")
    if message.get("role") != "tool" or not isinstance(content, list):
        return 1
    return max(1, len(content))


def _call_of(content: Any, number: int) -> str:
    """The call that a tool result answers."""
    block = content[number] if isinstance(content, list) and number < len(content) else None
    call = block.get("call_id") if isinstance(block, dict) else None
    return call if isinstance(call, str) else ""


def _is_summary(meta: Any) -> bool:
    return isinstance(meta, dict) and meta.get("compaction") == "true"


def _words(content: Any) -> list[_Words]:
    if isinstance(content, str):
        return [_Words(text=content)]
    found = []
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict):
            text, call, name = block.get("text"), block.get("id"), block.get("name")
            found.append(
                _Words(
                    text=text if isinstance(text, str) else "",
                    id=call if isinstance(call, str) else None,
                    name=name if isinstance(name, str) else None,
                )
            )
    return found


def sums_of(fields: dict[str, Any]) -> Sums | None:
    found = next((one for name in ("cumulative", "usage") if isinstance(one := fields.get(name), dict)), None)
    if found is None:
        return None
    numbers = {
        name: value
        for name in Sums.__struct_fields__
        if isinstance(value := found.get(name), int | float) and not isinstance(value, bool)
    }
    return Sums(**numbers)


def _header(metas: list[dict[str, Any]]) -> Header:
    """Who the session is: the last meta row counts, where it says something."""

    def text(name: str) -> str:
        return next((meta[name] for meta in reversed(metas) if _is_text(meta.get(name))), "")

    fork_point = next((meta["fork_point"] for meta in reversed(metas) if _is_count(meta.get("fork_point"))), 0)
    metadata: dict[str, Any] = {name: text(name) for name in ("provider", "model", "version") if text(name)}
    if fork_point:
        metadata["fork_point"] = fork_point
    return Header(
        id=text("id"),
        timestamp=utc_time(text("started")),
        cwd=text("cwd"),
        parent_session=text("parent") or None,
        metadata=metadata or None,
    )


def _header_from_name(path: str) -> Header | None:
    found = _NAME.search(path)
    if found is None:
        return None
    year, month, day, hour, minute, second, session = found.groups()
    return Header(id=session, timestamp=f"{year}-{month}-{day}T{hour}:{minute}:{second}.000Z")


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
