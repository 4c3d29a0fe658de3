"""A row of the session list as a line of spans, its columns fitted to the width."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from branchline.library import SessionRow
from branchline.tui.browsing import Item
from branchline.views.calls import short_path
from branchline.views.spans import Line, Piece, Role, Span, cut_line, line_of, line_width, pad_line
from branchline.views.words import age, count, money

__all__ = ["Columns", "columns_for", "facts_lines", "header_line", "reason_words", "session_line"]


_ENOUGH_ROWS = 14


class Columns(NamedTuple):
    """How wide each column is; 0 is a column that is not shown."""

    name: int
    agent: int
    messages: int
    cost: int
    age: int
    place: int


def columns_for(width: int, *, agents: int = 10, directory: bool = False, path: bool = False) -> Columns:
    """Columns for a list of this width; the name has at least half of a narrow one."""
    age_width, messages = 4, 5
    cost = 8 if width >= 64 else 0
    agent = min(11, agents) if width >= 56 else 0
    fixed = sum(part + 2 for part in (age_width, messages, cost, agent) if part)
    left = width - fixed - 5  # two marks with a blank on each side, and one at the end
    place = 0
    if (directory or path) and left >= 34:
        place = max(12, left // (2 if path else 3))
        left -= place + 2
    return Columns(max(8, left), agent, messages, cost, age_width, place)


def header_line(columns: Columns, *, path: bool = False) -> Line:
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
    item: Item,
    columns: Columns,
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
    where = short_path((row.path if path else row.cwd) or "", home)
    if not path and len(where) > columns.place > 0:
        where = "…" + where[1 - columns.place :]
    return _line(
        Span(f" {marks} ", "label" if marked or item.pinned else "active"),
        _name(item),
        columns,
        item.agent,
        "" if row.messages is None else f"{row.messages:,}",
        "" if not cost else money(cost),
        age(row.active_ms, now),
        where,
    )


def _line(
    marks: Piece,
    name: Sequence[Piece],
    columns: Columns,
    agent: str,
    messages: str,
    cost: str,
    age_text: str,
    place: str,
    role: Role | None = None,
) -> Line:
    pieces: list[Piece] = [marks, *pad_line(name, columns.name)]
    cells: tuple[tuple[int, str, Role, bool], ...] = (
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
    return line_of(*pieces)


def _name(item: Item) -> list[Piece]:
    row = item.row
    pieces: list[Piece] = [Span(item.branch, "dim")]
    if row.parent_session and not item.branch:
        pieces.append(Span("↳ ", "active"))
    if row.problem is not None:
        name = os.path.basename(row.path or row.key)
        return [*pieces, Span(name, "path"), Span(f"  {reason_words(row)}", "error")]
    if row.title:
        pieces.append(Span(row.title, "title"))
    elif row.first_prompt:
        pieces.append(Span(row.first_prompt))
    else:
        pieces.append(Span("(no messages)" if row.messages is not None else row.key, "dim"))
    if row.findings:
        pieces.append(Span(f"  ⚠ {count(row.findings, 'finding')}", "warning"))
    return pieces


def reason_words(row: SessionRow) -> str:
    """Why a file could not be read, without its name, which stands beside it."""
    return (row.problem or "").removeprefix(row.path or "").strip(" :")


def facts_lines(row: SessionRow, *, home: str = "", now: float, rows: int) -> list[Line]:
    """The small print of a session for the preview: who, where, when, from what; in one line if need be."""
    parent = os.path.basename(row.parent_session or "") or row.parent_session or ""
    facts = [
        line_of(
            Span(row.id, "id"),
            Span(f" · {age(row.active_ms, now)} ago" if row.active_ms else "", "time"),
            Span(f" · {row.model}" if row.model else "", "model"),
        ),
        line_of(Span(short_path(row.cwd or "", home), "path")),
        line_of(Span("↳ fork of " if parent else "", "active"), Span(parent, "id")),
    ]
    facts = [fact for fact in facts if fact]
    if rows < _ENOUGH_ROWS:
        facts = [tuple(span for fact in facts for span in (*fact, Span("  ")))]
    return [line_of(Span(row.title or row.first_prompt or "(no messages)", "title")), *facts]
