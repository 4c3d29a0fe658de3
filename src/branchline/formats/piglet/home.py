"""Where piglet stores its sessions."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

from branchline.formats.protocol import FormatHome

__all__ = ["PigletHome"]


class PigletHome(FormatHome):
    """Where piglet stores its sessions."""

    def roots(self, environment: Mapping[str, str], home: str) -> list[str]:
        config = environment.get("XDG_CONFIG_HOME") or posixpath.join(home, ".config")
        return [posixpath.join(config, "piglet", "sessions")]

    def directory(self, cwd: str, environment: Mapping[str, str], home: str) -> str | None:
        """Return the one directory for all projects."""
        del cwd
        return self.roots(environment, home)[0]

    def lock_file(self, path: str) -> str | None:
        """Return the file on which piglet takes an exclusive ``flock`` around every append."""
        return path + ".lock"
