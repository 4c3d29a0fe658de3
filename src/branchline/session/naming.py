"""Names of new sessions: what an id may be, and the file name made of time and id."""

from __future__ import annotations

import re

from branchline.entries import Header
from branchline.errors import InvalidId

__all__ = ["check_session_id", "file_key"]

_SESSION_ID = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")


def check_session_id(session_id: str) -> str:
    """The id itself, if a session may have it."""
    if not _SESSION_ID.fullmatch(session_id):
        raise InvalidId(
            f"{session_id!r} cannot be a session id: letters, digits, '-', '_' and '.', "
            "with a letter or digit at both ends"
        )
    return session_id


def file_key(header: Header) -> str:
    """The name of a session's file without its ending: sorts by time, tells the id."""
    return re.sub(r"[:.]", "-", header.timestamp) + "_" + header.id
