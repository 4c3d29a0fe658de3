"""Session store for the Claude Agent SDK (duck-typed: needs no extra package)::

    from branchline.integrations.claude_agent import BranchlineSessionStore
    store = BranchlineSessionStore("postgresql://localhost/app")          # or a directory, or app.db
    options = ClaudeAgentOptions(session_store=store, session_store_flush="eager")
    async for message in query(prompt="hi", options=options): ...
    # on another machine: ClaudeAgentOptions(resume=session_id, session_store=store)

The SDK mirrors the lines that Claude Code writes. Each transcript is one log with these lines, so every
interface can open it as a Claude Code session, to read, search, fork or convert it. An entry that arrives
twice, for example after a timeout, is stored once.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NotRequired, TypedDict

import msgspec

from branchline.errors import InvalidArgument, NotSupported, SessionNotFound
from branchline.integrations.threads import LibraryAdapter, Worker
from branchline.library import SessionLibrary
from branchline.log import Log
from branchline.stores import Store, StoredLog, key_for, parts_of, trash_of

__all__ = ["BranchlineSessionStore", "ClaudeSessionKey"]

_SPACE = "claude"
_MAX_PROJECT = 80
"""Maximum characters of a project in a key; longer names are replaced by their hash."""
_BLOCK = 4 << 20

Entry = dict[str, Any]
Summary = dict[str, Any]


class ClaudeSessionKey(TypedDict):
    """The SDK's name of a transcript: of a session, or with ``subpath`` of one of its sub-agents."""

    project_key: str
    session_id: str
    subpath: NotRequired[str]


@dataclass
class _KnownLog:
    """The entry ids in a log, up to ``end``."""

    log: Log
    end: int = 0
    ids: set[str] = field(default_factory=set)


@dataclass
class _CachedSummary:
    """The summary of a session, up to ``end`` of its log."""

    end: int = 0
    value: Summary | None = None


class BranchlineSessionStore(LibraryAdapter):
    """A ``SessionStore`` with all optional methods. Tasks and processes may share it."""

    def __init__(self, where: str | os.PathLike[str] | Store | SessionLibrary) -> None:
        self._open_library(where)
        self._worker = Worker()
        self._known: dict[str, _KnownLog] = {}
        self._summaries: dict[str, _CachedSummary] = {}

    async def append(self, key: ClaudeSessionKey, entries: Sequence[Entry]) -> None:
        """Append entries in one write. Entries whose ``uuid`` is already stored are skipped."""
        if entries:
            await self._worker.run(lambda: self._append(_key(key), list(entries)))

    async def load(self, key: ClaudeSessionKey) -> list[Entry] | None:
        """Return the entries of a transcript in order; None if there is none."""
        return await self._worker.run(lambda: self._load(_key(key)))

    async def list_sessions(self, project_key: str) -> list[dict[str, Any]]:
        """List the sessions of a project with their modification time in Unix milliseconds."""

        def read() -> list[dict[str, Any]]:
            return [
                {"session_id": parts[2], "mtime": round(log.modified * 1000)}
                for log, parts in self._logs(_SPACE, _project(project_key))
                if len(parts) == 3
            ]

        return await self._worker.run(read)

    async def list_session_summaries(self, project_key: str) -> list[dict[str, Any]]:
        """List the sessions of a project with the summaries of the SDK's ``fold_session_summary``.

        Summaries are cached in memory: the first call reads the logs. Raises NotSupported without the SDK.
        """
        fold = _fold_function()

        def read() -> list[dict[str, Any]]:
            found = []
            for log, parts in self._logs(_SPACE, _project(project_key)):
                if len(parts) == 3:
                    key: ClaudeSessionKey = {"project_key": project_key, "session_id": parts[2]}
                    summary = self._summary(log, key, fold)
                    if summary is not None:
                        found.append({**summary, "session_id": parts[2], "mtime": round(log.modified * 1000)})
            return found

        return await self._worker.run(read)

    async def delete(self, key: ClaudeSessionKey) -> None:
        """Move a transcript to the trash; for a session, including the transcripts of its sub-agents."""

        def remove() -> None:
            name = _key(key)
            names = [name]
            if not key.get("subpath"):
                names += [log.key for log, _parts in self._logs(*parts_of(name))]
            for one in names:
                if (known := self._known.pop(one, None)) is not None:
                    known.log.close()
                self._summaries.pop(one, None)
                trash_of(self._store).remove(one)

        await self._worker.run(remove)

    async def list_subkeys(self, key: ClaudeSessionKey) -> list[str]:
        """List the subpaths of a session."""
        name = _key({"project_key": key["project_key"], "session_id": key["session_id"]})
        return await self._worker.run(
            lambda: [parts[3] for _log, parts in self._logs(*parts_of(name)) if len(parts) == 4]
        )

    async def close(self) -> None:
        await self._worker.run(self._close)

    def _close_sessions(self) -> None:
        while self._known:
            self._known.popitem()[1].log.close()

    # -- inside, in a thread ----------------------------------------------------------------------------

    def _append(self, name: str, entries: list[Entry]) -> None:
        for _attempt in range(3):
            known = self._opened(name)
            if known is None:
                fresh = _unseen(entries, set())
                try:
                    self._store.create(name, b"".join(map(_line, fresh))).close()
                except FileExistsError:
                    continue  # another process was faster
                return
            try:
                with known.log.exclusive() as writer:
                    self._catch_up(known, writer.end)
                    fresh = _unseen(entries, known.ids)
                    if fresh:
                        data = b"".join(map(_line, fresh))
                        known.end = writer.append(data) + len(data)
                        known.ids.update(filter(None, map(_identity, fresh)))
            except SessionNotFound:
                self._known.pop(name).log.close()
                continue  # deleted by another process: start again
            return
        raise SessionNotFound(
            f"cannot append to {name} in {self._store.name}: other processes keep deleting it"
        )

    def _opened(self, name: str) -> _KnownLog | None:
        """Open the log of a transcript; None if there is none."""
        known = self._known.get(name)
        if self._store.stat(name) is None:
            if known is not None:
                self._known.pop(name).log.close()
            return None
        if known is None:
            known = self._known[name] = _KnownLog(self._store.open(name))
        return known

    def _catch_up(self, known: _KnownLog, end: int) -> None:
        """Read the ids of entries that other writers appended."""
        for entry in _decoded(known.log.read, known.end, end):
            if (identity := _identity(entry)) is not None:
                known.ids.add(identity)
        known.end = end

    def _load(self, name: str) -> list[Entry] | None:
        stored = self._store.stat(name)
        if stored is None:
            return None
        try:
            with self._store.snapshot(name) as read:
                return _decoded(read, 0, stored.size)
        except SessionNotFound:
            return None

    def _summary(self, log: StoredLog, key: ClaudeSessionKey, fold: Callable[..., Summary]) -> Summary | None:
        folded = self._summaries.setdefault(log.key, _CachedSummary())
        if log.size > folded.end:
            with self._store.snapshot(log.key) as read:
                entries = _decoded(read, folded.end, log.size)
            folded.value = fold(folded.value, key, entries)
            folded.end = log.size
        return folded.value

    def _logs(self, *parts: str) -> list[tuple[StoredLog, tuple[str, ...]]]:
        """Return the logs whose keys start with these parts, each with its parts."""
        found = self._store.scan(prefix=key_for(*parts) + "~").found
        return [(log, parts_of(log.key)) for log in found]


def _project(name: str) -> str:
    return name if len(name) <= _MAX_PROJECT else hashlib.sha256(name.encode()).hexdigest()[:32]


def _key(key: ClaudeSessionKey) -> str:
    parts = [_SPACE, _project(key["project_key"]), key["session_id"]]
    if subpath := key.get("subpath"):
        parts.append(subpath)
    name = key_for(*parts)
    if "~~" in name:
        raise InvalidArgument(f"cannot store the transcript {parts[2:]}: its id is too long")
    return name


def _identity(entry: Entry) -> str | None:
    found = entry.get("uuid")
    return found if isinstance(found, str) else None


def _unseen(entries: list[Entry], seen: set[str]) -> list[Entry]:
    """Return the entries with a new id; entries without an id are always new."""
    fresh: list[Entry] = []
    here: set[str] = set()
    for entry in entries:
        identity = _identity(entry)
        if identity is None or (identity not in seen and identity not in here):
            fresh.append(entry)
        if identity is not None:
            here.add(identity)
    return fresh


def _line(entry: Entry) -> bytes:
    return msgspec.json.encode(entry) + b"\n"


def _decoded(read: Callable[[int, int], bytes], start: int, end: int) -> list[Entry]:
    """Decode the entries between two offsets; lines that are not objects are skipped."""
    pieces = [read(at, min(_BLOCK, end - at)) for at in range(start, end, _BLOCK)]
    entries = (_object(line) for line in b"".join(pieces).split(b"\n") if line.strip())
    return [entry for entry in entries if entry is not None]


def _object(line: bytes) -> Entry | None:
    try:
        found = msgspec.json.decode(line)
    except msgspec.DecodeError:
        return None
    return found if isinstance(found, dict) else None


def _fold_function() -> Callable[..., Summary]:
    try:
        from claude_agent_sdk import fold_session_summary  # noqa: PLC0415  optional
    except ImportError:
        raise NotSupported(
            "summaries of Claude sessions need the SDK: pip install 'claude-agent-sdk>=0.2.182'"
        ) from None
    return fold_session_summary  # type: ignore[no-any-return]
