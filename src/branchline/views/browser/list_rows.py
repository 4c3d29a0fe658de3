"""The rows of the session list on a screen: the title, then as many columns as fit.

Titles are truncated at the same width on every screen, and a column is added only if the title keeps that
width: a wider screen never shows less.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from typing import NamedTuple

from branchline.context import milliseconds
from branchline.views.browser.arrangement import project_name
from branchline.views.figures import CostFigure, short_count
from branchline.views.hits import Hit, find_ranges
from branchline.views.humanize import age, count
from branchline.views.session_lines import reason_words
from branchline.views.session_row import SessionRow
from branchline.views.spans import (
    Line,
    Piece,
    Span,
    StyleRole,
    cut_line,
    line_width,
    make_line,
    marked_line,
    pad_line,
    spread,
)
from branchline.views.text import cut, cut_start, one_line, width
from branchline.views.tool_calls import short_path

__all__ = [
    "WIDEST",
    "RowLook",
    "ScreenColumns",
    "detail_lines",
    "group_line",
    "header_line",
    "hit_line",
    "row_line",
    "screen_columns",
    "second_line",
]

TITLE = 56
"""The width of a title; longer ones are truncated on every screen."""
WIDEST = 119
"""The width of a row with all columns; longer content is truncated on every screen."""
_AGENT, _PROJECT, _BRANCH, _MESSAGES, _COST, _AGE = 11, 9, 10, 6, 9, 4
_GAP = 2
_ROLE = 8
_ROLES = {"user": "you", "assistant": "answer", "bashExecution": "bash", "title": "title"}
_NARROW, _WITH_PROJECT, _WITH_BRANCH = 54, 107, 119


class ScreenColumns(NamedTuple):
    """The width of a row, and of the columns after the title; 0 hides a column."""

    width: int
    agent: int = 0
    project: int = 0
    branch: int = 0
    messages: int = _MESSAGES
    cost: int = 0
    age: int = _AGE

    @property
    def title(self) -> int:
        """The width of the title and its notes."""
        taken = sum(each + _GAP for each in self[1:] if each)
        return min(TITLE, self.width - 2 - taken)


class RowLook(NamedTuple):
    """How a row is shown, besides the session itself."""

    now: float
    home: str = ""
    agent: str = ""
    cost: CostFigure | None = None
    """The cost; None while it is not computed."""
    branch: str = ""
    """The connectors before the title of a threaded row."""
    indent: int = 0
    marked: bool = False
    pinned: bool = False
    current: bool = False
    by_created: bool = False
    words: Sequence[str] = ()
    """The words of the search, which are highlighted in the title."""


def screen_columns(width: int, *, project: bool = True, cost: bool = True) -> ScreenColumns:
    return ScreenColumns(
        width,
        agent=_AGENT if width >= _NARROW else 0,
        project=_PROJECT if project and width >= _WITH_PROJECT else 0,
        branch=_BRANCH if width >= _WITH_BRANCH - (0 if project else _PROJECT + _GAP) else 0,
        cost=_COST if cost and width >= _NARROW else 0,
    )


def header_line(columns: ScreenColumns, *, sort: str = "recent") -> Line:
    """Return the column names; the sort column is marked."""
    titles = {"threaded": "Title, forks below ▾", "relevance": "Title, best match first ▾"}
    aged = {"recent": "Age▾", "created": "New▾"}
    cells = _cells(columns, "Agent", "Project", "Git branch", "Msgs", "Cost", aged.get(sort, "Age"))
    title = cut_line((Span(titles.get(sort, "Title")),), columns.title)
    return tuple(Span(span.text, "dim") for span in spread(make_line(" ", *title), cells, columns.width))


def row_line(row: SessionRow, columns: ScreenColumns, look: RowLook) -> Line:
    moment = row.active_ms
    if look.by_created and row.created:
        moment = milliseconds(row.created) or moment
    cells = _cells(
        columns,
        look.agent,
        project_name(row),
        row.git_branch or "",
        "" if row.messages is None else short_count(row.messages),
        "" if look.cost is None else str(look.cost),
        age(moment, look.now),
    )
    signs = ("✓ " if look.marked else "") + ("★ " if look.pinned else "") + ("● " if look.current else "")
    before = make_line(" " * (1 + look.indent), Span(signs, "active"), Span(look.branch, "dim"))
    notes = _notes(row, threaded=bool(look.branch))
    room = columns.title - line_width(before) + 1 - sum(width(note.text) + 2 for note in notes)
    title = _title(row, look.words)
    noted = [piece for note in notes for piece in ("  ", note)]
    return spread(make_line(*before, *cut_line(title, max(8, room)), *noted), cells, columns.width)


def _title(row: SessionRow, words: Sequence[str]) -> Line:
    if row.problem is not None:
        known = row.title or row.first_prompt or posixpath.basename(row.path or row.key)
        return make_line(known, "  ", Span(f"unreadable: {reason_words(row)}", "error"))
    title = row.title or row.first_prompt
    if not title:
        return make_line(Span("(no messages)" if row.messages is not None else row.key, "dim"))
    text = one_line(title[: TITLE * 16])
    return marked_line(text, find_ranges(text, words) if words else (), "plain", "match")


def _notes(row: SessionRow, *, threaded: bool) -> list[Span]:
    notes = []
    if row.branches is not None and row.branches > 1:
        notes.append(Span(f"‹{row.branches}›", "dim"))
    if row.draft:
        notes.append(Span("no reply yet", "warning"))
    if row.parent_session and not threaded:
        notes.append(Span("fork", "dim"))
    if row.findings:
        notes.append(Span(count(row.findings, "problem"), "error"))
    return notes


def _cells(
    columns: ScreenColumns, agent: str, project: str, branch: str, messages: str, cost: str, old: str
) -> Line:
    cells: tuple[tuple[int, str, StyleRole, bool], ...] = (
        (columns.agent, agent, "program", False),
        (columns.project, project, "dim", False),
        (columns.branch, branch, "dim", False),
        (columns.messages, messages, "number", True),
        (columns.cost, cost, "cost", True),
        (columns.age, old, "time", True),
    )
    pieces: list[Piece] = []
    for room, text, role, right in cells:
        if room:
            pieces += [" " * _GAP, *pad_line((Span(text, role),), room, right=right)]
    return make_line(*pieces)


def second_line(row: SessionRow, columns: ScreenColumns, *, home: str, path: bool = False) -> Line:
    """Return the second line of a row: directory, git branch, model and first prompt; or the path."""
    room = min(columns.width, WIDEST) - 4
    if path:
        return make_line("   ", Span(cut_start(short_path(row.path or row.key, home), room), "dim"))
    facts = [short_path(row.cwd or "", home), row.git_branch or "", row.model or ""]
    told = ", ".join(one_line(fact) for fact in facts if fact)
    began = one_line((row.first_prompt or "")[:400]) if row.title else ""
    return cut_line(
        make_line("   ", Span(told, "dim"), "  " if told and began else "", Span(began, "thinking")), room + 3
    )


def detail_lines(row: SessionRow, columns: ScreenColumns, look: RowLook) -> list[Line]:
    """Return the lines of an expanded row: everything known about a session without opening it."""
    home = look.home
    counts = [count(row.messages or 0, "message"), count(row.branches or 0, "branch", "branches")]
    if row.total_messages is not None and row.total_messages != row.messages:
        counts.append(f"{row.total_messages:,} messages of any kind on all branches")
    facts = [
        ("directory", short_path(row.cwd or "", home)),
        ("git", row.git_branch or ""),
        ("model", "/".join(part for part in (row.provider, row.model) if part)),
        ("holds", ", ".join(counts) if row.messages is not None else ""),
        ("created", (row.created or "")[:16].replace("T", " ")),
        ("fork of", short_path(row.parent_session or "", home)),
        ("file", short_path(row.path or row.key, home)),
        ("id", row.id),
        ("began", (row.first_prompt or "")[:1000]),
    ]
    room = min(columns.width, WIDEST) - 4
    return [
        cut_line(make_line("   ", Span(f"{name:<10}", "dim"), Span(one_line(text), "tool")), room + 3)
        for name, text in facts
        if text
    ]


def hit_line(hit: Hit, columns: ScreenColumns, *, more: int = 0, current: bool = False) -> Line:
    name = hit.tool if hit.role == "toolResult" and hit.tool else _ROLES.get(hit.role, hit.role)
    notes = [
        "" if hit.on_path else "on another branch",
        f"in {len(hit.places)} sessions" if len(hit.places) > 1 else "",
        f"{more:,} more" if more else "",
    ]
    tail = ", ".join(filter(None, notes))
    room = min(columns.width, WIDEST)
    before = make_line("   ", Span(f"{cut(one_line(name), _ROLE - 1):<{_ROLE}}", "dim"))
    snippet = hit.snippet
    text = marked_line(snippet.text, snippet.ranges, "tool", "found" if current else "match")
    return spread(make_line(*before, *text), make_line(Span(f"  {tail}" if tail else "", "dim")), room)


def group_line(
    project: str, directory: str, sessions: int, cost: CostFigure | None, columns: ScreenColumns
) -> Line:
    """Return the heading of a project."""
    left = make_line(
        Span(f" ▾ {project}", "title"),
        Span(f"  {directory}, {count(sessions, 'session')}", "dim"),
    )
    spent = "" if cost is None else str(cost)
    return spread(left, make_line(Span(spent, "cost"), " " * (_AGE + _GAP)), columns.width)
