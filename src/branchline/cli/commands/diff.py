"""``diff``: compare two branches or two sessions turn by turn from their common ancestor on."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from branchline.actions.names import resolve_entry
from branchline.cli.options import command, directory_option, session_argument
from branchline.cli.output import Output, remark
from branchline.cli.resolver import resolve_session
from branchline.errors import EntryNotFound, SessionNotFound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from branchline.session import Session
    from branchline.views.compare import ComparedTurn, CompareView, Side

__all__ = ["diff_command"]

_WIDE = 110  # least width for two columns


class _End(NamedTuple):
    """The end of one of the two paths."""

    session: Session
    entry: str | None


@command(
    "diff",
    paged=True,
    examples="""
    branchline diff @last                          the two branches of a session that has two
    branchline diff @last 3f2a                     the leaf and another branch
    branchline diff @last 3f2a 77b0                two branches
    branchline diff @last "plan A" "plan B"        two branches, by their labels
    branchline diff 01a1ddf5 01b2c3d4              two sessions
    """,
)
@session_argument()
@click.argument("others", metavar="[ENTRY|SESSION]...", nargs=-1)
@click.option("-y", "--side-by-side", "two", is_flag=True, help="Print two columns (default if they fit).")
@click.option("-u", "--unified", "one", is_flag=True, help="Print one column: - is the first, + the second.")
@directory_option
def diff_command(
    out: Output,
    session: str,
    others: tuple[str, ...],
    two: bool,  # noqa: FBT001
    one: bool,  # noqa: FBT001
    directory: str | None,
) -> None:
    """Compare two branches, or two sessions, from their common ancestor on.

    Shows for each turn the differences in text, the tools used, the files touched, and tokens and cost.
    Forks are matched by entry ids, other sessions by their text.
    """
    if two and one:
        raise click.UsageError("use either --side-by-side or --unified, not both")
    if len(others) > 2:
        raise click.UsageError("give at most two names after SESSION")
    with resolve_session(session, directory) as live:
        left, right = _ends(live, others, directory)
        try:
            _compare(out, left, right, two=two, one=one)
        finally:
            if right.session is not live:
                right.session.close()


def _compare(out: Output, left: _End, right: _End, *, two: bool, one: bool) -> None:
    from branchline.settings import price_list
    from branchline.views import compare_lines as lines
    from branchline.views.compare import compare_view

    view = compare_view(
        left.session.transcript,
        _position(left),
        right.session.transcript,
        _position(right),
        prices=price_list(out.settings),
    )
    if out.json:
        out.result("diff", _fields(left, right, view))
        return
    common = _entry_words(left.session, view.common_ancestor) if view.common_ancestor else ""
    for line in lines.head_lines(view, _described(left), _described(right), common, plain=out.plain):
        out.row(*line)
    home, columns = os.path.expanduser("~"), out.columns or 0
    names = (_name(left, right), _name(right, left))
    if out.plain and not two and not one:
        turns = lines.turns_in_words(view, home=home)
        totals = [*lines.totals_in_words(view, names, home=home)]
    else:
        beside = two or (not one and columns >= _WIDE)
        turns = (
            lines.side_by_side(view, columns or _WIDE, home=home)
            if beside
            else lines.unified(view, home=home)
        )
        totals = lines.totals_table(view, names, home=home)
    for line in turns:
        out.line(*line)
    for line in totals:
        out.row(*line)
    if not view.pairs:
        remark("nothing to compare: both are the same path")


def _described(end: _End) -> str:
    title = end.session.title or ""
    return " ".join(filter(None, [end.session.id, title, "at", _entry_words(end.session, end.entry)]))


def _entry_words(session: Session, entry: str | None) -> str:
    from branchline.cli.write_access import described

    label = None if entry is None else session.label(entry)
    return f"{described(session, entry)}{f' [{label}]' if label else ''}"


def _name(end: _End, other: _End) -> str:
    """The name of a side: the session, or the end of the branch."""
    from branchline.views.operation_lines import START

    if end.session is not other.session:
        return end.session.title or end.session.id
    return (end.session.label(end.entry) if end.entry else None) or end.entry or START


# -- which two --------------------------------------------------------------------------------------------


def _ends(live: Session, names: Sequence[str], directory: str | None) -> tuple[_End, _End]:
    match list(names):
        case []:
            from branchline.library.branch_count import other_tip

            return _End(live, live.leaf), _End(live, other_tip(live))
        case [name]:
            return _End(live, live.leaf), _other(live, name, directory)
        case [first, second]:
            return _End(live, resolve_entry(live, first)), _other(live, second, directory)
        case _:
            raise AssertionError(names)


def _other(live: Session, name: str, directory: str | None) -> _End:
    """Resolve an entry of the session, else another session."""
    try:
        return _End(live, resolve_entry(live, name))
    except EntryNotFound:
        try:
            other = resolve_session(name, directory)
        except SessionNotFound:
            raise EntryNotFound(
                f"{name!r} is neither an entry of {live.id} nor a session; "
                "`branchline tree --ids SESSION` shows the entries, `branchline ls --all` the sessions"
            ) from None
        return _End(other, other.leaf)


def _position(end: _End) -> int:
    from branchline.tree import ROOT

    return ROOT if end.entry is None else end.session.index.position(end.entry)


def _fields(left: _End, right: _End, view: CompareView) -> dict[str, Any]:
    import msgspec

    fields: dict[str, Any] = msgspec.to_builtins(view)
    for name, end, side in (("left", left, view.left), ("right", right, view.right)):
        told = _told(side, fields[name])
        del told["turns"]
        fields[name] = {"session": end.session.id, "file": end.session.file, **told}
        for pair, row in zip(view.pairs, fields["pairs"], strict=True):
            turn = pair.left if name == "left" else pair.right
            if turn is not None:
                row[name] = _told(turn, row[name])
    return fields


def _told(one: Side | ComparedTurn, fields: dict[str, Any]) -> dict[str, Any]:
    """Return a side or a turn for other programs. What is unknown is None, not 0."""
    cost, usage = one.cost, fields["usage"]
    known = usage if one.knows_usage else dict.fromkeys(usage)
    told = {name: value for name, value in fields.items() if name not in ("answers", "knows_usage")}
    return {**told, "usage": {**known, "cost": cost.amount, "cost_state": cost.state}}
