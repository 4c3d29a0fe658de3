"""Where Claude Code stores its transcripts."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence

from branchline.entries import Header
from branchline.formats.protocol import FormatHome

__all__ = ["ClaudeCodeHome", "agent_of"]

_AGENT_FILE = r"(?:^|[/\\])agent-([^/\\]+)\.jsonl$"
_LONGEST = 200  # longer directory names are abbreviated by Claude Code


def _slug(cwd: str) -> str:
    return re.sub(r"[^A-Za-z0-9-]", "-", cwd)


def agent_of(path: str) -> str | None:
    """Return the id of the sub-agent in a file name; None for other files."""
    found = re.search(_AGENT_FILE, path)
    return None if found is None else found[1]


class ClaudeCodeHome(FormatHome):
    """Where Claude Code stores its transcripts."""

    def roots(self, environment: Mapping[str, str], home: str) -> list[str]:
        base = environment.get("CLAUDE_CONFIG_DIR") or posixpath.join(home, ".claude")
        return [posixpath.join(base, "projects")]

    def directory(self, cwd: str, environment: Mapping[str, str], home: str) -> str | None:
        """Return the directory of a project, which several working directories may share.

        None for a long path: Claude Code abbreviates its name and adds a hash that cannot be computed here.
        """
        slug = _slug(cwd)
        return None if len(slug) > _LONGEST else posixpath.join(self.roots(environment, home)[0], slug)

    def new_directories(self, header: Header, environment: Mapping[str, str], home: str) -> Sequence[str]:
        """Return that directory; for a long path, a pattern for an existing one. A project is required."""
        if not header.cwd:
            return ()
        slug = _slug(header.cwd)
        if len(slug) > _LONGEST:
            slug = f"{slug[:_LONGEST]}-??????"
        return (posixpath.join(self.roots(environment, home)[0], slug),)

    def subagent_of(self, path: str, header: Header | None) -> str | None:
        if agent_of(path) is None:
            return None
        return "" if header is None else header.parent_session or ""
