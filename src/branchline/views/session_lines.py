"""A session as a line of spans, the same in printed lists and in the chat.

Columns of fixed width come first (age, messages, agent, directory); the name of the session comes last and
gets the rest of the line. The name is the title, else the first prompt.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from branchline.views.humanize import age, count, format_size
from branchline.views.session_row import SessionRow
from branchline.views.short_ids import short_ids
from branchline.views.spans import Line, Piece, Span, StyleRole, make_line, pad_line
from branchline.views.text import cut_start, one_line, width
from branchline.views.tool_calls import short_path

__all__ = ["SessionColumns", "facts_lines", "list_columns", "reason_words", "session_line"]

_SHORT_ID = 8
_LISTED_ID = 16
_AGE = 4
_LEAST_MESSAGES = 5
_SIZE = 10
_LISTED_PLACE = 24


class SessionColumns(NamedTuple):
    """The widths of the columns before the name; 0 hides a column."""

    ids: Mapping[str, str]
    """The shortest unique prefix of each id."""
    id: int = _SHORT_ID
    messages: int = _LEAST_MESSAGES
    agent: int = 0
    place: int = 0


def list_columns(
    rows: Sequence[SessionRow], *, own_agent: str, directory: bool = False, home: str = ""
) -> SessionColumns:
    """Return the columns for a printed list; agents are shown if there are others than ``own_agent``."""
    agents = {row.agent for row in rows if row.agent is not None}
    ids = {row.id for row in rows}
    short = short_ids(ids, ids)
    places = [width(_place(row, home)) for row in rows] if directory else []
    return SessionColumns(
        ids=short,
        id=min(_LISTED_ID, max(map(len, short.values()), default=_SHORT_ID)),
        messages=max([_LEAST_MESSAGES, *(len(f"{row.messages or 0:,}") for row in rows)]),
        agent=max(map(len, agents), default=0) if agents - {own_agent} else 0,
        place=min(_LISTED_PLACE, max(places, default=0)),
    )


def session_line(
    row: SessionRow,
    columns: SessionColumns,
    *,
    now: float,
    home: str = "",
    branch: str = "",
    threaded: bool = False,
) -> Line:
    """Return the line of a session. ``branch`` is drawn before the name of a ``threaded`` row.

    If the number of messages is unknown, the size of the file is shown.
    """
    unread = row.messages is None and row.problem is None
    size = "" if row.problem is not None else format_size(row.size)
    cells: tuple[tuple[int, str, StyleRole, bool], ...] = (
        (_AGE, age(row.active_ms, now), "time", True),
        (
            _SIZE if unread else columns.messages,
            size if row.messages is None else f"{row.messages:,}",
            "number",
            True,
        ),
        (columns.agent, row.agent or "", "program", False),
        (columns.place, cut_start(_place(row, home), columns.place) if columns.place else "", "path", False),
    )
    pieces: list[Piece] = [Span(f"{columns.ids.get(row.id, row.id[:_SHORT_ID]):<{columns.id}}  ", "id")]
    for room, text, role, right in cells:
        if room:
            pieces += [*pad_line((Span(text, role),), room, right=right), "  "]
    return make_line(*pieces, Span(branch, "dim"), *_name(row, threaded=threaded or bool(branch)))


def _place(row: SessionRow, home: str) -> str:
    if not row.cwd:
        return "" if row.problem else "(no directory)"
    return one_line(short_path(row.cwd, home))


def _name(row: SessionRow, *, threaded: bool) -> list[Piece]:
    if row.problem is not None:
        known, why = row.title or row.first_prompt, Span(f"unreadable: {reason_words(row)}", "error")
        file = Span(posixpath.basename(row.path or row.key), "path")
        return [known, "  ", why] if known else [why, "  ", file]
    if row.title:
        title = Span(row.title, "title")
    elif row.first_prompt:
        title = Span(row.first_prompt)
    else:
        title = Span("(no messages)" if row.messages is not None else row.key, "dim")
    pieces: list[Piece] = [title]
    if row.draft:
        pieces.append(Span("  (no reply yet)", "warning"))
    if row.parent_session and not threaded:
        pieces.append(Span("  (fork)", "dim"))
    if row.findings:
        pieces.append(Span(f"  ⚠ {count(row.findings, 'finding')}", "warning"))
    return pieces


def reason_words(row: SessionRow) -> str:
    """Return why a file could not be read, without its name."""
    return (row.problem or "").removeprefix(row.path or "").strip(" :")


def facts_lines(row: SessionRow, *, agent: str, home: str = "", now: float, columns: int) -> list[Line]:
    """Return the facts of a session for the preview: name, agent, directory, model, age, parent."""
    parent = posixpath.basename(row.parent_session or "") or row.parent_session or ""
    ago = age(row.active_ms, now)
    facts = [
        agent,
        short_path(row.cwd or "", home),
        row.git_branch or "",
        row.model or "",
        "" if row.messages is None else count(row.messages, "message"),
        count(row.branches, "branch", "branches") if row.branches is not None and row.branches > 1 else "",
        "just now" if ago == "now" else f"{ago} ago",
        f"fork of {parent}" if parent else "",
        row.id[:_SHORT_ID],
    ]
    return [
        make_line(Span(row.title or row.first_prompt or "(no messages)", "title")),
        *_facts_in(columns, [one_line(fact) for fact in facts if fact]),
    ]


def _facts_in(columns: int, facts: Sequence[str]) -> list[Line]:
    """Join facts with dots, and wrap only between facts."""
    lines: list[str] = []
    for fact in facts:
        longer = f"{lines[-1]} · {fact}" if lines else fact
        if lines and width(longer) <= columns:
            lines[-1] = longer
        else:
            lines.append(fact)
    return [make_line(Span(line, "dim")) for line in lines]
