"""Where induscode stores its sessions."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping

from branchline.formats.protocol import FormatHome

__all__ = ["InduscodeHome"]


class InduscodeHome(FormatHome):
    """Where induscode stores its sessions."""

    def roots(self, environment: Mapping[str, str], home: str) -> list[str]:
        return [posixpath.join(_profile(environment, home), "sessions")]

    def directory(self, cwd: str, environment: Mapping[str, str], home: str) -> str | None:
        """Return the directory named after ``cwd``; several working directories may share one."""
        slug = re.sub("[^A-Za-z0-9]+", "-", cwd).strip("-")
        return posixpath.join(_profile(environment, home), "sessions", f"--{slug}--")


def _profile(environment: Mapping[str, str], home: str) -> str:
    for name in ("INDUSAGI_CODING_AGENT_DIR", "INDUSAGI_HOME"):
        if path := environment.get(name, "").strip():
            if path == "~" or path.startswith("~/"):
                path = home + path[1:]
            return posixpath.abspath(path)
    return posixpath.join(home, ".pindusagi")
