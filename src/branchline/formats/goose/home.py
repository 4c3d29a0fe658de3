"""Where Goose stores its sessions."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

from branchline.entries import Header
from branchline.formats.protocol import FormatHome

__all__ = ["SUBAGENTS", "GooseHome"]

SUBAGENTS = frozenset({"sub_agent", "subagent"})
"""Goose's names for the sessions of sub-agents."""


class GooseHome(FormatHome):
    """One directory for all projects."""

    def roots(self, environment: Mapping[str, str], home: str) -> list[str]:
        if root := environment.get("GOOSE_PATH_ROOT"):
            return [posixpath.join(root, "data", "sessions")]
        data = environment.get("XDG_DATA_HOME") or posixpath.join(home, ".local", "share")
        return [posixpath.join(data, "goose", "sessions")]

    def directory(self, cwd: str, environment: Mapping[str, str], home: str) -> str | None:
        del cwd
        return self.roots(environment, home)[0]

    def subagent_of(self, path: str, header: Header | None) -> str | None:
        """Return the session that started a sub-agent; older versions do not record it."""
        del path
        if header is None or (header.metadata or {}).get("session_type") not in SUBAGENTS:
            return None
        return header.parent_session or ""
