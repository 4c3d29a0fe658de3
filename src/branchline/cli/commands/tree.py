"""``tree``: draw all branches of a session, as pi does."""

from __future__ import annotations

import os
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from branchline.cli.commands.browse import pick_session
from branchline.cli.options import command, directory_option, session_argument
from branchline.cli.output import Output, Piece, paint, remark
from branchline.cli.resolver import resolve_session
from branchline.cli.write_access import position_fields
from branchline.views.humanize import count

if TYPE_CHECKING:
    from branchline.session import Session
    from branchline.tree import Filter, Outline

__all__ = ["tree_command"]

_FILTERS = ["default", "no-tools", "user-only", "labeled-only", "all"]
_LONGEST_ID = 16
_LONGEST_TEXT = 300
"""Characters of an entry if lines are not truncated."""
_LINE = 200
"""The line width without a terminal; at most half of it is indentation."""
_DEEPEST = 50


@command(
    "tree",
    paged=True,
    examples="""
    branchline tree @last
    branchline tree @last --ids --filter user-only
    branchline tree @last --search "login test"
    """,
)
@session_argument(picked=True)
@click.option(
    "--filter",
    "kind",
    type=click.Choice(_FILTERS),
    help="Entries to show (default: from the settings).",
)
@click.option("--search", metavar="WORDS", help="Show only entries that contain all these words.")
@click.option("--ids", is_flag=True, help="Show the id of each entry.")
@click.option("--all-times", is_flag=True, help="Show the time of each entry and label.")
@directory_option
def tree_command(
    out: Output,
    session: str | None,
    kind: Filter | None,
    search: str | None,
    ids: bool,  # noqa: FBT001
    all_times: bool,  # noqa: FBT001
    directory: str | None,
) -> None:
    """Draw the tree: • marks the path to the leaf, › the leaf. --plain uses words instead."""
    with resolve_session(session or pick_session(out, "tree", directory), directory) as live:
        outline = _outline(live, kind or out.settings.filter, search)
        if out.json:
            out.result("tree", _fields(live, outline))
            return
        _draw(out, live, outline, ids=ids, times=all_times)
        if not len(outline):
            why = "no matching entries" if search else "--filter all shows everything"
            remark(f"nothing of {live.id} to show: {why if len(live) else 'it has no entries yet'}")
        else:
            shown = count(len(outline), "entry", "entries")
            remark(f"{shown} of {len(live)} shown; the leaf is {live.leaf or 'before the first entry'}")


def _outline(session: Session, kind: Filter, search: str | None) -> Outline:
    if search is None:
        return session.outline(kind)
    from branchline.views.tree_search import Search

    found = Search(session.transcript, session.transcript.reading.labels).find(search)
    return session.outline(kind, matches=None if found is None else found.__contains__)


def _fields(session: Session, outline: Outline) -> dict[str, Any]:
    from branchline.views.entry_rows import RowTexts

    texts = RowTexts(session.transcript, home=os.path.expanduser("~"))
    index, labels = session.index, session.labels
    rows = [
        {
            "id": row.key,
            "parent": index.parent(row.key),
            "depth": row.level,
            "connector": row.connector,
            "last": row.last,
            "active": row.active,
            "type": index.types[row.position],
            "role": index.roles[row.position],
            "time": index.times[row.position],
            "label": labels.get(row.key),
            "text": texts(row.position),
        }
        for row in outline
    ]
    return {**position_fields(session), "filter": outline.filter, "rows": rows}


def _draw(out: Output, session: Session, outline: Outline, *, ids: bool, times: bool) -> None:
    from branchline.views.entry_rows import RowTexts
    from branchline.views.outline import entry_role, indentation, outline_line, plain_marks
    from branchline.views.text import cut, one_line
    from branchline.views.times import label_time

    texts = RowTexts(session.transcript, home=os.path.expanduser("~"))
    index, labels = session.index, session.transcript.reading.labels
    leaf = -1 if session.leaf is None else index.position(session.leaf)
    now = datetime.now().astimezone()
    said = plain_marks(outline, leaf) if out.plain else None
    widest = max((len(row.key) for row in outline), default=0) if ids else 0
    for number, row in enumerate(outline):
        pieces: list[Piece] = []
        if ids:
            pieces.append(paint("id", f"{row.key:<{min(widest, _LONGEST_ID)}}  "))
        if times:
            pieces.append(paint("time", f"{label_time(index.times[row.position], now):<14}  "))
        if said is not None:
            pieces.append("  " * min(row.level, _DEEPEST) + said[number])
        else:
            pieces += [
                paint("cursor", "› " if row.position == leaf else "  "),
                paint("dim", _shifted(indentation(row, outline.gutters(number)), out.columns)),
            ]
        line = outline_line(
            row if said is None else row._replace(active=False),
            cut(one_line(texts(row.position)), _LONGEST_TEXT) if out.columns is None else texts(row.position),
            role=entry_role(index, row.position),
            label=labels.get(row.key),
            now=now if times else None,
        )
        out.row(*pieces, *line, *texts.outcome(row.position))


def _shifted(indent: str, columns: int | None) -> str:
    """Shorten the indentation of a row to half a line."""
    room = (_LINE if columns is None else columns) // 2
    return indent if len(indent) <= room else "…" + indent[1 - room :]
