"""A path with its links followed."""

from __future__ import annotations

import os

__all__ = ["real_path"]


def real_path(path: str) -> str:
    """A path with its links followed; as it is where the system can have no such path."""
    try:
        return os.path.realpath(path)
    except (ValueError, OSError):
        return os.path.normpath(path)
