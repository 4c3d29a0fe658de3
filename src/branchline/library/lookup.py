"""Session lookup: by key, id, id prefix, or title, in this order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from branchline.errors import Ambiguous
from branchline.views.session_row import SessionRow

__all__ = ["by_id", "by_title", "current_of_thread", "require_one", "the_only"]

_NAMED = 5


def by_id(text: str, rows: Sequence[SessionRow]) -> list[SessionRow]:
    """Return the rows with this key or id; without one, those with this key or id prefix."""
    tests: tuple[Callable[[SessionRow], bool], ...] = (
        lambda row: row.key == text,
        lambda row: row.id == text and row.key.endswith("_" + text),  # copies have other names
        lambda row: row.id == text,
        lambda row: row.key.endswith("_" + text),  # later rollouts of a thread have their own ids
        lambda row: row.id.startswith(text) or row.key.startswith(text),
    )
    for matches in tests:
        if found := [row for row in rows if matches(row)]:
            return current_of_thread(found)
    return []


def by_title(text: str, rows: Iterable[SessionRow]) -> list[SessionRow]:
    """Return the rows with this title, ignoring case and white space."""
    title = " ".join(text.split()).casefold()
    return current_of_thread(
        [row for row in rows if row.title and " ".join(row.title.split()).casefold() == title]
    )


def require_one(text: str, found: Sequence[SessionRow]) -> SessionRow:
    """Return the only row. Raises Ambiguous, with the candidates and their agents, if there are more."""
    if len(found) == 1:
        return found[0]
    # Sessions with the same id differ only in their key.
    ids = {row.id for row in found}
    names = [_called(row, by_key=len(ids) < len(found)) for row in found[:_NAMED]]
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    raise Ambiguous(f"{text!r} matches {len(found)} sessions: {', '.join(names)}{more}; give more of the id")


def _called(row: SessionRow, *, by_key: bool) -> str:
    about = ", ".join(filter(None, (row.agent, row.title)))
    return (row.key if by_key else row.id) + (f" ({about})" if about else "")


def current_of_thread(found: list[SessionRow]) -> list[SessionRow]:
    """Return the current file of a session with several files.

    Of the rollouts of a Codex thread, it is the last by name. Gemini CLI leaves stubs with the id of a
    session that it resumed; the conversation is in the largest file. An archived copy counts only without an
    original, and of several copies the largest.
    """
    threads = {(row.agent, row.id) for row in found}
    if len(found) > 1 and len(threads) == 1:
        found = [row for row in found if not row.archived] or [max(found, key=lambda row: row.size)]
        if found[0].agent == "codex":
            return [max(found, key=lambda row: row.key)]
        if found[0].agent == "gemini":
            return [max(found, key=lambda row: row.size)]
    return found


def the_only(name: str, rows: Sequence[SessionRow], where: str) -> SessionRow | None:
    """Return the only row with this id, or None. Raises Ambiguous, with their keys, if there are more."""
    if len(rows) > 1:
        keys = ", ".join(row.key for row in rows[:5])
        raise Ambiguous(f"{len(rows)} sessions in {where} have the id {name}: {keys}; use one of these")
    return rows[0] if rows else None
