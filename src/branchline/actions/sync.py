"""Synchronize the sessions of two stores.

Nothing is changed or deleted; lines are copied byte for byte. A log that is a prefix of the other is
extended. Native sessions that grew on both sides get each other's entries: ids are unique, so the union is a
tree. If both sides moved, renamed or labelled, the newest change wins and is recorded on both: a change that
was made after another one, as both logs show, is newer; otherwise the times decide. Other sessions that grew
on both sides, and sessions in which one id has two contents, stay unchanged on each side, and each store gets
the other's version as a linked copy, which is extended by the next sync.

Directories are synced with the folders below them. Only regular files of a store are opened, never links.
The companion folder of a session file travels with it. What lies in the trash of a store is not copied back.

An interrupted sync leaves two readable stores, and the next one completes it. Repeating a sync changes
nothing.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Literal, NamedTuple

import msgspec

from branchline.clock import SystemClock, iso
from branchline.entries import SIDE_TYPES, Entry, Label, Leaf, SessionInfo, encode_entry, json_codec, splice
from branchline.errors import BranchlineError, NotASession, NotSupported
from branchline.formats import PI, EntryLog
from branchline.formats.suffixes import SUFFIXES, has_suffix, suffix_of, without_suffix
from branchline.log import FileLog, create_directory, replace_file, write_file
from branchline.log.system import OPEN_FLAGS
from branchline.plugins.formats import detect
from branchline.stores import (
    DatabaseStore,
    FilesStore,
    FileStamp,
    LoadStore,
    Read,
    ReadableTrash,
    Store,
    StoredLog,
    TrashItem,
)
from branchline.stores.companion_folders import FolderFile, files_in_folder, read_pieces
from branchline.stores.files import SIDE_FOLDER

__all__ = ["SyncAction", "SyncedSession", "sync"]

SyncAction = Literal["same", "copied", "caught up", "joined", "forked", "removed there", "skipped", "ignored"]
_PIECE = 1 << 20
_HEAD = 1 << 16
_NAMED = 4
_FUTURE = 86_400_000
"""Milliseconds that a time may be ahead of this machine's clock."""
_COPY = re.compile(r"(.+)\.other-([0-9a-f]{12})(?:-\d+)?").fullmatch
_KEPT_OF_KEY = 200
_READ = os.O_RDONLY | OPEN_FLAGS.CLOEXEC | OPEN_FLAGS.NONBLOCK | OPEN_FLAGS.NOCTTY | OPEN_FLAGS.NOFOLLOW


class SyncedSession(msgspec.Struct, frozen=True, kw_only=True):
    """The result, or with ``dry_run`` the plan, for one session, or for a file that is none."""

    key: str
    """The key, below the names of the folders in which both stores have it."""
    action: SyncAction
    to_first: int = 0
    """Bytes copied to the first store."""
    to_second: int = 0
    files_to_first: int = 0
    """Files of the companion folder that were copied or extended in the first store."""
    files_to_second: int = 0
    conflicts: tuple[str, ...] = ()
    """Ids of entries with different contents in the two stores."""
    note: str | None = None
    """Why it was skipped, or another remark."""


class _Side(NamedTuple):
    store: Store
    stored: StoredLog
    read: Read
    size: int


def sync(
    first: Store, second: Store, keys: Iterable[str] | None = None, *, dry_run: bool = False
) -> Iterator[SyncedSession]:
    """Sync the sessions with these keys, or all of them, and yield a result for each, and for other files.

    With ``dry_run`` nothing is written. A session that cannot be synced is skipped, with a note. Raises
    NotSupported, before anything is written, if one directory is inside the other, or if a directory with
    folders of sessions would be synced with a store that has none.
    """
    _require_separate(first, second)
    wanted = None if keys is None else dict.fromkeys(keys)
    for pair in _pairs(first, second):
        if isinstance(pair, SyncedSession):
            yield pair
            continue
        prefix, one, two = pair
        for result in _in_pair(one, two, wanted, prefix, dry_run=dry_run):
            yield msgspec.structs.replace(result, key=prefix + result.key) if prefix else result
    for key in wanted or ():
        yield SyncedSession(key=key, action="skipped", note="neither store has it")


# -- what is in the stores --------------------------------------------------------------------------------


def _require_separate(first: Store, second: Store) -> None:
    if isinstance(first, FilesStore) and isinstance(second, FilesStore):
        one, two = os.path.realpath(first.directory), os.path.realpath(second.directory)
        if one != two and os.path.commonpath((one, two)) in (one, two):
            raise NotSupported(f"cannot sync {first.name} and {second.name}: one is inside the other")


def _pairs(first: Store, second: Store) -> Iterator[tuple[str, Store, Store] | SyncedSession]:
    """Yield the stores, and the stores of the folders below them, each with the prefix of its keys.

    A folder in the place of which the other store has a link or a file is skipped.
    """
    for store, other in ((first, second), (second, first)):
        if isinstance(store, FilesStore) and not isinstance(other, FilesStore) and (found := _below(store)):
            named = ", ".join(found[:_NAMED]) + (" …" if len(found) > _NAMED else "")
            raise NotSupported(
                f"cannot sync {store.name} with {other.name}, which has no folders: {store.name} holds "
                f"sessions in folders ({named}); name one of these, or sync with a directory"
            )
    pending = [("", first, second)]
    while pending:
        prefix, one, two = pending.pop()
        yield prefix, one, two
        if isinstance(one, FilesStore) and isinstance(two, FilesStore):
            for name in sorted({*_below(one, two), *_below(two, one)}, reverse=True):
                inside = [
                    FilesStore(os.path.join(store.directory, name), suffix=store.suffix)
                    for store in (one, two)
                ]
                blocked = [store.name for store in inside if not _is_free_or_folder(store.directory)]
                if blocked:
                    yield _skipped(f"{prefix}{name}/", f"{blocked[0]} is a link or a file, not a folder")
                else:
                    pending.append((f"{prefix}{name}/", inside[0], inside[1]))


def _is_free_or_folder(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except FileNotFoundError:
        return True


def _below(store: FilesStore, other: FilesStore | None = None) -> list[str]:
    """Return the folders with sessions in a directory, without companion folders and links."""
    names = _entries(store)
    sessions = {without_suffix(name) for name in names if has_suffix(name)}
    if other is not None:
        sessions |= {without_suffix(name) for name in _entries(other) if has_suffix(name)}
    folders = (name for name, item in names.items() if name[0] != "." and item.is_dir(follow_symlinks=False))
    return sorted(
        name
        for name in folders
        if name not in sessions and _has_sessions(os.path.join(store.directory, name))
    )


def _entries(store: FilesStore) -> dict[str, os.DirEntry[str]]:
    try:
        with os.scandir(store.directory) as listing:
            return {item.name: item for item in listing}
    except OSError:
        return {}  # scanning the store reports it, or it is not there


def _has_sessions(folder: str) -> bool:
    for _at, folders, names in os.walk(folder):
        if any(map(has_suffix, names)):
            return True
        folders[:] = [name for name in folders if name[0] != "."]
    return False


class _Contents(NamedTuple):
    """The sessions of a store, and everything else in it with the reason why it is not synced."""

    sizes: dict[str, int]
    """By key."""
    others: list[SyncedSession]
    trash: list[TrashItem]


def _contents(store: Store, other: Store) -> _Contents:
    found, hidden = [], []
    after = None
    while (page := store.scan(limit=1000, after=after)).found or page.hidden:
        found += page.found
        hidden += page.hidden
        if not page.found:
            break
        after = (page.found[-1].modified, page.found[-1].key)
    if not isinstance(store, FilesStore):
        others = [_skipped(item.name, f"{item.reason} (in {store.name})") for item in hidden]
        return _Contents({stored.key: stored.size for stored in found}, others, _trash(store))
    entries = _entries(store)
    reasons = {item.name: item.reason for item in hidden}
    sizes, others = {}, []
    beside = _entries(other) if isinstance(other, FilesStore) else {}
    companions = {without_suffix(name) for name in (*entries, *beside) if has_suffix(name)}
    for stored in found:
        name = os.path.basename(stored.path or "")
        if name in entries and entries[name].is_symlink():
            reasons[name] = "it is a link, and only files of the store itself are synced"
        else:
            sizes[stored.key] = stored.size
    paths = {os.path.basename(stored.path or "") for stored in found}
    for name in sorted(entries):
        item = entries[name]
        if name == SIDE_FOLDER or (name in paths and name not in reasons):
            continue
        if item.is_dir(follow_symlinks=False) and (name in companions or _has_sessions(item.path)):
            continue
        note = f"{reasons.get(name, 'it is not a session file')} (in {store.name})"
        named = any(suffix in name for suffix in SUFFIXES)
        others.append(SyncedSession(key=name, action="skipped" if named else "ignored", note=note))
    return _Contents(sizes, others, _trash(store))


def _trash(store: Store) -> list[TrashItem]:
    return store.trashed() if isinstance(store, ReadableTrash) else []


def _skipped(key: str, note: str) -> SyncedSession:
    return SyncedSession(key=key, action="skipped", note=note)


def _skipped_read_only(key: str, store: Store) -> SyncedSession:
    return _skipped(key, f"{store.name} is the database of another program, which is only read")


def _in_pair(
    first: Store, second: Store, wanted: dict[str, None] | None, prefix: str, *, dry_run: bool
) -> Iterator[SyncedSession]:
    """Sync two stores without the folders below them; remove the keys that are found from ``wanted``."""
    contents = _contents(first, second), _contents(second, first)
    keys = sorted({*contents[0].sizes, *contents[1].sizes})
    if wanted is not None:
        keys = [key for key in keys if prefix + key in wanted or key in wanted]
        for key in keys:
            wanted.pop(prefix + key, None)
            wanted.pop(key, None)
    used = first.in_use(keys), second.in_use(keys)
    for key in keys:
        try:
            busy = [store.name for store, keys_ in zip((first, second), used, strict=True) if key in keys_]
            if busy:
                yield _skipped(key, f"a program has it open in {busy[0]}")
                continue
            yield _synced(first, second, key, contents, dry_run=dry_run)
        except (BranchlineError, OSError) as problem:
            yield _skipped(key, str(problem))
    if wanted is None:
        for each in contents:
            yield from each.others


@contextlib.contextmanager
def _side(store: Store, key: str) -> Iterator[_Side | None]:
    """Open a log for reading; None if there is none. Of files only those of the store itself are opened."""
    if not isinstance(store, FilesStore):
        stored = store.stat(key)
        if stored is None:
            yield None
            return
        with store.snapshot(key) as read:
            yield _Side(store, stored, read, _size(store, stored, read))
        return
    path = store.path_of(key)
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            raise NotASession(f"it is not a regular file in {store.name}")
        descriptor = os.open(path, _READ)
    except FileNotFoundError:
        yield None
        return
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise NotASession(f"it is not a regular file in {store.name}")
        stored = StoredLog(key, status.st_size, status.st_mtime, path, FileStamp.of(status))
        yield _Side(store, stored, lambda offset, size: os.pread(descriptor, size, offset), status.st_size)
    finally:
        os.close(descriptor)


def _size(store: Store, stored: StoredLog, read: Read) -> int:
    """Return the size of a log; for another agent's database it is known only after reading."""
    if not isinstance(store, DatabaseStore):
        return stored.size
    size = 0
    while data := read(size, _PIECE):
        size += len(data)
    return size


def _synced(
    first: Store, second: Store, key: str, contents: tuple[_Contents, _Contents], *, dry_run: bool
) -> SyncedSession:
    with _side(first, key) as one, _side(second, key) as two:
        if one is None or two is None:
            source, target = (two, first) if one is None else (one, second)
            if source is None:
                return _skipped(key, "neither store has it")
            there, here = contents if one is None else (contents[1], contents[0])
            result = _copied(source, target, there, here, to_first=one is None, dry_run=dry_run)
            if result.action != "copied":
                return result
        else:
            result = _both(one, two, dry_run=dry_run)
    if result.action == "skipped":
        return result
    return _with_folder(result, first, second, key, dry_run=dry_run)


def _both(one: _Side, two: _Side, *, dry_run: bool) -> SyncedSession:
    key = one.stored.key
    common = _common(one, two)
    if common == one.size == two.size:
        return SyncedSession(key=key, action="same")
    for side in (one, two):
        _require_session(side)
    if common == one.size:
        return _caught_up(two, one, to_first=True, dry_run=dry_run)
    if common == two.size:
        return _caught_up(one, two, to_first=False, dry_run=dry_run)
    return _joined(one, two, common, dry_run=dry_run)


def _require_session(side: _Side) -> None:
    """Raise NotASession for a file that holds none, BranchlineError for one with an unfinished line."""
    if not side.size:
        return
    if not isinstance(side.store, DatabaseStore):
        try:
            detect(side.read(0, _HEAD), side.stored.path or side.stored.key)
        except NotASession as problem:
            raise NotASession(f"it is not a session in {side.store.name}: {problem}") from None
    if side.read(side.size - 1, 1) != b"\n":
        raise BranchlineError(f"its last line is unfinished in {side.store.name}")


# -- copies and tails -------------------------------------------------------------------------------------


def _copied(
    source: _Side, target: Store, there: _Contents, here: _Contents, *, to_first: bool, dry_run: bool
) -> SyncedSession:
    """Copy a session that the other store does not have."""
    key = source.stored.key
    if isinstance(target, DatabaseStore):
        return _skipped_read_only(key, target)
    _require_session(source)
    if not source.size:
        return _skipped(key, f"it is empty in {source.store.name}")
    if (elsewhere := _under_another_key(source, target, there, here)) is not None:
        return SyncedSession(key=key, action="same", note=f"the other store has it as {elsewhere}")
    if (removed := _removed_there(source, target, there.trash)) is not None:
        return SyncedSession(key=key, action="removed there", note=removed)
    if not dry_run:
        _load(target, source.stored, key, _pieces(source.read, 0, source.size))
    return _report(key, "copied", source.size, to_first=to_first)


def _under_another_key(source: _Side, target: Store, there: _Contents, here: _Contents) -> str | None:
    """Return the key under which a store has a session; the contents decide, not the names."""
    copy = _COPY(source.stored.key)
    if copy is not None:
        bases = [copy[1]]
        if len(copy[1]) == _KEPT_OF_KEY:
            bases = sorted(stored.key for stored in target.scan(prefix=copy[1]).found)
        for base in bases:
            with _side(target, base) as side:
                if side is None:
                    continue
                common, rest = _compared(_linked(side, source.stored.key), source)
                if common == source.size:  # the copy is all of it, or its beginning
                    return base if rest or common else None
    same_size = (key for key, size in there.sizes.items() if size == source.size and key not in here.sizes)
    for key in sorted(same_size):
        with _side(target, key) as side:
            if side is not None and side.size == source.size == _common(side, source):
                return key
    return None


def _removed_there(source: _Side, target: Store, trash: list[TrashItem]) -> str | None:
    """Return where the same bytes are in the trash of a store."""
    if not isinstance(target, ReadableTrash):
        return None
    for item in trash:
        if item.size != source.size:
            continue
        with contextlib.suppress(BranchlineError, OSError), target.read_trashed(item.token) as read:
            trashed = _Side(target, StoredLog(item.key, item.size, item.removed), read, item.size)
            if _common(trashed, source) == source.size:
                return (
                    f"it is in the trash of {target.name} as {item.token}; restore it there, or remove it "
                    f"in {source.store.name} too"
                )
    return None


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
    _require_appendable(target)
    if start and not all(is_entry for _line, (_span, _id, is_entry) in _lines(source, start)):
        if not _is_native(source):
            return _skipped(key, f"a line of it cannot be read in {source.store.name}")
        one, two = (target, source) if to_first else (source, target)
        return _joined(one, two, start, dry_run=dry_run)
    if not dry_run:
        _append(target, _chunks(line for _at, line in _split(source.read, start, source.size)))
    return _report(key, "caught up", source.size - start, to_first=to_first)


def _require_appendable(side: _Side) -> None:
    """Raise BranchlineError for a file with another name, in which an append would be seen too."""
    if isinstance(side.store, FilesStore) and side.stored.path is not None:
        names = os.lstat(side.stored.path).st_nlink
        if names > 1:
            raise BranchlineError(
                f"its file in {side.store.name} has {names} names (hard links), so nothing is appended to it"
            )


def _append(side: _Side, pieces: Iterable[bytes], *, at: int | None = None) -> int:
    """Append whole lines to a log that is still the one that was read and ends where it did.

    Return the new end.
    """
    log = side.store.open(side.stored.key)
    end = side.size if at is None else at
    changed = BranchlineError(f"{side.stored.key} was written to in {side.store.name} meanwhile; sync again")
    try:
        stamp = side.stored.stamp
        if isinstance(log, FileLog) and stamp is not None and log.identity != (stamp.device, stamp.inode):
            raise changed
        for piece in pieces:
            with log.exclusive() as writer:
                if writer.end != end:
                    raise changed
                writer.append(piece)
                end = writer.end
    finally:
        log.close()
    return end


# -- companion folders ------------------------------------------------------------------------------------


def _with_folder(
    result: SyncedSession, first: Store, second: Store, key: str, *, dry_run: bool
) -> SyncedSession:
    """Sync the companion folder of a session too, and add that to its result."""
    paths = [store.path_of(key) if isinstance(store, FilesStore) else None for store in (first, second)]
    notes = [] if result.note is None else [result.note]
    files = [0, 0]
    for number, (store, other) in enumerate(((first, second), (second, first))):
        path, target = paths[number], paths[1 - number]
        found = [] if path is None else files_in_folder(path)
        if not found or path is None:
            continue
        if target is None:
            notes.append(f"{len(found)} files of its folder stayed in {store.name}")
            continue
        if not os.path.lexists(target) and isinstance(other, FilesStore):
            target = other.with_suffix(suffix_of(path)).path_of(key)
        stayed = 0
        for file in found:
            try:
                files[1 - number] += _file_synced(file, target, dry_run=dry_run)
            except (BranchlineError, OSError):
                stayed += 1
        if stayed:
            notes.append(
                f"{stayed} files of its folder stayed in {store.name}: the other store has others there"
            )
    action = "caught up" if result.action == "same" and any(files) else result.action
    return msgspec.structs.replace(
        result,
        action=action,
        files_to_first=files[0],
        files_to_second=files[1],
        note="; ".join(notes) or None,
    )


def _file_synced(file: FolderFile, session: str, *, dry_run: bool) -> bool:
    """Copy or extend one file of a companion folder; return whether there was anything to do.

    Raises OSError or BranchlineError if another file or a link is in its place.
    """
    target = file.beside(session)
    folder = os.path.dirname(target)
    while folder != os.path.dirname(session):
        if os.path.lexists(folder) and not stat.S_ISDIR(os.lstat(folder).st_mode):
            raise NotADirectoryError(folder)
        folder = os.path.dirname(folder)
    with file.opened() as descriptor:
        if not os.path.lexists(target):
            if not dry_run:
                create_directory(os.path.dirname(target))
                write_file(target, read_pieces(descriptor))
            return True
        other = os.open(target, _READ)
        try:
            status = os.fstat(other)
            if not stat.S_ISREG(status.st_mode):
                raise NotASession(f"{target} is not a regular file")
            size = os.fstat(descriptor).st_size
            common = _common_bytes(
                lambda at, count: os.pread(descriptor, count, at),
                lambda at, count: os.pread(other, count, at),
                min(size, status.st_size),
            )
        finally:
            os.close(other)
        if common < min(size, status.st_size):
            raise NotASession(f"{target} has other contents")
        if size <= status.st_size:
            return False

        def require_same(_finished: str) -> None:
            if FileStamp.of(os.lstat(target)) != FileStamp.of(status):
                raise NotASession(f"{target} was changed meanwhile")

        if not dry_run:
            replace_file(target, read_pieces(descriptor), backup=False, check=require_same)
        return True


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
    for side in (one, two):
        _require_appendable(side)
    notes: list[str] = []
    to_two, to_one = _missing(one, lines_one, lines_two, notes), _missing(two, lines_two, lines_one, notes)
    if dry_run:
        sizes = (sum(size for _start, size in to_one), sum(size for _start, size in to_two))
        action: SyncAction = "joined" if any(sizes) else "same"
        return SyncedSession(
            key=key, action=action, to_first=sizes[0], to_second=sizes[1], note="; ".join(notes) or None
        )
    ends = (
        _append(one, _chunks(two.read(*span) for span in to_one)),
        _append(two, _chunks(one.read(*span) for span in to_two)),
    )
    now = SystemClock().now()
    states = [_state(side.read, end) for side, end in zip((one, two), ends, strict=True)]
    settled = _settled(states[0], states[1], iso(now), iso(now + _FUTURE))
    added = (ends[0] - one.size + len(settled), ends[1] - two.size + len(settled))
    for side, end in zip((one, two), ends, strict=True) if settled else ():
        _append(side, [settled], at=end)
    action = "joined" if any(added) else "same"
    if action == "joined" and (latest := max(state.latest for state in states)) > iso(now + _FUTURE):
        notes.append(f"times in the future, up to {latest}, count as now")
    return SyncedSession(
        key=key, action=action, to_first=added[0], to_second=added[1], note="; ".join(notes) or None
    )


_Lines = dict[bytes, tuple[tuple[int, int], str | None, bool]]


def _missing(side: _Side, lines: _Lines, others: _Lines, notes: list[str]) -> list[tuple[int, int]]:
    """Return the spans of the entries that the other side lacks; what is no entry stays, and is noted."""
    missing = [(span, is_entry) for digest, (span, _id, is_entry) in lines.items() if digest not in others]
    stayed = sum(not is_entry for _span, is_entry in missing)
    if stayed:
        notes.append(f"{stayed} lines that are no entries stayed in {side.store.name}")
    return [span for span, is_entry in missing if is_entry]


class _Change(NamedTuple):
    """A change of the leaf, the title or a label; of two that were made independently the larger wins."""

    time: str
    depth: int
    is_leaf: bool
    id: str
    value: str | None

    @property
    def order(self) -> tuple[str, int, bool, str, str]:
        return (self.time, self.depth, self.is_leaf, self.id, self.value or "")


class _State(NamedTuple):
    """The changes in a log, in its order, and the leaf, title and labels as a reader finds them."""

    leaf: str | None
    title: str
    labels: dict[str, str]
    moves: list[_Change]
    titles: list[_Change]
    labelled: dict[str, list[_Change]]
    entries: int
    latest: str
    """The latest time in the log."""


def _state(read: Read, size: int) -> _State:
    log = EntryLog(PI, lambda start, count: read(start, min(count, max(0, size - start))))
    tree, reading = log.tree, log.reading
    titles: list[_Change] = []
    labelled: dict[str, list[_Change]] = {}
    moves: list[_Change] = []
    depths = _depths(log)
    for position, kind in enumerate(tree.types):
        time, id_ = tree.times[position], tree.keys[position]
        if kind not in SIDE_TYPES:
            moves.append(_Change(time, depths[position], False, id_, id_))
            continue
        match log.entry(position) if kind in ("session_info", "label", "leaf") else None:
            case SessionInfo(name=name):
                titles.append(_Change(time, 0, False, id_, name))
            case Label(target=target, label=text):
                labelled.setdefault(target, []).append(_Change(time, 0, False, id_, text))
            case Leaf(target=target):
                at = tree.positions.get(target or "")
                moves.append(_Change(time, 0 if at is None else depths[at], True, id_, target))
            case _:
                pass
    labels = {key: state.text for key, state in reading.labels.items()}
    latest = max(tree.times, default="")
    return _State(log.leaf, reading.title or "", labels, moves, titles, labelled, len(tree), latest)


def _depths(log: EntryLog) -> list[int]:
    """Return the depth of each entry, so that among entries of the same time the deepest is the newest."""
    depths: list[int] = []
    for position in range(len(log.tree)):
        parent = log.tree.parent_position(position)
        depths.append(depths[parent] + 1 if 0 <= parent < position else 1)
    return depths


def _newest(one: list[_Change], two: list[_Change], now: str, future: str) -> _Change | None:
    """Return the newest of the changes that both logs hold, each in its own order.

    A change after another one in both logs was made with that one known. Each log has the changes of the
    other one, which it did not know, behind its own; between these the times decide. A time in the future
    counts as now.
    """
    places = {change.id: place for place, change in enumerate(two)}
    newest: _Change | None = None
    last = -1
    for change in reversed(one):
        place = places.get(change.id, -1)
        if place < last:
            continue  # another one follows it in both logs
        last = place
        counted = change._replace(time=now) if change.time > future else change
        if newest is None or counted.order > newest.order:
            newest = counted
    return newest


def _settled(one: _State, two: _State, now: str, future: str) -> bytes:
    """Return the records that make a reader of either log find the newest leaf, title and labels."""
    made: list[Entry] = []
    for target in sorted(one.labelled):
        change = _newest(one.labelled[target], two.labelled.get(target, []), now, future)
        if change is None:
            continue
        if any(state.labels.get(target) != (change.value or None) for state in (one, two)):
            id_ = _settled_id(f"label {target}", change, one.entries)
            made.append(
                Label(id=id_, parent=target, timestamp=change.time, target=target, label=change.value)
            )
    title = _newest(one.titles, two.titles, now, future)
    if title is not None and any(state.title != (title.value or "").strip() for state in (one, two)):
        id_ = _settled_id("title", title, one.entries)
        made.append(SessionInfo(id=id_, parent=None, timestamp=title.time, name=title.value or ""))
    leaf = _newest(one.moves, two.moves, now, future)
    if leaf is not None and (made or any(state.leaf != leaf.value for state in (one, two))):
        id_ = _settled_id("leaf", leaf, one.entries)
        made.append(Leaf(id=id_, parent=leaf.value, timestamp=leaf.time, target=leaf.value))
    return b"".join(encode_entry(entry) for entry in made)


def _settled_id(name: str, change: _Change, count: int) -> str:
    """Return an id that is the same for both orders of the stores."""
    return sha256(f"{name}|{change.time}|{change.value}|{count}".encode()).hexdigest()[:16]


def _forked(one: _Side, two: _Side, conflicts: tuple[str, ...] = (), *, dry_run: bool) -> SyncedSession:
    """Copy the session of each store to the other, next to its own, or extend the copy that it has."""
    added = [0, 0]
    for number, (source, target) in enumerate(((two, one), (one, two))):
        if not isinstance(target.store, DatabaseStore):
            added[number] = _copied_beside(source, target.store, dry_run=dry_run)
    note = "both stores continued it: each keeps its own and gets the other's beside it"
    if conflicts:
        note = f"one id has two contents ({len(conflicts)} entries): {note.partition(': ')[2]}"
    action: SyncAction = "forked" if any(added) else "same"
    return SyncedSession(
        key=one.stored.key,
        action=action,
        to_first=added[0],
        to_second=added[1],
        conflicts=conflicts,
        note=note,
    )


def _copied_beside(source: _Side, target: Store, *, dry_run: bool) -> int:
    """Bring a store's copy of the other one's session up to date; return the bytes that were added."""
    base = source.stored.key[:_KEPT_OF_KEY]
    copies = [stored.key for stored in target.scan(prefix=f"{base}.other-").found if _COPY(stored.key)]
    used = target.in_use(copies)  # asked before they are opened here
    for copy in sorted(copies):
        with _side(target, copy) as side:
            if side is None:
                continue
            common, rest = _compared(_linked(source, copy), side)
            if not rest and common <= side.size:
                return 0  # it has all of it, and may have been continued
            if common == side.size and common:
                if copy in used:
                    raise BranchlineError(f"a program has {copy} open in {target.name}")
                _require_appendable(side)
                if not dry_run:
                    _append(side, _from(_linked(source, copy), common))
                return rest
    digest = _digest(source.read, source.size)
    names = (f"{base}.other-{digest}{f'-{number}' if number else ''}" for number in range(len(copies) + 2))
    copy = next(name for name in names if name not in copies and target.stat(name) is None)
    if not dry_run:
        _load(target, source.stored, copy, _linked(source, copy))
    return source.size


def _compared(pieces: Iterable[bytes], side: _Side) -> tuple[int, int]:
    """Return how many bytes a log has in common with these, and how many of these follow."""
    at = total = 0
    differs = False
    for piece in pieces:
        total += len(piece)
        if not differs:
            data = side.read(at, len(piece)) if at < side.size else b""
            data = data[: side.size - at]
            if data == piece:
                at += len(piece)
            else:
                differs = True
                at += _common_bytes(_reader(piece), _reader(data), min(len(piece), len(data)))
    return at, total - at


def _reader(data: bytes) -> Read:
    return lambda start, size: data[start : start + size]


def _from(pieces: Iterable[bytes], start: int) -> Iterator[bytes]:
    """Yield pieces without their first bytes."""
    for piece in pieces:
        if start < len(piece):
            yield piece[start:]
        start = max(0, start - len(piece))


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
    return _common_bytes(one.read, two.read, min(one.size, two.size))


def _common_bytes(one: Read, two: Read, end: int) -> int:
    at = 0
    while at < end:
        a, b = (read(at, min(_PIECE, end - at)) for read in (one, two))
        if a != b:
            low, high = 0, min(len(a), len(b))
            while low < high:
                middle = (low + high + 1) // 2
                low, high = (middle, high) if a[:middle] == b[:middle] else (low, middle - 1)
            return at + low
        at += len(a)
    return at


def _lines(side: _Side, start: int) -> Iterator[tuple[bytes, tuple[tuple[int, int], str | None, bool]]]:
    """Yield the lines of a log from an offset on: a hash, the span, the id if any, whether it is an entry."""
    native = _is_native(side)
    for at, line in _split(side.read, start, side.size):
        if line.strip():
            id_, is_entry = _read_line(line, native=native)
            yield sha256(line).digest()[:16], ((at, len(line)), id_, is_entry)


def _ids(lines: _Lines) -> dict[str, bytes]:
    return {id_: digest for digest, (_span, id_, _entry) in lines.items() if id_ is not None}


def _read_line(line: bytes, *, native: bool) -> tuple[str | None, bool]:
    """Return the id of a line, and whether it is an entry; of other agents any object is one."""
    try:
        fields = json_codec.loads(line)
    except (ValueError, RecursionError):
        return None, False
    if not isinstance(fields, dict):
        return None, False
    found, kind = fields.get("id"), fields.get("type")
    id_ = found if isinstance(found, str) else None
    return id_, not native or (bool(id_) and isinstance(kind, str) and kind != "session")


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
