"""Sessions that live as long as this object: for tests, for agents that need no files."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from branchline.errors import SessionNotFound
from branchline.log import Durability, Log, MemoryLog
from branchline.log.memory import MemoryWriter
from branchline.stores.base import Scan, Stored, Trashed, check_key, newest_first

__all__ = ["MemoryStore"]


class _DatedLog(MemoryLog):
    """A log in memory that knows when it was last written, as files do."""

    def __init__(self, data: bytes, name: str) -> None:
        super().__init__(data, name)
        self.modified = time.time()

    @contextmanager
    def exclusive(self) -> Iterator[MemoryWriter]:
        with super().exclusive() as writer:
            before = writer.end
            yield writer
            if writer.end != before:
                self.modified = time.time()


@dataclass
class _Shelf:
    logs: dict[str, _DatedLog] = field(default_factory=dict)
    drafts: dict[str, _DatedLog] = field(default_factory=dict)
    trash: dict[str, tuple[str, _DatedLog, float]] = field(default_factory=dict)


class MemoryStore:
    """A store without files."""

    def __init__(self, name: str = "memory") -> None:
        self.name = name
        self._shelf = _Shelf()
        self._lock = threading.RLock()
        self._tokens = 0

    def scan(self) -> Scan:
        with self._lock:
            return Scan(_listed(self._shelf.logs), [])

    def stat(self, key: str) -> Stored | None:
        log = self._shelf.logs.get(check_key(key))
        return None if log is None else Stored(key, log.size(), log.modified)

    def open(self, key: str, *, durability: Durability = "fsync") -> Log:
        del durability
        log = self._shelf.logs.get(check_key(key)) or self._shelf.drafts.get(key)
        if log is None:
            raise SessionNotFound(f"there is no session {key!r} in {self.name}")
        return log

    def create(self, key: str, data: bytes, *, draft: bool = False, durability: Durability = "fsync") -> Log:
        del durability
        check_key(key)
        with self._lock:
            if key in self._shelf.logs or key in self._shelf.drafts:
                raise FileExistsError(f"{self.name} has a session {key!r} already")
            log = _DatedLog(data, name=key)
            (self._shelf.drafts if draft else self._shelf.logs)[key] = log
            return log

    def publish(self, key: str, *, durability: Durability = "fsync") -> Log:
        del durability
        with self._lock:
            if key in self._shelf.logs:
                raise FileExistsError(f"{self.name} has a session {key!r} already")
            log = self._shelf.drafts.pop(check_key(key), None)
            if log is None:
                raise SessionNotFound(f"there is no draft {key!r} in {self.name}")
            self._shelf.logs[key] = log
            return log

    def drafts(self) -> list[Stored]:
        with self._lock:
            return _listed(self._shelf.drafts)

    def drop_draft(self, key: str) -> bool:
        with self._lock:
            return self._shelf.drafts.pop(check_key(key), None) is not None

    def rename(self, key: str, new_key: str) -> Stored:
        check_key(key)
        check_key(new_key)
        with self._lock:
            if key not in self._shelf.logs:
                raise SessionNotFound(f"there is no session {key!r} in {self.name}")
            if new_key in self._shelf.logs:
                raise FileExistsError(f"{self.name} has a session {new_key!r} already")
            log = self._shelf.logs.pop(key)
            log.name = new_key
            self._shelf.logs[new_key] = log
            return Stored(new_key, log.size(), log.modified)

    def remove(self, key: str) -> Trashed | None:
        with self._lock:
            log = self._shelf.logs.pop(check_key(key), None)
            if log is None:
                return None
            self._tokens += 1
            token, removed = f"trash-{self._tokens}", time.time()
            self._shelf.trash[token] = (key, log, removed)
            return Trashed(token, key, log.size(), removed)

    def trashed(self) -> list[Trashed]:
        with self._lock:
            found = [Trashed(token, key, log.size(), t) for token, (key, log, t) in self._shelf.trash.items()]
        return found[::-1]

    def restore(self, token: str) -> Stored:
        with self._lock:
            if token not in self._shelf.trash:
                raise SessionNotFound(f"there is no {token!r} in the trash of {self.name}")
            key, log, _removed = self._shelf.trash[token]
            if key in self._shelf.logs:
                raise FileExistsError(f"{self.name} has a session {key!r} already")
            del self._shelf.trash[token]
            self._shelf.logs[key] = log
            return Stored(key, log.size(), log.modified)


def _listed(logs: dict[str, _DatedLog]) -> list[Stored]:
    return sorted((Stored(key, log.size(), log.modified) for key, log in logs.items()), key=newest_first)
