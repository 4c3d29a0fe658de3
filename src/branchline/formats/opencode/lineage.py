"""The sessions that forks in an opencode database copy, which the database does not name.

A fork gets copies of messages under new ids, with the times that they had. So its first message is older than
the fork itself, and the session that it copies begins with the messages of the same times.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

from branchline.formats.common.tables import shared_beginning, text_of

__all__ = ["COPIES", "origins_of"]

COPIES = """
WITH start AS (SELECT session_id, min(time_created) AS time FROM message GROUP BY session_id),
shared AS (
    SELECT start.time FROM start JOIN session ON session.id = start.session_id
    GROUP BY start.time HAVING count(*) > 1 AND max(session.time_created) > start.time
)
SELECT start.time, session.id, session.title, session.time_created, message.time_created
FROM shared JOIN start ON start.time = shared.time
JOIN session ON session.id = start.session_id
JOIN message ON message.session_id = session.id
ORDER BY message.time_created
"""
"""The times of all messages of sessions that begin with a message of the same time, one of them a copy."""

_FORKED = re.compile(r"(.+) \(fork #(\d{1,9})\)", re.DOTALL)


class _Session(NamedTuple):
    id: str
    title: str
    created: int
    times: list[int]
    """When its messages were written."""


def origins_of(rows: Iterable[tuple[Any, ...]]) -> dict[str, str]:
    """Return the session that each fork copies; the rows are those of :data:`COPIES`."""
    families: dict[int, dict[str, _Session]] = {}
    for start, session_id, title, created, time in rows:
        if isinstance(created, int) and isinstance(time, int):
            own = _Session(text_of(session_id), text_of(title), created, [])
            families.setdefault(start, {}).setdefault(own.id, own).times.append(time)
    return {
        fork.id: origin
        for family in families.values()
        for fork in family.values()
        if fork.times[0] < fork.created and (origin := _origin(fork, list(family.values()))) is not None
    }


def _origin(fork: _Session, family: Sequence[_Session]) -> str | None:
    """The older session with most of the copied messages, then one whose title the fork continues."""
    copied = list(takewhile(fork.created.__gt__, fork.times))
    found = max(
        (one for one in family if one.created < fork.created),
        key=lambda one: (
            shared_beginning(copied, one.times),
            _forked_title(one.title) == fork.title,
            -one.created,
        ),
        default=None,
    )
    return None if found is None else found.id


def _forked_title(title: str) -> str:
    """The title that opencode gives to a fork of a session with this title."""
    found = _FORKED.fullmatch(title)
    return f"{title} (fork #1)" if found is None else f"{found[1]} (fork #{int(found[2]) + 1})"
