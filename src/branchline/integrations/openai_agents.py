"""Sessions for the OpenAI Agents SDK (extra ``openai-agents``)::

    from branchline.integrations.openai_agents import BranchlineSession
    session = BranchlineSession("user:42", "app.db")       # or a directory, or postgresql://…
    await Runner.run(agent, "2+3?", session=session)
    await session.branch_from(turn=1)                      # rephrase the first question
    print(await session.list_branches())                   # and in a shell: branchline tree …

Loaded items equal the added ones. Nothing is deleted: popping moves the leaf, clearing starts a new root, and
branches share their common prefix. Branches and their names are persistent.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from branchline._version import install_extra

try:
    from agents.memory import SessionSettings, session_settings
except ImportError as problem:  # pragma: no cover  a test replaces the module
    raise ImportError(
        f"the adapter for the OpenAI Agents SDK needs it: {install_extra('openai-agents')}"
    ) from problem

from branchline.entries import Content, ContextEdit, Usage
from branchline.errors import Closed
from branchline.integrations.openai_items import decode_items, edited_items, messages_of
from branchline.integrations.threads import ClosableAdapter, Worker
from branchline.library import SessionLibrary
from branchline.session import NewEntry, OnConflict, Session
from branchline.stores import Store

if TYPE_CHECKING:
    from agents import RunResultBase, TResponseInputItem

__all__ = ["BranchInfo", "BranchlineSession", "SessionClosed", "TurnInfo"]

_BRANCH = "openai-agents.branch"
_MAIN = "main"
_READ_SIZE = 64
"""Entries per read if only the last items are requested."""


class SessionClosed(Closed, RuntimeError):
    """The session was closed; a RuntimeError, as from the SDK's own sessions."""


@dataclass(frozen=True, kw_only=True)
class BranchInfo:
    """A branch: the path from the root to ``leaf``."""

    name: str
    leaf: str | None
    items: int
    turns: int
    is_current: bool


@dataclass(frozen=True, kw_only=True)
class TurnInfo:
    """A prompt on the current branch; ``turn`` counts from 1."""

    turn: int
    entry: str
    content: str


@dataclass(frozen=True)
class _Snapshot:
    """The input of the SDK's compaction, in the shape of the SDK's own record."""

    items: list[Any]
    complete: bool
    replace_suffix: Callable[[int, list[Any]], Awaitable[bool]]


class BranchlineSession(ClosableAdapter):
    """The conversation with one id, in any store.

    ``on_conflict`` applies if another process has added items: ``"append"`` continues after them, like the
    SDK's own sessions; ``"branch"`` continues from the current position, on another branch; ``"raise"``
    raises SessionMoved and adds nothing until :meth:`refresh` is called.
    """

    session_settings: SessionSettings | None

    def __init__(
        self,
        session_id: str,
        where: str | os.PathLike[str] | Store | SessionLibrary,
        *,
        on_conflict: OnConflict = "append",
        session_settings: SessionSettings | dict[str, Any] | None = None,
    ) -> None:
        self.session_id = session_id
        self.session_settings = _settings(session_settings)
        self._where = where
        self._on_conflict: OnConflict = on_conflict
        self._worker = Worker()
        self._library: SessionLibrary | None = None
        self._session: Session | None = None
        self._names: dict[str, str] = {}
        """Tool names of calls without a result yet, by call id."""
        self._is_closed = False

    # -- the SDK's protocol -----------------------------------------------------------------------------

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the items of the current branch, oldest first; ``limit`` selects the latest ones."""
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        return await self._worker.run(lambda: _items(self._current(), limit))

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Append items in one atomic write."""
        self._require_open()
        if items:
            messages = messages_of(items, self._names)
            await self._write(lambda _session: [NewEntry.message(message) for message in messages])

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove the latest item from the current branch and return it. It stays in the tree."""
        popped: list[Any] = []

        def build(session: Session) -> list[NewEntry]:
            popped.clear()
            path = session.path()
            while path and not (items := decode_items(session.raw(path[-1]))):
                path.pop()
            if not path:
                return []
            popped.append(items[-1])
            return _replaced(path, len(path) - 1, items[:-1])

        await self._write(build)
        return popped[0] if popped else None

    async def clear_session(self) -> None:
        """Start a new root.

        The old items stay in the tree; remove the session from its store to erase them.
        """
        await self._write(lambda session: [NewEntry.move(None)] if session.leaf is not None else [])

    async def _get_compaction_snapshot(self, limit: int, **_options: Any) -> _Snapshot | None:
        """Return the input of OpenAIResponsesCompactionSession, which replaces items if nothing changed."""

        def read() -> tuple[list[Any], bool, list[tuple[str, int]], str | None]:
            session = self._current()
            path = session.path()
            items: list[Any] = []
            positions: list[tuple[str, int]] = []
            for key, line in zip(reversed(path), reversed(session.raws(path)), strict=True):
                found = decode_items(line)
                items += reversed(found)
                positions += [(key, number) for number in reversed(range(len(found)))]
            complete = len(items) <= limit
            return items[:limit][::-1], complete, positions[:limit][::-1], session.leaf

        items, complete, positions, leaf = await self._worker.run(read)

        async def replace_suffix(start: int, output: list[Any]) -> bool:
            done = False

            def build(session: Session) -> list[NewEntry]:
                nonlocal done
                done = session.leaf == leaf and start < len(positions)
                if not done:
                    return []
                key, number = positions[start]
                path = session.path()
                kept = decode_items(session.raw(key))[:number]
                return _replaced(path, path.index(key), [*kept, *output])

            await self._write(build)
            return done

        return _Snapshot(items, complete, replace_suffix)

    # -- branches ---------------------------------------------------------------------------------------

    async def branch_from(
        self, *, turn: int | None = None, entry: str | None = None, name: str | None = None
    ) -> str:
        """Continue before a turn (1 is the first prompt) or after an entry, on a new branch; return its name.

        Raises ValueError for an unknown turn or a taken name, EntryNotFound for an unknown entry.
        """
        if (turn is None) == (entry is None):
            raise TypeError("give either turn=… or entry=…")
        chosen: list[str] = []

        def build(session: Session) -> list[NewEntry]:
            chosen.clear()
            target = session.index.keys[session.index.position(entry)] if entry is not None else None
            if turn is not None:
                target = _before_turn(session, turn)
            taken = set(_names(session))
            fresh = name or next(
                f"branch-{number}" for number in range(1, len(taken) + 2) if f"branch-{number}" not in taken
            )
            if not fresh.strip() or fresh in taken or fresh == _current_name(session):
                raise ValueError(f"cannot name a branch {fresh!r}: the name is empty or taken")
            chosen.append(fresh)
            return [
                *_label_current(session),
                NewEntry.custom(_BRANCH, {"name": fresh}),
                NewEntry.move(target),
            ]

        await self._write(build)
        return chosen[0]

    async def switch_to_branch(self, name: str) -> None:
        """Continue at the end of a branch. Raises ValueError for an unknown name."""

        def build(session: Session) -> list[NewEntry]:
            if name == _current_name(session):
                return []
            names = _names(session)
            if name not in names:
                raise ValueError(f"no branch named {name!r}; there are {', '.join(sorted(names)) or 'none'}")
            record = NewEntry.custom(_BRANCH, {"name": name})
            return [*_label_current(session), record, NewEntry.move(names[name])]

        await self._write(build)

    async def delete_branch(self, name: str) -> None:
        """Remove the name of a branch; its entries stay. Raises ValueError if it is current or unknown."""

        def build(session: Session) -> list[NewEntry]:
            names = _names(session)
            if name == _current_name(session) or name not in names:
                raise ValueError(f"cannot delete branch {name!r}: it is the current one, or there is none")
            return [NewEntry.label(names[name], None)]

        await self._write(build)

    async def list_branches(self) -> list[BranchInfo]:
        """Return the branches: the current one first, then the others by name."""

        def read() -> list[BranchInfo]:
            session = self._current()
            current = _current_name(session)
            others = sorted((name, leaf) for name, leaf in _names(session).items() if name != current)
            return [
                _branch_info(session, name, leaf, is_current=name == current)
                for name, leaf in [(current, session.leaf), *others]
            ]

        return await self._worker.run(read)

    async def turns(self) -> list[TurnInfo]:
        """Return the prompts of the current branch."""

        def read() -> list[TurnInfo]:
            session = self._current()
            prompts = _prompts(session, session.path())
            lines = session.raws(prompts)
            return [
                TurnInfo(turn=number, entry=key, content=_text_of(decode_items(line)))
                for number, (key, line) in enumerate(zip(prompts, lines, strict=True), 1)
            ]

        return await self._worker.run(read)

    async def store_run_usage(self, result: RunResultBase) -> None:
        """Record the tokens of a run, so that ``branchline stats`` counts them."""
        spent = result.context_wrapper.usage
        cached = spent.input_tokens_details.cached_tokens or 0
        usage = Usage(
            input=spent.input_tokens - cached,
            cache_read=cached,
            output=spent.output_tokens,
            total_tokens=spent.total_tokens,
        )
        await self._worker.run(
            lambda: self._current().append_usage("openai-agents.run", usage, provider="openai")
        )

    # -- life -------------------------------------------------------------------------------------------

    async def refresh(self) -> None:
        """Read items that other processes added, and continue after them."""
        await self._worker.run(lambda: self._opened().refresh())

    async def close(self) -> None:
        """Close the session, and the store if this object opened it. Everything raises SessionClosed then."""

        def close() -> None:
            self._is_closed = True
            if self._session is not None:
                self._session.close()
            if self._library is not None and self._library is not self._where:
                self._library.close()
            self._session = self._library = None

        await self._worker.run(close)

    def _require_open(self) -> None:
        if self._is_closed:
            raise SessionClosed(f"{type(self).__name__} is closed")

    def _opened(self) -> Session:
        self._require_open()
        if self._session is None:
            where = self._where
            self._library = where if isinstance(where, SessionLibrary) else SessionLibrary(where)
            self._session = self._library.get_or_create(self.session_id, on_conflict=self._on_conflict)
        return self._session

    def _current(self) -> Session:
        """Return the session, refreshed according to ``on_conflict``."""
        session = self._opened()
        if self._on_conflict == "append":
            session.refresh()
        elif self._on_conflict == "branch":
            session.refresh_log()
        return session

    async def _write(self, build: Callable[[Session], Sequence[NewEntry]]) -> None:
        await self._worker.run(lambda: self._opened().write(build))


def _settings(given: SessionSettings | dict[str, Any] | None) -> SessionSettings:
    """Return the settings of a session. Raises TypeError for unknown ones, as the SDK's sessions do."""
    if not isinstance(given, dict):
        return given or SessionSettings()
    coerce = getattr(session_settings, "coerce_session_settings", None)  # not in older versions of the SDK
    return SessionSettings(**given) if coerce is None else coerce(given)


def _items(session: Session, limit: int | None) -> list[Any]:
    edits: dict[str, Content | None] = {}
    if limit is None:
        return [item for found in _items_of(session, session.path(), edits) for item in found]
    if limit <= 0:
        return []
    newest_first: list[Any] = []
    size = _READ_SIZE
    seen = 0
    while True:
        path = session.path(limit=size)
        for found in reversed(_items_of(session, path[: len(path) - seen], edits)):
            newest_first += reversed(found)
        if len(newest_first) >= limit or len(path) < size:
            return newest_first[:limit][::-1]
        seen, size = len(path), size * 2


def _items_of(session: Session, path: list[str], edits: dict[str, Content | None]) -> list[list[Any]]:
    """Return the items of each entry. ``edits`` has the edits nearer to the leaf, and collects those here."""
    index = session.index
    for key in reversed(path) if "context_edit" in index.types else ():
        if index.types[position := index.position(key)] == "context_edit":
            edit = session.transcript.entry(position)
            if isinstance(edit, ContextEdit):
                replacement = edit.replacement
                edits.setdefault(edit.target, None if replacement is None else replacement.content)
    lines = session.raws(path)
    if not edits:
        return [decode_items(line) for line in lines]
    return [
        edited_items(line, edits[key]) if key in edits else decode_items(line)
        for key, line in zip(path, lines, strict=True)
    ]


def _replaced(path: list[str], at: int, items: list[Any]) -> list[NewEntry]:
    """Return entries that replace the branch from position ``at`` on by ``items``."""
    moved = NewEntry.move(path[at - 1] if at else None)
    return [moved, *map(NewEntry.message, messages_of(items))]


def _prompts(session: Session, path: list[str]) -> list[str]:
    index = session.index
    return [key for key in path if index.roles[index.position(key)] == "user"]


def _before_turn(session: Session, turn: int) -> str | None:
    path = session.path()
    prompts = _prompts(session, path)
    if not 1 <= turn <= len(prompts):
        raise ValueError(f"no turn {turn}: this branch has {len(prompts)}")
    at = path.index(prompts[turn - 1])
    return path[at - 1] if at else None


def _names(session: Session) -> dict[str, str]:
    """Return the last entry of each branch except the current one, by name."""
    return {label: key for key, label in session.labels.items()}


def _current_name(session: Session) -> str:
    """Return the name of the current branch, from the newest record."""
    types = session.index.types
    for position in range(len(types) - 1, -1, -1):
        if types[position] == "custom":
            entry = session.transcript.entry(position)
            if getattr(entry, "custom_type", "") == _BRANCH:
                return str(entry.data["name"])  # type: ignore[union-attr]
    return _MAIN


def _label_current(session: Session) -> list[NewEntry]:
    """Return the entries that label the end of the current branch with its name."""
    name = _current_name(session)
    before = [NewEntry.label(key, None) for key, label in session.labels.items() if label == name]
    return before if session.leaf is None else [*before, NewEntry.label(session.leaf, name)]


def _branch_info(session: Session, name: str, leaf: str | None, *, is_current: bool) -> BranchInfo:
    path = [] if leaf is None else session.path(leaf)
    items = sum(len(decode_items(line)) for line in session.raws(path))
    turns = len(_prompts(session, path))
    return BranchInfo(name=name, leaf=leaf, items=items, turns=turns, is_current=is_current)


def _text_of(items: list[Any]) -> str:
    content = items[0].get("content", "") if items else ""
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
