"""``branchline stats``: sums for a person and for a program."""

from __future__ import annotations

import io
import sys

import pytest

from branchline.cli.commands import ls
from library.test_statistics import claude_answer


def test_an_overview_of_this_directory(run, talk):
    result = run("stats")

    assert "4 messages in 1 session: 3 prompts, 1 answer, 0 tool calls" in result.stdout
    assert result.stderr == "1 session read\n"


def test_a_fork_adds_only_what_is_its_own(run, data, talk):
    before = data("stats")["total"]
    run("fork", talk)

    after = data("stats")

    assert after["total"]["messages"] == before["messages"]
    assert after["read"] == 2
    assert after["repeated"] == 3
    assert "3 messages of forks counted once" in run("stats").stderr


def test_one_table_at_a_time(run, talk):
    lines = run("stats", "--by", "model").stdout.splitlines()

    assert lines[0].split() == ["model", "sessions", "messages", "calls", "in", "out", "cached", "cost"]
    assert lines[1].split()[:3] == ["anthropic/claude-sonnet-4-5", "1", "1"]
    assert run("stats", "--by", "agent").stdout.splitlines()[1].split()[0] == "branchline"


def test_json_has_every_table(data, talk):
    result = data("stats", "--since", "2000-01-01", "--until", "today")

    assert set(result["by"]) == {"day", "model", "agent", "directory"}
    assert result["since"] == "2000-01-01"
    assert result["total"]["prompts"] == 3
    assert data("stats", "--until", "1999-12")["total"]["messages"] == 0


def test_what_cannot_be_read_is_told_and_costs_only_itself(run, data, write_session, line):
    write_session("garbage", header=False, name="bad.jsonl")
    write_session(line("a", None, "user", "hi"))

    result = data("stats", "--dir", ".")

    assert result["total"]["messages"] == 1
    assert [path.rpartition("/")[2] for path in result["unreadable"]] == ["bad.jsonl"]
    assert "1 unreadable" in run("stats", "--dir", ".").stderr


def test_nothing_to_count_is_told(run, talk):
    assert "no sessions in .; folders below it are not searched" in run("stats", "--dir", ".").stderr
    assert "no messages in this period" in run("stats", "--until", "1999-01-01").stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--since", "soon"], "--since: 'soon' is not a valid date"),
        (
            ["--since", "2026-11-20", "--until", "2026-11-01"],
            "--since 2026-11-20 is after --until 2026-11-01",
        ),
        (["--by", "mood"], "is not one of"),
        (["--all", "--dir", "."], "either --all or --dir"),
    ],
)
def test_a_wrong_call_is_told(run, options, words):
    assert words in run("stats", *options, code=2).stderr


def test_tables_by_any_key_and_by_pairs(run, data, talk):
    assert run("stats", "--by", "month").stdout.splitlines()[0].split()[0] == "month"
    pair = run("stats", "--by", "agent,model").stdout.splitlines()
    assert pair[1].split()[:2] == ["branchline", "anthropic/claude-sonnet-4-5"]

    groups = data("stats", "--by", "session")["groups"]

    assert [group["keys"] for group in groups] == [[talk]]
    assert "--by takes one key" in run("stats", "--by", "day,model,agent", code=2).stderr


def test_a_table_as_csv(run, talk):
    lines = run("stats", "--by", "directory", "--csv").stdout.splitlines()

    assert lines[0].startswith("directory,sessions,messages,prompts")
    assert lines[1].split(",")[1:4] == ["1", "4", "3"]


def test_a_question_in_sql(run, data, talk):
    assert run("sql", "select title, messages, null as x from sessions").stdout.splitlines() == [
        "title          messages  x",
        "Auth refactor         3",
    ]
    assert data("sql", "select 1 as a, 2 as a")["rows"] == [{"a": 1, "a:2": 2}]
    assert data("sql", "select title from sessions")["rows"] == [{"title": "Auth refactor"}]
    assert run("sql", "select 'a,b' as x", "--csv").stdout == 'x\n"a,b"\n'
    assert "only SELECT" in run("sql", "delete from file", code=2).stderr


def test_an_unknown_cost_is_null_in_json_and_empty_in_csv(run, data, world):
    (world / "s.jsonl").write_bytes(claude_answer("nobody-knows"))

    result = data("stats", "--dir", ".", "--by", "model")
    head, row = run("stats", "--dir", ".", "--by", "model", "--csv").stdout.splitlines()

    assert [result["total"]["cost"], result["groups"][0]["figures"]["cost"]] == [None, None]
    assert result["by"]["day"][0]["figures"]["unpriced"] == 200_000
    assert dict(zip(head.split(","), row.split(","), strict=True))["cost"] == ""


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_reading_and_adding_up_are_shown_on_a_terminal_and_nothing_of_it_stays(monkeypatch) -> None:
    monkeypatch.setattr(ls, "_PATIENCE", -1.0)
    assert ls.reading_progress() is None  # stderr is a pipe here
    shown = _Terminal()
    monkeypatch.setattr(sys, "stderr", shown)

    tell = ls.reading_progress(then="adding up …")
    assert tell is not None
    for done in (1, 2_000):
        tell(done, 2_000)
    ls.clear_progress()

    assert shown.getvalue() == ("\rreading 1 of 2,000\rreading 2,000 of 2,000\r\x1b[Kadding up …\r\x1b[K")
