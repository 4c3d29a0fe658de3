"""Where pi stores its sessions."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping

from branchline.entries import Header
from branchline.formats.common.native_home import expanded, file_key
from branchline.formats.protocol import FormatHome

__all__ = ["PiHome"]


class PiHome(FormatHome):
    """pi's agent directory, or the one that an environment variable names."""

    def file_key(self, header: Header) -> str:
        return file_key(header)

    def roots(self, environment: Mapping[str, str], home: str) -> list[str]:
        if custom := environment.get("PI_CODING_AGENT_SESSION_DIR"):
            return [expanded(custom, home)]
        agent = expanded(environment.get("PI_CODING_AGENT_DIR") or "~/.pi/agent", home)
        return [posixpath.join(agent, "sessions")]

    def directory(self, cwd: str, environment: Mapping[str, str], home: str) -> str | None:
        root = self.roots(environment, home)[0]
        if environment.get("PI_CODING_AGENT_SESSION_DIR"):
            return root
        return posixpath.join(root, "--" + re.sub(r"[/\\:]", "-", re.sub(r"^[/\\]", "", cwd)) + "--")
