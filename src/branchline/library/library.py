"""Session libraries: list, find, open, rename, remove and restore sessions.

A library covers one store, or the sessions of every agent on this machine. It keeps no state: creating it
reads nothing, and every method reads the store again. Nothing is ever deleted; removed sessions are moved to
the trash.
"""

from __future__ import annotations

import builtins
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, tzinfo
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

import msgspec

from branchline import places, settings
from branchline._arguments import require_choice, require_number, require_text
from branchline.catalog import Catalog, CatalogUnavailable
from branchline.clock import Clock, SystemClock
from branchline.errors import (
    Closed,
    InvalidArgument,
    InvalidId,
    InvalidType,
    NotASession,
    NotSupported,
    SessionNotFound,
)
from branchline.library.listing import LazyListing, Progress
from branchline.library.lookup import by_id, by_title, require_one
from branchline.library.machine_scanner import MachineScanner
from branchline.library.real_path import real_path
from branchline.library.row_reader import deep_row, shallow_row
from branchline.library.rows import BranchNode, Prompt, PruneResult
from branchline.library.scanner import OwnStore, Scanner, SeenFile, StoredSession
from branchline.library.shortcuts import LibraryShortcuts
from branchline.library.store_scanner import StoreScanner
from branchline.log import Durability
from branchline.places import Place
from branchline.plugins.formats import BrokenFormat
from branchline.stores import (
    Store,
    StoredLog,
    TrashItem,
    TrashStore,
    check_key,
    close_store,
    open_store,
    trash_of,
)
from branchline.views.query import Query, parse_query
from branchline.views.session_row import Description, Listing, SessionRow

if TYPE_CHECKING:
    from branchline.catalog.sql import SqlResult
    from branchline.library.search import ChooseSessions, SearchRedactor
    from branchline.library.stats import Statistics
    from branchline.library.text_index import IndexProgress, IndexResult, IndexStatus
    from branchline.session import OnConflict, Session
    from branchline.views.forest import Forest
    from branchline.views.hits import Hits
    from branchline.views.session_details import SessionDetails
    from branchline.views.stats import Dimension, Group

__all__ = ["SessionLibrary"]

_Path = str | os.PathLike[str]
_SYSTEM_CLOCK = SystemClock()
_WAITS = (*(0.005,) * 200, None)  # seconds between attempts to open a session that is being created


class SessionLibrary(LibraryShortcuts):
    """The sessions of one directory, of any other store, or of every agent on this machine.

    ``where`` is a store or its address, as for :func:`branchline.stores.open_store`: a directory, a
    database file (``sessions.db``) or a server (``postgresql://…``). Close a library of a database, or use
    it in a ``with`` block; a store that was given stays open. In a directory (also ``sessions_dir``), the
    contents of a file decide whether it is a session, not its name. With ``cwd``, only sessions of that
    working directory are listed and found; this is for directories with the sessions of many projects.
    """

    def __init__(
        self,
        where: _Path | Store | MachineScanner | None = None,
        *,
        sessions_dir: _Path | None = None,
        cwd: _Path | None = None,
        clock: Clock = _SYSTEM_CLOCK,
        durability: Durability = "fsync",
    ) -> None:
        if (where is None) == (sessions_dir is None):
            raise InvalidType(
                "a library needs one place: SessionLibrary(directory) or sessions_dir=directory"
            )
        where = sessions_dir if where is None else where
        self._place: Scanner[Any]
        self._own_store: Store | None = None
        self._closed = False
        if isinstance(where, MachineScanner):
            self._place = where
        else:
            if isinstance(where, str | os.PathLike):
                where = self._own_store = open_store(where)
            if where is None or not callable(getattr(where, "scan", None)):
                raise InvalidType(f"a library needs a store or its address, not {type(where).__name__}")
            self._place = StoreScanner(where, None if cwd is None else places.resolve_cwd(cwd))
        require_choice("durability", durability, Durability)
        self._clock = clock
        self._durability: Durability = durability

    @classmethod
    def for_cwd(
        cls, cwd: _Path | None = None, *, clock: Clock = _SYSTEM_CLOCK, durability: Durability = "fsync"
    ) -> Self:
        """The sessions of a working directory (default: the current one) in branchline's own layout."""
        return cls(places.session_directory(cwd), clock=clock, durability=durability)

    @classmethod
    def everywhere(
        cls,
        cwd: _Path | None = None,
        *,
        agents: Iterable[str] | None = None,
        subagents: bool = False,
        environment: Mapping[str, str] | None = None,
        home: _Path | None = None,
        clock: Clock = _SYSTEM_CLOCK,
        durability: Durability = "fsync",
    ) -> Self:
        """The sessions of every agent, for all projects or only for the working directory ``cwd``.

        ``agents`` restricts them to some agents; raises ValueError for an unknown one. Sub-agent sessions are
        left out unless ``subagents`` is set. ``environment`` and ``home`` default to those of this process.
        Each row names its agent. Drafts, trash and empty sessions are those of our own directories.
        """
        scanner = MachineScanner(cwd, agents=agents, subagents=subagents, environment=environment, home=home)
        return cls(scanner, clock=clock, durability=durability)

    @property
    def name(self) -> str:
        """The name for messages: the directory, the name of the store, or the working directory."""
        return self._place.name

    @property
    def cwd(self) -> str | None:
        """The working directory that the library is restricted to; None for all."""
        return self._place.cwd

    @property
    def stores(self) -> builtins.list[Store]:
        """The stores that the library writes to: one, or one for each of our own session directories."""
        return [scanner.store for scanner in self._scanner.own_stores()]

    @property
    def places(self) -> builtins.list[Place]:
        """The session directories of every agent; empty for a library of one store."""
        return self._scanner.places if isinstance(self._scanner, MachineScanner) else []

    @property
    def broken_formats(self) -> builtins.list[BrokenFormat]:
        """Formats of installed packages that cannot be used, and why; empty for a library of one store."""
        return self._scanner.broken_formats if isinstance(self._scanner, MachineScanner) else []

    def __repr__(self) -> str:
        if isinstance(self._place, MachineScanner):
            return f"SessionLibrary.everywhere({'' if self.cwd is None else repr(self.cwd)})"
        scope = "" if self.cwd is None else f", cwd={self.cwd!r}"
        return f"SessionLibrary({self.name!r}{scope})"

    # -- many sessions --------------------------------------------------------------------------------

    def iter_rows(
        self,
        deep: bool = False,  # noqa: FBT001, FBT002
        *,
        limit: int | None = None,
        seconds: float | None = None,
    ) -> LazyListing[Any]:
        """Iterate over rows as they are read, the file that changed last first; at most ``limit`` rows.

        With ``deep`` and a ``limit`` the sessions that were used last come, in this order.
        With ``deep`` and ``seconds``, files that cannot be read in that time, and are not known from the
        index, have the row that their beginning tells; ``listing().shallow`` is their number.
        """
        if limit is not None:
            require_number("limit", limit, integer=True)
        from branchline.library.annotations import annotations_of  # noqa: PLC0415  searches need none of it

        notes = annotations_of(self._scanner)
        if not deep:
            files, hidden = self._scanner.scan()
            row_of = notes.applying(self._scanner.shallow_row)
            return LazyListing(files, row_of, hidden, total=len(files), limit=limit)
        from branchline.library.catalog_rows import CatalogRows  # noqa: PLC0415  searches need none of it

        rows = CatalogRows(self._scanner, self._open_catalog, seconds=seconds)
        told = [] if notes.problem is None else [notes.problem]
        return LazyListing(
            rows.files if limit is None else rows.by_activity(limit),
            notes.applying(rows),
            rows.hidden,
            total=len(rows.files),
            limit=limit,
            done=rows.flush,
            notes=lambda: [*rows.notes, *told],
            shallow=lambda: rows.shallow,
        )

    def list(
        self,
        deep: bool = False,  # noqa: FBT001, FBT002
        *,
        limit: int | None = None,
        progress: Progress | None = None,
    ) -> Listing:
        """List the sessions, newest first; with ``deep`` each file is read.

        Deep rows are in the order of their last activity (:attr:`SessionRow.active_ms`). Shallow rows have
        what the directory tells and, across agents or for one working directory, what the header tells; they
        are in the order of the times of their files. An unreadable file is a row with a ``problem``. If it is
        among the files of many projects and the library covers one of them, it is hidden instead, with a
        reason. Drafts are not listed. With ``limit`` only the first rows are read. An exception that
        ``progress`` raises ends the listing.
        """
        return self.iter_rows(deep, limit=limit).finish(progress)

    def known_rows(self, limit: int) -> builtins.list[SessionRow]:
        """Return the rows of the sessions that were used last from the index alone, without reading any file.

        They let a screen show something immediately; :meth:`iter_rows` corrects them. Empty without an index,
        and for a library of one store.
        """
        scanner = self._scanner
        if not isinstance(scanner, MachineScanner):
            return []
        from branchline.library.annotations import annotations_of  # noqa: PLC0415  as above

        try:
            with self._open_catalog() as catalog:
                rows = builtins.list(islice(scanner.known_rows(catalog.latest()), limit))
        except CatalogUnavailable:
            return []
        notes = annotations_of(scanner)
        return builtins.list(map(notes.applied, rows)) if notes else rows

    def rows_at(self, paths: Iterable[str]) -> builtins.list[SessionRow]:
        """Return the rows of the sessions with these paths, newest first, without reading other files.

        A session in several documents is found by the path of each that can be opened.
        """
        from branchline.stores.sources import same_session  # noqa: PLC0415  as above

        wanted = {os.path.realpath(one) for path in paths for one in (path, *same_session(path))}
        files, _hidden = self._scanner.scan()
        from branchline.library.annotations import annotations_of  # noqa: PLC0415  as above

        row_of = annotations_of(self._scanner).applying(self._scanner.header_row)
        chosen = (
            file
            for file in files
            if (path := self._scanner.stored_log(file).path) is not None and os.path.realpath(path) in wanted
        )
        return [row for row in map(row_of, chosen) if isinstance(row, SessionRow)]

    def earlier_parts(self) -> builtins.list[SessionRow]:
        """Return rows of files that a listed session continues; not listed, but their cost counts."""
        rows = map(self._scanner.header_row, self._scanner.scan_parts()[1])
        return [row for row in rows if isinstance(row, SessionRow)]

    def latest(self) -> SessionRow | None:
        """Return the session that was used last, the first of a deep list, or None.

        Of files that the index does not know, first and last lines are read, if they may hold that session.
        """
        from branchline.library.catalog_rows import CatalogRows  # noqa: PLC0415  searches need none of it

        rows = CatalogRows(self._scanner, self._open_catalog)
        dated = map(rows.dated, rows.by_activity(1, keeps=False))
        return next((row for row in dated if isinstance(row, SessionRow) and row.version is not None), None)

    def find(self, text: str, *, redact: Callable[[str], str] | None = None) -> SessionRow:
        """Find a session by key, by id or unique id prefix, by title, or ``@last``.

        Reads headers only, unless no id matches. Raises SessionNotFound, or Ambiguous with the candidates.
        With ``redact`` the names are those that it leaves, so that the answer depends on nothing else.
        """
        require_text("a name", text, empty=True)
        if text == "@last":
            found = self.latest()
        elif redact is not None:
            found = self._find_redacted(text, redact)
        else:
            found = self.find_by_id(text) or self.find_by_title(text)
        if found is None:
            raise SessionNotFound(f"no session matches {text!r} in {self.name} (looked at ids and titles)")
        return found

    def find_by_id(self, text: str) -> SessionRow | None:
        """Return the session with this key or id, or with a unique key or id prefix; None if there is none.

        Across agents, all headers are read only if no file with the text in its name matches.
        """
        require_text("an id", text, empty=True)
        if not text.strip():
            raise InvalidArgument("to find a session, give its id, an id prefix, or its title")
        files, _hidden = self._scanner.scan()
        for some in (self._scanner.likely(files, text), files):
            rows = [row for row in map(self._scanner.header_row, some) if isinstance(row, SessionRow)]
            if found := by_id(text, rows):
                return require_one(text, found)
        found = by_id(text, self._scanner.waiting())
        return require_one(text, found) if found else None

    def _find_redacted(self, text: str, redact: Callable[[str], str]) -> SessionRow | None:
        if not text.strip():
            raise InvalidArgument("to find a session, give its id, an id prefix, or its title")

        def shown(row: SessionRow) -> SessionRow:
            title = None if row.title is None else redact(row.title)
            return msgspec.structs.replace(row, key=redact(row.key), id=redact(row.id), title=title)

        files, _hidden = self._scanner.scan()
        lookups: tuple[tuple[Any, Callable[[], Iterable[Any]]], ...] = (
            (by_id, lambda: map(self._scanner.header_row, files)),
            (by_id, self._scanner.waiting),
            (by_title, lambda: map(self._scanner.titled_row, files)),
        )
        for matching, read in lookups:
            rows = [row for row in read() if isinstance(row, SessionRow)]
            named = [shown(row) for row in rows]
            if found := matching(text, named):
                one = require_one(text, found)
                return next(row for row, name in zip(rows, named, strict=True) if name is one)
        return None

    def find_by_title(self, text: str) -> SessionRow | None:
        """Return the session with this title, ignoring case; None if there is none.

        Reads the files. Across all projects and agents, only our own files are read, and other titles count
        if they are known without reading the file.
        """
        require_text("a title", text, empty=True)
        files, _hidden = self._scanner.scan()
        rows = map(self._scanner.titled_row, files)
        found = by_title(text, (row for row in rows if isinstance(row, SessionRow)))
        return require_one(text, found) if found else None

    def forest(self, deep: bool = False, *, progress: Progress | None = None) -> Forest:  # noqa: FBT001, FBT002
        """Return the sessions below those that they were forked from or started by, depth first.

        Reads headers only. With ``deep`` each file is read: rows are complete, and copies that Claude Code
        made without naming the original are found by the records that they share. Forks of opencode and
        Goose, which do not name it either, are found by the times or ids of their messages.
        """
        from branchline.library.inferred_parents import (  # noqa: PLC0415  lists need none
            ParentInference,
            with_parents_in_databases,
        )
        from branchline.views.forest import build_forest  # noqa: PLC0415

        files, hidden = self._scanner.scan()
        if not deep:
            rows = LazyListing(files, self._scanner.header_row, hidden, total=len(files)).finish(progress)
            return build_forest(with_parents_in_databases(rows), resolve=real_path)
        inference = ParentInference()

        def see(seen: SeenFile) -> None:
            if seen.transcript is not None:
                inference.add(seen.transcript)

        listing = LazyListing(files, lambda file: self._scanner.deep_row(file, see), hidden, total=len(files))
        found = with_parents_in_databases(inference.parents_for(listing.finish(progress)))
        return build_forest(found, resolve=real_path)

    def drafts(self) -> builtins.list[SessionRow]:
        """Return sessions without a first reply yet, newest first."""
        return [draft for scanner in self._scanner.own_stores() for draft in scanner.drafts()]

    # -- one session ----------------------------------------------------------------------------------

    def path_of(self, id: str) -> str | None:  # noqa: A002
        """Return the path of a session; None if it has no file."""
        row = self._scanner.locate(id)
        return None if row is None else row.path

    def describe(self, id: str | SessionRow) -> Description:  # noqa: A002
        """Describe a session briefly. Raises SessionNotFound if there is none."""
        from branchline.library.description import describe  # noqa: PLC0415

        row = self._require(id)
        with self._scanner.read(row) as (stored, transcript):
            return describe(stored, transcript, draft=row.draft)

    def open(self, id: str | SessionRow) -> Session | None:  # noqa: A002
        """Open a session by key, session id or row; None if there is none. Drafts can be opened too."""
        row = self._located(id)
        if row is None:
            return None
        try:
            return self._open(row)
        except (SessionNotFound, FileNotFoundError):
            return None  # removed concurrently

    def get(self, *parts: str, on_conflict: OnConflict = "branch") -> Session | None:
        """Open the session for an id of your own, which may have several parts; None if there is none.

        The key is derived from the parts (:func:`branchline.stores.key_for`), so the lookup does not depend
        on the number of sessions. Raises NotSupported in a library of more than one store.
        """
        from branchline.stores import key_for  # noqa: PLC0415  lists need none of it

        return self._get(self._one_store("get"), key_for(*parts), parts, on_conflict)

    def get_or_create(
        self,
        *parts: str,
        format: str | None = None,  # noqa: A002
        cwd: _Path | None = None,
        title: str | None = None,
        on_conflict: OnConflict = "branch",
    ) -> Session:
        """Open the session for an id of your own, which may have several parts; create it if it is missing.

        Of several concurrent callers, one creates the session and the others open it. A new session is listed
        immediately. Its key is derived from the parts (:func:`branchline.stores.key_for`); if it differs from
        the id, the header has the parts in ``metadata.name``. Raises NotSupported in a library of more than
        one store.
        """
        from branchline.session import Session  # noqa: PLC0415  lists open none

        store = self._one_store("get_or_create")
        from branchline.stores import key_for  # noqa: PLC0415  as above

        key = key_for(*parts)
        found = self._get(store, key, parts, on_conflict)
        if found is not None:
            return found
        try:
            made = Session.create(
                self.cwd if cwd is None else cwd,
                store=store,
                format=format,
                key=key,
                title=title,
                metadata=None if parts == (key,) else {"name": builtins.list(parts)},
                persist="always",
                durability=self._durability,
                clock=self._clock,
            )
        except FileExistsError:
            found = self._get(store, key, parts, on_conflict)  # another caller was faster
            if found is None:
                raise
            return found
        made.on_conflict = on_conflict
        return made

    def set_title(self, id: str | SessionRow, title: str) -> None:  # noqa: A002
        """Set the title of a session; an empty one removes it. Raises SessionNotFound if there is none."""
        with self._open(self._require(id)) as session:
            session.set_title(title)

    def rename(self, id: str | SessionRow, new_id: str) -> str:  # noqa: A002
        """Rename the file of a session and return the new path (the new key, in a store without files).

        The session is then found by that name. Its title (:meth:`set_title`) and the id in its header do not
        change. Writers that have the session open are not affected.

        Raises ValueError if there is no such session, or if the new name is taken.
        """
        check_key(new_id)
        try:
            store, key, _draft = self._scanner.stored(self._require(id))
            renamed = store.rename(key, new_id)
        except (SessionNotFound, FileExistsError) as problem:
            raise InvalidArgument(str(problem)) from problem
        return renamed.path or renamed.key

    def remove(self, id: str | SessionRow) -> bool:  # noqa: A002
        """Move a session or a draft to the trash; return False if there is none."""
        row = self._located(id)
        if row is None:
            return False
        store, key, draft = self._scanner.stored(row)
        return trash_of(store).remove(key, draft=draft) is not None

    def stored(self, row: SessionRow) -> StoredSession:
        """Return the store of a session and its key there. Raises NotSupported if it cannot be moved."""
        return self._scanner.stored(row)

    def reload(self, row: SessionRow) -> SessionRow | None:
        """Read the row of a session again; None if the session no longer exists."""
        try:
            with self._scanner.read(row) as (stored, transcript):
                now = deep_row(stored, transcript, draft=row.draft)
        except (SessionNotFound, FileNotFoundError):
            return None
        # Facts that only the location tells do not change.
        return msgspec.structs.replace(
            now,
            agent=row.agent,
            subagent=row.subagent,
            cwd=now.cwd or row.cwd,
            parent_session=now.parent_session or row.parent_session,
        )

    # -- full text ------------------------------------------------------------------------------------

    def search(
        self,
        query: str | Query,
        *,
        limit: int = 20,
        budget: float = 1.0,
        context: int = 160,
        redactor: SearchRedactor | None = None,
        choose: ChooseSessions | None = None,
    ) -> Hits:
        """Search entries and return the best hits first, each with a snippet of its text.

        The first three hits of each session come before the fourth of any other.
        :mod:`branchline.views.query` describes the language. Queries that the index cannot answer are run on
        the files, newest first, for at most ``budget`` seconds; the ``notes`` of the result say what was not
        searched. ``context`` is the length of the snippets in characters. Raises ValueError for an invalid
        query.

        With a ``redactor``, such as :class:`branchline.actions.redactor.Redactor`, the answer depends on
        nothing that it replaces: the files are read without the index, and the search ends after 20 times
        ``limit`` hits or ``budget`` seconds.

        With ``choose``, which receives the rows of all sessions with hits, best first, and returns some of
        them, the result has the first three hits of each of these instead of the best ``limit`` hits.
        """
        from branchline.library.search import search  # noqa: PLC0415  lists need none of it

        require_number("limit", limit, integer=True)
        if isinstance(budget, bool) or not isinstance(budget, int | float):
            raise InvalidType(f"budget is a number of seconds, not {type(budget).__name__}")
        if not isinstance(query, Query):
            require_text("a query", query, empty=True)
            query = parse_query(query, now=datetime.now().astimezone())
        prices = (
            settings.price_list() if any(term.field in ("cost", "tokens") for term in query.terms) else None
        )
        return search(
            self._scanner,
            self._open_catalog,
            query,
            limit=limit,
            budget=budget,
            context=context,
            prices=prices,
            redactor=redactor,
            choose=choose,
        )

    def update_index(self, *, progress: IndexProgress | None = None, rebuild: bool = False) -> IndexResult:
        """Index the text of every session. Raises CatalogUnavailable if there can be no index.

        Deleted files are dropped from the index. With ``rebuild`` all files are read again.
        """
        from branchline.library.text_index import update_index  # noqa: PLC0415  as above

        return update_index(self._scanner, self._open_catalog, progress=progress, rebuild=rebuild)

    def index_status(self) -> IndexStatus:
        """Return the size of the index, and how many sessions of this library it lacks. Reads no session."""
        from branchline.library.text_index import index_status  # noqa: PLC0415  as above

        return index_status(self._scanner, self._open_catalog, settings.load().settings)

    def statistics(
        self,
        *,
        since: date | None = None,
        until: date | None = None,
        zone: tzinfo | None = None,
        progress: IndexProgress | None = None,
    ) -> Statistics:
        """Return statistics over all sessions, for a ``with`` block. Files missing from the index are read.

        ``since`` and ``until`` are the first and the last day to count.
        """
        from branchline.library.stats import Statistics  # noqa: PLC0415  as above

        return Statistics(
            self._scanner,
            self._open_catalog,
            since=since,
            until=until,
            zone=zone,
            prices=settings.load().settings.prices,
            progress=progress,
        )

    def stats(
        self, by: Dimension | Sequence[Dimension], *, since: date | None = None, until: date | None = None
    ) -> tuple[Group, ...]:
        """Messages and usage by one or two dimensions, such as ``"day"`` or ``("month", "model")``."""
        with self.statistics(since=since, until=until) as found:
            return found.groups(*((by,) if isinstance(by, str) else by))

    def details(
        self, rows: Sequence[SessionRow], *, seconds: float | None = None
    ) -> dict[str, SessionDetails]:
        """Return tokens, cost, models, tools, files and errors of these sessions, by path.

        Sessions missing from the index are read; those not read within ``seconds`` are left out.
        """
        from branchline.library.details import session_details  # noqa: PLC0415  lists need none of it

        prices = settings.price_list()
        return session_details(self._scanner, self._open_catalog, rows, prices=prices, seconds=seconds)

    def sql(
        self, statement: str, *, seconds: float = 5.0, progress: IndexProgress | None = None
    ) -> SqlResult:
        """Update the index, with ``progress``, and run a SELECT statement on the views of these sessions.

        They are those that statistics count. Without an index, every session is read, and the result has a
        note about it. Raises SqlProblem, a ValueError, for a statement that is invalid, refused or too slow.
        """
        require_text("a statement", statement, empty=True)
        with self.statistics(progress=progress) as found:
            return found.sql(statement, seconds=seconds)._replace(note="; ".join(found.notes))

    # -- trash ----------------------------------------------------------------------------------------

    def _trash_stores(self) -> Iterator[TrashStore]:
        return (store for store in self.stores if isinstance(store, TrashStore))

    def trash(self) -> builtins.list[TrashItem]:
        """Return the trash, last removed first."""
        items = [item for store in self._trash_stores() for item in store.trashed()]
        return sorted(items, key=lambda item: -item.removed)

    def restore(self, token_or_id: str | None = None) -> str:
        """Restore a session from the trash (default: the last removed one) and return its key.

        Raises SessionNotFound if it is not in the trash, FileExistsError if its name is taken.
        """
        items = [(item, store) for store in self._trash_stores() for item in store.trashed()]
        for item, store in sorted(items, key=lambda pair: -pair[0].removed):
            row = shallow_row(StoredLog(item.key, item.size, item.removed))
            if token_or_id is None or token_or_id in (item.token, item.key, row.id):
                return store.restore(item.token).key
        if token_or_id is None:
            raise SessionNotFound(f"the trash of {self.name} is empty")
        raise SessionNotFound(f"no session named {token_or_id!r} in the trash of {self.name}")

    def prune(self, *, dry_run: bool = True) -> builtins.list[PruneResult]:
        """Find sessions and drafts without messages; without ``dry_run``, move them to the trash.

        Skips damaged sessions, sessions known to be open, and those of other agents.
        """
        return [
            pruned for scanner in self._scanner.own_stores() for pruned in _prune(scanner, dry_run=dry_run)
        ]

    # -- closing --------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close the library, and its store if the library opened it.

        A store that the caller gave stays open: whoever opens a store closes it. Sessions in a database
        cannot be used once its store is closed. A library of files need not be closed.
        """
        self._closed = True
        if self._own_store is not None:
            close_store(self._own_store)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    # -- inside ---------------------------------------------------------------------------------------

    @property
    def _scanner(self) -> Scanner[Any]:
        """What every method works with; none does once the library is closed."""
        if self._closed:
            raise Closed(f"the library {self.name} is closed")
        return self._place

    def _one_store(self, verb: str) -> Store:
        if isinstance(self._scanner, StoreScanner):
            return self._scanner.store
        raise NotSupported(f"{verb}() needs a library of one store, not one of {self.name}")

    def _get(self, store: Store, key: str, parts: tuple[str, ...], on_conflict: OnConflict) -> Session | None:
        from branchline.session import Session  # noqa: PLC0415  lists open none
        from branchline.session.session import OnConflict  # noqa: PLC0415  as above

        require_choice("on_conflict", on_conflict, OnConflict)
        session: Session | None = None
        stored: StoredLog | None = None
        for wait in _WAITS:
            try:
                session = Session.from_store(store, key, durability=self._durability, clock=self._clock)
                break
            except (SessionNotFound, FileNotFoundError):
                return None
            except NotASession:
                # Another process may be creating the file: its name exists before its first line.
                if wait is None or (stored is not None and stored.size):
                    raise
                stored = store.stat(key)
                if stored is None or not stored.size:
                    time.sleep(wait)
        assert session is not None
        # On a case-insensitive file system two keys may name one file; they must not share a session.
        if session.id != key and session.id.casefold() == key.casefold():
            session.close()
            raise InvalidId(f"{parts!r} and the session {session.id!r} of {self.name} differ in case only")
        session.on_conflict = on_conflict
        return session

    def _located(self, id: str | SessionRow) -> SessionRow | None:  # noqa: A002
        return id if isinstance(id, SessionRow) else self._scanner.locate(id)

    def _require(self, id: str | SessionRow) -> SessionRow:  # noqa: A002
        row = self._located(id)
        if row is None:
            raise SessionNotFound(f"no session named {id!r} in {self.name}")
        return row

    def _open_catalog(self, *, create: bool = True) -> Catalog:
        scanner = self._scanner
        if isinstance(scanner, MachineScanner):
            return Catalog.open(environment=scanner.environment, home=scanner.home, create=create)
        return Catalog.open(create=create)

    def _open(self, row: SessionRow) -> Session:
        return self._scanner.open(row, durability=self._durability, clock=self._clock)

    # -- inside a session -----------------------------------------------------------------------------

    def tree(self, session: Session) -> builtins.list[BranchNode]:
        """Return all entries, depth first, each with one line of text."""
        from branchline.library import turns  # noqa: PLC0415

        return builtins.list(turns.branch_nodes(session))

    def prior_turns(self, session: Session) -> builtins.list[Prompt]:
        """Return the prompts on the active path, oldest first."""
        from branchline.library import turns  # noqa: PLC0415

        return builtins.list(turns.prior_turns(session))


def _prune(scanner: OwnStore, *, dry_run: bool) -> Iterable[PruneResult]:
    store = scanner.store
    found = builtins.list(scanner.empty())
    used = store.in_use([row.key for row in found])
    for row in found:
        if row.key in used:
            continue
        if dry_run:
            yield PruneResult(row=row, removed=False)
        elif (trashed := trash_of(store).remove(row.key, draft=row.draft)) is not None:
            yield PruneResult(row=row, removed=True, token=trashed.token)
