"""Cost, tokens and messages: every interface says the same of a session, and unknown is never zero."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from branchline import Session, SessionLibrary
from branchline.clock import FixedClock
from branchline.demo import sessions_directory
from branchline.library.browser_source import LibrarySource
from branchline.settings import price_list
from branchline.views.browser.list_rows import RowLook, row_line, screen_columns
from branchline.views.browser.statistics import read_statistics, statistics_lines
from branchline.views.compare import compare_view
from branchline.views.figures import CostFigure, money, short_count, sum_of_costs, tokens
from branchline.views.session_row import row_name
from branchline.views.spans import line_text
from branchline.web.session_table import TableRequest, session_table
from branchline.web.viewed import ViewedLibrary
from homes import build_home
from library.kit import START

Data = Callable[..., dict[str, Any]]


class Figures(NamedTuple):
    """What a session is known to have."""

    cost: float | None
    state: str
    shown: str
    tokens: int | None
    messages: int


EXPECTED = {
    "recorded": Figures(3.5, "recorded", "$3.50", 1_100_000, 2),
    "free": Figures(0.0, "recorded", "$0", 1_100_000, 2),
    "nothing spent": Figures(0.0, "recorded", "$0", 0, 1),
    "not recorded": Figures(None, "unknown", "unknown", 1_100_000, 2),
    "without usage": Figures(None, "unknown", "unknown", None, 2),
    "converted without usage": Figures(None, "unknown", "unknown", None, 2),
    "copied": Figures(None, "elsewhere", "elsewhere", 0, 2),
    "forked": Figures(0.25, "recorded", "$0.25", 1_100_000, 4),
    "estimated": Figures(0.6, "estimated", "≈$0.60", 200_000, 2),
    "tiny": Figures(0.000015, "estimated", "<$0.001", 11, 2),
    "unknown": Figures(None, "unknown", "unknown", 200_000, 2),
    "in part": Figures(0.6, "estimated", "≈$0.60+", 400_000, 4),
    "with a sub-agent": Figures(0.6, "estimated", "≈$0.60", 200_000, 2),
    "sub-agent": Figures(0.2, "estimated", "≈$0.20", 200_000, 2),
}
"""By the title of a session, or its first prompt."""
TOTAL = 3.5 + 0.25 + 0.6 + 0.000015 + 0.6 + 0.6 + 0.2


def said(text: str, *, cost: dict[str, Any] | None, usage: bool = True) -> dict[str, Any]:
    message: dict[str, Any] = {
        "role": "assistant",
        "content": [{"type": "text", "text": text}],
        "provider": "acme",
        "model": "nobody-knows",
    }
    if usage:
        counts = {"input": 1_000_000, "output": 100_000, "totalTokens": 1_100_000}
        message["usage"] = counts | {"cost": cost}
    return message


def claude(path: Path, title: str, *answers: tuple[str, int, int]) -> None:
    """A session of Claude Code, which records no cost: a prompt and an answer by each of these models."""
    lines: list[dict[str, Any]] = []
    for number, (model, given, spent) in enumerate(answers):
        before = f"{title}-a{number - 1}" if number else None
        prompt, answer = f"{title}-u{number}", f"{title}-a{number}"
        lines += [
            {
                "type": "user",
                "uuid": prompt,
                "parentUuid": before,
                "message": {"role": "user", "content": title},
            },
            {
                "type": "assistant",
                "uuid": answer,
                "parentUuid": prompt,
                "requestId": answer,
                "message": {
                    "id": answer,
                    "role": "assistant",
                    "model": model,
                    "content": [{"type": "text", "text": "ok"}],
                    "usage": {"input_tokens": given, "output_tokens": spent},
                },
            },
        ]
    name = path.stem
    common = {"sessionId": name, "cwd": "/p", "timestamp": "2026-01-05T10:00:00.000Z", "version": "2.0.0"}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(json.dumps(common | line).encode() + b"\n" for line in lines))


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with sessions of every kind of cost; the directory of the sessions of Claude Code."""
    monkeypatch.setenv("BRANCHLINE_PRICES", "anthropic/priced=1:5 anthropic/cheap=1:1")
    for number, (title, *answers) in enumerate(
        [
            ("recorded", said("ok", cost={"total": 3.5})),
            ("free", said("ok", cost={"total": 0})),
            ("nothing spent",),
            ("not recorded", said("ok", cost={"total": 0, "known": False})),
            ("without usage", said("ok", cost=None, usage=False)),
            (
                "converted without usage",
                said("ok", cost=None, usage=False)
                | {"usage": {"input": 0, "output": 0, "cost": {"known": False}}},
            ),
        ]
    ):
        clock = FixedClock(START + number * 1000, seed=number * 100)
        with Session.create("/p", title=title, clock=clock, persist="always") as session:
            session.append_message({"role": "user", "content": title})
            for answer in answers:
                session.append_message(answer)
            if title == "recorded":
                with session.fork() as copy:
                    copy.set_title("copied")
                with session.fork() as fork:
                    fork.set_title("forked")
                    fork.append_message({"role": "user", "content": "more"})
                    fork.append_message(said("more", cost={"total": 0.25}))
    projects = tmp_path / "person" / ".claude" / "projects" / "-p"
    priced, other = ("priced", 100_000, 100_000), ("nobody-knows", 100_000, 100_000)
    claude(projects / "00000000-0000-4000-8000-000000000001.jsonl", "estimated", priced)
    claude(projects / "00000000-0000-4000-8000-000000000002.jsonl", "tiny", ("priced", 10, 1))
    claude(projects / "00000000-0000-4000-8000-000000000003.jsonl", "unknown", other)
    claude(projects / "00000000-0000-4000-8000-000000000004.jsonl", "in part", priced, other)
    parent = projects / "00000000-0000-4000-8000-000000000005.jsonl"
    claude(parent, "with a sub-agent", priced)
    claude(parent.with_suffix("") / "subagents" / "agent-1.jsonl", "sub-agent", ("cheap", 100_000, 100_000))
    return projects


def name(fields: dict[str, Any]) -> str:
    return str(fields["title"] or fields["first_prompt"])


def listed(data: Data) -> dict[str, dict[str, Any]]:
    return {name(row): row for row in data("ls", "--all", "--subagents")["sessions"]}


def rounded(cost: float | None) -> float | None:
    return None if cost is None else round(cost, 9)


def test_the_list_tells_what_is_known_of_each_session(library: Path, data: Data) -> None:
    found = {
        title: (rounded(row["cost"]), row["cost_state"], row["tokens"], row["messages"])
        for title, row in listed(data).items()
    }

    assert found == {
        title: (one.cost, one.state, one.tokens, one.messages) for title, one in EXPECTED.items()
    }


def test_sql_has_the_figures_of_the_list(library: Path, data: Data) -> None:
    rows = data("sql", "select title, first_prompt, cost, cost_state, tokens, messages from sessions")["rows"]

    found = {
        name(row): (rounded(row["cost"]), row["cost_state"], row["tokens"], row["messages"]) for row in rows
    }

    assert found == {
        title: (one.cost, one.state, one.tokens, one.messages) for title, one in EXPECTED.items()
    }


def test_screens_and_pages_write_a_cost_alike(library: Path, data: Data) -> None:
    source = LibrarySource.everywhere()
    everything = SessionLibrary.everywhere(subagents=True)
    rows = {row_name(row): row for row in everything.list(deep=True)}
    with source.statistics("all") as found:
        costs = found.costs()
    viewed = ViewedLibrary(everything)

    terminal = {
        row.title or row.first_prompt: line_text(
            row_line(row, screen_columns(120), RowLook(0, cost=costs[path]))
        ).split()
        for path, row in rows.items()
    }
    page = {row["title"]: row["cost"] for row in session_table(viewed, TableRequest())["rows"]}

    assert page == {title: one.shown for title, one in EXPECTED.items()}
    for title, one in EXPECTED.items():
        assert terminal[title][-3:-1] == [str(one.messages), one.shown]


def test_statistics_add_up_the_rows_wherever_they_are_shown(library: Path, data: Data, run: Any) -> None:
    rows = listed(data)
    stats = data("stats", "--all", "--by", "session")
    with LibrarySource.everywhere().statistics("all") as found:
        screen = read_statistics(found)
    (spent,) = data("sql", "select sum(cost) as cost, sum(tokens) as tokens from spending where counted")[
        "rows"
    ]
    by_project = data("sql", "select directory, sum(cost) as cost from sessions group by 1")["rows"]

    assert stats["total"]["cost"] == pytest.approx(TOTAL)
    assert screen.total.cost == pytest.approx(TOTAL)
    assert spent["cost"] == pytest.approx(TOTAL)
    assert sum(row["cost"] for row in by_project) == pytest.approx(TOTAL)
    assert sum(row["cost"] or 0 for row in rows.values()) == pytest.approx(TOTAL)
    assert spent["tokens"] == sum(row["tokens"] or 0 for row in rows.values()) == screen.total.tokens
    assert stats["total"]["sessions"] == screen.total.sessions == stats["read"] - 1  # without the copy
    assert screen.subagents == 1
    assert f"cost    ≈{money(TOTAL)}+" in run("stats", "--all").stdout
    for group in stats["groups"]:
        (one,) = (row for row in rows.values() if row["id"] == group["keys"][0])
        figures = group["figures"]
        told = (rounded(figures["cost"]), figures["cost_state"], figures["tokens"])
        assert told == (rounded(one["cost"]), one["cost_state"], one["tokens"]), name(one)


def test_comparing_and_describing_a_session_says_what_the_list_says(library: Path, data: Data) -> None:
    rows = listed(data)
    everything = SessionLibrary.everywhere(subagents=True)
    with Session.in_memory() as nothing:
        for title, one in EXPECTED.items():
            described = everything.describe(rows[title]["id"] if title != "sub-agent" else rows[title]["key"])
            with Session.open(rows[title]["path"]) as session:
                leaf = session.index.position(session.leaf or "")
                side = compare_view(
                    session.transcript, leaf, nothing.transcript, -1, prices=price_list()
                ).left

            assert (rounded(described.own_cost), described.messages) == (one.cost, one.messages), title
            assert side.messages == one.messages
            if title not in ("copied", "forked"):  # what a branch holds is more than what counts there
                assert (str(side.cost), rounded(side.cost.amount)) == (one.shown, one.cost), title


def test_a_copy_in_another_store_takes_no_cost_from_the_list(
    library: Path, data: Data, tmp_path: Path
) -> None:
    other = tmp_path / "another"
    other.mkdir()
    for file in library.glob("*.jsonl"):
        shutil.copy(file, other)
    before = data("stats", "--dir", other)["total"]  # these are read, and counted, first

    found = {title: (rounded(row["cost"]), row["cost_state"]) for title, row in listed(data).items()}
    page = session_table(ViewedLibrary(SessionLibrary(other)), TableRequest())["rows"]

    assert found == {title: (one.cost, one.state) for title, one in EXPECTED.items()}
    assert data("stats", "--all")["total"]["cost"] == pytest.approx(TOTAL)
    assert data("stats", "--dir", other)["total"] == before
    assert {row["title"]: row["cost"] for row in page} == {
        title: EXPECTED[title].shown
        for title in ("estimated", "tiny", "unknown", "in part", "with a sub-agent")
    }


def test_a_fork_that_is_listed_alone_costs_the_same_before_and_after_indexing(
    library: Path, data: Data, run: Any
) -> None:
    """Messages that forks share belong to the original, whatever was read first."""

    def costs() -> dict[str, Any]:
        return {
            name(row): (row["cost"], row["cost_state"]) for row in data("ls", "--all", "-n", "3")["sessions"]
        }

    before = costs()
    run("index")

    assert costs() == before


def test_searches_for_cost_and_tokens_find_what_the_list_shows(library: Path, data: Data) -> None:
    names = {row["path"]: title for title, row in listed(data).items()}

    def found(query: str) -> set[str]:
        hits = data("search", query, "--limit", "100")["hits"]
        return {names[hit["path"]] for hit in hits}

    assert found("cost:<0.5") == {t for t, one in EXPECTED.items() if one.cost is not None and one.cost < 0.5}
    assert found("tokens:<5000") == {
        t for t, one in EXPECTED.items() if one.tokens is not None and one.tokens < 5000
    }


def test_the_others_of_a_table_are_counted_once_each(library: Path) -> None:
    """A session with several models is one session."""
    models = [(f"m{number}", 1000, 1000) for number in range(12)]
    claude(library / "00000000-0000-4000-8000-000000000009.jsonl", "many", *models)
    with LibrarySource.everywhere().statistics("all") as found:
        screen = read_statistics(found)

    lines = [line_text(line) for line in statistics_lines(screen, 100, today=date(2026, 1, 6))]
    others = [line.split() for line in lines if " others " in line]

    assert others
    assert all(int(words[-2]) <= screen.total.sessions for words in others)


def test_what_is_not_known_of_a_tool_is_not_zero(run: Any, data: Data) -> None:
    run("new", "--id", "calls")
    call = {"type": "toolCall", "id": "c", "name": "bash", "arguments": {}}
    answer = said("ok", cost={"total": 1}) | {"content": [call]}
    run("append", "calls", "go")
    run("append", "calls", "--message-json", json.dumps(answer))

    (group,) = data("stats", "--by", "tool")["groups"]

    assert (group["figures"]["tool_calls"], group["figures"]["sessions"]) == (1, 1)
    assert {group["figures"][name] for name in ("cost", "tokens", "messages")} == {None}


def test_money_has_one_form() -> None:
    forms = [0, 0.00004, 0.004, 0.0096, 0.256, 1.005, 30.331, 999.99, 999.996, 1574.88, -0.5]

    assert [money(amount) for amount in forms] == [
        "$0",
        "<$0.001",
        "$0.004",
        "$0.01",
        "$0.26",
        "$1.00",
        "$30.33",
        "$999.99",
        "$1,000",
        "$1,575",
        "-$0.50",
    ]


def test_large_numbers_stay_readable() -> None:
    assert [tokens(number) for number in (840, 12_345, 999_960, 2_448_600_000, 3e12)] == [
        "840",
        "12.3k",
        "1.0M",
        "2.4B",
        "3.0T",
    ]
    assert [short_count(number) for number in (137, 13_668, 99_999, 100_000, 12_345_678)] == [
        "137",
        "13,668",
        "99,999",
        "100.0k",
        "12.3M",
    ]


def test_costs_together_say_what_is_missing() -> None:
    known, guess = CostFigure(1.0, "recorded"), CostFigure(0.5, "estimated")
    unknown, elsewhere = CostFigure(None, "unknown"), CostFigure(None, "elsewhere")

    assert str(sum_of_costs([known, known])) == "$2.00"
    assert str(sum_of_costs([known, guess, elsewhere])) == "≈$1.50"
    assert str(sum_of_costs([known, unknown])) == "$1.00+"
    assert str(sum_of_costs([unknown, elsewhere])) == "unknown"
    assert str(sum_of_costs([elsewhere])) == "elsewhere"
    assert str(sum_of_costs([CostFigure(0.0, "recorded")])) == "$0"


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with sessions of every program; many of them have the same entries."""
    monkeypatch.delenv("BRANCHLINE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    return build_home(tmp_path / "person", "/home/dev/proj").path


def agree(everything: SessionLibrary) -> None:
    """Assert that lists, details, SQL, pages and comparisons of all sessions say the same."""
    rows = [row for row in everything.list(deep=True) if row.problem is None]
    details = everything.details(rows)
    with everything.statistics() as found:
        costs, total = found.costs(), found.total()
    question = "select path, cost, cost_state, tokens, messages from sessions"
    asked = {path: figures for path, *figures in everything.sql(question).rows}
    viewed = ViewedLibrary(everything)
    page = session_table(viewed, TableRequest(limit=1000))["rows"]

    assert rows
    with Session.in_memory() as nothing:
        for row in rows:
            one, cost = details[row_name(row)], costs[str(row.path)]
            assert one.cost_figure == cost
            assert asked[row.path] == [cost.amount, cost.state, one.tokens, row.messages]
            assert everything.describe(row).messages == row.messages
            with Session.open(str(row.path)) as session:
                leaf = -1 if session.leaf is None else session.index.position(session.leaf)
                side = compare_view(session.transcript, leaf, nothing.transcript, -1).left
            assert side.messages == row.messages
    shown = {viewed.id_of(row): str(costs[str(row.path)]) for row in rows}
    assert page
    assert {row["id"]: row["cost"] for row in page if not row["problem"]}.items() <= shown.items()
    assert sum(cost.amount or 0 for cost in costs.values()) == pytest.approx(total.cost)


def test_interfaces_agree_about_the_sessions_of_every_program(programs: Path) -> None:
    agree(SessionLibrary.everywhere(subagents=True))


def test_interfaces_agree_about_the_demo() -> None:
    agree(SessionLibrary(sessions_directory()))


def test_no_order_of_reading_changes_what_sessions_cost(programs: Path, run: Any) -> None:
    seen = []
    for number in range(3):
        order = random.Random(number)
        for file in sorted(programs.rglob("*.jsonl")):
            os.utime(file, (moment := order.random() * 1e9, moment))
        run("index", "--rebuild")
        with SessionLibrary.everywhere().statistics() as found:
            seen.append((found.costs(), found.total()))

    assert seen[1:] == seen[:1] * 2
