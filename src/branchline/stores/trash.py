"""The trash folder: each removed file is in its own folder, with a manifest.

Nothing is ever deleted automatically. A file is moved by linking it under its new name before the old name is
removed, so that a crash at any moment leaves it reachable under one or both names.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from datetime import datetime
from typing import Any

from branchline.entries import json_codec
from branchline.formats.suffixes import JSONL, SUFFIXES, has_suffix, suffix_of, without_suffix
from branchline.log import SYSTEM, FileLog, System, create_directory, publish_file, sync_directory
from branchline.log.replace import link_or_copy
from branchline.log.system import random_name
from branchline.stores.companion_folders import move_folder
from branchline.stores.protocol import TrashItem, check_key, is_key

__all__ = ["ReplacedFile", "Trash"]

_MANIFEST = "manifest.json"
_MAX_TIME = 253402300800.0  # the year 10000


class ReplacedFile:
    """A file in the trash that is still under its own name too, until another file replaces it there."""

    def __init__(self, trash: Trash, item: TrashItem, path: str) -> None:
        self._trash = trash
        self._path = path
        self.token = item.token
        self.kept_at = trash.path_of(item)

    def replaced(self) -> None:
        """Move the companion folder of the file to it, after the file was replaced."""
        move_folder(self._path, self.kept_at)

    def drop(self) -> None:
        """Empty the trash of it, because the file was not replaced."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.kept_at)
        self._trash.remove_folder(self.token)


class Trash:
    """The trash in one folder, which is created on first use."""

    def __init__(self, directory: str, system: System = SYSTEM) -> None:
        self._directory = directory
        self._system = system

    def put(self, key: str, path: str, *, draft: bool = False) -> TrashItem | None:
        """Move the file at this path to the trash; None if it does not exist."""
        try:
            item = self._begin(key, path, draft=draft)
        except FileNotFoundError:
            return None
        kept = os.path.join(self._directory, item.token, key + suffix_of(path))
        try:
            publish_file(path, kept, system=self._system)
        except FileNotFoundError:
            self.remove_folder(item.token)
            return None
        move_folder(path, kept, self._system)
        return item

    def keep(self, path: str) -> ReplacedFile:
        """Put the file at this path into the trash without removing it.

        Its key is its name, without the suffix of a session. Raises OSError or BranchlineError, and leaves
        nothing, if it cannot be kept.
        """
        name = os.path.basename(path)
        key = check_key(without_suffix(name))
        if name == _MANIFEST:
            raise FileExistsError(errno.EEXIST, "this name is reserved in the trash", path)
        item = self._begin(key, path)
        folder = os.path.join(self._directory, item.token)
        try:
            link_or_copy(path, os.path.join(folder, name), self._system)
            sync_directory(folder, self._system)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                self._system.unlink(os.path.join(folder, name))
            self.remove_folder(item.token)
            raise
        return ReplacedFile(self, item, path)

    def _begin(self, key: str, path: str, *, draft: bool = False) -> TrashItem:
        """Create the folder of a file and its manifest. Raises FileNotFoundError without a file."""
        size = self._system.lstat(path).st_size
        removed = time.time()
        token = time.strftime("%Y%m%dT%H%M%S", time.gmtime(removed)) + "-" + random_name()[:8]
        folder = os.path.join(self._directory, token)
        create_directory(folder, self._system)
        # The manifest is written first: a crash leaves a manifest without a file, never a file without one.
        manifest = {"key": key, "path": path, "removed": removed, "size": size, "draft": draft}
        if os.path.islink(path):
            manifest["link"] = os.readlink(path)
        data = json_codec.dumps(manifest) + b"\n"
        FileLog.create(os.path.join(folder, _MANIFEST), data, system=self._system).close()
        return TrashItem(token, key, size, removed, draft)

    def items(self) -> list[TrashItem]:
        """Return the items, last removed first."""
        try:
            tokens = os.listdir(self._directory)
        except (FileNotFoundError, NotADirectoryError):
            return []
        found = [item for token in tokens if (item := self.item(token)) is not None]
        return sorted(found, key=lambda item: (-item.removed, item.token))

    def item(self, token: str) -> TrashItem | None:
        """Return the item with this token; None if there is none, or a link that was not removed from here.

        A damaged or missing manifest hides nothing: the file has its old name, and the name of the folder
        has the time of removal.
        """
        manifest = self._manifest(token)
        key = self._key(token, manifest.get("key"))
        if key is None:
            return None
        # lstat: the removed file may have been a symlink, which does not resolve from here.
        kept = self._kept(token, key)
        try:
            status = os.lstat(kept)
            is_link = stat.S_ISLNK(status.st_mode)
            if not (os.readlink(kept) == manifest.get("link") if is_link else stat.S_ISREG(status.st_mode)):
                return None
        except OSError:
            return None
        size = status.st_size
        removed = manifest.get("removed")
        if not isinstance(removed, int | float) or not 0 < removed < _MAX_TIME:
            removed = self._removed(token)
        return TrashItem(token, key, size, float(removed), manifest.get("draft") is True)

    def _manifest(self, token: str) -> dict[str, Any]:
        try:
            with open(os.path.join(self._directory, token, _MANIFEST), "rb") as file:
                return json_codec.loads_object(file.read()) or {}
        except OSError:
            return {}

    def _key(self, token: str, named: object) -> str | None:
        """Return the key of the file in a folder, preferring the one in the manifest."""
        folder = os.path.join(self._directory, token)
        try:
            # A folder in the place of which there is a link is not ours.
            names = sorted(os.listdir(folder)) if stat.S_ISDIR(os.lstat(folder).st_mode) else []
        except OSError:
            return None
        # A replaced file that is not named like a session has its whole name as its key.
        keys = [without_suffix(name) for name in names if has_suffix(name) or name == named != _MANIFEST]
        return next(filter(is_key, sorted(keys, key=lambda key: key != named)), None)

    def _removed(self, token: str) -> float:
        """Return the time of removal from the name of the folder, or else its modification time."""
        try:
            return datetime.strptime(f"{token[:15]}+0000", "%Y%m%dT%H%M%S%z").timestamp()
        except ValueError:
            pass
        try:
            return os.lstat(os.path.join(self._directory, token)).st_mtime
        except OSError:
            return 0.0

    def take(self, item: TrashItem, path: str) -> None:
        """Move a file out of the trash to ``path``. Raises FileExistsError if that exists."""
        source = self.path_of(item)
        publish_file(source, path, system=self._system)
        move_folder(source, path, self._system)
        self.remove_folder(item.token)

    def path_of(self, item: TrashItem) -> str:
        """Return the path of a file in the trash."""
        return self._kept(item.token, item.key)

    def _kept(self, token: str, key: str) -> str:
        paths = [os.path.join(self._directory, token, key + suffix) for suffix in (*SUFFIXES, "")]
        return next(filter(os.path.lexists, paths), os.path.join(self._directory, token, key + JSONL))

    def remove_folder(self, token: str) -> None:
        """Remove the folder of an item whose file is gone."""
        folder = os.path.join(self._directory, token)
        with contextlib.suppress(FileNotFoundError):
            self._system.unlink(os.path.join(folder, _MANIFEST))
        with contextlib.suppress(OSError):  # an empty folder that remains is not listed
            self._system.rmdir(folder)
            sync_directory(self._directory, self._system)
