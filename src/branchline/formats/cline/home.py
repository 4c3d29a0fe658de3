"""Where Cline stores its sessions, and where the editor extensions derived from it store their tasks."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

from branchline.entries import Header
from branchline.formats.protocol import FormatHome

__all__ = ["EDITORS", "ClineHome"]

_EXTENSIONS = (
    "saoudrizwan.claude-dev",
    "rooveterinaryinc.roo-cline",
    "zoocodeorganization.zoo-code",
    "kilocode.kilo-code",
)
_PROGRAMS = ("Code", "Code - Insiders", "Cursor", "Windsurf", "VSCodium")
EDITORS = (
    *(f".config/{name}/User/globalStorage" for name in _PROGRAMS),
    *(f"Library/Application Support/{name}/User/globalStorage" for name in _PROGRAMS),
    ".vscode-server/data/User/globalStorage",
)
"""Where editors store extension data, below home."""


class ClineHome(FormatHome):
    """Cline's own store, and the extensions' tasks in every editor."""

    def roots(self, environment: Mapping[str, str], home: str) -> list[str]:
        own = environment.get("CLINE_SESSION_DATA_DIR")
        if not own and (data := environment.get("CLINE_DATA_DIR")):
            own = posixpath.join(data, "sessions")
        base = environment.get("CLINE_DIR") or posixpath.join(home, ".cline")
        storages = [posixpath.join(home, editor) for editor in EDITORS]
        if windows := environment.get("APPDATA"):
            storages += [posixpath.join(windows, name, "User", "globalStorage") for name in _PROGRAMS]
        tasks = [posixpath.join(one, name, "tasks") for one in storages for name in _EXTENSIONS]
        return [own or posixpath.join(base, "data", "sessions"), *tasks]

    def subagent_of(self, path: str, header: Header | None) -> str | None:
        if posixpath.basename(path).startswith("agent_"):
            return (header and header.parent_session) or ""
        return None
