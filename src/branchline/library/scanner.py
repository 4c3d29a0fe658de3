"""The sessions of every program, for one working directory or for all: the reading half of a library.

Programs keep their sessions in folders of their own, some named after the working directory, some not. Here
they are one collection. A folder's name is a hint and the header decides, because different directories can
share a folder. Nothing is ever written, locked or cached, and one file costs at most its own row.
"""

from __future__ import annotations

import builtins
import itertools
import os
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from branchline import places
from branchline.entries import Header
from branchline.errors import SessionNotFound
from branchline.formats import BrokenFormat, Format, peek
from branchline.library.forest import Forest, build_forest, real_path
from branchline.library.inferred_parents import ParentInference
from branchline.library.listing import LazyListing, Progress
from branchline.library.lookup import by_id, by_title, require_one
from branchline.library.row_reader import header_row, problem_row, read_row, shallow_row
from branchline.library.rows import ELSEWHERE, Listing, SessionRow
from branchline.library.threads import in_thread
from branchline.stores import Read, SkippedFile, StoredLog, snapshot_of
from branchline.stores.walker import WalkResult, walk

__all__ = ["Discovery", "FoundFile"]

_Path = str | os.PathLike[str]
_NOWHERE = "it does not say which working directory it belongs to"
_SUBAGENT = "a sub-agent of another session"
_TELLING = 8  # characters of an id that every program puts into the names of its files
_TOGETHER = 32  # rows that are handed to an event loop at once
_LARGEST_TITLES = 1 << 26


class FoundFile(NamedTuple):
    """A file that looks like a session, and where it was found."""

    stored: StoredLog
    place: places.Place
    others: tuple[places.Place, ...] = ()
    """Places of other programs that hold the same file."""

    @property
    def path(self) -> str:
        assert self.stored.path is not None
        return self.stored.path


class Discovery:
    """The sessions of a working directory (default: this one) in all programs, or with ``all_projects`` all.

    ``agents`` names the programs that count. Sessions of sub-agents are left out unless asked for.
    ``environment`` and ``home`` are those of this process if not given. ValueError for an unknown program.
    """

    def __init__(
        self,
        cwd: _Path | None = None,
        *,
        agents: Iterable[str] | None = None,
        all_projects: bool = False,
        subagents: bool = False,
        environment: Mapping[str, str] | None = None,
        home: _Path | None = None,
    ) -> None:
        if all_projects and cwd is not None:
            raise ValueError("either a working directory or all projects, not both")
        self.cwd = None if all_projects else places.resolve_cwd(cwd)
        self.subagents = subagents
        self._cwds = () if self.cwd is None else tuple(dict.fromkeys((self.cwd, real_path(self.cwd))))
        known = places.known_places(
            None if self.cwd is None else self._cwds,
            agents=agents,
            environment=environment,
            home=None if home is None else os.fspath(home),
        )
        self.places: builtins.list[places.Place] = known.places
        """Where is looked."""
        self.broken_formats: builtins.list[BrokenFormat] = known.broken
        """Formats of installed packages that cannot be used, and why."""
        self._titles: dict[str, Mapping[str, str]] = {}

    def __repr__(self) -> str:
        return f"Discovery({'all projects' if self.cwd is None else self.cwd!r}, {len(self.places)} places)"

    # -- looking --------------------------------------------------------------------------------------

    def scan(self) -> tuple[builtins.list[FoundFile], builtins.list[SkippedFile]]:
        """The files, newest first, and what is not one; each file once. Nothing is opened."""
        found: dict[tuple[int, int], FoundFile] = {}
        hidden: dict[str, SkippedFile] = {}
        for place in self.places:
            for walked in self._walked(place):
                hidden.update({item.name: item for item in walked.hidden})
                for stored, identity in walked.found:
                    before = found.get(identity)
                    if before is None:
                        found[identity] = FoundFile(stored, place)
                    elif place.agent not in {one.agent for one in (before.place, *before.others)}:
                        found[identity] = before._replace(others=(*before.others, place))
        files = builtins.list(_unpacked_first(found.values(), hidden))
        files.sort(key=lambda file: (-file.stored.modified, file.path))
        return files, builtins.list(hidden.values())

    def _walked(self, place: places.Place) -> builtins.list[WalkResult]:
        format_ = place.format
        try:
            layout = [*format_.file_patterns, *(format_.subagent_patterns if self.subagents else ())]
            return [walk(place.root, layout, folder, format_.key_of) for folder in place.folders]
        except Exception as problem:  # noqa: BLE001  formats come from many hands
            reason = f"the format {place.agent} cannot look here: {type(problem).__name__}: {problem}"
            return [WalkResult([], [SkippedFile(place.root, reason)])]

    def iter_rows(self, deep: bool = True, *, limit: int | None = None) -> LazyListing[FoundFile]:  # noqa: FBT001, FBT002
        """Rows as they are read, the file that changed last first; without ``deep`` only headers are read.

        With a ``limit`` reading ends when there are so many rows.
        """
        files, hidden = self.scan()
        return LazyListing(files, self.deep_row if deep else self.header_row, hidden, limit=limit)

    def list(
        self,
        deep: bool = True,  # noqa: FBT001, FBT002
        *,
        limit: int | None = None,
        progress: Progress | None = None,
    ) -> Listing:
        """All rows, newest first. One unreadable file is a marked row.

        A file that cannot be read, in a folder that holds the sessions of many projects, may belong to any of
        them: for one working directory it is hidden, with its reason.
        """
        return self.iter_rows(deep, limit=limit).finish(progress)

    def latest(self) -> SessionRow | None:
        """The session whose file changed last; None when there is none. Reads headers only."""
        return next((row for row in self.iter_rows(deep=False) if row.version is not None), None)

    def find(self, text: str) -> SessionRow:
        """The session that a person means: by key, by id or its unique beginning, or by title.

        SessionNotFound, or Ambiguous with the candidates and their programs.
        """
        found = self.find_by_id(text) or self.find_by_title(text)
        if found is None:
            where = "any project" if self.cwd is None else self.cwd
            raise SessionNotFound(
                f"there is no session {text!r} in {where}: neither an id nor a title is like that"
            )
        return found

    def find_by_id(self, text: str) -> SessionRow | None:
        """The session with this key or id, or the only one that begins so; None when there is none.

        Looks at file names first and, only when none is like that, at all headers.
        """
        if not text.strip():
            raise ValueError("to find a session, give its id, the beginning of it, or its title")
        files, _hidden = self.scan()
        named = [file for file in files if text[:_TELLING] in file.stored.key]
        for some in (named, files):
            rows = [row for row in map(self.header_row, some) if isinstance(row, SessionRow)]
            if found := by_id(text, rows):
                return require_one(text, found)
        return None

    def find_by_title(self, text: str) -> SessionRow | None:
        """The session with this title, upper and lower case alike; None when there is none.

        Reads the files; among all projects only our own, and of others what is known without reading them.
        """
        files, _hidden = self.scan()
        look = self.header_row if self.cwd is None else self.deep_row
        rows = (
            self.deep_row(file) if file.place.agent == places.NATIVE_AGENT else look(file) for file in files
        )
        found = by_title(text, (row for row in rows if isinstance(row, SessionRow)))
        return require_one(text, found) if found else None

    def forest(self, *, progress: Progress | None = None) -> Forest:
        """The sessions of all programs linked to those they were forked from or started by, depth first.

        What Claude Code copies without saying so is found by the records that the copies share.
        """
        kinship = ParentInference()
        files, hidden = self.scan()
        rows = LazyListing(files, lambda file: self.deep_row(file, kinship), hidden).finish(progress)
        return build_forest(kinship.parents_for(rows), resolve=real_path)

    # -- one file -------------------------------------------------------------------------------------

    def header_row(self, file: FoundFile) -> SessionRow | SkippedFile:
        """What the directory and the header tell."""
        try:
            with snapshot_of(file.path) as read:
                return self._header_row(file, read)
        except Exception as problem:  # noqa: BLE001  formats come from many hands; one row is what it costs
            return self._problem(file, problem)

    def deep_row(self, file: FoundFile, kinship: ParentInference | None = None) -> SessionRow | SkippedFile:
        """What the whole file tells; ``kinship`` is shown it as well."""
        try:
            with snapshot_of(file.path) as read:
                return self._deep_row(file, read, kinship)
        except Exception as problem:  # noqa: BLE001  as above
            return self._problem(file, problem)

    def _header_row(self, file: FoundFile, read: Read) -> SessionRow | SkippedFile:
        format_, header = peek(read, file.path, expected=_expected(file))
        if (reason := self._reason(file, format_, header)) is not None:
            return SkippedFile(file.path, reason)
        stored = file.stored
        row = shallow_row(stored) if header is None else header_row(stored, header, format_.name)
        return self._placed(file, row, format_, header)

    def _deep_row(
        self, file: FoundFile, read: Read, kinship: ParentInference | None
    ) -> SessionRow | SkippedFile:
        known, expected = None, _expected(file)
        # Where all projects lie together most files are those of others, and their headers are enough.
        ask_first = self.cwd is not None and file.place.is_shared
        if ask_first:
            format_, header = peek(read, file.path, expected=expected)
            if (reason := self._reason(file, format_, header)) is not None:
                return SkippedFile(file.path, reason)
            known = format_ if format_ is expected else None
        row, format_, header, transcript = read_row(read, file.stored, known=known, expected=expected)
        if not ask_first and (reason := self._reason(file, format_, header)) is not None:
            return SkippedFile(file.path, reason)
        if kinship is not None and transcript is not None:
            kinship.add(transcript)
        return self._placed(file, row, format_, header)

    def _placed(self, file: FoundFile, row: SessionRow, format_: Format, header: Header | None) -> SessionRow:
        """The row with what only its place tells: the program, a title kept elsewhere, who started it."""
        place = next((one for one in file.others if one.agent == format_.name), file.place)
        starter = format_.subagent_of(file.path, header)
        return msgspec.structs.replace(
            row,
            agent=place.agent if format_ is place.format else format_.name,
            title=self._titles_of(place).get(row.id) or row.title,
            parent_session=row.parent_session or starter or None,
            subagent=starter is not None,
        )

    def _problem(self, file: FoundFile, problem: Exception) -> SessionRow | SkippedFile:
        row = problem_row(file.stored, problem)
        if self.cwd is not None and file.place.is_shared:
            return SkippedFile(file.path, f"{_NOWHERE}, as it cannot be read: {row.problem}")
        return msgspec.structs.replace(row, agent=file.place.agent)

    def _reason(self, file: FoundFile, format_: Format, header: Header | None) -> str | None:
        """Why a session is not one of those that were asked for; None when it is."""
        if not self.subagents and format_.subagent_of(file.path, header) is not None:
            return _SUBAGENT
        if self.cwd is None or _is_only_ours(file):
            return None
        if header is None or not header.cwd:
            return _NOWHERE if file.place.is_shared else None
        return None if os.path.normpath(header.cwd) in self._cwds else ELSEWHERE

    def _titles_of(self, place: places.Place) -> Mapping[str, str]:
        found = self._titles.get(place.root)
        if found is None:
            found = self._titles[place.root] = _read_titles(place)
        return found

    # -- the same without blocking an event loop ------------------------------------------------------

    async def arows(self, deep: bool = True, *, limit: int | None = None) -> AsyncIterator[SessionRow]:  # noqa: FBT001, FBT002
        """The rows of :meth:`look`, read in a worker thread."""
        look = await in_thread(self.iter_rows, deep, limit=limit)
        while not look.is_done:
            for row in await in_thread(_some, look):
                yield row

    async def alist(
        self,
        deep: bool = True,  # noqa: FBT001, FBT002
        *,
        limit: int | None = None,
        progress: Progress | None = None,
    ) -> Listing:
        """As :meth:`list`; ``progress`` is called in a worker thread."""
        return await in_thread(self.list, deep, limit=limit, progress=progress)

    async def alatest(self) -> SessionRow | None:
        return await in_thread(self.latest)

    async def afind(self, text: str) -> SessionRow:
        return await in_thread(self.find, text)

    async def aforest(self) -> Forest:
        return await in_thread(self.forest)


def _some(look: LazyListing[FoundFile]) -> list[SessionRow]:
    """The next few rows."""
    return list(itertools.islice(look, _TOGETHER))


def _expected(file: FoundFile) -> Format | None:
    """The format that the place speaks for; a child of pi may keep its sessions in pi's folders."""
    return None if file.others or file.place.format.name == "pi" else file.place.format


def _is_only_ours(file: FoundFile) -> bool:
    """Whether the folder alone tells the project: ours are never shared; what is imported keeps its cwd."""
    return file.place.agent == places.NATIVE_AGENT and not file.place.is_shared


def _unpacked_first(files: Iterable[FoundFile], hidden: dict[str, SkippedFile]) -> Iterator[FoundFile]:
    """The files without those that are the compressed form of one that lies beside them."""
    files = list(files)
    paths = {file.path for file in files}
    for file in files:
        plain, packed = os.path.splitext(file.path)
        if packed == ".zst" and plain in paths:
            hidden[file.path] = SkippedFile(file.path, "the same session lies beside it, not compressed")
        else:
            yield file


def _read_titles(place: places.Place) -> Mapping[str, str]:
    path = place.format.titles_file(place.root)
    if path is None:
        return {}
    try:
        with open(path, "rb") as file:
            return place.format.titles(file.read(_LARGEST_TITLES))
    except OSError:
        return {}
