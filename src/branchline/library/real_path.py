"""Paths with symbolic links resolved."""

from __future__ import annotations

import os

__all__ = ["real_path"]


def real_path(path: str) -> str:
    """Resolve symbolic links; return the normalized path if that fails."""
    try:
        return os.path.realpath(path)
    except (ValueError, OSError):
        return os.path.normpath(path)
