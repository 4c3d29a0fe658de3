"""Where Kimi Code stores its sessions, and the file that describes a session."""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Mapping

from branchline.entries import Header, json_codec
from branchline.formats.json_values import text_of
from branchline.formats.kimi.log_index import wire_path
from branchline.formats.protocol import CompanionFile, FormatHome, SessionFacts

__all__ = ["KimiHome", "StateFile"]


class KimiHome(FormatHome):
    """A folder for each project below ``sessions``, with one for each session and, below it, each agent."""

    def roots(self, environment: Mapping[str, str], home: str) -> list[str]:
        base = environment.get("KIMI_CODE_HOME") or posixpath.join(home, ".kimi-code")
        return [posixpath.join(base, "sessions")]

    def directory(self, cwd: str, environment: Mapping[str, str], home: str) -> str | None:
        digest = hashlib.sha256(cwd.encode("utf-8", "surrogateescape")).hexdigest()
        name = f"wd_{posixpath.basename(cwd)}_{digest[:12]}"
        return posixpath.join(self.roots(environment, home)[0], name)

    def directories(self, cwd: str, environment: Mapping[str, str], home: str) -> list[str]:
        """Return the root of all projects: how Kimi Code abbreviates directory names is not fully known."""
        del cwd
        return self.roots(environment, home)

    def subagent_of(self, path: str, header: Header | None) -> str | None:
        del header
        place = wire_path(path)
        return None if place is None or place.agent == "main" else place.session


class StateFile(CompanionFile):
    """``state.json`` in the folder of a session: title, working directory and parent."""

    def companion(self, path: str) -> str | None:
        place = wire_path(path)
        if place is None or place.agent != "main":
            return None  # it describes the session, not its sub-agents
        return posixpath.join(place.folder, "state.json")

    def facts(self, data: bytes) -> SessionFacts:
        fields = json_codec.loads_object(data) or {}
        return SessionFacts(
            title=text_of(fields.get("title")).strip() or None,
            cwd=text_of(fields.get("cwd")) or None,
            parent=text_of(fields.get("forkedFrom")) or None,
        )
