"""Where Gemini CLI stores its sessions, and the file that names the project of each."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping

from branchline.entries import Header
from branchline.formats.gemini.log_index import parent_of
from branchline.formats.protocol import CompanionFile, FormatHome, SessionFacts

__all__ = ["GeminiHome", "ProjectRoot"]

_PROJECT = re.compile(r"(.*)[/\\]chats[/\\]", re.DOTALL)


class GeminiHome(FormatHome):
    """A folder for each project below ``tmp``, under a short name that only Gemini CLI knows."""

    def roots(self, environment: Mapping[str, str], home: str) -> list[str]:
        base = environment.get("GEMINI_CLI_HOME") or home
        return [posixpath.join(base, ".gemini", "tmp")]

    def subagent_of(self, path: str, header: Header | None) -> str | None:
        if (parent := parent_of(path)) is not None:
            return parent
        kind = None if header is None else (header.metadata or {}).get("kind")
        return "" if kind == "subagent" else None


class ProjectRoot(CompanionFile):
    """``.project_root`` in the folder of a project: its working directory as plain text."""

    def companion(self, path: str) -> str | None:
        found = _PROJECT.match(path)
        return None if found is None else posixpath.join(found[1], ".project_root")

    def facts(self, data: bytes) -> SessionFacts:
        root = data.decode("utf-8", "surrogateescape").strip("\r\n")
        return SessionFacts(cwd=root if posixpath.isabs(root) else None)
