"""One session in one line, the same in the browser, in printed lists and in the chat."""

from __future__ import annotations

import itertools

import pytest

from branchline.views.browser.layout import BROWSER_BARS, TREE_BARS, layout_for
from branchline.views.session_lines import (
    NOT_COUNTED,
    SessionColumns,
    header_line,
    list_columns,
    screen_columns,
    session_line,
)
from branchline.views.session_row import SessionRow
from branchline.views.spans import cut_line, line_text

NOW = 1_800_000_000.0
TITLE = "Find out why the checkout test is red since Monday and whether the token expires at midnight again"


def session(number: int = 0, **more) -> SessionRow:
    fields = {
        "key": f"k{number}",
        "id": f"{number:08d}-aaaa",
        "path": f"/home/u/sessions/k{number}.jsonl",
        "size": 1200,
        "modified_ms": round((NOW - 180) * 1000),
        "cwd": "/home/u/work/shop",
        "title": TITLE,
        "messages": 12,
        "agent": "claude-code",
    }
    return SessionRow(**{**fields, **more})


def drawn(row: SessionRow, columns: SessionColumns, width: int = 200, **more) -> str:
    return line_text(cut_line(session_line(row, columns, now=NOW, home="/home/u", **more), width))


@pytest.mark.parametrize("options", [{}, {"directory": True}, {"path": True}, {"cost": False}])
def test_a_wider_list_shows_no_column_and_no_name_less(options):
    columns = [screen_columns(width, **options) for width in range(60, 201)]
    names = [
        min(each.name or width, width - each.before_name)
        for width, each in zip(range(60, 201), columns, strict=True)
    ]

    for narrow, wide in itertools.pairwise(columns):
        assert wide.cost >= narrow.cost
        assert wide.agent >= narrow.agent
        assert wide.place >= narrow.place
    assert names == sorted(names)
    assert min(names) >= 17


@pytest.mark.parametrize("bars", [TREE_BARS, BROWSER_BARS, BROWSER_BARS + 1])
def test_no_larger_screen_gives_a_list_fewer_columns_or_rows(bars):
    for width in range(60, 201):
        for height in range(18, 61):
            here = layout_for(width, height, bars=bars)
            wider, higher = layout_for(width + 1, height, bars=bars), layout_for(width, height + 1, bars=bars)

            assert wider.columns >= here.columns
            assert wider.rows >= here.rows
            assert higher.columns >= here.columns
            assert higher.rows >= here.rows
            assert here.rows + here.below + bars == height
            assert here.columns + here.beside <= width


def test_the_list_at_120_by_36_shows_at_least_what_it_shows_at_80_by_24():
    small, large = (layout_for(*size, bars=BROWSER_BARS) for size in ((80, 24), (120, 36)))
    row = session()

    for options in ({}, {"directory": True}):
        shown = [
            drawn(row, screen_columns(layout.columns, **options), layout.columns, cost=1.5)
            for layout in (small, large)
        ]

        titles = [line[line.index("Find") :].rstrip("…") for line in shown]
        assert titles[1].startswith(titles[0])
        assert "claude-code" in shown[0]
        assert "claude-code" in shown[1]
    assert large.rows >= small.rows


def test_browser_and_printed_list_have_the_same_columns_in_the_same_order():
    row = session()

    printed = drawn(row, list_columns([row], own_agent="branchline", directory=True, home="/home/u"))
    screen = drawn(row, screen_columns(160, directory=True))

    assert printed == f"{'00000000'}    3m     12  claude-code  ~/work/shop  {TITLE}"
    assert screen.split()[:4] == ["3m", "12", "claude-code", "~/work/shop"]
    assert line_text(header_line(screen_columns(160, directory=True))).split() == [
        "age",
        "msgs",
        "cost",
        "agent",
        "directory",
        "session",
    ]


def test_only_ids_that_would_be_ambiguous_get_longer():
    rows = [
        session(1, id="01a1ddf5-0001"),
        session(2, id="01a1ddf5-0002"),
        session(3, id="77777777-8888-9999"),
        session(4, id="77777777-8888-9999"),
    ]

    columns = list_columns(rows, own_agent="claude-code")

    assert [drawn(row, columns).split()[0] for row in rows] == [
        "01a1ddf5-0001",
        "01a1ddf5-0002",
        "77777777",
        "77777777",
    ]


@pytest.mark.parametrize(
    ("cost", "shown"), [(1.5, "$1.50"), (0.0123, "$0.0123"), (None, "–"), (0.0, "–"), (NOT_COUNTED, "")]
)
def test_a_cost_that_nobody_recorded_is_unknown_and_not_zero(cost, shown):
    columns = screen_columns(100)

    line = drawn(session(title="x"), columns, cost=cost)

    assert "$0.0000" not in line
    assert line.split() == ["3m", "12", *([shown] if shown else []), "claude-code", "x"]


def test_a_fork_in_a_flat_list_does_not_look_as_if_it_were_below_the_row_above():
    fork = session(parent_session="other", title="x")

    assert drawn(fork, screen_columns(100)).endswith("x  (fork)")
    assert "↳" not in drawn(fork, screen_columns(100))
    assert drawn(fork, screen_columns(100), branch="└─ ").endswith("└─ x")


def test_what_cannot_be_read_says_why_and_what_was_not_read_says_how_large_it_is():
    broken = session(title=None, messages=None, problem="/home/u/sessions/k0.jsonl: no header")
    unread = session(title=None, messages=None)

    columns = list_columns([broken, unread], own_agent="claude-code")

    assert drawn(broken, columns).endswith("unreadable: no header  k0.jsonl")
    assert "1.2 kB" in drawn(unread, columns)
