"""Write a repaired copy of a damaged session. The damaged session is never changed.

The copy has every readable entry, byte for byte except for links that the reader had to guess. Unreadable
bytes go into a separate file; those of a session in a database stay in the damaged session.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator

import msgspec

from branchline.actions.check import stored_findings, transcript_of
from branchline.actions.output_file import require_new_path, write_new
from branchline.actions.repair.foreign import repair_foreign
from branchline.actions.repair.native import RepairResult, repair_native, require_same
from branchline.clock import SystemClock, iso
from branchline.errors import FileExists, NotASession, NotSupported
from branchline.formats import EntryLog
from branchline.formats.integrity import check_log
from branchline.formats.suffixes import suffix_of, without_suffix
from branchline.log import FileLog
from branchline.plugins.formats import detect
from branchline.stores import (
    LoadStore,
    SessionAddress,
    absolute_path,
    address_in,
    addressed_store,
    is_address,
    open_log,
)
from branchline.stores.address import own_store
from branchline.stores.rows import CheckedRows, CheckedStore
from branchline.tree import Finding, severity

__all__ = ["RepairReport", "RepairResult", "repair", "restore_lost"]


class RepairReport(msgspec.Struct, frozen=True, kw_only=True):
    """A repair: the files that were written, and how the copy differs from the damaged file."""

    path: str
    """The damaged file, or the address of a session in a database."""
    output: str | None
    """The repaired copy; None if there was nothing to repair."""
    unreadable: str | None
    """The file with the unreadable bytes; None if there are none, or if they stay in the database."""
    format: str
    result: RepairResult
    left: tuple[Finding, ...] = ()
    """Damage that cannot be repaired, in the copy or, without a copy, in the file."""


def repair(path: str | os.PathLike[str], *, output: str | os.PathLike[str] | None = None) -> RepairReport:
    """Write a repaired copy of a session (default: next to it, with ``.repaired`` in its name).

    The copy of a session in a database is a new session in that database, or a file with ``output``. Nothing
    is written if nothing can be repaired; the report lists the remaining damage. Raises
    FileExists if the name of the copy is taken, NotASession if nothing in the log is a session, NotSupported
    for a format or a database that is only read, and NotSaved if the copy would read differently where the
    damaged session can be read.
    """
    path = absolute_path(path)
    address = address_in(path)
    inside = None if address is None else _database(path, address)
    if output is not None:
        inside, target = None, os.path.abspath(output)
    elif inside is not None:
        target = f"{path}.repaired"
    else:
        target = f"{without_suffix(path)}.repaired{suffix_of(path)}"
    rest = f"{without_suffix(path if output is None else target)}.unreadable.txt"
    with contextlib.closing(open_log(path)) as log:
        old = transcript_of(log, path)
        rows = [one for one in stored_findings(log, old) if severity(one.kind) == "damage"]
        if rows and isinstance(log, CheckedRows):
            data = log.stored_data()
            old = EntryLog(old.format, lambda offset, size: data[offset : offset + size], old.name)
        result = _repaired(old, path)
        if not result.entries and not _is_session(result.data, old):
            raise NotASession(f"cannot repair {path}: no entry in it can be read")
        damage, left = _damage(old), _damage(_read(result.data, old))
        needed = result.needed or len(left) < len(damage) or bool(rows)
        if needed and inside is not None and address is not None:
            _load(old, result, inside, f"{address.session}.repaired")
        elif needed:
            _write(old, result, path, target, rest)
    return RepairReport(
        path=path,
        output=target if needed else None,
        unreadable=rest if result.asides and inside is None else None,
        format=old.format.name,
        result=result,
        left=left if needed else damage,
    )


def restore_lost(path: str | os.PathLike[str]) -> tuple[str, ...] | None:
    """Make lines of a database that belong to no session sessions again; return their addresses.

    The lines stay as they are. Returns None for anything but a database file of branchline.
    """
    path = absolute_path(path)
    if not os.path.isfile(path) or not is_address(path):
        return None
    with contextlib.closing(own_store(path)) as store:
        lost = store.restore_lost() if isinstance(store, CheckedStore) else []
        return tuple(f"{store.name}#{key}" for key in lost)


def _database(path: str, address: SessionAddress) -> LoadStore:
    store = addressed_store(address)
    if not isinstance(store, LoadStore):
        raise NotSupported(
            f"cannot repair {path}: it is part of a database of another program, which is only read; "
            "`branchline fork` copies its readable entries into a native session"
        )
    return store


def _load(old: EntryLog, result: RepairResult, store: LoadStore, key: str) -> None:
    """Store the copy beside the damaged session."""
    require_same(old, _read(result.data, old))
    try:
        store.load(key, [result.data])
    except FileExistsError as problem:
        raise FileExists(errno.EEXIST, "already exists", f"{store.name}#{key}") from problem


def _damage(transcript: EntryLog) -> tuple[Finding, ...]:
    return tuple(finding for finding in check_log(transcript) if severity(finding.kind) == "damage")


def _is_session(data: bytes, old: EntryLog) -> bool:
    """Whether a copy without entries is still recognized as a session of its format, by its header."""
    try:
        return detect(data, old.name) is old.format
    except NotASession:
        return False


def _read(data: bytes, old: EntryLog) -> EntryLog:
    return EntryLog(old.format, lambda offset, size: data[offset : offset + size], old.name)


def _repaired(old: EntryLog, path: str) -> RepairResult:
    if not len(old.tree) and (old.reading.header is None or old.reading.read_only is not None):
        raise NotASession(f"cannot repair {path}: {old.reading.read_only}")
    if not old.format.is_appendable:
        raise NotSupported(
            f"cannot repair {path}: sessions of {old.format.name} are read-only; "
            "`branchline fork` copies its readable entries into a native session"
        )
    address = address_in(path)
    name = os.path.basename(path) if address is None else address.session
    key, clock = without_suffix(name), SystemClock()
    if old.format.name == "pi":
        return repair_native(old, key=key, spare_id=clock.session_id())
    return repair_foreign(old, key=key, spare_id=clock.session_id(), now=iso(clock.now()))


def _write(old: EntryLog, result: RepairResult, path: str, target: str, rest: str) -> None:
    """Write the copy and the file with the unreadable bytes, or neither."""

    def require_complete(new_path: str) -> None:
        with FileLog(new_path) as copy:
            require_same(old, EntryLog(old.format, copy.read, new_path))

    require_new_path(target)
    if result.asides:
        write_new(rest, _listing(path, old, result))
    try:
        write_new(target, result.data, check=require_complete)
    except BaseException:
        if result.asides:
            with contextlib.suppress(OSError):
                os.unlink(rest)
        raise


def _listing(path: str, old: EntryLog, result: RepairResult) -> Iterator[bytes]:
    """The unreadable bytes, each piece below a line with its original position."""
    name = os.path.basename(path).encode("utf-8", "replace")
    yield b"# What could not be read of " + name + b", piece by piece, byte for byte\n"
    for aside in result.asides:
        where = f"\n# line {aside.line}, byte {aside.offset}, {aside.size} bytes: {aside.reason}\n"
        yield where.encode("utf-8", "replace")
        yield old.bytes_between(aside.offset, aside.offset + aside.size)
        yield b"\n"
