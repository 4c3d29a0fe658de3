"""Session lookup: by key, id, id prefix, or title, in this order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from branchline.errors import Ambiguous
from branchline.views.session_row import SessionRow

__all__ = ["by_id", "by_title", "current_of_thread", "require_one"]

_NAMED = 5


def by_id(text: str, rows: Sequence[SessionRow]) -> list[SessionRow]:
    """The rows whose key or id this is; where there are none, those whose key or id begins so."""
    tests: tuple[Callable[[SessionRow], bool], ...] = (
        lambda row: row.key == text,
        lambda row: row.id == text and row.key.endswith("_" + text),  # a copy has another name
        lambda row: row.id == text,
        lambda row: row.key.endswith("_" + text),  # a later rollout of a thread has an id of its own
        lambda row: row.id.startswith(text) or row.key.startswith(text),
    )
    for matches in tests:
        if found := [row for row in rows if matches(row)]:
            return current_of_thread(found)
    return []


def by_title(text: str, rows: Iterable[SessionRow]) -> list[SessionRow]:
    """The rows with this title, whatever its case and its blanks."""
    title = " ".join(text.split()).casefold()
    return current_of_thread(
        [row for row in rows if row.title and " ".join(row.title.split()).casefold() == title]
    )


def require_one(text: str, found: Sequence[SessionRow]) -> SessionRow:
    """The one row that was found. Ambiguous, with the candidates and their programs, when there are more."""
    if len(found) == 1:
        return found[0]
    # Where ids are repeated, only the key tells the sessions apart.
    ids = {row.id for row in found}
    names = [_called(row, by_key=len(ids) < len(found)) for row in found[:_NAMED]]
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    raise Ambiguous(f"{text!r} matches {len(found)} sessions: {', '.join(names)}{more}; give more of the id")


def _called(row: SessionRow, *, by_key: bool) -> str:
    about = ", ".join(filter(None, (row.agent, row.title)))
    return (row.key if by_key else row.id) + (f" ({about})" if about else "")


def current_of_thread(found: list[SessionRow]) -> list[SessionRow]:
    """Of several files of one session, the one in which it continues.

    Of the rollouts of a thread of Codex that is the last by name. Gemini CLI leaves stubs under the id of a
    session that it resumed; the conversation is in the largest file.
    """
    threads = {(row.agent, row.id) for row in found}
    if len(found) > 1 and len(threads) == 1:
        if found[0].agent == "codex":
            return [max(found, key=lambda row: row.key)]
        if found[0].agent == "gemini":
            return [max(found, key=lambda row: row.size)]
    return found
