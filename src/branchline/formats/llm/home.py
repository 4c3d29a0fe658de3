"""Where llm stores its log."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

from branchline.formats.protocol import FormatHome

__all__ = ["LlmHome"]

_FOLDER = "io.datasette.llm"


class LlmHome(FormatHome):
    """llm's configuration directory on Linux or macOS, or the one that an environment variable names."""

    def roots(self, environment: Mapping[str, str], home: str) -> list[str]:
        if named := environment.get("LLM_USER_PATH"):
            return [named]
        config = environment.get("XDG_CONFIG_HOME") or posixpath.join(home, ".config")
        return [
            posixpath.join(config, _FOLDER),
            posixpath.join(home, "Library", "Application Support", _FOLDER),
        ]

    def directory(self, cwd: str, environment: Mapping[str, str], home: str) -> str | None:
        del cwd
        return self.roots(environment, home)[0]
