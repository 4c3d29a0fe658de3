"""A seal records checksums of the first bytes of a log, to detect silent changes.

A log only grows, so a seal of its first bytes stays valid. It is stored next to the log, in
`.branchline/seals/`, and holds checksums of runs of whole lines, which locate a difference. The log is read
in chunks, so memory use does not grow with it, and a seal has at most about two thousand checksums.

Only whole lines are sealed: the bytes after the last newline may still be being written. This module does not
interpret lines: the caller provides the session id, and how many bytes at the start may change.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterator
from typing import Annotated, NamedTuple

import msgspec

from branchline._sha256 import sha256
from branchline.errors import LogError, LogShrank, NotSaved, ReadOnly
from branchline.log.directories import SIDECARS, sidecar_directory, sidecar_name, sidecar_path
from branchline.log.file import FileLog
from branchline.log.protocol import Log
from branchline.log.replace import replace_file
from branchline.log.system import SYSTEM, System, close_quietly, describe_oserror, problem_with, read_at

__all__ = [
    "Difference",
    "Seal",
    "SealedBlock",
    "compare",
    "make_seal",
    "move_seal",
    "orphaned_seals",
    "read_seal",
    "seal_log",
    "seal_path",
    "session_name",
]

Read = Callable[[int, int], bytes]
"""`read(offset, size)`: returns fewer bytes only at the end of the log."""

_VERSION = 1
_PIECE = 1 << 20
_SMALLEST_BLOCK = 1 << 10
_BLOCKS = 2048
_LONGEST_SEAL = 1 << 20
_LONGEST_SESSION = 200
_LONGEST_NAME = 255
_LATEST_START = 1 << 16
_LARGEST = 1 << 62
_OUTCOME = "no seal was written"


class SealedBlock(msgspec.Struct, frozen=True, array_like=True):
    """A run of whole lines: how many bytes, and their SHA-256."""

    size: Annotated[int, msgspec.Meta(gt=0, le=_LARGEST)]
    sha256: str


class Seal(msgspec.Struct, frozen=True, kw_only=True):
    """Checksums of the bytes from `start` to `size` of a log at one time.

    The blocks are contiguous from `start`. The first is one line, the header, so that a damaged header can be
    distinguished from another session's. `checksum` is that of the seal itself.
    """

    seal: int
    session: str
    version: int
    start: Annotated[int, msgspec.Meta(ge=0, le=_LATEST_START)]
    size: Annotated[int, msgspec.Meta(ge=0, le=_LARGEST)]
    sha256: str
    sealed_at: str
    blocks: list[SealedBlock]
    prefix: str | msgspec.UnsetType = msgspec.UNSET
    """The SHA-256 of the bytes before `start`, which the agent itself may replace; older seals have none."""
    checksum: str = ""


class Difference(NamedTuple):
    """How a log differs from its seal: the first difference, and its extent."""

    line: int
    """Counted from 1; if the log was truncated, the first line that is cut or missing."""
    offset: int
    """The offset of that line."""
    size: int
    """The number of bytes from there that differ from the seal, to the precision of a block."""
    lines: int = 0
    """The number of lines that end in these bytes now."""
    blocks: int = 0
    """The number of changed blocks, without missing ones."""
    missing: int = 0
    """The number of sealed bytes that are missing."""
    same_log: bool = False
    """Whether anything after the first line matches, so that it cannot be another log."""


# -- where ------------------------------------------------------------------------------------------------


def seal_path(path: str | os.PathLike[str]) -> str:
    """Return the path of the seal of the session file at `path`, whether it exists or not."""
    path = os.path.realpath(os.fspath(path))  # all symlinks to a file share one seal
    name = f"{os.path.basename(path)}.json"
    if len(encoded := os.fsencode(name)) > _LONGEST_NAME:
        name = f"{sidecar_name(path)}.{sha256(encoded).hexdigest()[:16]}.json"
    return sidecar_path(path, "seals", name)


def session_name(session: str) -> str:
    """Return an id as stored in seals: truncated, and valid text."""
    return session[:_LONGEST_SESSION].encode("utf-8", "backslashreplace").decode()


def orphaned_seals(directory: str) -> Iterator[str]:
    """Yield the path of each session file of a directory that has a seal but no longer exists.

    Names that were truncated in the seal's file name are returned truncated.
    """
    place = os.path.join(directory, SIDECARS, "seals")
    try:
        seals = sorted(name for name in os.listdir(place) if name.endswith(".json"))
        names = os.listdir(directory) if seals else []
    except OSError:
        return
    there = {os.path.basename(seal_path(os.path.join(directory, name))) for name in names}
    for name in seals:
        if name not in there:
            yield os.path.join(directory, name.removesuffix(".json"))


def move_seal(path: str, target: str, system: System = SYSTEM) -> None:
    """Rename the seal of a renamed session file."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        system.rename(seal_path(path), seal_path(target))


def read_seal(path: str | os.PathLike[str], system: System = SYSTEM) -> Seal | None:
    """Return the seal of the session file at `path`, if any. Raises LogError if it cannot be used."""
    place = seal_path(path)
    try:
        data = _read_small(place, system)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as problem:
        raise LogError(f"cannot use the seal {place}: {describe_oserror(problem)}") from problem
    try:
        seal = msgspec.json.decode(data, type=Seal)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise LogError(f"cannot use the seal {place}: the seal is damaged") from None
    if seal.seal != _VERSION:
        raise LogError(
            f"cannot use the seal {place}: unsupported version {seal.seal} (supported: {_VERSION})"
        )
    if seal.checksum != _checksum(seal) or seal.start + sum(block.size for block in seal.blocks) != seal.size:
        raise LogError(f"cannot use the seal {place}: the seal is damaged")
    return seal


# -- making -----------------------------------------------------------------------------------------------


def seal_log(
    log: FileLog,
    *,
    session: str,
    version: int = 0,
    start: int = 0,
    sealed_at: str,
    matching: Seal | None = None,
    system: System = SYSTEM,
) -> Seal:
    """Seal all whole lines of a log after `start`, replacing its old seal; return the seal.

    `matching` is a seal that the log is known to match: without new lines it is kept. Raises `NotSaved`,
    `ReadOnly` or `LockTimeout`; then the old seal is unchanged.
    """
    path = os.path.realpath(log.path)
    try:
        sidecar_directory(path, "seals", system)
        size = _settled_end(log)
        if size <= start:
            raise NotSaved(f"cannot seal {log.path}: it has no complete line")
        has_prefix = matching is not None and (not start or matching.prefix is not msgspec.UNSET)
        if matching is not None and has_prefix and (matching.start, matching.size) == (start, size):
            return matching
        _sync(path, system)
    except OSError as problem:
        raise problem_with(f"seal {log.path}", problem, _OUTCOME) from problem
    seal = make_seal(log, session=session, version=version, start=start, size=size, sealed_at=sealed_at)
    _write(log, seal, system)
    return seal


def _settled_end(log: FileLog) -> int:
    """Return the end of the last whole line that no failed append can still remove."""
    try:
        with log.exclusive() as writer:
            end = writer.end
    except (LogError, ReadOnly) as problem:
        if isinstance(problem.__cause__, OSError):
            raise problem.__cause__ from None
        raise type(problem)(f"cannot seal {log.path}: {problem}") from problem
    while end > 0:
        start = max(0, end - _PIECE)
        newline = log.read(start, end - start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end = start
    return 0


def _sync(path: str, system: System) -> None:
    """Sync the log before it is sealed: another program may not have done so."""
    descriptor = system.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        system.fsync(descriptor)
    finally:
        close_quietly(system, descriptor)


def _write(log: FileLog, seal: Seal, system: System) -> None:
    place = seal_path(log.path)
    # A symlink planted here by another user must not redirect the seal to another file.
    if os.path.islink(place):
        raise NotSaved(f"cannot seal {log.path}: {place} is a link; {_OUTCOME}")
    data = msgspec.json.encode(msgspec.structs.replace(seal, checksum=_checksum(seal))) + b"\n"
    try:
        replace_file(place, data, backup=False, system=system)
    except (LogError, ReadOnly) as problem:
        raise type(problem)(f"cannot seal {log.path}: {problem}") from problem


def make_seal(log: Log, *, session: str, version: int = 0, start: int = 0, size: int, sealed_at: str) -> Seal:
    """Seal the bytes of a log from `start` to `size`, both at line starts."""
    total = sha256()
    blocks = list(_blocks(log, start, size, total.update))
    return Seal(
        seal=_VERSION,
        session=session_name(session),
        version=version,
        start=start,
        size=size,
        sha256=total.hexdigest(),
        sealed_at=sealed_at,
        blocks=blocks,
        prefix=sha256(log.read(0, start)).hexdigest() if start else msgspec.UNSET,
    )


def _blocks(log: Log, offset: int, end: int, see: Callable[[bytes], None]) -> Iterator[SealedBlock]:
    """Split a log into runs of whole lines; the first run is the first line."""
    least, usual = 1, max(_SMALLEST_BLOCK, (end - offset) // _BLOCKS)
    digest, size = sha256(), 0
    while offset < end:
        piece = log.read(offset, min(_PIECE, end - offset))
        if not piece:
            raise LogShrank(f"cannot seal {log.name}: the file ends at {offset}, expected at least {end}")
        see(piece)
        offset += len(piece)
        begin = 0
        while (newline := piece.find(b"\n", begin + max(0, least - size - 1))) >= 0:
            digest.update(piece[begin : newline + 1])
            yield SealedBlock(size + newline + 1 - begin, digest.hexdigest())
            digest, size = sha256(), 0
            begin, least = newline + 1, usual
        digest.update(piece[begin:])
        size += len(piece) - begin
    if size:
        yield SealedBlock(size, digest.hexdigest())


# -- comparing --------------------------------------------------------------------------------------------


def compare(read: Read, seal: Seal, *, prefix_replaced: bool = False) -> Difference | None:
    """Return how a log differs from its seal; None if it matches, whatever was appended since.

    `prefix_replaced` means that the agent itself has rewritten the bytes before `start`, so that they need
    not match.
    """
    prefix = read(0, seal.start)
    offset, line = seal.start, 1 + prefix.count(b"\n")
    first: Difference | None = None
    differing, missing, alike = 0, 0, False
    if not prefix_replaced and seal.prefix not in (msgspec.UNSET, sha256(prefix).hexdigest()):
        differing += 1
        first = Difference(line=1, offset=0, size=seal.start, lines=max(1, line - 1))
    for number, block in enumerate(seal.blocks):
        found = _look(read, offset, block.size)
        if found.size < block.size:
            missing = seal.size - offset - found.size
            rest = seal.size - found.last_line
            first = first or Difference(line=line + found.lines, offset=found.last_line, size=rest)
            break
        if found.sha256 != block.sha256:
            differing += 1
            first = first or Difference(line=line, offset=offset, size=block.size, lines=found.lines)
        elif number:
            alike = True
        offset += block.size
        line += found.lines
    return None if first is None else first._replace(blocks=differing, missing=missing, same_log=alike)


class _BlockScan(NamedTuple):
    """Scan of the bytes where a sealed block should be. ``last_line`` is the offset of its final line."""

    size: int
    sha256: str
    lines: int
    last_line: int


def _look(read: Read, offset: int, size: int) -> _BlockScan:
    digest = sha256()
    have, lines, last_line = 0, 0, offset
    while have < size and (piece := read(offset + have, min(_PIECE, size - have))):
        digest.update(piece)
        lines += piece.count(b"\n")
        if (newline := piece.rfind(b"\n")) >= 0:
            last_line = offset + have + newline + 1
        have += len(piece)
    return _BlockScan(have, digest.hexdigest(), lines, last_line)


# -- inside -----------------------------------------------------------------------------------------------


def _checksum(seal: Seal) -> str:
    return sha256(msgspec.json.encode(msgspec.structs.replace(seal, checksum=""))).hexdigest()


def _read_small(path: str, system: System) -> bytes:
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
    descriptor = system.open(path, flags)
    try:
        found = system.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_size > _LONGEST_SEAL:
            raise LogError(f"cannot use the seal {path}: it was not written by branchline")
        return read_at(system, descriptor, 0, _LONGEST_SEAL)
    finally:
        close_quietly(system, descriptor)
