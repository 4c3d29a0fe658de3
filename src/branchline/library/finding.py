"""Which session does a person mean? By key, id, the beginning of one, or title, in this order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from branchline.errors import Ambiguous, SessionNotFound
from branchline.library.records import SessionRow

__all__ = ["choose"]

_NAMED = 5


def choose(
    text: str, rows: Iterable[SessionRow], *, with_titles: Callable[[], Iterable[SessionRow]], where: str
) -> SessionRow:
    """The one row that answers to this text; ``with_titles`` is asked only when no id does.

    SessionNotFound when none does, Ambiguous when several do.
    """
    if not text.strip():
        raise ValueError("to find a session, give its id, the beginning of it, or its title")
    rows = list(rows)
    tests: tuple[Callable[[SessionRow], bool], ...] = (
        lambda row: row.key == text,
        lambda row: row.id == text and row.key.endswith("_" + text),  # a copy has another name
        lambda row: row.id == text,
        lambda row: row.id.startswith(text) or row.key.startswith(text),
    )
    for matches in tests:
        if found := [row for row in rows if matches(row)]:
            return _only(text, found)
    title = " ".join(text.split()).casefold()
    if found := [
        row for row in with_titles() if row.title and " ".join(row.title.split()).casefold() == title
    ]:
        return _only(text, found)
    raise SessionNotFound(f"there is no session {text!r} in {where}: neither an id nor a title is like that")


def _only(text: str, found: Sequence[SessionRow]) -> SessionRow:
    if len(found) == 1:
        return found[0]
    # Where ids are repeated, only the key tells the sessions apart.
    ids = {row.id for row in found}
    names = [
        (row.id if len(ids) == len(found) else row.key) + (f" ({row.title})" if row.title else "")
        for row in found[:_NAMED]
    ]
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    raise Ambiguous(f"{text!r} can be {len(found)} sessions: {', '.join(names)}{more}; give more of the id")
