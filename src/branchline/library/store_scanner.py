"""The sessions of one store."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

import msgspec

from branchline import places
from branchline.catalog.record import FileRecord
from branchline.clock import Clock
from branchline.entries import SIDE_TYPES, Header
from branchline.errors import NotASession
from branchline.formats import Format
from branchline.library.lookup import the_only
from branchline.library.row_reader import (
    completed_row,
    deep_row,
    peek_file,
    problem_row,
    read_log,
    read_row,
    shallow_row,
)
from branchline.library.scanner import (
    CONTINUED,
    ComparedFiles,
    KnownStates,
    See,
    StoredSession,
    catalog_number,
    dated_row,
    header_record,
    seen_file,
)
from branchline.log import Durability
from branchline.plugins.formats import format_named
from branchline.stores import Read, SkippedFile, Store, StoredLog, check_key, drafts_in
from branchline.stores.protocol import id_in_key
from branchline.views.session_row import ELSEWHERE, SessionRow

if TYPE_CHECKING:
    from branchline.formats import EntryLog
    from branchline.session import Session

__all__ = ["StoreScanner"]

_NO_HEADER = "no header, so its working directory is unknown"
_SETTINGS = SIDE_TYPES | {"model_change", "thinking_level_change", "active_tools_change"}
"""The entry types of a session without messages."""
_ROLLOUT = "rollout-"  # name prefix of files of which several may be one session


class StoreScanner:
    """The logs of one store, or only those of one working directory."""

    def __init__(self, store: Store, cwd: str | None = None) -> None:
        self.store = store
        self.cwd = cwd

    @property
    def name(self) -> str:
        return self.store.name

    def with_subagents(self) -> Self:
        return self

    def scan(self) -> tuple[Sequence[StoredLog], Sequence[SkippedFile]]:
        found, hidden = self.store.scan()
        earlier = {stored.key for stored in _continued(found)}
        if not earlier:
            return found, hidden
        passed = [SkippedFile(_name(stored), CONTINUED) for stored in found if stored.key in earlier]
        return [stored for stored in found if stored.key not in earlier], [*hidden, *passed]

    def compare(self, known: KnownStates) -> ComparedFiles[StoredLog]:
        files, hidden = self.scan()
        states = known([file.path for file in files if file.path is not None])
        return ComparedFiles(files, [catalog_number(file, states) for file in files], hidden)

    def scan_parts(self) -> tuple[Sequence[StoredLog], Sequence[StoredLog]]:
        return self.scan()[0], _continued(self.store.scan().found)

    def likely(self, files: Sequence[StoredLog], text: str) -> Sequence[StoredLog]:
        del files, text
        return ()

    # -- rows -----------------------------------------------------------------------------------------

    def shallow_row(self, file: StoredLog) -> SessionRow | SkippedFile:
        return shallow_row(file) if self.cwd is None else self.header_row(file)

    def header_row(self, file: StoredLog) -> SessionRow | SkippedFile:
        try:
            with self.store.snapshot(file.key) as read:
                header, format_ = _beginning(read, file)
        except Exception as problem:  # noqa: BLE001  third-party formats may raise anything
            return problem_row(file, problem)
        if (reason := self._reason(header)) is not None:
            return SkippedFile(_name(file), reason)
        return shallow_row(file) if format_ is None else completed_row(header_record(file, format_, header))

    def dated_row(self, file: StoredLog) -> SessionRow | SkippedFile:
        return dated_row(self, file, file, lambda: self.store.snapshot(file.key))

    def titled_row(self, file: StoredLog) -> SessionRow | SkippedFile:
        return self.deep_row(file)

    def deep_row(
        self, file: StoredLog, see: See | None = None, *, draft: bool = False
    ) -> SessionRow | SkippedFile:
        try:
            with self.store.snapshot(file.key) as read:
                if self.cwd is not None:
                    header, _format = _beginning(read, file)
                    if (reason := self._reason(header)) is not None:
                        return SkippedFile(_name(file), reason)
                found = read_row(read, file, store=self.store, draft=draft)
                seen = seen_file(found, read, file.path or file.key)
                if see is not None:
                    see(seen)
        except Exception as problem:  # noqa: BLE001  as above
            return problem_row(file, problem, draft=draft)
        return completed_row(seen.record)

    def row_of(self, file: StoredLog, record: FileRecord) -> SessionRow | SkippedFile:
        row = completed_row(record)
        if self.cwd is not None:
            header = Header(id=row.id, cwd=row.cwd or "") if record.has_header else None
            if (reason := self._reason(header)) is not None:
                return SkippedFile(_name(file), reason)
        return row if row.key == file.key else msgspec.structs.replace(row, key=file.key)

    def stored_log(self, file: StoredLog) -> StoredLog:
        return file

    @property
    def restricts(self) -> bool:
        return self.cwd is not None

    def drafts(self) -> list[SessionRow]:
        """Return sessions without a first reply yet."""
        rows = (self.deep_row(stored, draft=True) for stored in drafts_in(self.store))
        return [row for row in rows if isinstance(row, SessionRow)]

    def empty(self) -> Iterator[SessionRow]:
        """Sessions and drafts without messages, damaged ones left out."""
        for stored, draft in self._logs(drafts_in(self.store)):
            try:
                with self.store.snapshot(stored.key) as read:
                    transcript = read_log(read, stored, self.store)
                    if self._is_empty(transcript):
                        yield deep_row(stored, transcript, draft=draft)
            except Exception:  # noqa: BLE001, S112  what cannot be read is damaged
                continue

    # -- one session ----------------------------------------------------------------------------------

    def locate(self, name: str) -> SessionRow | None:
        if (found := self.store.stat(check_key(name))) is not None:
            return shallow_row(found)
        drafts = drafts_in(self.store)
        for draft in drafts:
            if draft.key == name:
                return shallow_row(draft, draft=True)
        # Most file names contain the id, so most headers need not be read.
        named: list[tuple[StoredLog, bool]] = []
        others: list[tuple[StoredLog, bool]] = []
        for item in self._logs(drafts):
            (named if id_in_key(item[0].key) == name else others).append(item)
        matching = self._with_id(name, named) or self._with_id(name, others)
        return the_only(name, matching, self.name)

    def stored(self, row: SessionRow) -> StoredSession:
        return StoredSession(self.store, row.key, row.draft)

    @contextmanager
    def read(self, row: SessionRow) -> Iterator[tuple[StoredLog, EntryLog]]:
        stored = self.store.stat(row.key) or StoredLog(row.key, row.size, row.modified_ms / 1000, row.path)
        with self.store.snapshot(row.key) as read:
            yield stored, read_log(read, stored, self.store)

    def open(self, row: SessionRow, *, durability: Durability, clock: Clock) -> Session:
        from branchline.session import Session  # noqa: PLC0415  lists open none

        return Session.from_store(self.store, row.key, durability=durability, clock=clock)

    def waiting(self) -> Sequence[SessionRow]:
        return ()

    def own_stores(self) -> Sequence[StoreScanner]:
        return [self]

    # -- inside ---------------------------------------------------------------------------------------

    def _logs(self, drafts: list[StoredLog]) -> list[tuple[StoredLog, bool]]:
        return [(stored, False) for stored in self.store.scan().found] + [(draft, True) for draft in drafts]

    def _with_id(self, session_id: str, logs: list[tuple[StoredLog, bool]]) -> list[SessionRow]:
        found = []
        for stored, draft in logs:
            row = self.header_row(stored)
            if isinstance(row, SessionRow) and row.id == session_id:
                found.append(msgspec.structs.replace(row, draft=draft))
        return found

    def _reason(self, header: Header | None) -> str | None:
        """Why a session does not belong to the working directory; None if it does."""
        if self.cwd is None:
            return None
        if header is None or not header.cwd:
            return _NO_HEADER
        return None if places.resolve_cwd(header.cwd) == self.cwd else ELSEWHERE

    def _is_empty(self, transcript: EntryLog) -> bool:
        from branchline.tree import severity  # noqa: PLC0415  only asked before pruning

        reading = transcript.reading
        return (
            reading.header is not None
            and self._reason(reading.header) is None
            and _SETTINGS.issuperset(transcript.tree.types)
            and all(severity(finding.kind) == "note" for finding in reading.findings)
        )


def _continued(found: Sequence[StoredLog]) -> list[StoredLog]:
    """The logs that another log of the store continues as the same session."""
    rollouts = {stored.path or stored.key: stored for stored in found if stored.key.startswith(_ROLLOUT)}
    splitting = format_named("codex").splitting if len(rollouts) > 1 else None
    superseded = set() if splitting is None else splitting.superseded(rollouts)
    return [stored for path, stored in rollouts.items() if path in superseded]


def _beginning(read: Read, stored: StoredLog) -> tuple[Header | None, Format | None]:
    """The header, with the directory that its folder tells, and the format; neither for an unknown log."""
    where = stored.path or stored.key
    try:
        found = peek_file(read, where)
    except NotASession:
        return None, None
    header = found.header
    if header is not None and not header.cwd:
        from branchline.stores.whole_sessions import folder_cwd  # noqa: PLC0415  most headers name it

        header = msgspec.structs.replace(header, cwd=folder_cwd(found.format, header, where) or "")
    return header, found.format


def _name(stored: StoredLog) -> str:
    return stored.key if stored.path is None else os.path.basename(stored.path)
