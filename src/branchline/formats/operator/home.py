"""Where Operator stores its sessions."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from datetime import datetime

from branchline.entries import Header
from branchline.formats.operator.timestamps import seconds_of
from branchline.formats.protocol import FormatHome

__all__ = ["OperatorHome"]


class OperatorHome(FormatHome):
    """Where Operator stores its sessions."""

    def file_key(self, header: Header) -> str:
        """Return local time with microseconds, and the id."""
        moment = datetime.fromtimestamp(seconds_of(header.timestamp)).astimezone()
        return f"{moment:%Y-%m-%dT%H-%M-%S-%f}_{header.id}"

    def roots(self, environment: Mapping[str, str], home: str) -> list[str]:
        """Return the profiles, each with ``sessions`` and ``acp``, and the sessions without a profile."""
        del environment
        return [posixpath.join(home, ".operator", "profiles"), posixpath.join(home, ".operator", "sessions")]

    def profile_patterns(self, environment: Mapping[str, str], home: str) -> Sequence[str]:
        """Prefer a profile for new sessions; Operator does not list sessions without one."""
        del environment
        profiles = posixpath.join(home, ".operator", "profiles")
        return posixpath.join(profiles, "default", "sessions"), posixpath.join(profiles, "*", "sessions")

    def directory(self, cwd: str, environment: Mapping[str, str], home: str) -> str | None:
        """Return the one directory for all projects."""
        del cwd, environment
        return posixpath.join(home, ".operator", "sessions")
