"""A folder for files that were removed: each in a folder of its own, with a manifest that says what it was.

Nothing in here is ever deleted by itself. A file moves in by getting a second name before it loses the first,
so that a crash at any moment leaves it reachable: before, in both places, or after.
"""

from __future__ import annotations

import contextlib
import os
import time
from datetime import datetime
from typing import Any

from branchline.entries import json_codec
from branchline.formats.suffixes import JSONL, SUFFIXES, has_suffix, suffix_of, without_suffix
from branchline.log import SYSTEM, FileLog, System, create_directory, publish_file, sync_directory
from branchline.log.system import random_name
from branchline.stores.companion_folders import move_folder
from branchline.stores.protocol import TrashItem, is_key

__all__ = ["Trash"]

_MANIFEST = "manifest.json"
_LATEST = 253402300800.0  # the year 10000, which no date reaches


class Trash:
    """The trash in one folder, which is made when something is first put into it."""

    def __init__(self, directory: str, system: System = SYSTEM) -> None:
        self._directory = directory
        self._system = system

    def put(self, key: str, path: str, *, draft: bool = False) -> TrashItem | None:
        """Move the file at this path in; None when it is gone already."""
        system = self._system
        try:
            size = system.lstat(path).st_size
        except FileNotFoundError:
            return None
        removed = time.time()
        token = time.strftime("%Y%m%dT%H%M%S", time.gmtime(removed)) + "-" + random_name()[:8]
        place = os.path.join(self._directory, token)
        create_directory(place, system)
        # The manifest comes first: a crash leaves a manifest without a file, never a file without one.
        manifest = {"key": key, "path": path, "removed": removed, "size": size, "draft": draft}
        data = json_codec.dumps(manifest) + b"\n"
        FileLog.create(os.path.join(place, _MANIFEST), data, system=system).close()
        kept = os.path.join(place, key + suffix_of(path))
        try:
            publish_file(path, kept, system=system)
        except FileNotFoundError:
            self._forget(token)
            return None
        move_folder(path, kept, system)
        return TrashItem(token, key, size, removed, draft)

    def items(self) -> list[TrashItem]:
        """What is in here, last removed first."""
        try:
            tokens = os.listdir(self._directory)
        except (FileNotFoundError, NotADirectoryError):
            return []
        found = [item for token in tokens if (item := self.item(token)) is not None]
        return sorted(found, key=lambda item: (-item.removed, item.token))

    def item(self, token: str) -> TrashItem | None:
        """What was put in under this token; None when there is no such thing, or not any more.

        The manifest says what it was. One that is damaged or missing hides nothing: the file beside it has
        its old name, and the folder tells when it was removed.
        """
        manifest = self._manifest(token)
        key = self._key(token, manifest.get("key"))
        if key is None:
            return None
        # lstat: what was removed may have been a link, which leads nowhere from here.
        try:
            size = os.lstat(self._kept(token, key)).st_size
        except OSError:
            return None
        removed = manifest.get("removed")
        if not isinstance(removed, int | float) or not 0 < removed < _LATEST:
            removed = self._removed(token)
        return TrashItem(token, key, size, float(removed), manifest.get("draft") is True)

    def _manifest(self, token: str) -> dict[str, Any]:
        try:
            with open(os.path.join(self._directory, token, _MANIFEST), "rb") as file:
                return json_codec.loads_object(file.read()) or {}
        except OSError:
            return {}

    def _key(self, token: str, named: object) -> str | None:
        """The key of the session file in a folder: the one that the manifest names, if it is there."""
        try:
            names = sorted(os.listdir(os.path.join(self._directory, token)))
        except OSError:
            return None
        keys = [without_suffix(name) for name in names if has_suffix(name)]
        return next(filter(is_key, sorted(keys, key=lambda key: key != named)), None)

    def _removed(self, token: str) -> float:
        """When something was removed, by the name of its folder, else by the folder's own time."""
        try:
            return datetime.strptime(f"{token[:15]}+0000", "%Y%m%dT%H%M%S%z").timestamp()
        except ValueError:
            pass
        try:
            return os.lstat(os.path.join(self._directory, token)).st_mtime
        except OSError:
            return 0.0

    def take(self, item: TrashItem, path: str) -> None:
        """Give a file back its old name. FileExistsError when another file has it now."""
        place = self.path_of(item)
        publish_file(place, path, system=self._system)
        move_folder(place, path, self._system)
        self._forget(item.token)

    def path_of(self, item: TrashItem) -> str:
        """Where a file lies in here."""
        return self._kept(item.token, item.key)

    def _kept(self, token: str, key: str) -> str:
        paths = [os.path.join(self._directory, token, key + suffix) for suffix in SUFFIXES]
        return next(filter(os.path.lexists, paths), os.path.join(self._directory, token, key + JSONL))

    def _forget(self, token: str) -> None:
        """Take the folder of something that is not here (any more) away."""
        place = os.path.join(self._directory, token)
        with contextlib.suppress(FileNotFoundError):
            self._system.unlink(os.path.join(place, _MANIFEST))
        with contextlib.suppress(OSError):  # what stays is an empty folder, which nobody lists
            self._system.rmdir(place)
            sync_directory(self._directory, self._system)
