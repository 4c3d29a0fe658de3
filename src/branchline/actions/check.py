"""Check session files for damage, line by line, and against their seals.

Checking changes no session, and writes nothing except seals on request. Problems with a file are part of its
report: no file makes a check fail.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Literal

import msgspec

from branchline.actions.seal import Sealing, SealReport, update_seal, verify_seal
from branchline.clock import SystemClock, local_time
from branchline.errors import BranchlineError, LogError, NotASession, NotSupported
from branchline.formats import PI, Content, EntryLog
from branchline.formats.detect import RETIRED_STORES, is_retired_store, unsupported_program
from branchline.formats.integrity import check_log
from branchline.formats.suffixes import has_suffix, without_suffix
from branchline.library import SessionLibrary
from branchline.log import FileLog, Log
from branchline.log.seals import orphaned_seals, read_seal
from branchline.plugins.formats import detect_in
from branchline.session import Session
from branchline.stores import (
    DerivedLog,
    FilesStore,
    Store,
    absolute_path,
    address_in,
    addressed_store,
    open_log,
    unpacked,
)
from branchline.stores.protocol import SizedContent
from branchline.stores.rows import CheckedRows, CheckedStore
from branchline.stores.sources import file_of, is_page, page_is_checked
from branchline.stores.whole_sessions import assembled_content
from branchline.tree import Finding, severity
from branchline.views.session_row import SessionRow

__all__ = [
    "FileReport",
    "check_directory",
    "check_file",
    "check_library",
    "check_session",
    "session_files",
    "stored_findings",
    "transcript_of",
]

_HEAD = 1 << 16


class FileReport(msgspec.Struct, frozen=True, kw_only=True):
    """The result of checking one session; ``problem`` says why it is not readable as a session."""

    path: str
    """The file, or the key or id of a session without a file."""
    status: Literal["clean", "notes", "odd", "damaged"]
    findings: tuple[Finding, ...] = ()
    problem: str | None = None
    id: str | None = None
    format: str | None = None
    version: int | None = None
    entries: int = 0
    seal: SealReport | None = None

    @property
    def is_sound(self) -> bool:
        """Whether nothing is damaged or odd."""
        return self.status in ("clean", "notes")


def check_file(path: str | os.PathLike[str], sealing: Sealing = "compare") -> FileReport:
    """Check one file, and seal it on request."""
    path = absolute_path(path)

    def check() -> FileReport:
        with contextlib.closing(open_log(file_of(path))) as log:
            transcript = transcript_of(log, path)
            seal = None
            if isinstance(log, FileLog):
                seal = verify_seal(log, transcript.reading)
                if sealing != "compare":
                    force = sealing == "force"
                    seal = update_seal(log, transcript.reading, seal, force=force, clock=SystemClock())
            elif sealing != "compare":
                raise NotSupported(f"cannot seal {path}: {transcript.format.name} changes its records")
            address = address_in(path)
            store = None if address is None else addressed_store(address)
            return _checked(path, transcript, log, log.read(0, _HEAD), seal, store=store)

    return _reported(path, check)


def check_session(session: Session) -> FileReport:
    """Check the present file of a session, or the records of a session without a file."""
    if session.file is not None:
        return check_file(session.file)
    transcript = session.transcript
    return _report(session.id, transcript, check_log(transcript), transcript.bytes_between(0, _HEAD))


def check_library(library: SessionLibrary, sealing: Sealing = "compare") -> tuple[FileReport, ...]:
    """Check every session of a library, newest first, and report sealed sessions that are missing.

    Drafts are not checked.
    """
    rows = [row for row in library.list() if not row.draft]
    places = {os.path.dirname(row.path) for row in rows if row.path is not None}
    places |= {store.directory for store in library.stores if isinstance(store, FilesStore)}
    missing = [report for place in sorted(places) for report in _missing_from(place)]
    whole = [report for store in library.stores for report in _check_store(store)]
    return (*(_check_row(library, row, sealing) for row in rows), *missing, *whole)


def check_directory(
    directory: str | os.PathLike[str], sealing: Sealing = "compare"
) -> tuple[FileReport, ...]:
    """Check every session file in a directory and its folders, and report sealed ones that are missing."""
    places = [os.path.abspath(place) for place, _names in _walk(directory)]
    missing = [report for place in places for report in _missing_from(place)]
    return (*(check_file(path, sealing) for path in session_files(directory)), *missing)


def _check_store(store: Store) -> Iterator[FileReport]:
    """Report what is wrong with a database as a whole."""
    if not isinstance(store, CheckedStore):
        return
    try:
        problems = store.check()
    except BranchlineError as failure:
        problems = [str(failure)]
    for problem in problems:
        yield FileReport(path=store.name, status="damaged", problem=problem)


def stored_findings(log: Content, transcript: EntryLog) -> list[Finding]:
    """Compare the rows of a session in a database with its size, their checksums and the saved tree."""
    if not isinstance(log, CheckedRows):
        return []
    found, saved = log.check_rows(), log.saved_index()
    if saved is not None and all(severity(one.kind) == "note" for one in found):
        covered, body = saved
        kept = (
            None
            if covered > log.size()
            else EntryLog(transcript.format, log.read, transcript.name, saved=body)
        )
        if kept is None or (kept.is_restored and _links(kept) != _links(transcript)):
            message = "the saved tree differs from the lines"
            found.append(Finding(kind="rows", message=message))
    return found


def _page_findings(path: str) -> Iterator[Finding]:
    """Report a page of an earlier release; one that was changed cannot be opened."""
    if is_page(path) and not page_is_checked(path):
        message = "this page has no digest, so changes of what it shows cannot be noticed"
        yield Finding(kind="no-checksum", message=message)


def _links(transcript: EntryLog) -> tuple[list[str], list[str | None]]:
    tree = transcript.tree
    return list(tree.keys), [tree.parent(key) for key in tree.keys]


def _missing_from(directory: str) -> Iterator[FileReport]:
    """Report the sealed files of a directory that are neither there nor in its trash."""
    for path in orphaned_seals(directory):
        removed = FilesStore(directory).trashed()
        if without_suffix(os.path.basename(path)) not in {item.key for item in removed}:
            try:
                seal = read_seal(path)
            except LogError:
                seal = None
            when = "" if seal is None else f" on {local_time(seal.sealed_at)}"
            yield FileReport(
                path=path,
                status="damaged",
                problem=f"missing: it was sealed{when} and no longer exists",
                id=None if seal is None else seal.session,
            )


def _check_row(library: SessionLibrary, row: SessionRow, sealing: Sealing) -> FileReport:
    if row.path is not None:
        return check_file(row.path, sealing)

    def check() -> FileReport:
        store = library.stored(row).store
        with store.snapshot(row.key) as read:
            transcript = _lenient(read, row.size, row.key)
            content = SizedContent(read, row.size)
            return _checked(row.key, transcript, content, read(0, _HEAD), store=store)

    return _reported(row.key, check)


def session_files(directory: str | os.PathLike[str]) -> Iterator[str]:
    """Yield the path of every session file in a directory and its folders, except hidden ones."""
    for place, names in _walk(directory):
        for name in names:
            if has_suffix(name.removesuffix(".zst")) and not name.startswith("."):
                yield os.path.abspath(os.path.join(place, name))


def _walk(directory: str | os.PathLike[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield a directory and its folders, except hidden ones, with the names of their files."""
    for place, folders, names in os.walk(os.fspath(directory)):
        folders[:] = sorted(folder for folder in folders if not folder.startswith("."))
        yield place, sorted(names)


def transcript_of(log: Log, path: str) -> EntryLog:
    """Read any log; one that no format recognizes is read as a native one.

    Raises NotASession for a file of an agent that is not supported.
    """
    return _lenient(log.read, log.size(), log.reads_as if isinstance(log, DerivedLog) else path)


def _lenient(read: Callable[[int, int], bytes], size: int, name: str) -> EntryLog:
    head = read(0, _HEAD)
    try:
        format_ = detect_in(read, name)
    except NotASession:
        if unsupported_program(head) is not None:
            raise
        format_ = PI
    if compression := format_.compression_of(head):
        return EntryLog(format_, unpacked(compression, read, size).read, name)
    return EntryLog(format_, read, name)


def _checked(
    path: str,
    transcript: EntryLog,
    content: Content,
    head: bytes,
    seal: SealReport | None = None,
    *,
    store: Store | None = None,
) -> FileReport:
    """Report on the session in a log, of which other logs may hold the beginning, as opening it finds it.

    Lines and offsets of findings refer to this log alone, so it is not checked together with the others.
    """
    findings = [*check_log(transcript), *stored_findings(content, transcript), *_page_findings(path)]
    splitting = transcript.format.splitting
    if splitting is None or not splitting.has_external_prefix(transcript.bytes_between(0, _HEAD)):
        return _report(path, transcript, findings, head, seal)
    joined = assembled_content(transcript.format, content, path, head, store)
    if joined is None:
        return _report(path, transcript, findings, head, seal)
    with contextlib.closing(joined):
        whole = EntryLog(transcript.format, joined.read, transcript.name)
        missing = {finding.kind for finding in whole.reading.end_notes}
        found = [one for one in findings if one.kind != "below-head" or one.kind in missing]
        return _report(path, whole, found, head, seal)


def _reported(path: str, check: Callable[[], FileReport]) -> FileReport:
    """Run a check; a file that cannot be read is reported as damaged."""
    try:
        return check()
    except BranchlineError as problem:
        return FileReport(path=path, status="damaged", problem=str(problem))
    except OSError as problem:
        return FileReport(path=path, status="damaged", problem=f"cannot be read: {problem.strerror}")


def _refusal(transcript: EntryLog) -> str | None:
    """Return why a log that was read as a native one cannot be opened; None if it can."""
    try:
        detect_in(lambda start, size: transcript.bytes_between(start, start + size), transcript.name)
    except NotASession as problem:
        return str(problem)
    return None


def _report(
    path: str, transcript: EntryLog, found: list[Finding], head: bytes, seal: SealReport | None = None
) -> FileReport:
    if seal is not None and seal.finding is not None:
        found = sorted([*found, seal.finding], key=lambda finding: finding.line)
    findings, reading = tuple(found), transcript.reading
    header = reading.header
    if header is None and not len(reading.tree):
        why = RETIRED_STORES if is_retired_store(head) else f"not a session: {reading.read_only}"
        return FileReport(path=path, status="damaged", findings=findings, problem=why, seal=seal)
    if transcript.format is PI and (refused := _refusal(transcript)) is not None:
        return FileReport(path=path, status="damaged", findings=findings, problem=refused, seal=seal)
    worst = {severity(finding.kind) for finding in findings}
    if seal is not None and seal.state == "unusable":
        worst.add("warning")  # the file may be intact, but that can no longer be verified
    return FileReport(
        path=path,
        status="damaged"
        if "damage" in worst
        else "odd"
        if "warning" in worst
        else "notes"
        if worst
        else "clean",
        findings=findings,
        id=None if header is None else header.id,
        format=reading.format,
        version=None if header is None else header.version,
        entries=len(reading.tree) - len(reading.tree.placeholders),
        seal=seal,
    )
