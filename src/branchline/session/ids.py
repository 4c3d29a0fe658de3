"""Validation of session ids."""

from __future__ import annotations

import re

from branchline._arguments import require_text
from branchline.errors import InvalidId

__all__ = ["check_session_id"]

_SESSION_ID = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")


def check_session_id(session_id: str) -> str:
    """Return the id if it is valid. Raises InvalidId otherwise."""
    require_text("a session id", session_id, empty=True)
    if not _SESSION_ID.fullmatch(session_id):
        raise InvalidId(
            f"{session_id!r} cannot be a session id: letters, digits, '-', '_' and '.', "
            "with a letter or digit at both ends"
        )
    return session_id
