"""The collection: the sessions of one store, listed, found, opened, renamed, removed and brought back.

A library is a handle without memory. It touches nothing until asked, every answer is a fresh look at the
store, and nothing it does deletes: removing means the trash.
"""

from __future__ import annotations

import builtins
import os
from collections.abc import Iterable, Mapping
from typing import Self

from branchline import places
from branchline.clock import Clock, SystemClock
from branchline.errors import LogError, SessionNotFound
from branchline.library import turns
from branchline.library.description import describe
from branchline.library.forest import Forest, build_forest, real_path
from branchline.library.listing import LazyListing, Progress
from branchline.library.lookup import choose
from branchline.library.row_reader import read_log, shallow_row
from branchline.library.rows import (
    BranchNode,
    Description,
    Listing,
    Prompt,
    PruneResult,
    SessionRow,
)
from branchline.library.scanner import Discovery
from branchline.library.shelf import StoreScanner
from branchline.library.shortcuts import LibraryShortcuts
from branchline.library.threads import in_thread
from branchline.log import Durability
from branchline.log.system import describe_oserror
from branchline.session import Session
from branchline.stores import FilesStore, Store, StoredLog, TrashItem, check_key

__all__ = ["SessionLibrary"]

_Path = str | os.PathLike[str]
_SYSTEM_CLOCK = SystemClock()


class SessionLibrary(LibraryShortcuts):
    """The sessions of one directory, or of any other store.

    With a ``cwd``, only sessions of that working directory are listed and found: for directories that hold
    the sessions of many projects.
    """

    def __init__(
        self,
        where: _Path | Store,
        *,
        cwd: _Path | None = None,
        clock: Clock = _SYSTEM_CLOCK,
        durability: Durability = "fsync",
    ) -> None:
        self.store: Store = FilesStore(where) if isinstance(where, str | os.PathLike) else where
        self.cwd = None if cwd is None else places.resolve_cwd(cwd)
        self._shelf = StoreScanner(self.store, self.cwd)
        self._clock = clock
        self._durability: Durability = durability

    @classmethod
    def for_cwd(
        cls, cwd: _Path | None = None, *, clock: Clock = _SYSTEM_CLOCK, durability: Durability = "fsync"
    ) -> Self:
        """The sessions of a working directory (default: this one) in our own layout."""
        return cls(places.session_directory(cwd), clock=clock, durability=durability)

    @classmethod
    def everything(
        cls, *, clock: Clock = _SYSTEM_CLOCK, durability: Durability = "fsync"
    ) -> builtins.list[Self]:
        """One library for every directory of our own layout, by name."""
        root = places.sessions_root()
        try:
            with os.scandir(root) as listing:
                names = sorted(
                    item.name for item in listing if not item.name.startswith(".") and item.is_dir()
                )
        except FileNotFoundError:
            return []
        except OSError as problem:
            raise LogError(
                f"cannot list the session directories in {root}: {describe_oserror(problem)}"
            ) from problem
        return [cls(os.path.join(root, name), clock=clock, durability=durability) for name in names]

    @classmethod
    def discover(
        cls,
        cwd: _Path | None = None,
        *,
        agents: Iterable[str] | None = None,
        all_projects: bool = False,
        subagents: bool = False,
        deep: bool = True,
        environment: Mapping[str, str] | None = None,
        home: _Path | None = None,
        progress: Progress | None = None,
    ) -> Listing:
        """The sessions of a working directory (default: this one) in all programs, newest first.

        Each row names its program. :class:`~branchline.library.Discovery` gives them one by one, and finds
        one of them.
        """
        return Discovery(
            cwd,
            agents=agents,
            all_projects=all_projects,
            subagents=subagents,
            environment=environment,
            home=home,
        ).list(deep, progress=progress)

    @property
    def name(self) -> str:
        """What messages call it: the directory, or the name of the store."""
        return self.store.name

    def __repr__(self) -> str:
        scope = "" if self.cwd is None else f", cwd={self.cwd!r}"
        return f"SessionLibrary({self.name!r}{scope})"

    # -- looking --------------------------------------------------------------------------------------

    def list(self, deep: bool = False, *, progress: Progress | None = None) -> Listing:  # noqa: FBT001, FBT002
        """The sessions, newest first; with ``deep`` each file is read, newest first.

        Shallow rows say what the directory says and are sorted by the files' times, deep rows by their last
        activity. One unreadable file is a marked row. Drafts are not listed. An exception that ``progress``
        raises ends the listing.
        """
        scan = self.store.scan()
        if not deep and self.cwd is None:
            listing = Listing(map(shallow_row, scan.found), scan.hidden)
            if progress is not None:
                progress(len(listing), len(listing), listing)
            return listing
        look = self._shelf.deep if deep else self._shelf.header_only
        return LazyListing(scan.found, look, scan.hidden).finish(progress)

    def latest(self) -> SessionRow | None:
        """The session whose file changed last; None when there is none. Reads headers only."""
        return next((row for row in self._shelf.with_headers() if row.version is not None), None)

    def find(self, text: str) -> SessionRow:
        """The session that a person means: by key, by id or its unique beginning, or by title.

        Reads headers only, unless no id is like that. SessionNotFound, or Ambiguous with the candidates.
        """
        return choose(
            text, self._shelf.with_headers(), with_titles=lambda: self.list(deep=True), where=self.name
        )

    def path_of(self, id: str) -> str | None:  # noqa: A002
        """Where the file of this session lies; None when there is none."""
        found = self._shelf.named(id)
        return None if found is None else found[0].path

    def describe(self, id: str) -> Description:  # noqa: A002
        """A session at a glance. SessionNotFound when there is none."""
        stored, draft = self._shelf.require(id)
        with self.store.snapshot(stored.key) as read:
            return describe(stored, read_log(read, stored), draft=draft)

    def forest(self) -> Forest:
        """The sessions linked to the sessions they were forked from, depth first."""
        return build_forest(self.list(deep=True), resolve=real_path)

    def drafts(self) -> builtins.list[SessionRow]:
        """Sessions whose first reply never came, newest first."""
        rows = (self._shelf.deep(stored, draft=True) for stored in self.store.drafts())
        return [row for row in rows if isinstance(row, SessionRow)]

    # -- one session ----------------------------------------------------------------------------------

    def open(self, id: str) -> Session | None:  # noqa: A002
        """A live session, by key or by session id; None when there is none. Drafts open too."""
        found = self._shelf.named(id)
        if found is None:
            return None
        try:
            return Session.from_store(
                self.store, found[0].key, durability=self._durability, clock=self._clock
            )
        except (SessionNotFound, FileNotFoundError):
            return None  # removed in this moment

    def rename(self, id: str, title: str) -> None:  # noqa: A002
        """Give a session a title; an empty one takes it away. SessionNotFound when there is none."""
        stored, _draft = self._shelf.require(id)
        with Session.from_store(
            self.store, stored.key, durability=self._durability, clock=self._clock
        ) as session:
            session.set_title(title)

    def rename_file(self, id: str, new_id: str) -> str:  # noqa: A002
        """Give a session's file another name and return the new path (the key, where there are no files).

        ValueError when there is no such session, or when the new name is taken. Whoever is appending to the
        session goes on doing so.
        """
        check_key(new_id)
        found = self._shelf.named(id)
        try:
            renamed = self.store.rename(id if found is None else found[0].key, new_id)
        except (SessionNotFound, FileExistsError) as problem:
            raise ValueError(str(problem)) from problem
        return renamed.path or renamed.key

    def remove(self, id: str) -> bool:  # noqa: A002
        """Move a session (or a draft) to the trash; False when there is none."""
        found = self._shelf.named(id)
        if found is None:
            return False
        stored, draft = found
        return self.store.remove(stored.key, draft=draft) is not None

    def trash(self) -> builtins.list[TrashItem]:
        """What was removed, last removed first."""
        return self.store.trashed()

    def restore(self, token_or_id: str | None = None) -> str:
        """Bring a session back from the trash and return its key: the last removed one, or the one named.

        SessionNotFound when it is not in the trash, FileExistsError when its name is taken again.
        """
        for item in self.store.trashed():
            row = shallow_row(StoredLog(item.key, item.size, item.removed))
            if token_or_id is None or token_or_id in (item.token, item.key, row.id):
                return self.store.restore(item.token).key
        what = "nothing" if token_or_id is None else f"no {token_or_id!r}"
        raise SessionNotFound(f"there is {what} in the trash of {self.name}")

    # -- tidying --------------------------------------------------------------------------------------

    def prune(self, *, dry_run: bool = True) -> builtins.list[PruneResult]:
        """Sessions and drafts in which nobody said anything; without ``dry_run`` they go to the trash.

        Never a damaged one, and never one that somebody is known to have open.
        """
        found = builtins.list(self._shelf.empty())
        used = self.store.in_use([row.key for row in found])
        found = [row for row in found if row.key not in used]
        if dry_run:
            return [PruneResult(row=row, removed=False) for row in found]
        pruned = []
        for row in found:
            trashed = self.store.remove(row.key, draft=row.draft)
            if trashed is not None:
                pruned.append(PruneResult(row=row, removed=True, token=trashed.token))
        return pruned

    # -- inside a session -----------------------------------------------------------------------------

    def tree(self, session: Session) -> builtins.list[BranchNode]:
        """Every entry of every root, depth first, with what it says on one line."""
        return builtins.list(turns.branch_nodes(session))

    def prior_turns(self, session: Session) -> builtins.list[Prompt]:
        """What the person said on the active path, oldest first."""
        return builtins.list(turns.prior_turns(session))

    # -- the same without blocking an event loop ------------------------------------------------------

    async def alist(self, deep: bool = False, *, progress: Progress | None = None) -> Listing:  # noqa: FBT001, FBT002
        """As :meth:`list`; ``progress`` is called in a worker thread."""
        return await in_thread(self.list, deep, progress=progress)

    @classmethod
    async def adiscover(
        cls,
        cwd: _Path | None = None,
        *,
        agents: Iterable[str] | None = None,
        all_projects: bool = False,
        subagents: bool = False,
        deep: bool = True,
        environment: Mapping[str, str] | None = None,
        home: _Path | None = None,
        progress: Progress | None = None,
    ) -> Listing:
        """As :meth:`discover`; ``progress`` is called in a worker thread."""
        return await in_thread(
            cls.discover,
            cwd,
            agents=agents,
            all_projects=all_projects,
            subagents=subagents,
            deep=deep,
            environment=environment,
            home=home,
            progress=progress,
        )

    async def alatest(self) -> SessionRow | None:
        return await in_thread(self.latest)

    async def afind(self, text: str) -> SessionRow:
        return await in_thread(self.find, text)

    async def adescribe(self, id: str) -> Description:  # noqa: A002
        return await in_thread(self.describe, id)

    async def aforest(self) -> Forest:
        return await in_thread(self.forest)

    async def adrafts(self) -> builtins.list[SessionRow]:
        return await in_thread(self.drafts)

    async def aopen(self, id: str) -> Session | None:  # noqa: A002
        return await in_thread(self.open, id)

    async def arename(self, id: str, title: str) -> None:  # noqa: A002
        await in_thread(self.rename, id, title)

    async def arename_file(self, id: str, new_id: str) -> str:  # noqa: A002
        return await in_thread(self.rename_file, id, new_id)

    async def aremove(self, id: str) -> bool:  # noqa: A002
        return await in_thread(self.remove, id)

    async def atrash(self) -> builtins.list[TrashItem]:
        return await in_thread(self.trash)

    async def arestore(self, token_or_id: str | None = None) -> str:
        return await in_thread(self.restore, token_or_id)

    async def aprune(self, *, dry_run: bool = True) -> builtins.list[PruneResult]:
        return await in_thread(self.prune, dry_run=dry_run)
