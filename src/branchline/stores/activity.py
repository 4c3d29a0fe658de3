"""When a session was last used: the one time that lists sort by and show.

It is the time of the last message of user or model, or that at which the session was made, if that is later:
a copy, a restored backup and a change of title leave both alone. Without either it is the time of the file.
Nothing is written into a file after its last change, so a later time is that of a wrong clock: the time of
the file counts then, and no time counts that is still to come.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, TypeVar

from branchline.context import milliseconds
from branchline.entries import ACTIVITY_ROLES
from branchline.formats import Format
from branchline.formats.json_values import LAST_INSTANT
from branchline.stores.protocol import Read, StoredLog

if TYPE_CHECKING:
    from branchline.formats import EntryLog

__all__ = ["by_activity", "last_activity", "last_use", "latest_possible", "recent_use"]

_TAIL = 1 << 13
"""Bytes at the end of a log that are read for its last message; more if it is not among them."""
_LONGEST_TAIL = 1 << 23
"""Bytes after which the last message is no longer looked for; the first lines of the log decide then."""
_HEAD = 1 << 12
"""Bytes at the beginning that tell a reader whose lines follow; more if the first line is longer."""
_LONGEST_HEAD = 1 << 20
_SKEW_MS = 2_000
"""How far the clock of a file system may be behind that of a program."""
_T = TypeVar("_T")


def last_activity(transcript: EntryLog, stored: StoredLog) -> int:
    """Return the time of the last message of a session that was read completely, in Unix milliseconds.

    Without one it is the time in the header, and without that the time of the file. Operator lists its
    sessions by the time of their files, and so does branchline.
    """
    if transcript.format.traits.dated_by_file:
        return round(stored.modified * 1000)
    told = _last_message(transcript)
    return _believed(_made(transcript) if told is None else told, stored)


def last_use(transcript: EntryLog, stored: StoredLog) -> int:
    """Return when a session was last used: its last activity, or when it was made, if that is later.

    A fork begins with old messages.
    """
    active_ms, made_ms = last_activity(transcript, stored), _made(transcript)
    if transcript.format.traits.dated_by_file or made_ms is None or not _is_believed(made_ms, stored):
        return active_ms
    return max(active_ms, made_ms)


def recent_use(read: Read, stored: StoredLog, format_: Format) -> int | None:
    """Return what :func:`last_use` would, from the last lines of a log; None if they do not tell.

    Those of compressed files, documents and databases do not. Only if the times of a log are not in order can
    the answer be another one, which is earlier.
    """
    if format_.traits.dated_by_file:
        return round(stored.modified * 1000)
    if format_.documents or format_.database or format_.compression_of(read(0, _HEAD)) is not None:
        return None
    from branchline.formats import EntryLog  # noqa: PLC0415  a list from the catalog reads no file

    name, size = stored.path or stored.key, stored.size
    head, length = _head(read, size), _TAIL
    while head and len(head) + length < size:
        tail = read(size - length, length)
        lines = head + tail[tail.find(b"\n") + 1 :]
        transcript = EntryLog(format_, _reader(lines), name)
        if _has_message(transcript, len(head)) or length > _LONGEST_TAIL:
            return last_use(transcript, stored)
        length *= 4
    return last_use(EntryLog(format_, read, name), stored)


def by_activity(
    items: Iterable[_T],
    *,
    limit: Callable[[_T], int],
    find: Callable[[_T], int | None],
    key: Callable[[_T], str],
) -> Iterator[_T]:
    """Yield items, the last used first, ties by key, and date no more of them than necessary.

    ``limit`` returns a time that the last activity of an item does not exceed, without reading it: most
    sessions are in the order of their files, so that ``find`` is called for the first few only. Items of
    which it returns None are yielded immediately.
    """
    listed = list(items)
    waiting = [(-limit(item), 0, number) for number, item in enumerate(listed)]
    heapify(waiting)
    while waiting:
        minus_ms, dated, number = heappop(waiting)
        if not dated:
            found = find(listed[number])
            if found is None:
                yield listed[number]
            else:
                heappush(waiting, (-found, 1, number))
            continue
        same = [listed[number]]  # nothing undated is left of this time
        while waiting and waiting[0][:2] == (minus_ms, 1):
            same.append(listed[heappop(waiting)[2]])
        yield from sorted(same, key=key) if len(same) > 1 else same


def latest_possible(stored: StoredLog) -> int:
    """Return a time in Unix milliseconds that no last activity of a session can exceed."""
    return max(round(stored.modified * 1000), stored.changed_ms + _SKEW_MS)


def _head(read: Read, size: int) -> bytes:
    """Return whole lines from the beginning of a log; none if the first is too long."""
    length = _HEAD
    while (end := (head := read(0, length)).rfind(b"\n")) < 0 and length < min(size, _LONGEST_HEAD):
        length *= 4
    return head[: end + 1]


def _reader(data: bytes) -> Read:
    return lambda offset, size: data[offset : offset + size]


def _has_message(transcript: EntryLog, start: int) -> bool:
    """Return whether a message of user or model with a time begins at or after an offset."""
    reading, tree = transcript.reading, transcript.tree
    position = len(tree)
    while position and reading.span(position - 1).offset >= start:
        position -= 1
        if tree.roles[position] in ACTIVITY_ROLES and milliseconds(tree.times[position]) is not None:
            return True
    return False


def _last_message(transcript: EntryLog) -> int | None:
    """Return the time of the last message of user or model; None if no message has a time."""
    reading, tree = transcript.reading, transcript.tree
    last = reading.last_message_time
    if last is not None and 0 <= last <= LAST_INSTANT:
        return round(last)
    times = (time for time, role in zip(tree.times, tree.roles, strict=True) if role in ACTIVITY_ROLES)
    return max(filter(None, map(milliseconds, times)), default=None)


def _made(transcript: EntryLog) -> int | None:
    header = transcript.reading.header
    return None if header is None else milliseconds(header.timestamp)


def _believed(told: int | None, stored: StoredLog) -> int:
    """Return the time that a session tells, or that of its file if no clock can have been right."""
    if told is not None and _is_believed(told, stored):
        return told
    modified_ms, now_ms = round(stored.modified * 1000), round(time.time() * 1000)
    return modified_ms if modified_ms <= now_ms else min(stored.changed_ms, now_ms)


def _is_believed(told: int, stored: StoredLog) -> bool:
    return 0 < told <= min(stored.changed_ms, round(time.time() * 1000)) + _SKEW_MS
