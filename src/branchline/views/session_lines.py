"""A session as a line of spans: in the browser, with columns fitted to the width, and in a printed list.

Both say the same about a session: its title, else its first prompt, else that there are no messages.
"""

from __future__ import annotations

import itertools
import posixpath
from collections.abc import Sequence
from typing import NamedTuple

from branchline.views.humanize import age, count, format_size, money
from branchline.views.session_row import ListItem, SessionRow
from branchline.views.spans import Line, Piece, Span, StyleRole, cut_line, line_width, make_line, pad_line
from branchline.views.text import cut_middle, cut_start, one_line
from branchline.views.tool_calls import short_path

__all__ = [
    "ColumnWidths",
    "ListColumns",
    "columns_for",
    "facts_lines",
    "header_line",
    "list_columns",
    "list_line",
    "reason_words",
    "session_line",
]


_ENOUGH_ROWS = 14
_SHORT_ID = 8
_SHORTEST_NAME = 24


class ColumnWidths(NamedTuple):
    """How wide each column is; 0 is a column that is not shown."""

    name: int
    agent: int
    messages: int
    cost: int
    age: int
    place: int


def columns_for(
    width: int, *, directory: bool = False, path: bool = False, cost: bool = True
) -> ColumnWidths:
    """Columns for a list of this width; those that matter least are left out so that names can be read."""
    columns = ColumnWidths(0, agent=11, messages=5, cost=8 if cost else 0, age=4, place=0)
    if path:
        columns = columns._replace(place=max(16, width * 2 // 5))
    elif directory:
        columns = columns._replace(place=max(12, min(28, width // 5)))
    least = {"place": columns.place if path else min(columns.place, 12)}
    for without in (least, {"cost": 0}, {"agent": 0}, {"place": 0}):
        if _room(columns, width) >= _SHORTEST_NAME:
            break
        columns = columns._replace(**without)
    return columns._replace(name=max(8, _room(columns, width)))


def _room(columns: ColumnWidths, width: int) -> int:
    """What the name gets: all but the others, two marks with a blank on each side, and one at the end."""
    return width - 5 - sum(part + 2 for part in columns[1:] if part)


def header_line(columns: ColumnWidths, *, path: bool = False) -> Line:
    """The names of the columns."""
    return _line(
        "    ",
        (Span("session", "dim"),),
        columns,
        "program",
        "msgs",
        "cost",
        "age",
        "file" if path else "directory",
        "dim",
    )


def session_line(
    item: ListItem,
    columns: ColumnWidths,
    *,
    now: float,
    cost: float | None = None,
    marked: bool = False,
    current: bool = False,
    home: str = "",
    path: bool = False,
) -> Line:
    """One session. ``marked`` rows are chosen for what is done next; ``current`` is the one we came from."""
    row = item.row
    marks = ("✓" if marked else "●" if current else " ") + ("★" if item.pinned else " ")
    where = one_line(short_path((row.path if path else row.cwd) or "", home))
    if columns.place:
        where = (cut_middle if path else cut_start)(where, columns.place)
    return _line(
        Span(f" {marks} ", "label" if marked or item.pinned else "active"),
        _name(item),
        columns,
        item.agent,
        "" if row.messages is None else f"{row.messages:,}",
        "" if not cost else money(cost),
        age(row.modified_ms, now),
        where,
    )


def _line(
    marks: Piece,
    name: Sequence[Piece],
    columns: ColumnWidths,
    agent: str,
    messages: str,
    cost: str,
    age_text: str,
    place: str,
    role: StyleRole | None = None,
) -> Line:
    pieces: list[Piece] = [marks, *pad_line(name, columns.name)]
    cells: tuple[tuple[int, str, StyleRole, bool], ...] = (
        (columns.place, place, "path", False),
        (columns.agent, agent, "program", False),
        (columns.messages, messages, "number", True),
        (columns.cost, cost, "cost", True),
        (columns.age, age_text, "time", True),
    )
    for room, text, own, right in cells:
        if not room:
            continue
        cell = cut_line((Span(text, role or own),), room)
        blanks = " " * (room - line_width(cell))
        pieces += ["  ", blanks, *cell] if right else ["  ", *cell, blanks]
    return make_line(*pieces)


def _name(item: ListItem) -> list[Piece]:
    row = item.row
    pieces: list[Piece] = [Span(item.branch, "dim")]
    if row.parent_session and not item.branch:
        pieces.append(Span("↳ ", "active"))
    if row.problem is not None:
        name = posixpath.basename(row.path or row.key)
        return [*pieces, Span(name, "path"), Span(f"  {reason_words(row)}", "error")]
    pieces.append(_title(row))
    if row.findings:
        pieces.append(Span(f"  ⚠ {count(row.findings, 'finding')}", "warning"))
    return pieces


def _title(row: SessionRow) -> Span:
    """What a session is called."""
    if row.title:
        return Span(row.title, "title")
    if row.first_prompt:
        return Span(row.first_prompt)
    return Span("(no messages)" if row.messages is not None else row.key, "dim")


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


class ListColumns(NamedTuple):
    """How wide the columns of a printed list are; one without width is left out."""

    id: int
    agent: int
    with_directory: bool


def list_columns(rows: Sequence[SessionRow], *, own_agent: str, with_directory: bool = False) -> ListColumns:
    """Columns for these rows; the program has one where there are sessions of others than ``own_agent``."""
    agents = {row.agent for row in rows if row.agent is not None}
    widest = max(map(len, agents), default=0) if agents - {own_agent} else 0
    return ListColumns(_id_width(rows), widest, with_directory)


def list_line(row: SessionRow, columns: ListColumns, *, now: float, home: str = "") -> Line:
    """One session of a printed list: id, age, messages, program, directory, and what it is called."""
    facts = [
        Span(f"{row.id[: columns.id]:<{columns.id}}", "id"),
        Span(f"  {age(row.modified_ms, now):>4}  ", "time"),
    ]
    program = [Span(f"{row.agent or '':<{columns.agent}}  ", "program")] if columns.agent else []
    if row.problem is not None:
        known = row.title or row.first_prompt
        return make_line(
            *facts, *program, f"{known}  " if known else "", Span(f"unreadable: {row.problem}", "error")
        )
    if row.messages is None:
        return make_line(*facts, Span(f"{format_size(row.size):>10}  ", "dim"), *program, _title(row))
    facts += [Span(f"{row.messages:>5}  ", "number"), *program]
    if columns.with_directory:
        where = posixpath.basename(row.cwd.rstrip("/")) if row.cwd else "(no directory)"
        facts.append(Span(f"{short_path(where, home)}  ", "path"))
    findings = f"  ({count(row.findings, 'finding')})" if row.findings else ""
    return make_line(*facts, _title(row), Span(findings, "warning"))


def _id_width(rows: Sequence[SessionRow]) -> int:
    """How much of the ids must be shown so that each is told from all others."""
    ids = sorted({row.id for row in rows})
    longest = _SHORT_ID
    for one, other in itertools.pairwise(ids):
        while longest < len(other) and one.startswith(other[:longest]):
            longest += 1
    return longest
