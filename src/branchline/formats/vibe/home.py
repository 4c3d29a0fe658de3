"""Where Mistral Vibe stores its sessions."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

from branchline.entries import Header
from branchline.formats.protocol import FormatHome

__all__ = ["VibeHome"]


class VibeHome(FormatHome):
    """One folder for all working directories."""

    def roots(self, environment: Mapping[str, str], home: str) -> list[str]:
        base = environment.get("VIBE_HOME") or posixpath.join(home, ".vibe")
        if base == "~" or base.startswith("~/"):
            base = home + base[1:]
        return [posixpath.join(base, "logs", "session", "unified")]

    def subagent_of(self, path: str, header: Header | None) -> str | None:
        """Return the parent of a marked sub-agent; a fork names its parent too."""
        del path
        if header is None or (header.metadata or {}).get("kind") != "subagent":
            return None
        return header.parent_session or ""
