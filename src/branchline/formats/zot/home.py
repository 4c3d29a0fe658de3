"""Where zot stores its sessions."""

from __future__ import annotations

import hashlib
import posixpath
import re
import sys
from collections.abc import Mapping

from branchline.entries import Header
from branchline.formats.protocol import FormatHome

__all__ = ["ZotHome"]


class ZotHome(FormatHome):
    """Where zot stores its sessions."""

    def file_key(self, header: Header) -> str:
        """Return the start of the session and the beginning of its id."""
        digits = re.sub(r"\D", "", header.timestamp[:19])
        return f"{digits[:8]}-{digits[8:14]}-{header.id[:8]}"

    def roots(self, environment: Mapping[str, str], home: str) -> list[str]:
        return [posixpath.join(_root(environment, home), "sessions")]

    def directory(self, cwd: str, environment: Mapping[str, str], home: str) -> str | None:
        digest = hashlib.sha256(cwd.encode("utf-8", "surrogateescape")).hexdigest()
        return posixpath.join(self.roots(environment, home)[0], digest[:16])

    def directories(self, cwd: str, environment: Mapping[str, str], home: str) -> list[str]:
        """Return the folders for ``cwd`` with and without a trailing slash: zot hashes the path as it was
        typed.
        """
        spellings = dict.fromkeys((cwd, cwd.rstrip("/") + "/"))
        return [found for one in spellings if (found := self.directory(one, environment, home)) is not None]


def _root(environment: Mapping[str, str], home: str) -> str:
    if root := environment.get("ZOT_HOME"):
        return root
    if sys.platform == "darwin" and home:
        return posixpath.join(home, "Library", "Application Support", "zot")
    if sys.platform == "win32" and (local := environment.get("LOCALAPPDATA")):
        return posixpath.join(local, "zot")
    if state := environment.get("XDG_STATE_HOME"):
        return posixpath.join(state, "zot")
    return posixpath.join(home, ".local", "state", "zot") if home else ".zot"
