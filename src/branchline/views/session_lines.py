"""A session as a line of spans, the same in the browser, in printed lists and in the chat.

What has a fixed width comes first (age, messages, cost, agent, directory); what the session is called comes
last and gets the rest of the line. A session is called by its title, else by its first prompt.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from branchline.views.humanize import age, count, format_size, known_money
from branchline.views.session_row import SessionRow
from branchline.views.short_ids import short_ids
from branchline.views.spans import Line, Piece, Span, StyleRole, cut_line, line_width, make_line
from branchline.views.text import cut_middle, cut_start, one_line, width
from branchline.views.tool_calls import short_path

__all__ = [
    "NOT_COUNTED",
    "SessionColumns",
    "facts_lines",
    "header_line",
    "list_columns",
    "reason_words",
    "screen_columns",
    "session_line",
]

NOT_COUNTED = -1.0
"""The cost of a session that was not added up yet: its cell is empty. None is a cost that nobody recorded."""
_ENOUGH_ROWS = 14
_SHORT_ID = 8
_AGE = 4
_MESSAGES = 5
_COST = 8
_AGENT = 11
_GAP = 2
_NAME = 30
"""Columns of the name before another column is worth more. It does not grow beyond while others are missing,
so that it never shrinks when they appear."""
_PLACE = (4, 12, 28)
"""Columns of a directory: the fewest that tell something, enough, and more than that is a waste."""
_LISTED_PLACE = 24


class SessionColumns(NamedTuple):
    """How wide the columns before the name are; 0 is a column that is not shown."""

    marks: bool = False
    """Whether there is room for a mark and a pin."""
    ids: Mapping[str, str] | None = None
    """The beginning of each id that tells it from the others; None if ids are not shown."""
    messages: int = _MESSAGES
    cost: int = 0
    agent: int = 0
    place: int = 0
    path: bool = False
    """Whether the place is the file and not the working directory."""
    name: int | None = None
    """How wide the name may be; None for the rest of the line."""

    @property
    def before_name(self) -> int:
        """The columns that are taken before the name begins, without an id."""
        taken = (_AGE, self.messages, self.cost, self.agent, self.place)
        return (4 if self.marks else 0) + sum(each + _GAP for each in taken if each)


def screen_columns(
    width: int, *, directory: bool = False, path: bool = False, cost: bool = True
) -> SessionColumns:
    """Columns for a screen of this width. A wider one shows no column and no name less."""
    columns = SessionColumns(marks=True, agent=_AGENT)
    if path:
        return columns._replace(agent=0, place=max(16, width * 2 // 5), path=True)
    if width - columns.before_name < _NAME:
        return columns._replace(agent=0)
    room = width - columns.before_name - _NAME
    if cost:
        if room < _COST + _GAP:
            return columns._replace(name=_NAME)
        columns, room = columns._replace(cost=_COST), room - _COST - _GAP
    if directory:
        fewest, enough, most = _PLACE
        room -= _GAP
        if room < fewest:
            return columns._replace(name=_NAME)
        place = min(room, enough) + max(0, min((room - enough) // 4, most - enough))
        columns = columns._replace(place=place)
    return columns


def list_columns(
    rows: Sequence[SessionRow], *, own_agent: str, directory: bool = False, home: str = ""
) -> SessionColumns:
    """Columns for a printed list; the agent has one if there are sessions of others than ``own_agent``."""
    agents = {row.agent for row in rows if row.agent is not None}
    ids = {row.id for row in rows}
    places = [width(_place(row, home)) for row in rows] if directory else []
    return SessionColumns(
        ids=short_ids(ids, ids),
        agent=max(map(len, agents), default=0) if agents - {own_agent} else 0,
        place=min(_LISTED_PLACE, max(places, default=0)),
    )


def header_line(columns: SessionColumns) -> Line:
    """The names of the columns of a screen."""
    cells = _cells(columns, "age", "msgs", "cost", "agent", "file" if columns.path else "directory")
    return tuple(Span(span.text, "dim") for span in make_line("    ", *cells, "session"))


def session_line(
    row: SessionRow,
    columns: SessionColumns,
    *,
    now: float,
    home: str = "",
    agent: str | None = None,
    cost: float | None = NOT_COUNTED,
    branch: str = "",
    threaded: bool = False,
    marked: bool = False,
    current: bool = False,
    pinned: bool = False,
) -> Line:
    """One session. ``marked`` rows are chosen for what is done next; ``current`` is the one we came from.

    ``branch`` is drawn before the name where rows are ``threaded``: below the sessions they were forked from.
    """
    pieces: list[Piece] = []
    if columns.marks:
        marks = ("✓" if marked else "●" if current else " ") + ("★" if pinned else " ")
        pieces.append(Span(f" {marks} ", "label" if marked or pinned else "active"))
    if columns.ids is not None:
        pieces.append(Span(f"{columns.ids.get(row.id, row.id[:_SHORT_ID]):<{_SHORT_ID}}  ", "id"))
    unread = row.messages is None and row.problem is None
    pieces += _cells(
        columns._replace(messages=10) if unread and not columns.marks else columns,
        age(row.modified_ms, now),
        _size(row, columns) if row.messages is None else f"{row.messages:,}",
        "" if cost == NOT_COUNTED else known_money(cost),
        agent if agent is not None else row.agent or "",
        _place(row, home, path=columns.path),
    )
    name = make_line(Span(branch, "dim"), *_name(row, threaded=threaded or bool(branch)))
    return make_line(*pieces, *(name if columns.name is None else cut_line(name, columns.name)))


def _size(row: SessionRow, columns: SessionColumns) -> str:
    """What stands for a number of messages that is not known: in a printed list, the size of the file."""
    return "" if columns.marks or row.problem is not None else format_size(row.size)


def _cells(
    columns: SessionColumns, age_text: str, messages: str, cost: str, agent: str, place: str
) -> list[Piece]:
    if columns.place:
        place = (cut_middle if columns.path else cut_start)(place, columns.place)
    cells: tuple[tuple[int, str, StyleRole, bool], ...] = (
        (_AGE, age_text, "time", True),
        (columns.messages, messages, "number", True),
        (columns.cost, cost, "cost", True),
        (columns.agent, agent, "program", False),
        (columns.place, place, "path", False),
    )
    pieces: list[Piece] = []
    for room, text, role, right in cells:
        if not room:
            continue
        cell = cut_line((Span(text, role),), room)
        blanks = " " * (room - line_width(cell))
        pieces += [blanks, *cell, "  "] if right else [*cell, blanks, "  "]
    return pieces


def _place(row: SessionRow, home: str, *, path: bool = False) -> str:
    if not path and not row.cwd:
        return "" if row.problem else "(no directory)"
    return one_line(short_path((row.path if path else row.cwd) or "", home))


def _name(row: SessionRow, *, threaded: bool) -> list[Piece]:
    """What a session is called, and what else is to be known about it."""
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
    """Why a file could not be read, without its name, which stands beside it."""
    return (row.problem or "").removeprefix(row.path or "").strip(" :")


def _ago(row: SessionRow, now: float) -> str:
    words = age(row.modified_ms, now)
    return "just now" if words == "now" else f"{words} ago"


def facts_lines(row: SessionRow, *, home: str = "", now: float, rows: int) -> list[Line]:
    """The small print of a session for the preview: who, where, when, from what; in one line if need be."""
    parent = posixpath.basename(row.parent_session or "") or row.parent_session or ""
    in_one_line = rows < _ENOUGH_ROWS
    facts = [
        make_line(
            Span(row.id[:_SHORT_ID] if in_one_line else row.id, "id"),
            Span(f" · {_ago(row, now)}", "time"),
            Span(f" · {row.model}" if row.model else "", "model"),
        ),
        make_line(Span(short_path(row.cwd or "", home), "path")),
        make_line(Span("↳ fork of " if parent else "", "active"), Span(parent, "id")),
    ]
    facts = [fact for fact in facts if fact]
    if in_one_line:
        facts = [tuple(span for fact in facts for span in (*fact, Span("  ")))]
    return [make_line(Span(row.title or row.first_prompt or "(no messages)", "title")), *facts]
