"""The sessions that forks in a Goose database copy, which the database does not name.

A fork gets copies of messages under the ids that they had, so it begins with the first message of its origin.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from branchline.formats.common.tables import shared_beginning, text_of

__all__ = ["COPIES", "origins_of"]

COPIES = """
WITH start AS (
    SELECT session_id, message_id AS first FROM messages
    WHERE id IN (SELECT min(id) FROM messages GROUP BY session_id) AND message_id <> ''
),
shared AS (SELECT first FROM start GROUP BY first HAVING count(*) > 1)
SELECT start.first, messages.session_id, messages.message_id
FROM shared JOIN start USING (first)
JOIN sessions ON sessions.id = start.session_id
JOIN messages ON messages.session_id = start.session_id
ORDER BY sessions.rowid, messages.id
"""
"""The ids of all messages of sessions that begin with the same message, older sessions first."""


def origins_of(rows: Iterable[tuple[Any, ...]]) -> dict[str, str]:
    """Return the session that each fork copies; the rows are those of :data:`COPIES`."""
    families: dict[object, dict[str, list[object]]] = {}
    for first, session_id, message in rows:
        families.setdefault(first, {}).setdefault(text_of(session_id), []).append(message)
    origins = {}
    for family in families.values():
        older: dict[str, list[object]] = {}
        for fork, messages in family.items():
            if older:
                origins[fork] = max(older, key=lambda one: shared_beginning(messages, older[one]))
            older[fork] = messages
    return origins
