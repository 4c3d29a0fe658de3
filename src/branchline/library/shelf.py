"""The logs of a store as rows, and which of them belong to a working directory.

One file, whatever is in it, costs at most its own row: what cannot be read is marked and never raised.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from branchline import places
from branchline.entries import SIDE_TYPES, Header
from branchline.errors import Ambiguous, NotASession, SessionNotFound
from branchline.formats import EntryLog, peek
from branchline.library.row_reader import deep_row, header_row, problem_row, read_log, read_row, shallow_row
from branchline.library.rows import ELSEWHERE, SessionRow
from branchline.stores import Read, SkippedFile, Store, StoredLog, check_key
from branchline.tree import severity

__all__ = ["StoreScanner"]

_NOWHERE = "no header, so its working directory is not known"
_SETTINGS = SIDE_TYPES | {"model_change", "thinking_level_change", "active_tools_change"}
"""What a session may hold and still be called empty: nothing that anybody said."""


class StoreScanner:
    """The logs of a store; with a working directory, those of other ones are hidden."""

    def __init__(self, store: Store, cwd: str | None) -> None:
        self.store = store
        self.cwd = cwd

    # -- rows -----------------------------------------------------------------------------------------

    def deep(self, stored: StoredLog, *, draft: bool = False) -> SessionRow | SkippedFile:
        """What the whole file tells."""
        try:
            with self.store.snapshot(stored.key) as read:
                if self.cwd is not None:
                    header, _format = _beginning(read, stored)
                    if (reason := self._elsewhere(header)) is not None:
                        return SkippedFile(_name(stored), reason)
                return read_row(read, stored, draft=draft).row
        except Exception as problem:  # noqa: BLE001  formats come from many hands; one row is what it costs
            return problem_row(stored, problem, draft=draft)

    def header_only(self, stored: StoredLog) -> SessionRow | SkippedFile:
        """What the beginning of the file tells; what the directory tells where there is no header."""
        try:
            with self.store.snapshot(stored.key) as read:
                header, format_name = _beginning(read, stored)
        except Exception as problem:  # noqa: BLE001  as above
            return problem_row(stored, problem)
        if self.cwd is not None and (reason := self._elsewhere(header)) is not None:
            return SkippedFile(_name(stored), reason)
        return shallow_row(stored) if header is None else header_row(stored, header, format_name)

    def with_headers(self) -> Iterator[SessionRow]:
        """The sessions, newest file first, with what their headers tell."""
        for stored in self.store.scan().found:
            row = self.header_only(stored)
            if isinstance(row, SessionRow):
                yield row

    def empty(self) -> Iterator[SessionRow]:
        """Sessions and drafts in which nobody said anything, damaged ones left out."""
        for stored, draft in self._logs(self.store.drafts()):
            try:
                with self.store.snapshot(stored.key) as read:
                    transcript = read_log(read, stored)
                    if self._is_empty(transcript):
                        yield deep_row(stored, transcript, draft=draft)
            except Exception:  # noqa: BLE001, S112  what cannot be read is damaged
                continue

    # -- names ----------------------------------------------------------------------------------------

    def named(self, name: str) -> tuple[StoredLog, bool] | None:
        """The log of this key or session id, and whether it is a draft. InvalidId when it can be neither."""
        if (found := self.store.stat(check_key(name))) is not None:
            return found, False
        drafts = self.store.drafts()
        for draft in drafts:
            if draft.key == name:
                return draft, True
        # Most file names tell the id, so that most headers need not be read.
        named: list[tuple[StoredLog, bool]] = []
        others: list[tuple[StoredLog, bool]] = []
        for item in self._logs(drafts):
            (named if shallow_row(item[0]).id == name else others).append(item)
        matching = self._with_id(name, named) or self._with_id(name, others)
        if len(matching) > 1:
            keys = ", ".join(stored.key for stored, _draft in matching[:5])
            where = self.store.name
            raise Ambiguous(
                f"{len(matching)} sessions in {where} have the id {name}: {keys}; use one of these"
            )
        return matching[0] if matching else None

    def require(self, name: str) -> tuple[StoredLog, bool]:
        """As :meth:`named`, but SessionNotFound when there is none."""
        found = self.named(name)
        if found is None:
            raise SessionNotFound(f"there is no session {name!r} in {self.store.name}")
        return found

    # -- inside ---------------------------------------------------------------------------------------

    def _logs(self, drafts: list[StoredLog]) -> list[tuple[StoredLog, bool]]:
        return [(stored, False) for stored in self.store.scan().found] + [(draft, True) for draft in drafts]

    def _with_id(self, session_id: str, logs: list[tuple[StoredLog, bool]]) -> list[tuple[StoredLog, bool]]:
        found = []
        for stored, draft in logs:
            row = self.header_only(stored)
            if isinstance(row, SessionRow) and row.id == session_id:
                found.append((stored, draft))
        return found

    def _elsewhere(self, header: Header | None) -> str | None:
        """Why a session is not one of the asked working directory; None when it is."""
        if header is None or not header.cwd:
            return _NOWHERE
        return None if places.resolve_cwd(header.cwd) == self.cwd else ELSEWHERE

    def _is_empty(self, transcript: EntryLog) -> bool:
        reading = transcript.reading
        return (
            reading.header is not None
            and (self.cwd is None or self._elsewhere(reading.header) is None)
            and _SETTINGS.issuperset(transcript.tree.types)
            and all(severity(finding.kind) == "note" for finding in reading.findings)
        )


def _beginning(read: Read, stored: StoredLog) -> tuple[Header | None, str]:
    """The header and the name of the format; neither when no format knows the log."""
    try:
        found = peek(read, stored.path or stored.key)
    except NotASession:
        return None, ""
    return found.header, found.format.name


def _name(stored: StoredLog) -> str:
    return stored.key if stored.path is None else os.path.basename(stored.path)
