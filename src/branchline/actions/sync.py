"""Synchronize the sessions of two stores.

Nothing is changed or deleted; lines are copied byte for byte. A log that is a prefix of the other is
extended. Native sessions that grew on both sides get each other's lines: ids are unique, so the union is a
tree. If both sides moved, renamed or labelled, the newest change wins and is recorded on both. Other sessions
that grew on both sides, and sessions in which one id has two contents, stay unchanged on each side, and each
store gets the other's version as a linked copy.

An interrupted sync leaves two readable stores, and the next one completes it. Repeating a sync changes
nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Literal, NamedTuple

import msgspec

from branchline.entries import SIDE_TYPES, Entry, Label, Leaf, SessionInfo, encode_entry, json_codec, splice
from branchline.errors import BranchlineError, NotASession
from branchline.formats import PI, EntryLog
from branchline.formats.suffixes import suffix_of
from branchline.plugins.formats import detect
from branchline.stores import DatabaseStore, FilesStore, LoadStore, Read, Store, StoredLog

__all__ = ["SyncAction", "SyncedSession", "sync"]

SyncAction = Literal["same", "copied", "caught up", "joined", "forked", "skipped"]
_PIECE = 1 << 20
_HEAD = 1 << 16
_COPY = re.compile(r"(.+)\.other-([0-9a-f]{12})").fullmatch


class SyncedSession(msgspec.Struct, frozen=True, kw_only=True):
    """The result, or with ``dry_run`` the plan, for one session."""

    key: str
    action: SyncAction
    to_first: int = 0
    """Bytes copied to the first store."""
    to_second: int = 0
    conflicts: tuple[str, ...] = ()
    """Ids of entries with different contents in the two stores."""
    note: str | None = None
    """Why it was skipped, or another remark."""


class _Side(NamedTuple):
    store: Store
    stored: StoredLog
    read: Read
    size: int


def _size(store: Store, stored: StoredLog, read: Read) -> int:
    """Return the size of a log; for another agent's database it is known only after reading."""
    if not isinstance(store, DatabaseStore):
        return stored.size
    size = 0
    while data := read(size, _PIECE):
        size += len(data)
    return size


def _skipped_read_only(key: str, store: Store) -> SyncedSession:
    note = f"{store.name} is the database of another program, which is only read"
    return SyncedSession(key=key, action="skipped", note=note)


def sync(
    first: Store, second: Store, keys: Iterable[str] | None = None, *, dry_run: bool = False
) -> Iterator[SyncedSession]:
    """Sync the sessions with these keys, or all of them, and yield a result for each.

    With ``dry_run`` nothing is written. A session that cannot be synced is skipped, with a note.
    """
    wanted = sorted({*_keys(first), *_keys(second)}) if keys is None else list(dict.fromkeys(keys))
    for key in wanted:
        try:
            yield _synced(first, second, key, dry_run=dry_run)
        except (BranchlineError, OSError) as problem:
            yield SyncedSession(key=key, action="skipped", note=str(problem))


def _keys(store: Store) -> Iterator[str]:
    after = None
    while found := store.scan(limit=1000, after=after).found:
        yield from (stored.key for stored in found)
        after = (found[-1].modified, found[-1].key)


def _synced(first: Store, second: Store, key: str, *, dry_run: bool) -> SyncedSession:
    for store in (first, second):
        if store.in_use([key]):
            return SyncedSession(key=key, action="skipped", note=f"a program has it open in {store.name}")
    here, there = first.stat(key), second.stat(key)
    if here is None and there is None:
        return SyncedSession(key=key, action="skipped", note="neither store has it")
    if here is None or there is None:
        source, target = (second, first) if here is None else (first, second)
        if isinstance(target, DatabaseStore):
            return _skipped_read_only(key, target)
        return _copied(source, target, key, to_first=here is None, dry_run=dry_run)
    with first.snapshot(key) as read, second.snapshot(key) as other:
        one = _Side(first, here, read, _size(first, here, read))
        two = _Side(second, there, other, _size(second, there, other))
        common = _common(one, two)
        if common == one.size == two.size:
            return SyncedSession(key=key, action="same")
        if common == one.size:
            return _caught_up(two, one, to_first=True, dry_run=dry_run)
        if common == two.size:
            return _caught_up(one, two, to_first=False, dry_run=dry_run)
        return _joined(one, two, common, dry_run=dry_run)


# -- copies and tails -------------------------------------------------------------------------------------


def _copied(source: Store, target: Store, key: str, *, to_first: bool, dry_run: bool) -> SyncedSession:
    stored = source.stat(key)
    assert stored is not None
    copy = _COPY(key)
    if copy is not None and (base := target.stat(copy[1])) is not None:
        with target.snapshot(base.key) as read:
            if _digest(read, base.size) == copy[2]:
                return SyncedSession(key=key, action="same", note=f"the other store has it as {base.key}")
    with source.snapshot(key) as read:
        size = _size(source, stored, read)
        if not dry_run:
            _load(target, stored, key, _pieces(read, 0, size))
    return _report(key, "copied", size, to_first=to_first)


def _load(target: Store, like: StoredLog, key: str, pieces: Iterable[bytes]) -> None:
    if isinstance(target, FilesStore) and like.path is not None and "#" not in like.path:
        target = target.with_suffix(suffix_of(like.path))
    if isinstance(target, LoadStore):
        target.load(key, pieces)
    else:
        target.create(key, b"".join(pieces)).close()


def _caught_up(source: _Side, target: _Side, *, to_first: bool, dry_run: bool) -> SyncedSession:
    key, start = target.stored.key, target.size
    if isinstance(target.store, DatabaseStore):
        return _skipped_read_only(key, target.store)
    if start and target.read(start - 1, 1) != b"\n":
        note = f"its last line is unfinished in {target.store.name}"
        return SyncedSession(key=key, action="skipped", note=note)
    end = _line_end(source.read, start, source.size)
    if end == start:
        note = f"its last line is unfinished in {source.store.name}"
        return SyncedSession(key=key, action="skipped", note=note)
    if not dry_run:
        _append(target, _chunks(line for _at, line in _split(source.read, start, end)))
    return _report(key, "caught up", end - start, to_first=to_first)


def _append(side: _Side, pieces: Iterable[bytes], *, at: int | None = None) -> int:
    """Append whole lines to a log that still ends where it did; return the new end."""
    log = side.store.open(side.stored.key)
    end = side.size if at is None else at
    try:
        for piece in pieces:
            with log.exclusive() as writer:
                if writer.end != end:
                    raise BranchlineError(
                        f"{side.stored.key} was written to in {side.store.name} meanwhile; sync again"
                    )
                writer.append(piece)
                end = writer.end
    finally:
        log.close()
    return end


# -- both grew --------------------------------------------------------------------------------------------


def _joined(one: _Side, two: _Side, common: int, *, dry_run: bool) -> SyncedSession:
    key = one.stored.key
    common = one.read(0, common).rfind(b"\n") + 1 if common < _PIECE else _line_end(one.read, 0, common)
    if not common or not (_is_native(one) and _is_native(two)):
        return _forked(one, two, dry_run=dry_run)
    lines_one, lines_two = dict(_lines(one, common)), dict(_lines(two, common))
    ids_one, ids_two = _ids(lines_one), _ids(lines_two)
    conflicts = tuple(
        sorted(id_ for id_, digest in ids_one.items() if id_ in ids_two and ids_two[id_] != digest)
    )
    if conflicts:
        return _forked(one, two, conflicts, dry_run=dry_run)
    to_two = [span for digest, (span, _id) in lines_one.items() if digest not in lines_two]
    to_one = [span for digest, (span, _id) in lines_two.items() if digest not in lines_one]
    if dry_run:
        sizes = (sum(size for _start, size in to_one), sum(size for _start, size in to_two))
        action: SyncAction = "joined" if any(sizes) else "same"
        return SyncedSession(key=key, action=action, to_first=sizes[0], to_second=sizes[1])
    ends = (
        _append(one, _chunks(two.read(*span) for span in to_one)),
        _append(two, _chunks(one.read(*span) for span in to_two)),
    )
    settled = _settled(*(_state(side.read, end) for side, end in zip((one, two), ends, strict=True)))
    added = (ends[0] - one.size + len(settled), ends[1] - two.size + len(settled))
    for side, end in zip((one, two), ends, strict=True) if settled else ():
        _append(side, [settled], at=end)
    action = "joined" if any(added) else "same"
    return SyncedSession(key=key, action=action, to_first=added[0], to_second=added[1])


class _State(NamedTuple):
    """The leaf, title and labels of a log: as a reader of the file finds them, and the newest ones.

    The newest values depend only on the set of lines, not on their order. So they are the same on both sides,
    and the order in which stores are synced does not matter.
    """

    found: tuple[str | None, str | None, dict[str, str]]
    leaf: tuple[str, str | None]
    title: tuple[str, str]
    labels: dict[str, tuple[str, str | None]]
    entries: int


def _state(read: Read, size: int) -> _State:
    log = EntryLog(PI, lambda start, count: read(start, min(count, max(0, size - start))))
    tree, reading = log.tree, log.reading
    title: tuple[str, str] = ("", "")
    labels: dict[str, tuple[str, str | None]] = {}
    moves: list[tuple[str, int, bool, str, str | None]] = []
    depths = _depths(log)
    for position, kind in enumerate(tree.types):
        time, id_ = tree.times[position], tree.keys[position]
        if kind not in SIDE_TYPES:
            moves.append((time, depths[position], False, id_, id_))
            continue
        match log.entry(position) if kind in ("session_info", "label", "leaf") else None:
            case SessionInfo(name=name):
                title = max(title, (time, name))
            case Label(target=target, label=text):
                older = labels.get(target, ("", None))
                labels[target] = max(older, (time, text), key=lambda pair: (pair[0], pair[1] or ""))
            case Leaf(target=target):
                at = tree.positions.get(target or "")
                moves.append((time, 0 if at is None else depths[at], True, id_, target))
            case _:
                pass
    newest = max(moves, default=("", 0, False, "", None), key=lambda move: (*move[:4], move[4] or ""))
    found = (log.leaf, reading.title, {key: state.text for key, state in reading.labels.items()})
    return _State(found, (newest[0], newest[4]), title, labels, len(tree))


def _depths(log: EntryLog) -> list[int]:
    """Return the depth of each entry, so that among entries of the same time the deepest is the newest."""
    depths: list[int] = []
    for position in range(len(log.tree)):
        parent = log.tree.parent_position(position)
        depths.append(depths[parent] + 1 if 0 <= parent < position else 1)
    return depths


def _settled(one: _State, two: _State) -> bytes:
    """Return the records that make a reader of either log find the newest leaf, title and labels."""
    made: list[Entry] = []
    for target, (time, text) in sorted(one.labels.items()):
        if any(state.found[2].get(target) != (text or None) for state in (one, two)):
            id_ = _settled_id(f"label {target}", time, text, one.entries)
            made.append(Label(id=id_, parent=target, timestamp=time, target=target, label=text))
    time, title = one.title
    if any((state.found[1] or "") != title.strip() for state in (one, two)):
        id_ = _settled_id("title", time, title, one.entries)
        made.append(SessionInfo(id=id_, parent=None, timestamp=time, name=title))
    time, leaf = one.leaf
    if made or any(state.found[0] != leaf for state in (one, two)):
        id_ = _settled_id("leaf", time, leaf, one.entries)
        made.append(Leaf(id=id_, parent=leaf, timestamp=time, target=leaf))
    return b"".join(encode_entry(entry) for entry in made)


def _settled_id(name: str, time: str, value: str | None, count: int) -> str:
    """Return an id that is the same for both orders of the stores."""
    return sha256(f"{name}|{time}|{value}|{count}".encode()).hexdigest()[:16]


def _forked(one: _Side, two: _Side, conflicts: tuple[str, ...] = (), *, dry_run: bool) -> SyncedSession:
    """Copy the session of each store to the other, next to its own."""
    key = one.stored.key
    added = [0, 0]
    for number, (source, target) in enumerate(((two, one), (one, two))):
        copy = f"{key[:200]}.other-{_digest(source.read, source.size)}"
        if not isinstance(target.store, DatabaseStore) and target.store.stat(copy) is None:
            added[number] = source.size
            if not dry_run:
                _load(target.store, source.stored, copy, _linked(source, copy))
    note = "both stores continued it: each keeps its own and gets the other's beside it"
    if conflicts:
        note = f"one id has two contents ({len(conflicts)} entries): {note.partition(': ')[2]}"
    action: SyncAction = "forked" if any(added) else "same"
    return SyncedSession(
        key=key, action=action, to_first=added[0], to_second=added[1], conflicts=conflicts, note=note
    )


def _linked(side: _Side, key: str) -> Iterator[bytes]:
    """Yield the bytes of a copy; a native one gets a new id and a link to its parent."""
    start = 0
    if _is_native(side):
        end = _line_end(side.read, 0, min(side.size, _HEAD), first=True)
        line = side.read(0, end)[:-1]
        fields = json_codec.loads(line)
        if isinstance(fields, dict) and fields.get("type") == "session":
            yield splice.set_fields(line, {"id": key, "parentSession": fields.get("id")}) + b"\n"
            start = end
    yield from _pieces(side.read, start, side.size)


# -- bytes ------------------------------------------------------------------------------------------------


def _is_native(side: _Side) -> bool:
    try:
        head = side.read(0, _HEAD)
        return detect(head, side.stored.key) is PI and b'"version":3' in head.partition(b"\n")[0].replace(
            b" ", b""
        )
    except NotASession:
        return False


def _common(one: _Side, two: _Side) -> int:
    """Return the length of the common prefix of two logs."""
    at, end = 0, min(one.size, two.size)
    while at < end:
        a, b = (side.read(at, min(_PIECE, end - at)) for side in (one, two))
        if a != b:
            low, high = 0, min(len(a), len(b))
            while low < high:
                middle = (low + high + 1) // 2
                low, high = (middle, high) if a[:middle] == b[:middle] else (low, middle - 1)
            return at + low
        at += len(a)
    return at


def _lines(side: _Side, start: int) -> Iterator[tuple[bytes, tuple[tuple[int, int], str | None]]]:
    """Yield the whole lines of a log from an offset on: a hash, the span, and the id if any."""
    for at, line in _split(side.read, start, side.size):
        if line.strip():
            yield sha256(line).digest()[:16], ((at, len(line)), _id_of(line))


def _ids(lines: dict[bytes, tuple[tuple[int, int], str | None]]) -> dict[str, bytes]:
    return {id_: digest for digest, (_span, id_) in lines.items() if id_ is not None}


def _id_of(line: bytes) -> str | None:
    try:
        fields = json_codec.loads(line)
    except (ValueError, RecursionError):
        return None
    found = fields.get("id") if isinstance(fields, dict) else None
    return found if isinstance(found, str) else None


def _split(read: Read, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    rest = b""
    for piece in _pieces(read, start, end):
        data = rest + piece
        at = start
        for line in data.split(b"\n")[:-1]:
            yield at, line + b"\n"
            at += len(line) + 1
        rest = data[at - start :]
        start = at


def _chunks(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield lines together, several per chunk."""
    held: list[bytes] = []
    size = 0
    for line in lines:
        held.append(line)
        size += len(line)
        if size >= _PIECE:
            yield b"".join(held)
            held, size = [], 0
    if held:
        yield b"".join(held)


def _line_end(read: Read, start: int, end: int, *, first: bool = False) -> int:
    """Return the end of the last (or first) whole line between two offsets."""
    last = start
    for at, line in _split(read, start, end):
        last = at + len(line)
        if first:
            break
    return last


def _pieces(read: Read, start: int, end: int) -> Iterator[bytes]:
    while start < end and (data := read(start, min(_PIECE, end - start))):
        yield data
        start += len(data)


def _digest(read: Read, size: int) -> str:
    found = sha256()
    for piece in _pieces(read, 0, size):
        found.update(piece)
    return found.hexdigest()[:12]


def _report(key: str, action: SyncAction, size: int, *, to_first: bool) -> SyncedSession:
    if to_first:
        return SyncedSession(key=key, action=action, to_first=size)
    return SyncedSession(key=key, action=action, to_second=size)
