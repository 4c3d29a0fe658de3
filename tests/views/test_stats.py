"""Sums over sessions: each entry once, in the day, model, agent and directory where it was said."""

from __future__ import annotations

import os
import tempfile
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchline import Session, SessionLibrary
from branchline.clock import FixedClock
from branchline.views.plots import bar, sparkline
from branchline.views.spans import line_text, line_width
from branchline.views.stats import Group, Stats
from branchline.views.stats_lines import overview, table
from branchline.views.times import day_of
from formats.claude_code_kit import record as claude_record

HOUR = 3_600_000


def answer(text: str = "ok", *, cost: float = 0.5, model: str = "one", tools: tuple[str, ...] = ()) -> dict:
    calls = [
        {"type": "toolCall", "id": f"c{n}", "name": name, "arguments": {}} for n, name in enumerate(tools)
    ]
    return {
        "role": "assistant",
        "content": [{"type": "text", "text": text}, *calls],
        "provider": "acme",
        "model": model,
        "stopReason": "stop",
        "usage": {
            "input": 100,
            "output": 20,
            "cacheRead": 5,
            "cacheWrite": 1,
            "totalTokens": 126,
            "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": cost},
        },
    }


@pytest.fixture
def session(tmp_path):
    """Two turns on two days, a branch, and two tools."""
    clock = FixedClock(start=1_767_607_200_000, step=HOUR)  # 2026-01-05T10:00Z, an hour per question
    with Session.create("/shop", directory=tmp_path, clock=clock, persist="at_once") as made:
        first = made.append_message("one")
        made.append_message(answer(tools=("bash", "read"), cost=0.25))
        for _ in range(8):
            made.append_message("more")
        made.branch(first)
        made.append_message(answer(model="two"))
        yield made


def tally(*sessions: Session, zone=UTC, **options) -> Stats:
    """The sums over copies of these sessions, in this order."""
    with tempfile.TemporaryDirectory() as place:
        for number, session in enumerate(sessions):
            copy = Path(place, f"{number}.jsonl")
            copy.write_bytes(session.transcript.bytes_between(0, None))
            os.utime(copy, (number, number))
        with SessionLibrary(place).statistics(zone=zone, **options) as found:
            return found.stats()


def test_everything_in_a_file_counts_whatever_branch_it_is_on(session):
    stats = tally(session)

    total = stats.total
    assert (total.sessions, total.messages, total.prompts, total.answers) == (1, 11, 9, 2)
    assert (total.input, total.output, total.cache_read, total.cache_write) == (200, 40, 10, 2)
    assert total.tokens == 252
    assert total.cost == 0.75
    assert [(tool.name, tool.calls) for tool in stats.tools] == [("bash", 1), ("read", 1)]


def test_groups_are_the_total_seen_from_one_side(session):
    stats = tally(session)

    assert [group.name for group in stats.model] == ["acme/two", "acme/one"]
    assert [group.name for group in stats.agent] == ["pi"]
    assert [group.name for group in stats.directory] == ["/shop"]
    assert len(stats.day) > 1
    for groups in (stats.day, stats.agent, stats.directory):
        assert sum(group.figures.messages for group in groups) == stats.total.messages
        assert sum(group.figures.cost for group in groups) == pytest.approx(stats.total.cost)
    assert sum(group.figures.cost for group in stats.model) == stats.total.cost
    assert [group.figures.tool_calls for group in stats.model] == [0, 2]


def test_what_a_fork_took_along_is_counted_once_with_or_without_its_parent(session):
    alone = tally(session)
    fork = session.fork()
    fork.append_message("only here")

    together = tally(session, fork)
    backwards = tally(fork, session)

    assert together.total.messages == alone.total.messages + 1
    assert together.total.cost == backwards.total.cost == alone.total.cost
    assert together.total.sessions == 2
    assert together.repeated == backwards.repeated == 2
    assert tally(fork).total.messages == 3, "the parent may be gone: its words are still counted"
    fork.close()


def test_a_copy_of_a_file_adds_nothing(session):
    assert tally(session, session).total.cost == tally(session).total.cost


def test_of_an_answer_in_two_files_the_largest_record_counts_whichever_file_comes_first(tmp_path):
    first = claude_record("u1", None) + claude_record("r1", "u1", "assistant", answer="m", output=1)
    whole = first + claude_record("r2", "r1", "assistant", answer="m", output=50)

    found = []
    for number, files in enumerate(((first, whole), (whole, first))):
        place = tmp_path / str(number)
        place.mkdir()
        for age, data in enumerate(files):
            path = place / f"{'ab'[age]}.jsonl"
            path.write_bytes(data if isinstance(data, bytes) else data.encode())
            os.utime(path, (age + 1, age + 1))
        with SessionLibrary(place).statistics(zone=UTC) as made:
            total = made.total()
        found.append((total.input, total.output, total.tokens, total.answers, total.messages))

    assert found == [(10, 50, 60, 1, 2)] * 2


def test_days_are_those_of_the_time_zone_and_can_be_chosen(session):
    stats = tally(session)
    days = [group.name for group in stats.day]

    only = tally(session, since=date.fromisoformat(days[0]), until=date.fromisoformat(days[0]))

    assert [group.name for group in only.day] == days[:1]
    assert only.total.messages == stats.day[0].figures.messages
    assert tally(session, zone=timezone(timedelta(hours=14))).day != stats.day


def test_entries_without_time_count_in_no_chosen_days(tmp_path):
    path = tmp_path / "x.jsonl"
    header = '{"type":"session","version":3,"id":"x","timestamp":"","cwd":"/a"}\n'
    entry = '{"type":"message","id":"%s","parentId":null,"timestamp":"%s","message":{"role":"user","content":"hi"}}\n'
    path.write_text(header + entry % ("1", "") + entry % ("2", "never") + entry % ("3", "9999-99-99"))

    with Session.open(path) as session:
        assert [(group.name, group.figures.messages) for group in tally(session).day] == [("", 3)]
        assert tally(session, since=date(2000, 1, 1)).total.messages == 0


@pytest.mark.parametrize("number", ["1e400", "-1e999", "9" * 400, '"many"', "null", "NaN"])
def test_numbers_that_are_none_spoil_no_sum(tmp_path, number):
    path = tmp_path / "x.jsonl"
    path.write_text(
        '{"type":"session","version":3,"id":"x","timestamp":"2026-01-05T09:00:00Z","cwd":"/a"}\n'
        '{"type":"message","id":"1","parentId":null,"timestamp":"2026-01-05T09:00:00Z","message":{"role":"assistant",'
        f'"content":"hi","usage":{{"input":{number},"output":1,"cost":{{"total":{number}}}}}}}}}\n'
    )

    with Session.open(path) as session:
        stats = tally(session)

    assert abs(stats.total.cost) < 1e300
    assert [line_text(line) for line in overview(stats, columns=80)]


# -- lines ------------------------------------------------------------------------------------------------


def test_the_overview_says_it_all_in_a_few_lines(session):
    text = "\n".join(line_text(line) for line in overview(tally(session), columns=100))

    assert "11 messages in 1 session: 9 prompts, 2 answers, 2 tool calls" in text
    assert "200 in, 40 out, 10 from cache, 2 into cache" in text
    assert "cost    $0.75" in text
    assert "bash 1, read 1" in text
    assert "2026-01-05 … 2026-01-06, by cost" in text
    assert "acme/two" in text
    assert "█" in text


def test_without_a_width_nothing_is_drawn(session):
    text = "\n".join(line_text(line) for line in overview(tally(session)))

    assert not set(text) & set("█▁▂▃▄▅▆▇▉▊▋▌▍▎▏…")


def test_a_table_of_tools_has_only_what_is_known_of_a_tool(session):
    """Tokens and cost belong to answers: a tool without any would look as if it were free."""
    figures = msgspec.structs.replace(tally(session).model[0].figures, tool_calls=3, messages=0, cost=0.0)
    groups = (Group(name="bash", keys=("bash",), figures=figures),)

    heading, row = (line_text(line).split() for line in table(groups, "tool"))

    assert heading == ["tool", "sessions", "calls"]
    assert row == ["bash", "1", "3"]


@pytest.mark.parametrize("columns", [20, 30, 40, 50, 80, 100, 200])
@pytest.mark.parametrize("dimension", ["day", "model", "agent", "directory"])
def test_a_table_fits_and_hostile_names_are_harmless(session, dimension, columns):
    groups = tally(session).by(dimension)
    groups += tuple(Group(name=name, figures=groups[0].figures) for name in ("\x1b[31m日本" * 9, "a\nb", ""))

    lines = table(groups, dimension, columns=columns)

    assert len(lines) == len(groups) + 1
    assert all("\x1b" not in line_text(line) and "\n" not in line_text(line) for line in lines)
    assert all(line_width(line) <= columns for line in lines)
    assert all("cost" in line_text(lines[0]) and "$" in line_text(line) for line in lines[1:])
    assert all(line_width(line) <= columns for line in overview(tally(session), columns=columns))


numbers = st.floats() | st.integers(-(10**20), 10**20)


@settings(deadline=None)
@given(st.lists(numbers, max_size=40), st.integers(0, 30))
def test_a_sparkline_has_a_character_per_value_and_never_more_than_fit(values, columns):
    assert len(sparkline(values)) == len(values)
    assert len(sparkline(values, columns)) <= columns


@given(numbers, numbers, st.integers(-2, 30))
def test_a_bar_is_never_longer_than_its_room_and_something_is_never_nothing(value, largest, columns):
    drawn = bar(value, largest, columns)

    assert len(drawn) <= max(0, columns)
    if columns > 0 and 0 < value <= largest and largest < float("inf"):
        assert drawn


def test_the_largest_value_is_a_full_bar_and_the_highest_step():
    assert bar(3, 3, 4) == "████"
    assert bar(1.5, 3, 4) == "██"
    assert sparkline([0, 1, 8]) == " ▁█"
    assert sparkline([1] * 10 + [5] * 5, 3) == "▂▂█"


NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("words", "day"),
    [
        ("2026-11-01", date(2026, 11, 1)),
        ("2026-11", date(2026, 11, 1)),
        ("today", date(2026, 11, 15)),
        ("Yesterday", date(2026, 11, 14)),
        ("7d", date(2026, 11, 8)),
        ("2w", date(2026, 11, 1)),
        ("1y", date(2025, 11, 15)),
        ("3mo", date(2026, 8, 17)),
        ("3m", date(2026, 11, 15)),
        ("36h", date(2026, 11, 14)),
    ],
)
def test_a_day_can_be_written_in_several_ways(words, day):
    assert day_of(words, NOON) == day


@pytest.mark.parametrize("words", ["", "soon", "2026-13-01", "99999y", "-3d"])
def test_what_is_no_day_is_told_so(words):
    with pytest.raises(ValueError, match="is not a valid date; use"):
        day_of(words, NOON)
