"""Where Claude Code keeps its transcripts."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping

from branchline.entries import Header
from branchline.formats.claude_code.log_index import agent_of
from branchline.formats.protocol import FormatHome

__all__ = ["ClaudeCodeHome"]


class ClaudeCodeHome(FormatHome):
    """Where Claude Code keeps its transcripts."""

    def roots(self, environment: Mapping[str, str], home: str) -> list[str]:
        base = environment.get("CLAUDE_CONFIG_DIR") or posixpath.join(home, ".claude")
        return [posixpath.join(base, "projects")]

    def directory(self, cwd: str, environment: Mapping[str, str], home: str) -> str | None:
        """The directory of a project. Two working directories may share one: the records tell which."""
        slug = re.sub(r"[^A-Za-z0-9-]", "-", cwd)
        return posixpath.join(self.roots(environment, home)[0], slug)

    def subagent_of(self, path: str, header: Header | None) -> str | None:
        if agent_of(path) is None:
            return None
        return "" if header is None else header.parent_session or ""
