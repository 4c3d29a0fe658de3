"""One catalogue of sessions: listed, found, opened, renamed, removed and restored.

A library has one of two scopes: the sessions of one store, or those of every program on this machine. It is a
handle without memory. It touches nothing until asked, every answer is a fresh look, and nothing it does
deletes: removing means the trash.
"""

from __future__ import annotations

import builtins
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, tzinfo
from typing import TYPE_CHECKING, Any, Self

import msgspec

from branchline import places, settings
from branchline.catalog import Catalog, CatalogUnavailable
from branchline.clock import Clock, SystemClock
from branchline.errors import InvalidId, NotASession, NotSupported, SessionNotFound
from branchline.library.listing import LazyListing, Progress
from branchline.library.lookup import by_id, by_title, require_one
from branchline.library.real_path import real_path
from branchline.library.row_reader import deep_row, shallow_row
from branchline.library.rows import BranchNode, Prompt, PruneResult
from branchline.library.scanner import MachineScanner, Scanner, SeenFile, StoredSession, StoreScanner
from branchline.library.shortcuts import LibraryShortcuts
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
    key_for,
    open_store,
    trash_of,
)
from branchline.views.query import Query, parse_query
from branchline.views.session_row import Description, Listing, SessionRow

if TYPE_CHECKING:
    from branchline.catalog.sql import SqlResult
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
_WAITS = (*(0.005,) * 200, None)  # seconds between looks at a session that is being created
_TITLES_ELSEWHERE = frozenset({"codex"})


class SessionLibrary(LibraryShortcuts):
    """The sessions of one directory, of any other store, or of every program on this machine.

    A text names a store as :func:`branchline.stores.open_store` reads it: a directory, the file of a database
    (``sessions.db``) or a server (``postgresql://…``). Close a library of a database, or use it in a ``with``
    block. A directory (also as ``sessions_dir``) is listed by its contents: the sessions of any agent,
    whatever the ending of their names. With a ``cwd``, only sessions of that working directory are listed and
    found: for directories that hold the sessions of many projects.
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
            raise TypeError("a library needs one place: SessionLibrary(directory) or sessions_dir=directory")
        where = sessions_dir if where is None else where
        self._scanner: Scanner[Any]
        if isinstance(where, MachineScanner):
            self._scanner = where
        else:
            store = open_store(where) if isinstance(where, str | os.PathLike) else where
            assert store is not None
            self._scanner = StoreScanner(store, None if cwd is None else places.resolve_cwd(cwd))
        self._clock = clock
        self._durability: Durability = durability

    @classmethod
    def for_cwd(
        cls, cwd: _Path | None = None, *, clock: Clock = _SYSTEM_CLOCK, durability: Durability = "fsync"
    ) -> Self:
        """The sessions of a working directory (default: this one) in our own layout."""
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
        """The sessions of every program: of all projects, or with ``cwd`` of one working directory.

        ``agents`` names the programs that count; ValueError for an unknown one. Sessions of sub-agents are
        left out unless asked for. ``environment`` and ``home`` are those of this process if not given. Each
        row names its program. Drafts, trash and empty sessions are those of our own directories.
        """
        scanner = MachineScanner(cwd, agents=agents, subagents=subagents, environment=environment, home=home)
        return cls(scanner, clock=clock, durability=durability)

    @property
    def name(self) -> str:
        """What messages call it: the directory, the name of the store, or the working directory."""
        return self._scanner.name

    @property
    def cwd(self) -> str | None:
        """The only working directory whose sessions count; None for all."""
        return self._scanner.cwd

    @property
    def stores(self) -> builtins.list[Store]:
        """The stores that it writes to: one, or one for each of our own session directories."""
        return [scanner.store for scanner in self._scanner.own_stores()]

    @property
    def places(self) -> builtins.list[Place]:
        """Where every program keeps its sessions; empty for one store."""
        return self._scanner.places if isinstance(self._scanner, MachineScanner) else []

    @property
    def broken_formats(self) -> builtins.list[BrokenFormat]:
        """Formats of installed packages that cannot be used, and why; empty for one store."""
        return self._scanner.broken_formats if isinstance(self._scanner, MachineScanner) else []

    def __repr__(self) -> str:
        if isinstance(self._scanner, MachineScanner):
            return f"SessionLibrary.everywhere({'' if self.cwd is None else repr(self.cwd)})"
        scope = "" if self.cwd is None else f", cwd={self.cwd!r}"
        return f"SessionLibrary({self.name!r}{scope})"

    # -- many sessions --------------------------------------------------------------------------------

    def iter_rows(self, deep: bool = False, *, limit: int | None = None) -> LazyListing[Any]:  # noqa: FBT001, FBT002
        """Rows as they are read, the file that changed last first; with a ``limit`` at most so many."""
        from branchline.library.annotations import annotations_of  # noqa: PLC0415  searches need none of it

        notes = annotations_of(self._scanner)
        if not deep:
            files, hidden = self._scanner.scan()
            return LazyListing(files, notes.applying(self._scanner.shallow_row), hidden, limit=limit)
        from branchline.library.catalog_rows import CatalogRows  # noqa: PLC0415  searches need none of it

        rows = CatalogRows(self._scanner, self._open_catalog)
        told = [] if notes.problem is None else [notes.problem]
        return LazyListing(
            rows.files,
            notes.applying(rows),
            rows.hidden,
            limit=limit,
            done=rows.flush,
            notes=lambda: [*rows.notes, *told],
        )

    def list(
        self,
        deep: bool = False,  # noqa: FBT001, FBT002
        *,
        limit: int | None = None,
        progress: Progress | None = None,
    ) -> Listing:
        """The sessions, newest first; with ``deep`` each file is read.

        Shallow rows are sorted by the files' times and say what the directory says; across programs, or for
        one working directory, also what the header says. Deep rows are sorted by their last activity. One
        unreadable file is a marked row; where it lies among the files of many projects and only one is
        asked for, it is hidden, with its reason. Drafts are not listed. With a ``limit`` reading ends when
        there are so many rows. An exception that ``progress`` raises ends the listing.
        """
        return self.iter_rows(deep, limit=limit).finish(progress)

    def known_rows(self, limit: int) -> builtins.list[SessionRow]:
        """The sessions whose files changed last, as the index knows them, without a look at any file.

        For a screen that shows something at once and is corrected by :meth:`iter_rows`. Empty where there is
        no index, or only one store.
        """
        scanner = self._scanner
        if not isinstance(scanner, MachineScanner):
            return []
        from itertools import islice  # noqa: PLC0415  as above

        from branchline.library.annotations import annotations_of  # noqa: PLC0415  as above

        try:
            with self._open_catalog() as catalog:
                found = (scanner.known_row(path, record) for path, record in catalog.latest())
                rows = builtins.list(islice((row for row in found if row is not None), limit))
        except CatalogUnavailable:
            return []
        return builtins.list(map(annotations_of(scanner).applied, rows))

    def rows_at(self, paths: Iterable[str]) -> builtins.list[SessionRow]:
        """The rows of the sessions with these paths, in the order of lists; others are not read."""
        wanted = {os.path.realpath(path) for path in paths}
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
        """The files that a listed session continues: not listed themselves, but paid for as well."""
        rows = map(self._scanner.header_row, self._scanner.earlier_parts())
        return [row for row in rows if isinstance(row, SessionRow)]

    def latest(self) -> SessionRow | None:
        """The session whose file changed last; None when there is none. Reads headers only."""
        files, _hidden = self._scanner.scan()
        rows = map(self._scanner.header_row, files)
        return next((row for row in rows if isinstance(row, SessionRow) and row.version is not None), None)

    def find(self, text: str) -> SessionRow:
        """Find a session by key, by id or unique id prefix, by title, or ``@last``.

        Reads headers only, unless no id is like that. SessionNotFound, or Ambiguous with the candidates.
        """
        found = self.latest() if text == "@last" else self.find_by_id(text) or self.find_by_title(text)
        if found is None:
            raise SessionNotFound(f"no session matches {text!r} in {self.name} (looked at ids and titles)")
        return found

    def find_by_id(self, text: str) -> SessionRow | None:
        """The session with this key or id, or the only one that begins so; None when there is none.

        Across programs, all headers are read only when no file whose name holds the text matches.
        """
        if not text.strip():
            raise ValueError("to find a session, give its id, an id prefix, or its title")
        files, _hidden = self._scanner.scan()
        for some in (self._scanner.likely(files, text), files):
            rows = [row for row in map(self._scanner.header_row, some) if isinstance(row, SessionRow)]
            if found := by_id(text, rows):
                return require_one(text, found)
        found = by_id(text, self._scanner.waiting())
        return require_one(text, found) if found else None

    def find_by_title(self, text: str) -> SessionRow | None:
        """The session with this title, upper and lower case alike; None when there is none.

        Reads the files; among all projects of every program only our own, and of others what is known
        without reading them.
        """
        files, _hidden = self._scanner.scan()
        rows = map(self._scanner.titled_row, files)
        found = by_title(text, (row for row in rows if isinstance(row, SessionRow)))
        return require_one(text, found) if found else None

    def forest(self, deep: bool = False, *, progress: Progress | None = None) -> Forest:  # noqa: FBT001, FBT002
        """The sessions linked to the sessions they were forked from or started by, depth first.

        Reads headers only; with ``deep`` each file is read, so that rows tell what is in it, and what Claude
        Code copies without saying so is found by the records that the copies share.
        """
        from branchline.library.inferred_parents import ParentInference  # noqa: PLC0415  lists need none
        from branchline.views.forest import build_forest  # noqa: PLC0415

        files, hidden = self._scanner.scan()
        if not deep:
            return build_forest(
                LazyListing(files, self._scanner.header_row, hidden).finish(progress), resolve=real_path
            )
        inference = ParentInference()

        def see(seen: SeenFile) -> None:
            if seen.transcript is not None:
                inference.add(seen.transcript)

        listing = LazyListing(files, lambda file: self._scanner.deep_row(file, see), hidden)
        return build_forest(inference.parents_for(listing.finish(progress)), resolve=real_path)

    def drafts(self) -> builtins.list[SessionRow]:
        """Sessions whose first reply never came, newest first."""
        return [draft for scanner in self._scanner.own_stores() for draft in scanner.drafts()]

    # -- one session ----------------------------------------------------------------------------------

    def path_of(self, id: str) -> str | None:  # noqa: A002
        """The path of this session; None if it has no file."""
        row = self._scanner.locate(id)
        return None if row is None else row.path

    def describe(self, id: str | SessionRow) -> Description:  # noqa: A002
        """A session at a glance. SessionNotFound when there is none."""
        from branchline.library.description import describe  # noqa: PLC0415

        row = self._require(id)
        with self._scanner.read(row) as (stored, transcript):
            return describe(stored, transcript, draft=row.draft)

    def open(self, id: str | SessionRow) -> Session | None:  # noqa: A002
        """A live session, by key, session id or row; None when there is none. Drafts open too."""
        row = self._located(id)
        if row is None:
            return None
        try:
            return self._open(row)
        except (SessionNotFound, FileNotFoundError):
            return None  # removed in this moment

    def get(self, *parts: str, on_conflict: OnConflict = "branch") -> Session | None:
        """The session of a foreign id, which may have several parts; None when there is none.

        Finds it by one look at its key (:func:`branchline.stores.key_for`), however many sessions there are.
        NotSupported in a library of more than one store.
        """
        return self._get(self._one_store("get"), key_for(*parts), parts, on_conflict)

    def get_or_create(
        self,
        *parts: str,
        format: str | None = None,  # noqa: A002
        cwd: _Path | None = None,
        title: str | None = None,
        on_conflict: OnConflict = "branch",
    ) -> Session:
        """The session of a foreign id, which may have several parts: the one that is there, or a new one.

        Of several callers at the same time one creates it and the others open it. A new session is listed at
        once. Its key is made of the parts (:func:`branchline.stores.key_for`); where that differs from the id
        that was given, the header has the parts in ``metadata.name``. NotSupported in a library of more than
        one store.
        """
        from branchline.session import Session  # noqa: PLC0415  lists open none

        store = self._one_store("get_or_create")
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
        """Give a session a title; an empty one takes it away. SessionNotFound when there is none."""
        with self._open(self._require(id)) as session:
            session.set_title(title)

    def rename(self, id: str | SessionRow, new_id: str) -> str:  # noqa: A002
        """Give a session's file another name and return the new path (the key, where there are no files).

        The session is then found by that name, and keeps its title (:meth:`set_title`) and the id in it.

        ValueError when there is no such session, or when the new name is taken. Whoever is appending to the
        session goes on doing so.
        """
        check_key(new_id)
        try:
            store, key, _draft = self._scanner.stored(self._require(id))
            renamed = store.rename(key, new_id)
        except (SessionNotFound, FileExistsError) as problem:
            raise ValueError(str(problem)) from problem
        return renamed.path or renamed.key

    def remove(self, id: str | SessionRow) -> bool:  # noqa: A002
        """Move a session (or a draft) to the trash; False when there is none."""
        row = self._located(id)
        if row is None:
            return False
        store, key, draft = self._scanner.stored(row)
        return trash_of(store).remove(key, draft=draft) is not None

    def stored(self, row: SessionRow) -> StoredSession:
        """The store that holds a session, and its key there. NotSupported where it cannot be moved."""
        return self._scanner.stored(row)

    def reload(self, row: SessionRow) -> SessionRow | None:
        """The row of a session as it is now; None when the session is gone."""
        try:
            with self._scanner.read(row) as (stored, transcript):
                now = deep_row(stored, transcript, draft=row.draft)
        except (SessionNotFound, FileNotFoundError):
            return None
        # What only its place tells is as it was: the program, and a title that is kept elsewhere.
        kept_elsewhere = row.title if row.agent in _TITLES_ELSEWHERE else None
        return msgspec.structs.replace(
            now,
            agent=row.agent,
            subagent=row.subagent,
            title=now.title or kept_elsewhere,
            parent_session=now.parent_session or row.parent_session,
        )

    # -- full text ------------------------------------------------------------------------------------

    def search(self, query: str | Query, *, limit: int = 20, budget: float = 1.0, context: int = 160) -> Hits:
        """The entries that a query finds, best first, each with a piece of its text.

        The language is that of :mod:`branchline.views.query`. What the index cannot answer is looked for in
        the files, newest first, for at most ``budget`` seconds; ``notes`` of the answer say what was left
        out. ``context`` is the length of the pieces, in characters. ValueError for a query that cannot be
        understood.
        """
        from branchline.library.search import search  # noqa: PLC0415  lists need none of it

        if isinstance(query, str):
            query = parse_query(query, now=datetime.now().astimezone())
        return search(self._scanner, self._open_catalog, query, limit=limit, budget=budget, context=context)

    def search_similar(self, text: str, *, limit: int = 20, context: int = 160) -> Hits:
        """The messages whose meaning is nearest to a text, by the embedder that the settings name.

        Messages that have no vector yet get one first. NotSupported without an embedder, CatalogUnavailable
        without an index.
        """
        from branchline.errors import NotSupported  # noqa: PLC0415  as above
        from branchline.library.search import show_marked  # noqa: PLC0415  as above
        from branchline.library.similar import most_similar, update_embeddings  # noqa: PLC0415  as above
        from branchline.plugins.embedders import load_embedder  # noqa: PLC0415  as above

        name = settings.load().settings.embedder
        if name is None:
            raise NotSupported("a search by meaning needs an embedder; name one in the setting `embedder`")
        embedder = load_embedder(name)
        self.update_index()
        update_embeddings(self._scanner, self._open_catalog, embedder)
        found = most_similar(self._open_catalog, embedder, text, limit=limit)
        scores = {one.mark: one.score for one in found}
        return show_marked(self._scanner, self._open_catalog, scores, limit=limit, context=context)

    def update_index(self, *, progress: IndexProgress | None = None, rebuild: bool = False) -> IndexResult:
        """Bring the text of every session into the index. CatalogUnavailable where there can be none.

        Files that are gone are dropped. With ``rebuild`` everything is read again.
        """
        from branchline.library.text_index import update_index  # noqa: PLC0415  as above

        return update_index(self._scanner, self._open_catalog, progress=progress, rebuild=rebuild)

    def index_status(self) -> IndexStatus:
        """What the index holds, and how many sessions of this library it lacks. Reads no session."""
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
        """Statistics over all sessions, for a ``with`` block; reads the files that the index lacks.

        ``since`` and ``until`` are the first and the last day that count.
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
        """What these sessions did: tokens, cost, models, tools, files, errors.

        The keys are the paths of the rows. Sessions that the index does not have yet are read; those that
        cannot be read within ``seconds`` are left out.
        """
        from branchline.context.prices import PriceList, is_price  # noqa: PLC0415  lists need none of it
        from branchline.library.details import session_details  # noqa: PLC0415  as above

        prices = PriceList(filter(is_price, settings.load().settings.prices))
        return session_details(self._scanner, self._open_catalog, rows, prices=prices, seconds=seconds)

    def sql(self, statement: str, *, seconds: float = 5.0) -> SqlResult:
        """The answer to a SELECT statement over the views of the index, which is brought up to date first.

        Where there can be no index, every session is read, and the answer has a note that says so. SqlProblem
        (a ValueError) for a statement that is wrong, refused or too slow.
        """
        from branchline.catalog.sql import ask  # noqa: PLC0415  as above
        from branchline.library.text_index import index_text, stale_files  # noqa: PLC0415  as above

        try:
            self.update_index()
            with self._open_catalog() as catalog:
                return ask(catalog, statement, seconds=seconds)
        except CatalogUnavailable as problem:
            note = f"the index cannot be used, so every session was read: {problem}"
        with Catalog.in_memory() as catalog:
            index_text(
                self._scanner, stale_files(self._scanner, self._scanner.scan()[0], {}, catalog), catalog
            )
            return ask(catalog, statement, seconds=seconds)._replace(note=note)

    # -- trash ----------------------------------------------------------------------------------------

    def _trash_stores(self) -> Iterator[TrashStore]:
        return (store for store in self.stores if isinstance(store, TrashStore))

    def trash(self) -> builtins.list[TrashItem]:
        """What was removed, last removed first."""
        items = [item for store in self._trash_stores() for item in store.trashed()]
        return sorted(items, key=lambda item: -item.removed)

    def restore(self, token_or_id: str | None = None) -> str:
        """Bring a session back from the trash and return its key: the last removed one, or the one named.

        SessionNotFound when it is not in the trash, FileExistsError when its name is taken again.
        """
        items = [(item, store) for store in self._trash_stores() for item in store.trashed()]
        for item, store in sorted(items, key=lambda pair: -pair[0].removed):
            row = shallow_row(StoredLog(item.key, item.size, item.removed))
            if token_or_id is None or token_or_id in (item.token, item.key, row.id):
                return store.restore(item.token).key
        what = "nothing" if token_or_id is None else f"no {token_or_id!r}"
        raise SessionNotFound(f"there is {what} in the trash of {self.name}")

    def prune(self, *, dry_run: bool = True) -> builtins.list[PruneResult]:
        """Find sessions and drafts without messages; without ``dry_run`` they go to the trash.

        Skips damaged sessions, sessions known to be open, and those of other agents.
        """
        return [
            pruned for scanner in self._scanner.own_stores() for pruned in _prune(scanner, dry_run=dry_run)
        ]

    # -- closing --------------------------------------------------------------------------------------

    def close(self) -> None:
        """Let go of the connections of a database. A library of files needs no closing."""
        if isinstance(self._scanner, StoreScanner):
            close_store(self._scanner.store)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    # -- inside ---------------------------------------------------------------------------------------

    def _one_store(self, verb: str) -> Store:
        if isinstance(self._scanner, StoreScanner):
            return self._scanner.store
        raise NotSupported(f"{verb}() needs a library of one store, not one of {self.name}")

    def _get(self, store: Store, key: str, parts: tuple[str, ...], on_conflict: OnConflict) -> Session | None:
        from branchline.session import Session  # noqa: PLC0415  lists open none

        session: Session | None = None
        stored: StoredLog | None = None
        for wait in _WAITS:
            try:
                session = Session.from_store(store, key, durability=self._durability, clock=self._clock)
                break
            except (SessionNotFound, FileNotFoundError):
                return None
            except NotASession:
                # A file that another process creates in this moment has its name before its first line.
                if wait is None or (stored is not None and stored.size):
                    raise
                stored = store.stat(key)
                if stored is None or not stored.size:
                    time.sleep(wait)
        assert session is not None
        # A file system that ignores case has one file for two keys; they are not to share a conversation.
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
        """Every entry of every root, depth first, with what it says on one line."""
        from branchline.library import turns  # noqa: PLC0415

        return builtins.list(turns.branch_nodes(session))

    def prior_turns(self, session: Session) -> builtins.list[Prompt]:
        """The prompts on the active path, oldest first."""
        from branchline.library import turns  # noqa: PLC0415

        return builtins.list(turns.prior_turns(session))


def _prune(scanner: StoreScanner, *, dry_run: bool) -> Iterable[PruneResult]:
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
