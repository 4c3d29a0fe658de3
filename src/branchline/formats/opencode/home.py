"""Where opencode stores its databases."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

from branchline.entries import Header
from branchline.formats.protocol import FormatHome

__all__ = ["OpencodeHome"]


class OpencodeHome(FormatHome):
    """One directory for all projects; an environment variable may name another database."""

    def roots(self, environment: Mapping[str, str], home: str) -> list[str]:
        data = environment.get("XDG_DATA_HOME") or posixpath.join(home, ".local", "share")
        directory = posixpath.join(data, "opencode")
        named = environment.get("OPENCODE_DB")
        if not named or named == ":memory:":
            return [directory]
        return list(dict.fromkeys((posixpath.dirname(posixpath.join(directory, named)), directory)))

    def directory(self, cwd: str, environment: Mapping[str, str], home: str) -> str | None:
        del cwd
        return self.roots(environment, home)[0]

    def subagent_of(self, path: str, header: Header | None) -> str | None:
        """Return the parent of a sub-agent; forks name none, and a converted session names its origin."""
        del path
        if header is None or "converted" in (header.metadata or {}):
            return None
        return header.parent_session
