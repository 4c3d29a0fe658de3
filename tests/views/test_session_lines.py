"""One session in one line: title first on a screen, last in printed lists and in the chat."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from branchline.views.browser.layout import BROWSER_BARS, TREE_BARS, air_of, layout_for
from branchline.views.browser.list_rows import RowLook, header_line, row_line, screen_columns
from branchline.views.browser.source import Batch
from branchline.views.browser.state import BrowserState
from branchline.views.figures import CostFigure
from branchline.views.hits import Hit, Hits, Snippet
from branchline.views.session_lines import SessionColumns, list_columns, session_line
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


class _NoPins:
    problem = None
    ids: frozenset[str] = frozenset()

    def __contains__(self, name: object) -> bool:
        return False


class _Rows:
    """A source of nothing but rows."""

    cwd = "/home/u/shop"

    def __init__(self, rows: list[SessionRow]) -> None:
        self._rows = rows

    def rows(self, _scope: str) -> Iterator[Batch]:
        yield Batch(self._rows, (), len(self._rows), len(self._rows))

    def agent(self, row: SessionRow) -> str:
        return row.agent or "?"


def on_screen(row: SessionRow, width: int, **more) -> str:
    look = RowLook(NOW, home="/home/u", agent=row.agent or "", **more)
    return line_text(row_line(row, screen_columns(width), look))


def drawn(row: SessionRow, columns: SessionColumns, width: int = 200, **more) -> str:
    return line_text(cut_line(session_line(row, columns, now=NOW, home="/home/u", **more), width))


@pytest.mark.parametrize("options", [{}, {"project": False}, {"cost": False}])
def test_a_wider_list_shows_no_column_and_no_title_less(options):
    columns = [screen_columns(width, **options) for width in range(60, 201)]

    for narrow, wide in itertools.pairwise(columns):
        assert all(one >= other for one, other in zip(wide[1:], narrow[1:], strict=True))
        assert wide.title >= narrow.title
    assert columns[0].title >= 20
    assert columns[-1].title == 56


@pytest.mark.parametrize("words", ["", "login"])
def test_no_larger_screen_shows_less_of_the_list(words):
    """Every session, column, title and snippet that is seen on a screen is seen on each larger one."""
    rows = [session(number, title=f"{TITLE} {number}", git_branch="main") for number in range(80)]
    hits = [
        Hit(row=row, entry=f"e{place}", role="user", snippet=Snippet(text="the login " * 30), on_path=True)
        for row in rows[:20]
        for place in range(3)
    ]
    state = BrowserState(_Rows(rows), "here", _NoPins(), words=words, now=lambda: NOW, home="/home/u")
    state.begin()
    if words:
        state.take_hits(Hits(hits, total=len(hits)))

    def seen(width: int, height: int) -> tuple[int, ...]:
        state.height = height
        state.arrange()
        layout = layout_for(width, height, bars=BROWSER_BARS + sum(air_of(height)))
        shown = [state.line(at, layout.room(len(state))) for at in range(min(layout.rows, len(state)))]
        texts = [line_text(line).rstrip() for line in shown]
        columns = screen_columns(layout.room(len(state)))
        pane = layout.below * width + layout.beside * layout.rows
        kinds = [line.kind for line in state.lines[: len(texts)]]
        return (
            kinds.count("row") if not words else 0,
            kinds.count("row") + kinds.count("hit"),
            max(map(len, texts)) if words else 0,
            columns.title,
            sum(bool(column) for column in columns[1:]),
            pane > 0,
        )

    widths, heights = range(60, 201, 10), range(18, 61, 6)
    for height in heights:
        for narrow, wide in itertools.pairwise(widths):
            assert all(
                one >= other for one, other in zip(seen(wide, height), seen(narrow, height), strict=True)
            )
    for width in (60, 120, 200):
        for low, high in itertools.pairwise(range(18, 61)):
            assert all(one >= other for one, other in zip(seen(width, high), seen(width, low), strict=True))


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


def test_the_screen_has_the_title_first_and_a_printed_list_has_it_last():
    row = session(git_branch="main")

    printed = drawn(row, list_columns([row], own_agent="branchline", directory=True, home="/home/u"))
    screen = on_screen(row, 160)

    assert printed == f"{'00000000'}    3m     12  claude-code  ~/work/shop  {TITLE}"
    assert screen.split(TITLE[:40])[1].split()[-5:] == ["claude-code", "shop", "main", "12", "3m"]
    assert line_text(header_line(screen_columns(160))).split() == [
        "Title",
        "Agent",
        "Project",
        "Git",
        "branch",
        "Msgs",
        "Cost",
        "Age▾",
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
    ("cost", "shown"),
    [
        (CostFigure(1.5, "recorded"), "$1.50"),
        (CostFigure(0.0123, "estimated"), "≈$0.01"),
        (CostFigure(0.0042, "recorded"), "$0.004"),
        (CostFigure(0.00002, "estimated"), "<$0.001"),
        (CostFigure(0.0, "recorded"), "$0"),
        (CostFigure(None, "unknown"), "unknown"),
        (CostFigure(None, "elsewhere"), "elsewhere"),
        (None, ""),
    ],
)
def test_a_cost_that_nobody_recorded_is_unknown_and_not_zero(cost, shown):
    line = on_screen(session(title="x"), 100, cost=cost)

    assert "$0.00 " not in line
    assert line.split() == ["x", "claude-code", "12", *([shown] if shown else []), "3m"]


def test_a_fork_in_a_flat_list_does_not_look_as_if_it_were_below_the_row_above():
    fork = session(parent_session="other", title="x")

    assert on_screen(fork, 100).startswith(" x  fork")
    assert on_screen(fork, 100, branch="└─ ").startswith(" └─ x   ")


def test_empty_sessions_are_left_out_with_a_count_and_those_of_one_prompt_where_that_is_asked_for():
    rows = [
        session(0, title=None, messages=0, prompts=0),
        session(1, title=None, first_prompt="Once", messages=2, prompts=1),
        session(2, title=None, first_prompt="Twice", messages=4, prompts=2),
    ]
    state = BrowserState(_Rows(rows), "here", _NoPins(), now=lambda: NOW, hide="empty")

    state.begin()

    assert [item.row.first_prompt for item in state.items] == ["Once", "Twice"]
    assert "3 sessions, 1 empty hidden" in line_text(state.counts_line(120))
    state.choose("hide", "one-shot")
    state.arrange()
    assert [item.row.first_prompt for item in state.items] == ["Twice"]
    assert "2 empty or one-shot hidden" in line_text(state.counts_line(120))
    state.search("once")
    state.arrange()
    assert [item.row.first_prompt for item in state.items] == ["Once"]  # a search finds what is hidden


def test_sessions_are_grouped_by_project_and_sorted_by_when_they_were_created():
    rows = [
        session(0, title="a", cwd="/home/u/shop", created="2026-01-01T00:00:00Z"),
        session(1, title="b", cwd="/home/u/tide", created="2026-01-03T00:00:00Z"),
        session(2, title="c", cwd="/home/u/shop", created="2026-01-02T00:00:00Z"),
    ]
    state = BrowserState(_Rows(rows), "all", _NoPins(), now=lambda: NOW, home="/home/u", sort="created")
    state.grouped = True

    state.begin()

    texts = [line_text(state.line(at, 100)).strip().split("  ")[0] for at in range(len(state))]
    assert texts == ["▾ tide", "b", "▾ shop", "c", "a"]
    assert state.stops == [1, 3, 4]
    assert "~/shop, 2 sessions" in line_text(state.line(2, 100))


def test_what_cannot_be_read_says_why_and_what_was_not_read_says_how_large_it_is():
    broken = session(title=None, messages=None, problem="/home/u/sessions/k0.jsonl: no header")
    unread = session(title=None, messages=None)

    columns = list_columns([broken, unread], own_agent="claude-code")

    assert drawn(broken, columns).endswith("unreadable: no header  k0.jsonl")
    assert "1.2 kB" in drawn(unread, columns)


def test_columns_of_a_printed_list_are_aligned_whatever_the_length_of_ids() -> None:
    rows = [session(id=name) for name in ("ses_e12519b4", "ses_e12519c0", "01a1ed98-cc17", "ses" * 40 + "a")]
    rows.append(session(id="ses" * 40 + "b"))
    columns = list_columns(rows, own_agent="pi")

    lines = [line_text(session_line(row, columns, now=NOW)) for row in rows]

    assert {line.index("3m") for line in lines[:3]} == {len("0123456789abcdef") + 4}
    assert all("ses" * 40 in line for line in lines[3:])
