"""Where Qwen Code stores its sessions."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping

from branchline.entries import Header
from branchline.formats.protocol import FormatHome
from branchline.formats.qwen.log_index import agent_of

__all__ = ["QwenHome"]


class QwenHome(FormatHome):
    """A folder for each project below ``projects``, with a subfolder ``chats``."""

    def roots(self, environment: Mapping[str, str], home: str) -> list[str]:
        del environment
        return [posixpath.join(home, ".qwen", "projects")]

    def directory(self, cwd: str, environment: Mapping[str, str], home: str) -> str | None:
        """Return the directory of a project, which several working directories may share."""
        slug = re.sub(r"[^A-Za-z0-9-]", "-", cwd)
        return posixpath.join(self.roots(environment, home)[0], slug, "chats")

    def subagent_of(self, path: str, header: Header | None) -> str | None:
        del header
        agent = agent_of(path)
        return None if agent is None else agent[0]
