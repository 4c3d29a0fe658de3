"""Sessions as files in one directory: ``<key>.jsonl``, and beside them one hidden folder for the rest.

``.branchline/drafts`` holds sessions whose first reply has not come, ``.branchline/trash`` what was removed,
each with a manifest that says where it was. The directory is made when something is first written into it.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
import time
from typing import Any

from branchline.entries import jsontext
from branchline.errors import SessionNotFound
from branchline.log import Durability, FileLog, create_directory, publish_file, sync_directory
from branchline.stores.base import Hidden, Scan, Stored, Trashed, check_key, newest_first

__all__ = ["FilesStore"]

SUFFIX = ".jsonl"
_SIDE = ".branchline"
_CONFLICT_MARKS = ("conflicted copy", ".sync-conflict-", " (conflict")


class FilesStore:
    """The sessions of one directory. Nothing is touched until asked."""

    def __init__(self, directory: str | os.PathLike[str], *, lock_timeout: float = 10.0) -> None:
        self.directory = os.path.abspath(os.fspath(directory))
        self._lock_timeout = lock_timeout

    @property
    def name(self) -> str:
        return self.directory

    # -- looking --------------------------------------------------------------------------------------

    def scan(self) -> Scan:
        found: list[Stored] = []
        hidden: list[Hidden] = []
        try:
            listing = os.scandir(self.directory)
        except (FileNotFoundError, NotADirectoryError):
            return Scan(found, hidden)
        with listing:
            for item in listing:
                if not item.name.endswith(SUFFIX):
                    if item.name.endswith((".icloud", ".jsonl.tmp")):
                        hidden.append(Hidden(item.name, "a placeholder of a synced folder, not a session"))
                    continue
                try:
                    status = item.stat()
                except OSError as problem:
                    hidden.append(Hidden(item.name, f"cannot be looked at: {problem.strerror}"))
                    continue
                if not stat.S_ISREG(status.st_mode):
                    hidden.append(Hidden(item.name, "not a regular file"))
                elif any(mark in item.name for mark in _CONFLICT_MARKS):
                    hidden.append(Hidden(item.name, "a conflict copy made by a synced folder"))
                else:
                    found.append(
                        Stored(item.name.removesuffix(SUFFIX), status.st_size, status.st_mtime, item.path)
                    )
        found.sort(key=newest_first)
        return Scan(found, hidden)

    def stat(self, key: str) -> Stored | None:
        path = self.path_of(key)
        try:
            status = os.stat(path)
        except OSError:
            return None
        return Stored(key, status.st_size, status.st_mtime, path) if stat.S_ISREG(status.st_mode) else None

    def path_of(self, key: str) -> str:
        """Where the file of this key lies, or would lie."""
        return os.path.join(self.directory, check_key(key) + SUFFIX)

    def drafts(self) -> list[Stored]:
        return FilesStore(self._draft_directory).scan().found

    # -- opening and making ---------------------------------------------------------------------------

    def open(self, key: str, *, durability: Durability = "fsync") -> FileLog:
        for path in (self.path_of(key), self._draft_path(key)):
            try:
                return FileLog(path, durability=durability, lock_timeout=self._lock_timeout)
            except FileNotFoundError:
                continue
        raise SessionNotFound(f"there is no session {key!r} in {self.directory}")

    def create(
        self, key: str, data: bytes, *, draft: bool = False, durability: Durability = "fsync"
    ) -> FileLog:
        path = self._draft_path(key) if draft else self.path_of(key)
        return FileLog.create(path, data, durability=durability, lock_timeout=self._lock_timeout)

    def publish(self, key: str, *, durability: Durability = "fsync") -> FileLog:
        path = self.path_of(key)
        try:
            publish_file(self._draft_path(key), path)
        except FileNotFoundError:
            raise SessionNotFound(f"there is no draft {key!r} in {self.directory}") from None
        return FileLog(path, durability=durability, lock_timeout=self._lock_timeout)

    def drop_draft(self, key: str) -> bool:
        try:
            os.unlink(self._draft_path(key))
        except FileNotFoundError:
            return False
        sync_directory(self._draft_directory)
        return True

    # -- moving ---------------------------------------------------------------------------------------

    def rename(self, key: str, new_key: str) -> Stored:
        source, target = self.path_of(key), self.path_of(new_key)
        self._require(key)
        publish_file(source, target)
        return self._require(new_key)

    def remove(self, key: str) -> Trashed | None:
        found = self.stat(key)
        if found is None:
            return None
        removed = time.time()
        token = time.strftime("%Y%m%dT%H%M%S", time.gmtime(removed)) + "-" + secrets.token_hex(4)
        place = os.path.join(self._trash_directory, token)
        create_directory(place)
        # The manifest comes first: a crash leaves a manifest without a file, never a file without one.
        manifest = {"key": key, "path": self.path_of(key), "removed": removed, "size": found.size}
        FileLog.create(os.path.join(place, "manifest.json"), jsontext.dumps(manifest) + b"\n").close()
        try:
            publish_file(self.path_of(key), os.path.join(place, key + SUFFIX))
        except FileNotFoundError:
            return None
        return Trashed(token, key, found.size, removed)

    def trashed(self) -> list[Trashed]:
        try:
            tokens = os.listdir(self._trash_directory)
        except (FileNotFoundError, NotADirectoryError):
            return []
        found = [item for token in tokens if (item := self._in_trash(token)) is not None]
        return sorted(found, key=lambda item: (-item.removed, item.key))

    def restore(self, token: str) -> Stored:
        item = self._in_trash(check_key(token))
        if item is None:
            raise SessionNotFound(f"there is no {token!r} in the trash of {self.directory}")
        place = os.path.join(self._trash_directory, token)
        publish_file(os.path.join(place, item.key + SUFFIX), self.path_of(item.key))
        os.unlink(os.path.join(place, "manifest.json"))
        try:
            os.rmdir(place)
        except OSError as problem:
            if problem.errno != errno.ENOTEMPTY:
                raise
        return self._require(item.key)

    def _in_trash(self, token: str) -> Trashed | None:
        place = os.path.join(self._trash_directory, token)
        try:
            with open(os.path.join(place, "manifest.json"), "rb") as file:
                manifest: Any = jsontext.loads(file.read())
            key = check_key(manifest["key"])
            size = os.stat(os.path.join(place, key + SUFFIX)).st_size
            return Trashed(token, key, size, float(manifest["removed"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _require(self, key: str) -> Stored:
        found = self.stat(key)
        if found is None:
            raise SessionNotFound(f"there is no session {key!r} in {self.directory}")
        return found

    @property
    def _draft_directory(self) -> str:
        return os.path.join(self.directory, _SIDE, "drafts")

    @property
    def _trash_directory(self) -> str:
        return os.path.join(self.directory, _SIDE, "trash")

    def _draft_path(self, key: str) -> str:
        return os.path.join(self._draft_directory, check_key(key) + SUFFIX)
