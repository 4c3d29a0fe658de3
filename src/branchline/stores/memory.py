"""Sessions in memory, for tests and for agents that need no files."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import msgspec

from branchline.errors import SessionNotFound
from branchline.log import Durability, MemoryLog
from branchline.log.memory import MemoryWriter
from branchline.stores.protocol import (
    Read,
    ScanResult,
    StoredLog,
    TrashItem,
    by_newest,
    check_key,
    key_taken,
    no_session,
    page_of,
)

__all__ = ["MemoryStore"]


class _DatedLog(MemoryLog):
    """A log in memory with a modification time and a lock state."""

    def __init__(self, data: bytes, name: str) -> None:
        super().__init__(data, name)
        self.modified = time.time()

    @contextmanager
    def exclusive(self) -> Iterator[MemoryWriter]:
        with super().exclusive() as writer:
            before = writer.end
            try:
                yield writer
            finally:
                if writer.end != before:
                    self.modified = time.time()

    def is_locked(self) -> bool:
        return self._lock.locked()


class _Removed(msgspec.Struct, frozen=True):
    key: str
    log: _DatedLog
    removed: float
    draft: bool


class MemoryStore:
    """A store without files. Threads may share it."""

    def __init__(self, name: str = "memory") -> None:
        self.name = name
        self._logs: dict[str, _DatedLog] = {}
        self._drafts: dict[str, _DatedLog] = {}
        self._trash: dict[str, _Removed] = {}
        self._tokens = 0
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        return f"MemoryStore({self.name!r})"

    # -- reading --------------------------------------------------------------------------------------

    def scan(
        self, *, limit: int | None = None, after: tuple[float, str] | None = None, prefix: str = ""
    ) -> ScanResult:
        with self._lock:
            return ScanResult(page_of(_listed(self._logs), limit, after, prefix), [])

    def stat(self, key: str) -> StoredLog | None:
        log = self._logs.get(check_key(key))
        return None if log is None else StoredLog(key, log.size(), log.modified)

    def drafts(self) -> list[StoredLog]:
        with self._lock:
            return _listed(self._drafts)

    @contextmanager
    def snapshot(self, key: str) -> Iterator[Read]:
        yield self.open(key).read

    def in_use(self, keys: Iterable[str]) -> set[str]:
        """Return the keys of logs whose lock a writer holds."""
        with self._lock:
            logs = {key: self._logs.get(check_key(key)) or self._drafts.get(key) for key in keys}
        return {key for key, log in logs.items() if log is not None and log.is_locked()}

    # -- opening and making ---------------------------------------------------------------------------

    def open(self, key: str, *, durability: Durability = "fsync") -> MemoryLog:
        del durability
        check_key(key)
        with self._lock:
            log = self._logs.get(key) or self._drafts.get(key)
        if log is None:
            raise no_session(key, self.name)
        return log

    def create(
        self, key: str, data: bytes, *, draft: bool = False, durability: Durability = "fsync"
    ) -> MemoryLog:
        del durability
        check_key(key)
        with self._lock:
            self._require_free("create", key)
            log = _DatedLog(data, name=key)
            (self._drafts if draft else self._logs)[key] = log
            return log

    def load(self, key: str, pieces: Iterable[bytes]) -> StoredLog:
        log = self.create(key, b"".join(pieces))
        return StoredLog(key, log.size(), self._logs[key].modified)

    def publish(self, key: str, *, durability: Durability = "fsync") -> MemoryLog:
        del durability
        check_key(key)
        with self._lock:
            if key in self._logs:
                raise key_taken("publish the draft", key, self.name)
            log = self._drafts.pop(key, None)
            if log is None:
                raise SessionNotFound(f"no draft named {key!r} in {self.name}")
            self._logs[key] = log
            return log

    def drop_draft(self, key: str) -> bool:
        with self._lock:
            return self._drafts.pop(check_key(key), None) is not None

    # -- moving ---------------------------------------------------------------------------------------

    def rename(self, key: str, new_key: str) -> StoredLog:
        check_key(key)
        check_key(new_key)
        with self._lock:
            if key not in self._logs:
                raise no_session(key, self.name)
            self._require_free(f"rename {key!r}", new_key)
            log = self._logs[new_key] = self._logs.pop(key)
            log.name = new_key
            return StoredLog(new_key, log.size(), log.modified)

    def remove(self, key: str, *, draft: bool = False) -> TrashItem | None:
        check_key(key)
        with self._lock:
            log = (self._drafts if draft else self._logs).pop(key, None)
            if log is None:
                return None
            self._tokens += 1
            token, removed = f"trash-{self._tokens}", time.time()
            self._trash[token] = _Removed(key, log, removed, draft)
            return TrashItem(token, key, log.size(), removed, draft)

    def trashed(self) -> list[TrashItem]:
        with self._lock:
            items = list(self._trash.items())
        return [
            TrashItem(token, item.key, item.log.size(), item.removed, item.draft)
            for token, item in reversed(items)
        ]

    @contextmanager
    def read_trashed(self, token: str) -> Iterator[Read]:
        item = self._trash.get(check_key(token))
        if item is None:
            raise SessionNotFound(f"{token!r} is not in the trash of {self.name}")
        yield item.log.read

    def restore(self, token: str) -> StoredLog:
        check_key(token)
        with self._lock:
            if token not in self._trash:
                raise SessionNotFound(f"{token!r} is not in the trash of {self.name}")
            item = self._trash[token]
            self._require_free(f"restore {token!r} from the trash", item.key)
            del self._trash[token]
            (self._drafts if item.draft else self._logs)[item.key] = item.log
            return StoredLog(item.key, item.log.size(), item.log.modified)

    # -- inside ---------------------------------------------------------------------------------------

    def _require_free(self, doing: str, key: str) -> None:
        if key in self._logs or key in self._drafts:
            raise key_taken(doing, key, self.name)


def _listed(logs: dict[str, _DatedLog]) -> list[StoredLog]:
    return sorted((StoredLog(key, log.size(), log.modified) for key, log in logs.items()), key=by_newest)
