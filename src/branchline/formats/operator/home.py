"""Where Operator keeps its sessions."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from datetime import datetime

from branchline.entries import Header
from branchline.formats.operator.timestamps import seconds_of
from branchline.formats.protocol import FormatHome

__all__ = ["OperatorHome"]


class OperatorHome(FormatHome):
    """Where Operator keeps its sessions."""

    def file_key(self, header: Header) -> str:
        """Local time, with six digits behind the second, and the id."""
        moment = datetime.fromtimestamp(seconds_of(header.timestamp)).astimezone()
        return f"{moment:%Y-%m-%dT%H-%M-%S-%f}_{header.id}"

    def roots(self, environment: Mapping[str, str], home: str) -> list[str]:
        """The profiles, each with ``sessions`` and ``acp``, and the sessions of no profile."""
        del environment
        return [posixpath.join(home, ".operator", "profiles"), posixpath.join(home, ".operator", "sessions")]

    def profile_patterns(self, environment: Mapping[str, str], home: str) -> Sequence[str]:
        """New sessions belong to a profile, if there is one; Operator keeps those of none nowhere."""
        del environment
        profiles = posixpath.join(home, ".operator", "profiles")
        return posixpath.join(profiles, "default", "sessions"), posixpath.join(profiles, "*", "sessions")

    def directory(self, cwd: str, environment: Mapping[str, str], home: str) -> str | None:
        """All projects lie together."""
        del cwd, environment
        return posixpath.join(home, ".operator", "sessions")
