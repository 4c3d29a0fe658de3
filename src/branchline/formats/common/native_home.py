"""How pi and oh-my-pi name files and places."""

from __future__ import annotations

import posixpath
import re

from branchline.entries import Header

__all__ = ["expanded", "file_key"]


def file_key(header: Header) -> str:
    """The name of a new file: the start of the session, and its id."""
    return re.sub(r"[:.]", "-", header.timestamp) + "_" + header.id


def expanded(path: str, home: str) -> str:
    """A configured path with ``~/`` replaced by the home directory."""
    return posixpath.join(home, path[2:]) if path.startswith("~/") else path
