"""The sessions of every agent on this machine."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Self

import msgspec

from branchline import places
from branchline.catalog.record import FileRecord
from branchline.clock import Clock
from branchline.errors import BranchlineError, LogError, NotSupported, SessionNotFound
from branchline.formats.suffixes import has_suffix, suffix_of, without_suffix
from branchline.library.found_file import (
    FoundFile,
    expected_format,
    found_log,
    is_only_ours,
    originals_first,
    owner_of,
    unpacked_first,
)
from branchline.library.lookup import current_of_thread, the_only
from branchline.library.real_path import real_path
from branchline.library.row_reader import (
    completed_row,
    peek_file,
    problem_row,
    read_log,
    read_row,
)
from branchline.library.scanner import (
    CONTINUED,
    ComparedFiles,
    KnownStates,
    See,
    SeenFile,
    StoredSession,
    catalog_number,
    dated_row,
    header_record,
    seen_file,
)
from branchline.library.store_scanner import StoreScanner
from branchline.log import Durability
from branchline.log.system import describe_oserror
from branchline.plugins.formats import BrokenFormat
from branchline.stores import (
    DatabaseStore,
    FilesStore,
    FileStamp,
    FileState,
    Read,
    SkippedFile,
    StoredLog,
    address_in,
    addressed_store,
    check_key,
    drafts_in,
    is_address,
    snapshot_of,
    stored_at,
)
from branchline.stores.protocol import PACKED_IDENTITY
from branchline.stores.walker import WalkResult, walk
from branchline.views.session_row import ELSEWHERE, OTHER_AGENT, SessionRow

if TYPE_CHECKING:
    from branchline.formats import EntryLog
    from branchline.session import Session

__all__ = ["MachineScanner"]

_Path = str | os.PathLike[str]
_UNKNOWN_CWD = "it does not record its working directory"
_SUBAGENT = "a sub-agent of another session"
_STUB = "a stub: nothing was said in it"
_ID_IN_NAME = 8  # characters of an id that every agent puts into its file names
_DAY_MS = 86_400_000
_NOTHING: Mapping[str, FileState] = {}


class MachineScanner:
    """The files of every agent, for one working directory or for all.

    Some agents name folders after the working directory. The name of a folder is only a hint: the header
    decides, because different directories can share a folder. ``agents`` restricts the agents; raises
    ValueError for an unknown one. Sub-agent sessions are left out unless ``subagents`` is set.
    ``environment`` and ``home`` default to those of this process.
    """

    def __init__(
        self,
        cwd: _Path | None = None,
        *,
        agents: Iterable[str] | None = None,
        subagents: bool = False,
        environment: Mapping[str, str] | None = None,
        home: _Path | None = None,
    ) -> None:
        self.cwd = None if cwd is None else places.resolve_cwd(cwd)
        self.subagents = subagents
        self.environment = environment
        self.home = None if home is None else os.fspath(home)
        self._cwds = () if self.cwd is None else tuple(dict.fromkeys((self.cwd, real_path(self.cwd))))
        self._wanted = None if agents is None else {places.known_agent(agent) for agent in agents}
        self._look_around()

    def _look_around(self) -> None:
        """Find the places of all agents; an agent may have been installed since the last scan."""
        known = places.known_places(
            None if self.cwd is None else self._cwds,
            # Our own folder may contain sessions of any agent: imported ones, and the demo.
            agents=None if self._wanted is None else (*self._wanted, places.NATIVE_AGENT),
            environment=self.environment,
            home=self.home,
        )
        self.places: list[places.Place] = known.places
        self.broken_formats: list[BrokenFormat] = known.broken
        self._days_kept: dict[str, float | None] = {}
        self._names: dict[str, list[str]] = {}
        self._plain: dict[int, tuple[str | None, int | None]] = {}
        self._has_looked = True
        """Whether nothing was scanned since."""

    @property
    def name(self) -> str:
        return "any project" if self.cwd is None else self.cwd

    def with_subagents(self) -> Self:
        if self.subagents:
            return self
        other = copy.copy(self)
        other.subagents = True
        return other

    def scan(self) -> tuple[Sequence[FoundFile], Sequence[SkippedFile]]:
        files, hidden, _earlier = self._scan()
        return files, hidden

    def compare(self, known: KnownStates) -> ComparedFiles[FoundFile]:
        if self.cwd is not None:  # a few of many
            files, hidden, _earlier = self._scan()
            states = known([file.path for file in files])
            return ComparedFiles(files, [catalog_number(file.stored, states) for file in files], hidden)
        files, hidden, _earlier = self._scan(known(None))
        return ComparedFiles(files, [file.state.number for file in files], hidden)

    def scan_parts(self) -> tuple[Sequence[FoundFile], Sequence[FoundFile]]:
        files, _hidden, earlier = self._scan()
        return files, sorted(earlier, key=lambda file: file.path)

    def _scan(
        self, known: Mapping[str, FileState] = _NOTHING
    ) -> tuple[list[FoundFile], list[SkippedFile], list[FoundFile]]:
        if not self._has_looked:
            self._look_around()
        self._has_looked = False
        found: dict[object, FoundFile] = {}
        hidden: dict[str, SkippedFile] = {}
        for place in self.places:
            for walked in self._walked(place, known):
                hidden.update({item.name: item for item in walked.hidden})
                for identity, file in self._opened(place, walked, hidden, known):
                    before = found.setdefault(identity, file)
                    if before is not file and place.agent not in {
                        one.agent for one in (before.place, *before.others)
                    }:
                        found[identity] = msgspec.structs.replace(before, others=(*before.others, place))
        files = list(found.values())
        if any(place.is_archive for place in self.places):
            files = list(originals_first(files, hidden))
        if any(place.format.compression is not None for place in self.places):
            files = unpacked_first(files, hidden)
        for file in self._continued_documents(files):
            hidden[file.path] = SkippedFile(file.path, CONTINUED)
            files.remove(file)
        earlier = self._earlier(files)
        if earlier:
            hidden.update({file.path: SkippedFile(file.path, CONTINUED) for file in earlier})
            passed = {file.path for file in earlier}
            files = [file for file in files if file.path not in passed]
        files.sort(key=attrgetter("state.stamp"), reverse=True)
        return files, list(hidden.values()), earlier

    @staticmethod
    def _opened(
        place: places.Place,
        walked: WalkResult,
        hidden: dict[str, SkippedFile],
        known: Mapping[str, FileState],
    ) -> Iterable[tuple[object, FoundFile]]:
        """Return the files found. Each comes with its identity, by which one file in two places is known."""
        if place.format.documents is None and place.format.database is None:
            return ((state.stamp[PACKED_IDENTITY], FoundFile(state, place)) for state in walked.found)
        return MachineScanner._sessions_in(place, walked, hidden, known)

    @staticmethod
    def _sessions_in(
        place: places.Place,
        walked: WalkResult,
        hidden: dict[str, SkippedFile],
        known: Mapping[str, FileState],
    ) -> Iterator[tuple[object, FoundFile]]:
        """Yield the files found; a database is replaced by its sessions, a document gets all its files.

        A database that cannot be read is yielded itself; reading it reports the reason.
        """
        format_, documents = place.format, place.format.documents
        for state in walked.found:
            path, identity = state.path, state.stamp[PACKED_IDENTITY]
            if documents is not None and documents.recognizes(path):
                log = stored_at(path, format_.traits.key_of(path))
                yield identity, FoundFile(state, place) if log is None else found_log(log, place, known)
                continue
            if format_.database is None or has_suffix(path):
                yield identity, FoundFile(state, place)
                continue
            if not FileStamp.unpacked(state.stamp).size:
                hidden[path] = SkippedFile(path, "empty")
                continue
            store = DatabaseStore(path, format_)
            try:
                if not store.is_recognized():
                    hidden[path] = SkippedFile(path, f"not a database of {format_.name}")
                    continue
                sessions, unlisted = store.scan()
            except (BranchlineError, OSError):
                yield identity, FoundFile(state, place)
                continue
            hidden.update({item.name: item for item in unlisted})
            for session in sessions:
                yield (identity, session.key), found_log(session, place, known)

    def _earlier(self, files: Sequence[FoundFile]) -> list[FoundFile]:
        """The files that another file continues as the same session."""
        if all(place.format.splitting is None for place in self.places):
            return []
        by_format: dict[str, list[FoundFile]] = {}
        for file in files:
            if file.place.format.splitting is not None:
                by_format.setdefault(file.place.agent, []).append(file)
        found: list[FoundFile] = []
        for group in by_format.values():
            splitting = group[0].place.format.splitting
            assert splitting is not None
            superseded = splitting.superseded(file.path for file in group)
            found += [file for file in group if file.path in superseded]
        return found

    def _continued_documents(self, files: Sequence[FoundFile]) -> list[FoundFile]:
        """Return the documents whose session goes on in another file, which holds their messages too."""
        if all(place.format.documents is None for place in self.places):
            return []
        by_path = {file.path: file for file in files}
        found = []
        for file in files:
            documents = file.place.format.documents
            after = None if documents is None else by_path.get(documents.continuation(file.path) or "")
            if after is not None:
                before, later = self.header_row(file), self.deep_row(after)
                if not isinstance(before, SessionRow) or not isinstance(later, SessionRow):
                    continue
                if before.id == later.id and later.total_messages:
                    found.append(file)
        return found

    def likely(self, files: Sequence[FoundFile], text: str) -> Sequence[FoundFile]:
        return [file for file in files if text[:_ID_IN_NAME] in file.stored.key]

    def _walked(self, place: places.Place, known: Mapping[str, FileState]) -> list[WalkResult]:
        format_ = place.format
        if format_.documents is not None or format_.database is not None:
            known = _NOTHING  # one file does not tell whether these changed
        try:
            layout = [
                *format_.traits.file_patterns,
                *(format_.traits.subagent_patterns if self.subagents else ()),
            ]
            key_of = format_.traits.key_of
            return [walk(place.root, layout, folder, key_of, known) for folder in place.folders]
        except Exception as problem:  # noqa: BLE001  third-party formats may raise anything
            reason = f"the format {place.agent} failed here: {type(problem).__name__}: {problem}"
            return [WalkResult([], [SkippedFile(place.root, reason)])]

    # -- rows -----------------------------------------------------------------------------------------

    def shallow_row(self, file: FoundFile) -> SessionRow | SkippedFile:
        return self.header_row(file)

    def header_row(self, file: FoundFile) -> SessionRow | SkippedFile:
        if (header := file.stored.header) is not None:
            return self.row_of(file, header_record(file.stored, file.place.format, header))
        try:
            with snapshot_of(file.path) as read:
                return self._header_row(file, read)
        except Exception as problem:  # noqa: BLE001  third-party formats may raise anything
            return self._problem(file, problem)

    def dated_row(self, file: FoundFile) -> SessionRow | SkippedFile:
        return dated_row(self, file, file.stored, lambda: snapshot_of(file.path))

    def titled_row(self, file: FoundFile) -> SessionRow | SkippedFile:
        """Across all projects, only our own files are read, of others only the headers."""
        whole = self.cwd is not None or file.place.agent == places.NATIVE_AGENT
        return self.deep_row(file) if whole else self.header_row(file)

    def deep_row(self, file: FoundFile, see: See | None = None) -> SessionRow | SkippedFile:
        try:
            with snapshot_of(file.path) as read:
                return self.row_of(file, self._deep_record(file, read, see))
        except Exception as problem:  # noqa: BLE001  as above
            return self._problem(file, problem)

    def _header_row(self, file: FoundFile, read: Read) -> SessionRow | SkippedFile:
        found = peek_file(read, file.path, expected_format(file))
        return self.row_of(file, header_record(file.stored, found.format, found.header))

    def _deep_record(self, file: FoundFile, read: Read, see: See | None) -> FileRecord:
        known, expected = None, expected_format(file)
        # In a directory shared by projects or agents most files belong to others: read their headers only.
        if (self.cwd is not None and file.place.is_shared) or not self._is_wanted(file.place.agent):
            found = peek_file(read, file.path, expected)
            record = header_record(file.stored, found.format, found.header)
            if self._reason(file, record, _agent_of(owner_of(file, record), record)) is not None:
                if see is not None:
                    see(SeenFile(record, None, read))
                return record
            known = expected if found.format is expected else None
        seen = seen_file(read_row(read, file.stored, known=known, expected=expected), read, file.path)
        if see is not None:
            see(seen)
        return seen.record

    def row_of(self, file: FoundFile, record: FileRecord) -> SessionRow | SkippedFile:
        """Add to the row what only its location tells: agent, title kept elsewhere, parent."""
        if not file.others and (plain := self._plain_row(file.place, file.path, record)) is not None:
            return plain
        place = owner_of(file, record)
        agent = _agent_of(place, record)
        if (reason := self._reason(file, record, agent)) is not None:
            return SkippedFile(file.path, reason)
        row = completed_row(record)
        told: dict[str, Any] = {"agent": agent}
        if row.path != file.path:
            told["key"] = file.stored.key
        if not row.cwd and record.has_header and self.cwd is not None and not file.place.is_shared:
            told["cwd"] = self.cwd  # it does not record it, and its folder is named after it
        if place.is_archive:
            told["archived"] = True
        elif place.format.traits.keeps_days is not None:
            told["expires_ms"] = self._expiry(file, place, row)
        return msgspec.structs.replace(row, **told)

    def known_rows(self, records: Iterable[FileRecord]) -> Iterator[SessionRow]:
        """Yield the rows of files from the catalog, without those that are not in scope."""
        places_at: dict[str, tuple[places.Place | None, str | None, int | None]] = {}
        set_field = msgspec.structs.force_setattr
        for record in records:
            row = record.row
            path = row.path or ""
            folder = path[: path.rfind("/")]
            try:
                place, agent, lifetime_ms = places_at[folder]
            except KeyError:
                place = self._place_of(path)
                agent, lifetime_ms = (None, None) if place is None else self._plain_facts(place)
                places_at[folder] = place, agent, lifetime_ms
            if place is None or not record.deep:
                continue
            if agent == record.format and record.starter is None and row.cwd:
                set_field(row, "agent", agent)  # as in _completed: one call for each row takes a sixth longer
                if lifetime_ms is not None:
                    set_field(row, "expires_ms", row.modified_ms + lifetime_ms)
                yield row
                continue
            found = self.row_of(FoundFile(FileState(path, b""), place), record)
            if isinstance(found, SessionRow):
                yield found

    def _place_of(self, path: str) -> places.Place | None:
        """Return the place of a file in the catalog."""
        return next(
            (one for one in self.places if any(path.startswith(f"{at}/") for at in one.folders)), None
        )

    def _plain_row(self, place: places.Place, path: str, record: FileRecord) -> SessionRow | None:
        """Return the row of a file whose place adds only agent and expiry, as most do; None otherwise."""
        agent, lifetime_ms = self._plain_facts(place)
        row = record.row
        if agent != record.format or record.starter is not None or row.path != path or not row.cwd:
            return None
        return _completed(row, agent, lifetime_ms)

    def _plain_facts(self, place: places.Place) -> tuple[str | None, int | None]:
        """Return the agent and its retention time; no agent for a place that adds other facts."""
        known = self._plain.get(id(place))
        if known is not None:
            return known
        format_ = place.format
        if (
            self.cwd is not None
            or self._wanted is not None
            or place.is_archive
            or place.agent != format_.name
            or format_.titles is not None
            or format_.companion is not None
            or format_.traits.leaves_stubs
        ):
            found: tuple[str | None, int | None] = (None, None)
        else:
            days = places.days_kept(place)
            found = place.agent, None if days is None else round(days * _DAY_MS)
        self._plain[id(place)] = found
        return found

    def _expiry(self, file: FoundFile, place: places.Place, row: SessionRow) -> int | None:
        """When the agent deletes a session, by its settings."""
        days = self._days_kept.get(place.root, -1.0)
        if days == -1.0:
            days = self._days_kept[place.root] = places.days_kept(place)
        if days is None:
            return None
        if place.format.traits.leaves_stubs and self._has_stub(file.path, place, row.id):
            return row.modified_ms  # deleted together with the stub, at the next start of the agent
        return row.modified_ms + round(days * _DAY_MS)

    def _has_stub(self, path: str, place: places.Place, session_id: str) -> bool:
        """Return whether a file without messages beside this one has the id of the session."""
        folder = os.path.dirname(path)
        if (names := self._names.get(folder)) is None:
            with suppress(OSError):
                names = os.listdir(folder)
            names = self._names[folder] = names or []
        for name in names:
            other = os.path.join(folder, name)
            if session_id[:_ID_IN_NAME] not in name or other == path or not has_suffix(name):
                continue
            log = stored_at(other, place.format.traits.key_of(other))
            with suppress(BranchlineError, OSError), snapshot_of(other) as read:
                if log is not None and not read_row(read, log, expected=place.format).row.total_messages:
                    return True
        return False

    def stored_log(self, file: FoundFile) -> StoredLog:
        return file.stored

    @property
    def restricts(self) -> bool:
        return self.cwd is not None or not self.subagents

    def _problem(self, file: FoundFile, problem: Exception) -> SessionRow | SkippedFile:
        row = problem_row(file.stored, problem)
        if not self._is_wanted(file.place.agent):
            return SkippedFile(file.path, OTHER_AGENT)
        if self.cwd is not None and file.place.is_shared:
            return SkippedFile(file.path, f"{_UNKNOWN_CWD}, as it cannot be read: {row.problem}")
        return msgspec.structs.replace(row, agent=file.place.agent)

    def _reason(self, file: FoundFile, record: FileRecord, agent: str) -> str | None:
        """Why a session is not in scope; None if it is."""
        if not self._is_wanted(agent):
            return OTHER_AGENT
        if not self.subagents and record.starter is not None:
            return _SUBAGENT
        traits = file.place.format.traits
        if traits.leaves_stubs and record.deep and record.row.total_messages == 0:
            return _STUB
        if self.cwd is None or is_only_ours(file):
            return None
        if not record.row.cwd:
            return _UNKNOWN_CWD if file.place.is_shared else None
        return None if os.path.normpath(record.row.cwd) in self._cwds else ELSEWHERE

    def _is_wanted(self, agent: str) -> bool:
        return self._wanted is None or agent in self._wanted

    # -- one session ----------------------------------------------------------------------------------

    def locate(self, name: str) -> SessionRow | None:
        check_key(name)
        files, _hidden = self.scan()
        for some in (self.likely(files, name), files):
            rows = [row for row in map(self.header_row, some) if isinstance(row, SessionRow)]
            for wanted in ("key", "id"):
                if found := [row for row in rows if getattr(row, wanted) == name]:
                    return the_only(name, current_of_thread(found), self.name)
        for store in self.own_stores():
            for draft in store.drafts():
                if name in (draft.key, draft.id):
                    return draft
        return None

    def stored(self, row: SessionRow) -> StoredSession:
        path = _path(row)
        if (address := address_in(path)) is not None and is_address(address.file):
            return StoredSession(addressed_store(address), address.session, row.draft)
        if not has_suffix(path):
            raise NotSupported(f"{os.path.basename(path)} cannot be moved to the trash here")
        directory, name = os.path.split(path)
        for own in self.own_stores() if row.draft else ():
            if any(draft.path == path for draft in drafts_in(own.store)):
                return own.stored(row)
        return StoredSession(FilesStore(directory, suffix=suffix_of(path)), without_suffix(name))

    @contextmanager
    def read(self, row: SessionRow) -> Iterator[tuple[StoredLog, EntryLog]]:
        path = _path(row)
        stored = stored_at(path, row.key)
        if stored is None:
            raise SessionNotFound(f"{path} no longer exists")
        with snapshot_of(path) as read:
            yield stored, read_log(read, stored)

    def open(self, row: SessionRow, *, durability: Durability, clock: Clock) -> Session:
        from branchline.session import Session  # noqa: PLC0415  as above

        if row.draft:
            store, key, _draft = self.stored(row)
            return Session.from_store(store, key, durability=durability, clock=clock)
        session = Session.open(_path(row), durability=durability, clock=clock)
        if not session.cwd and row.cwd:
            session._cwd = row.cwd  # noqa: SLF001  only the folder tells it, and the library knows its name
        return session

    def waiting(self) -> Sequence[SessionRow]:
        places_ = [place for place in self.places if place.format.traits.removes_empty_sessions]
        folders = [path for place in places_ for path in _directories(place)]
        return [row for path in folders for row in StoreScanner(FilesStore(path)).drafts()]

    def own_stores(self) -> Sequence[StoreScanner]:
        roots = [place for place in self.places if place.agent == places.NATIVE_AGENT]
        return [StoreScanner(FilesStore(path)) for place in roots for path in _directories(place)]


def _agent_of(place: places.Place, record: FileRecord) -> str:
    return place.agent if record.format == place.format.name else record.format


def _completed(row: SessionRow, agent: str, lifetime_ms: int | None) -> SessionRow:
    """Return the row of a record with the two fields that its place adds.

    The catalog does not keep them, so the record can hold them: a copy takes four times as long.
    """
    set_field = msgspec.structs.force_setattr
    set_field(row, "agent", agent)
    if lifetime_ms is not None:
        set_field(row, "expires_ms", row.modified_ms + lifetime_ms)
    return row


def _directories(place: places.Place) -> list[str]:
    """The project directories of a place, by name."""
    if not place.is_shared:
        return list(place.folders)
    try:
        with os.scandir(place.root) as listing:
            return sorted(item.path for item in listing if not item.name.startswith(".") and item.is_dir())
    except FileNotFoundError:
        return []
    except OSError as problem:
        raise LogError(
            f"cannot list the session directories in {place.root}: {describe_oserror(problem)}"
        ) from problem


def _path(row: SessionRow) -> str:
    if row.path is None:
        raise SessionNotFound(f"session {row.id} has no file")
    return row.path
