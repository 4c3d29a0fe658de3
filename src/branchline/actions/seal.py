"""Compare a session file with its seal, and seal it.

A file that differs from its seal is damaged, unless the seal belongs to something else: another session may
have the file name now, or a session of an old version was upgraded before an append. Then the report only
says so. A seal that does not match is replaced only with ``force``.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from branchline.clock import Clock, iso, local_time
from branchline.errors import BranchlineError, LogError
from branchline.formats.log_index import LogIndex
from branchline.log import FileLog
from branchline.log.seals import Difference, Seal, compare, read_seal, seal_log, session_name
from branchline.tree import Finding
from branchline.views.humanize import count

__all__ = ["SealReport", "SealState", "Sealing", "update_seal", "verify_seal"]

SealState = Literal["none", "intact", "sealed", "changed", "other-session", "older-version", "unusable"]
Sealing = Literal["compare", "seal", "force"]


class SealReport(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a comparison with a seal.

    ``message`` is for people; ``finding`` is the damage that the comparison shows.
    """

    state: SealState
    seal: Seal | None = None
    message: str | None = None
    finding: Finding | None = None


def verify_seal(log: FileLog, reading: LogIndex) -> SealReport:
    """Compare a file with its seal, if it has one. Writes nothing."""
    try:
        seal = read_seal(log.path)
    except LogError as problem:
        return SealReport(state="unusable", message=str(problem))
    if seal is None:
        return SealReport(state="none")
    replaced = reading.prefix_recorded and reading.mutable_prefix == seal.start
    difference = compare(log.read, seal, prefix_replaced=replaced)
    if difference is None:
        return SealReport(state="intact", seal=seal)
    return _whose(seal, difference, reading) or _damage(seal, difference, log.size())


def update_seal(
    log: FileLog, reading: LogIndex, found: SealReport, *, force: bool, clock: Clock
) -> SealReport:
    """Seal the present file, unless it differs from its seal; with ``force``, seal it anyway."""
    if found.state not in ("none", "intact") and not force:
        why = found.message or "it differs from the sealed version"
        return msgspec.structs.replace(
            found, message=f"{why}; not sealed again, --force replaces the old seal"
        )
    header = reading.header
    if header is None:
        return msgspec.structs.replace(found, message="not sealed: it has no header")
    try:
        seal = seal_log(
            log,
            session=header.id,
            version=_version(reading),
            start=reading.mutable_prefix,
            sealed_at=iso(clock.now()),
            matching=found.seal if found.state == "intact" else None,
        )
    except BranchlineError as problem:
        return msgspec.structs.replace(found, message=str(problem))
    replaced = found.state not in ("none", "intact")
    message = "the old seal did not match and was replaced" if replaced else None
    return SealReport(state="sealed", seal=seal, message=message)


def _whose(seal: Seal, difference: Difference, reading: LogIndex) -> SealReport | None:
    """Report a seal that belongs to another session or an older version; None otherwise."""
    header = reading.header
    if header is None:
        return None
    if session_name(header.id) != seal.session and not difference.same_log:
        message = f"the seal is that of session {seal.session}, which was stored here on {_day(seal)}"
        return SealReport(state="other-session", seal=seal, message=message)
    if seal.version < _version(reading) == reading.current_version:
        message = (
            f"sealed on {_day(seal)} in version {seal.version}, "
            f"and rewritten in version {_version(reading)} since then"
        )
        return SealReport(state="older-version", seal=seal, message=message)
    return None


def _damage(seal: Seal, difference: Difference, size: int) -> SealReport:
    message = ""
    if difference.blocks:
        last = difference.line + difference.lines - 1
        lines = f"lines {difference.line} to {last} are" if last > difference.line else "this line is"
        message = f"{lines} not as sealed on {_day(seal)} ({count(difference.size, 'byte')})"
        if difference.blocks > 1:
            message += f", with differences in {count(difference.blocks - 1, 'later place')}"
    if difference.missing:
        shorter = (
            f"shorter than when it was sealed on {_day(seal)}: it ends at byte {size}, "
            f"{count(difference.missing, 'byte')} are missing"
        )
        message = f"{message}; it is {shorter}" if message else shorter
    finding = Finding(
        kind="changed",
        message=message,
        line=difference.line,
        offset=difference.offset,
        size=difference.size,
    )
    return SealReport(state="changed", seal=seal, finding=finding)


def _version(reading: LogIndex) -> int:
    """The version in the header; 0 if it is out of range."""
    version = 0 if reading.header is None else reading.header.version
    return version if 0 < version < 1 << 31 else 0


def _day(seal: Seal) -> str:
    return local_time(seal.sealed_at)
