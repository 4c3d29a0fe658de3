"""File and directory names of pi and oh-my-pi."""

from __future__ import annotations

import posixpath
import re

from branchline.entries import Header

__all__ = ["expanded", "file_key"]


def file_key(header: Header) -> str:
    """Return the name of a new file: the start of the session, and its id."""
    return re.sub(r"[:.]", "-", header.timestamp) + "_" + header.id


def expanded(path: str, home: str) -> str:
    """Return a configured path with ``~/`` replaced by the home directory."""
    return posixpath.join(home, path[2:]) if path.startswith("~/") else path
