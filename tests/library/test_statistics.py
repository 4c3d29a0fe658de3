"""Sums by any key: the same whatever the index knows, recorded cost first, unknown prices never zero."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, date, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

import branchline.catalog.record
from branchline import Session, SessionLibrary
from branchline.catalog import Catalog, database
from branchline.catalog.sql import SqlProblem
from branchline.context.prices import PriceList, Rates, parse_price
from branchline.conversion import convert
from branchline.entries import Header
from branchline.formats import CLAUDE_CODE, CODEX, Format
from branchline.views.stats import DIMENSIONS
from formats.claude_code_kit import record
from formats.codex_kit import THREAD, item, meta
from formats.database_kit import opencode_database
from library.kit import CWD, talk
from session.kit import user
from support import CORPUS

CONVERTED = Header(
    id="5a000000-0000-4000-8000-0000000000c0",
    timestamp="2026-02-01T00:00:00.000Z",
    cwd=CWD,
    parent_session="/sessions/first.jsonl",
)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BRANCHLINE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(branchline.catalog.record, "_RACE_NS", 0)


def answer(model: str, *, cost: float = 0.0, provider: str = "anthropic", tools: tuple[str, ...] = ()) -> Any:
    calls = [
        {"type": "toolCall", "id": f"c{n}", "name": name, "arguments": {}} for n, name in enumerate(tools)
    ]
    return {
        "role": "assistant",
        "content": [{"type": "text", "text": "ok"}, *calls],
        "provider": provider,
        "model": model,
        "usage": {
            "input": 1_000_000,
            "output": 100_000,
            "cacheRead": 0,
            "cacheWrite": 0,
            "totalTokens": 1_100_000,
            "cost": {"total": cost},
        },
    }


@pytest.fixture
def library(place: Path) -> SessionLibrary:
    with talk(place, 0, "first", cwd="/one") as session:
        session.append_message(answer("claude-opus-4-5", cost=3.5, tools=("bash", "read", "bash")))
        session.append_message(user("more"))
    with talk(place, 1, "second", cwd="/two") as session:
        session.append_message(answer("nobody-knows", provider="acme", tools=("bash",)))
    return SessionLibrary(place)


def figures(library: SessionLibrary, *by: Any) -> dict[tuple[str, ...], Any]:
    with library.statistics(zone=UTC) as found:
        return {group.keys: group.figures for group in found.groups(*by)}


@pytest.fixture
def local_zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Moves this machine to another time zone."""

    def move(name: str) -> None:
        monkeypatch.setenv("TZ", name)
        time.tzset()

    yield move
    monkeypatch.undo()
    time.tzset()


def test_days_and_hours_follow_the_zone_of_the_machine(
    library: SessionLibrary, local_zone: Callable[[str], None]
) -> None:
    for hours in (0, 5.75, -11, 13, 0):
        sign = "-" if hours > 0 else "+"  # as POSIX has it
        local_zone(f"XXX{sign}{abs(hours):.0f}" if hours == int(hours) else f"XXX{sign}5:45")

        for keys in (("day",), ("week",), ("month",), ("hour",), ("day", "hour"), ("day", "model")):
            with library.statistics() as found, library.statistics(zone=zone_at(hours)) as wanted:
                local, told = found.groups(*keys), wanted.groups(*keys)

            assert local == told


def zone_at(hours: float) -> timezone:
    return timezone(timedelta(hours=hours))


@pytest.mark.parametrize("pair", [(one, other) for one in DIMENSIONS for other in DIMENSIONS if one != other])
def test_every_pair_of_keys_adds_up_to_all_tool_calls(library: SessionLibrary, pair: tuple[Any, Any]) -> None:
    with library.statistics(zone=UTC) as found:
        total, groups = found.total(), found.groups(*pair)

    assert all(len(group.keys) == 2 for group in groups)
    assert sum(group.figures.tool_calls for group in groups) == total.tool_calls > 0


@pytest.mark.parametrize("key", [key for key in DIMENSIONS if key not in ("model", "tool")])
def test_every_key_adds_up_to_the_whole(library: SessionLibrary, key: Any) -> None:
    with library.statistics(zone=UTC) as found:
        total, groups = found.total(), found.groups(key)

    assert sum(group.figures.messages for group in groups) == total.messages == 7
    assert sum(group.figures.cost for group in groups) == pytest.approx(total.cost)


def test_pairs_of_keys_are_told_apart(library: SessionLibrary) -> None:
    found = figures(library, "month", "directory")

    assert found.keys() == {("2026-01", "/one"), ("2026-01", "/two")}
    assert figures(library, "directory", "model")["/one", "anthropic/claude-opus-4-5"].cost == 3.5
    assert figures(library, "directory", "tool")["/one", "bash"].tool_calls == 2


def test_tools_count_their_calls_and_sessions(library: SessionLibrary) -> None:
    found = figures(library, "tool")

    assert {key: (one.tool_calls, one.sessions) for key, one in found.items()} == {
        ("bash",): (3, 2),
        ("read",): (1, 1),
    }


def test_days_can_be_chosen(library: SessionLibrary) -> None:
    assert len(library.stats("day", until=date(2026, 1, 1))) == 1
    assert library.stats("day", since=date(2027, 1, 1)) == ()


def claude_answer(model: str, output: int = 100_000) -> bytes:
    """A transcript of Claude Code, which records no cost, with one answer."""
    lines = [
        {"type": "user", "uuid": "u", "parentUuid": None, "message": {"role": "user", "content": "hello"}},
        {
            "type": "assistant",
            "uuid": "a",
            "parentUuid": "u",
            "requestId": "r",
            "message": {
                "id": "m",
                "role": "assistant",
                "model": model,
                "content": [{"type": "text", "text": "hi"}],
                "usage": {"input_tokens": 100_000, "output_tokens": output},
            },
        },
    ]
    common = {"sessionId": "s", "cwd": "/p", "timestamp": "2026-01-05T10:00:00.000Z", "version": "2.0.0"}
    return b"".join(json.dumps(common | line).encode() + b"\n" for line in lines)


def test_recorded_cost_wins_also_where_it_is_zero(library: SessionLibrary) -> None:
    found = figures(library, "model")

    known, free = found["anthropic/claude-opus-4-5",], found["acme/nobody-knows",]
    assert (known.cost, known.estimated, str(known.cost_figure)) == (3.5, 0, "$3.50")
    assert (free.cost, free.unpriced, str(free.cost_figure)) == (0, 0, "$0")


def test_a_model_without_a_known_price_is_unknown_and_never_free(place: Path) -> None:
    place.mkdir()
    (place / "s.jsonl").write_bytes(claude_answer("nobody-knows"))

    (one,) = figures(SessionLibrary(place), "model").values()

    assert (one.cost, one.unpriced, str(one.cost_figure)) == (0, 200_000, "unknown")


def test_cost_that_nobody_recorded_is_estimated_and_marked(place: Path) -> None:
    pytest.importorskip("genai_prices")
    place.mkdir()
    (place / "s.jsonl").write_bytes(claude_answer("claude-haiku-4-5"))

    (one,) = figures(SessionLibrary(place), "model").values()

    assert one.estimated == one.cost == pytest.approx(0.1 + 0.5, rel=0.01)
    assert str(one.cost_figure).startswith("≈$0.6")


def test_a_price_of_ones_own_is_used(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BRANCHLINE_PRICES", "anthropic/nobody-knows=2:10 nonsense")
    place.mkdir()
    (place / "s.jsonl").write_bytes(claude_answer("nobody-knows"))

    with SessionLibrary(place).statistics() as found:
        (one,) = [group.figures for group in found.groups("model")]

    assert one.cost == pytest.approx(0.2 + 1.0)
    assert found.notes == [
        "setting prices: 'nonsense' is not a valid price; write provider/model=input:output:cache_read:cache_write"
    ]


def test_the_price_of_tokens_counts_each_kind() -> None:
    _name, rates = parse_price("m=1:2:0.5:4")

    assert rates == Rates(1e-6, 2e-6, 5e-7, 4e-6, 4e-6)
    assert rates.cost(1e6, 1e6, 1e6, 1e6) == pytest.approx(7.5)
    assert PriceList(["m=1:2"]).rates("acme/m") is not None
    assert PriceList().rates("acme/m") is None


def test_sums_are_the_same_without_an_index(library: SessionLibrary, monkeypatch: pytest.MonkeyPatch) -> None:
    with library.statistics(zone=UTC) as found:
        before = found.stats()
    monkeypatch.setenv("BRANCHLINE_INDEX", "off")

    with library.statistics(zone=UTC) as found:
        after = found.stats()

    assert after == before
    assert "every session was read" in found.notes[0]


def test_the_views_answer_the_same_without_an_index(
    library: SessionLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions = [
        f"SELECT * FROM {view} ORDER BY 1, 2, 3" for view in ("sessions", "messages", "spending", "tools")
    ]
    before = [library.sql(question).rows for question in questions]
    monkeypatch.setenv("BRANCHLINE_INDEX", "off")

    after = [library.sql(question) for question in questions]

    assert [answer.rows for answer in after] == before
    assert all("every session was read" in answer.note for answer in after)


def test_a_scope_counts_what_it_holds_also_where_the_original_is_elsewhere(
    tmp_path: Path, place: Path
) -> None:
    with talk(place, 0, "one", "two") as session:
        session.append_message(answer("x", cost=1.0, tools=("bash",)))
        path = Path(str(session.file))
    SessionLibrary(place).update_index()
    other = tmp_path / "backup"
    other.mkdir()
    (other / path.name).write_bytes(path.read_bytes())

    with SessionLibrary(other).statistics() as found:
        total, tools = found.total(), found.groups("tool")

    assert total.messages == 5
    assert total.cost == pytest.approx(1.02)
    assert [group.figures.tool_calls for group in tools] == [1]


def test_an_answer_that_several_files_hold_is_counted_once(place: Path) -> None:
    place.mkdir()
    for sample in sorted((CORPUS / "claude-code/synthetic/lineage").glob("*.jsonl")):
        (place / sample.name).write_bytes(sample.read_bytes())

    with SessionLibrary(place).statistics() as found:
        total = found.total()

    assert total.output == 30  # six answers; the files together have ten


def test_what_a_fork_of_opencode_copied_under_new_ids_is_counted_once(tmp_path: Path) -> None:
    """It keeps the time of each message inside its data; columns and ids are new."""
    file = tmp_path / ".local" / "share" / "opencode" / "opencode.db"
    file.parent.mkdir(parents=True)
    opencode_database(file)
    library = SessionLibrary.everywhere(home=tmp_path, environment={}, agents=["opencode"])
    with library.statistics() as found:
        before = found.total()
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.executescript(
            """
            INSERT INTO session (id, project_id, slug, directory, title, version, time_created, time_updated)
                SELECT 'ses_2', project_id, slug, directory, title || ' (fork #1)', version, 1, 1 FROM session
                WHERE id = 'ses_1';
            INSERT INTO message SELECT replace(id, 'msg_', 'msg_9'), 'ses_2', 1, 1, data FROM message
                WHERE session_id = 'ses_1';
            INSERT INTO part SELECT replace(id, 'prt_', 'prt_9'), replace(message_id, 'msg_', 'msg_9'),
                'ses_2', 1, 1, data FROM part WHERE session_id = 'ses_1';
            """
        )

    with Session.open(f"{file}#ses_1") as session:
        session.fork()  # a native session
    library = SessionLibrary.everywhere(home=tmp_path, environment=dict(os.environ))

    with library.statistics() as found:
        total = found.total()

    assert len(library.list()) == 3
    assert total.answers == before.answers > 0
    assert (total.tokens, total.cost) == (before.tokens, before.cost)


@pytest.mark.parametrize("target", [CLAUDE_CODE, CODEX], ids=lambda one: one.name)
@pytest.mark.parametrize("copies_first", [False, True])
def test_what_a_conversion_copied_under_new_ids_is_counted_once(
    target: Format, copies_first: bool, place: Path
) -> None:
    with talk(place, 0, "Why?", "And how?") as source:
        made = convert(source.transcript, target, CONVERTED)
    with SessionLibrary(place).statistics() as found:
        before = found.total()
    copy = place / f"{CONVERTED.id}.jsonl"
    copy.write_bytes(made.data)
    Session.fork_from(copy, directory=place).close()
    if copies_first:
        copy.unlink()
        with SessionLibrary(place).statistics() as found:
            assert found.total().answers == 2 * before.answers
        copy.write_bytes(made.data)
    if target is CLAUDE_CODE:
        _extend_as_claude_code(copy)

    with SessionLibrary(place).statistics() as found:
        total = found.total()

    own = int(target is CLAUDE_CODE)
    assert (total.prompts, total.answers) == (before.prompts + own, before.answers + own)


def _extend_as_claude_code(path: Path) -> None:
    """Claude Code continues a session, and a fork of it repeats all records under another id."""
    with Session.open(path) as session:
        leaf = session.leaf
    said = record("u", leaf, content="More?", timestamp="2030-01-01T00:00:00.000Z")
    said += record("a", "u", "assistant", timestamp="2030-01-01T00:00:01.000Z")
    with path.open("ab") as out:
        out.write(said)
    records = path.read_bytes().split(b"\n", 1)[1].splitlines(keepends=True)
    fork = "5a000000-0000-4000-8000-0000000000f0"
    copies = [line.replace(CONVERTED.id.encode(), fork.encode()) for line in records]
    (path.parent / f"{fork}.jsonl").write_bytes(b"".join(copies))


@pytest.mark.parametrize("program", ["claude-code", "codex", "pi", "oh-my-pi", "operator", "zot"])
def test_files_that_grew_add_up_like_files_that_were_read_at_once(program: str, tmp_path: Path) -> None:
    for sample in [path for path in sorted((CORPUS / program).rglob("*.jsonl"))[:8] if path.stat().st_size]:
        place = tmp_path / f"{sample.parent.name}-{sample.stem}"
        place.mkdir()
        library = SessionLibrary(place)
        lines = sample.read_bytes().splitlines(keepends=True)
        for part in (lines[: len(lines) // 2], lines[len(lines) // 2 :]):
            with (place / sample.name).open("ab") as out:
                out.write(b"".join(part))
            with library.statistics(zone=UTC) as found:
                grown = found.stats()
        library.update_index(rebuild=True)

        with library.statistics(zone=UTC) as found:
            fresh = found.stats()

        assert grown == fresh
        shutil.rmtree(place)


# -- SQL --------------------------------------------------------------------------------------------------


def test_the_views_answer(library: SessionLibrary) -> None:
    found = library.sql("select directory, messages from sessions order by directory")

    assert found.columns == ("directory", "messages")
    assert found.rows == [("/one", 4), ("/two", 3)]
    assert library.sql("select sum(cost) from spending where model like '%opus%'").rows == [(3.5,)]
    assert library.sql("select tool, sum(calls) from tools group by 1 order by 1").rows == [
        ("bash", 3),
        ("read", 1),
    ]
    assert library.sql("select count(*) from messages where role = 'user'").rows == [(3,)]


@pytest.mark.parametrize(
    "statement",
    [
        "delete from file",
        "select * from file",
        "select record from file",
        "select name from sqlite_master",
        "pragma user_version = 3",
        "attach database '/tmp/x' as x",
        "drop view sessions",
        "select load_extension('x')",
        "select 1; select 2",
        "nonsense",
        "",
    ],
)
def test_nothing_but_a_question_over_the_views_is_allowed(library: SessionLibrary, statement: str) -> None:
    with pytest.raises(SqlProblem):
        library.sql(statement)

    assert library.sql("select count(*) from sessions").rows == [(2,)]


def test_a_statement_that_never_ends_is_stopped(library: SessionLibrary) -> None:
    endless = "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n"

    with pytest.raises(SqlProblem, match="took longer than"):
        library.sql(endless, seconds=0.2)


def test_a_value_that_fills_the_memory_is_refused(library: SessionLibrary) -> None:
    with pytest.raises(SqlProblem, match="too big"):
        library.sql("select zeroblob(100000000)")

    library.update_index(rebuild=True)
    assert library.sql("select length(hex(zeroblob(1000)))").rows == [(2000,)]


def test_a_wrong_name_is_answered_with_the_names_that_there_are(library: SessionLibrary) -> None:
    with pytest.raises(SqlProblem, match="no such table: session; the views are sessions, messages"):
        library.sql("select * from session")
    with pytest.raises(
        SqlProblem, match="no such column: calls_; tools has session, time, tool, model, calls"
    ):
        library.sql("select calls_ from Tools")


def test_the_names_of_views_may_be_written_in_capitals(library: SessionLibrary) -> None:
    assert (
        library.sql("SELECT COUNT(*) FROM SESSIONS").rows == library.sql("select count(*) from sessions").rows
    )


def test_sums_are_read_from_the_files_if_the_roll_up_cannot_be_written(
    library: SessionLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    with library.statistics(zone=UTC) as found:
        before = found.stats()
    with Catalog.open() as catalog:
        catalog.connection.execute("UPDATE file SET rolled = 0")
    connect = database.connect

    def read_only(*arguments: Any, **options: Any) -> Any:
        connection = connect(*arguments, **options)
        connection.execute("PRAGMA query_only = ON")
        return connection

    monkeypatch.setattr("branchline.catalog.catalog.connect", read_only)

    with library.statistics(zone=UTC) as found:
        after = found.stats()

    assert after == before
    assert found.notes == [
        "the index cannot be used: attempt to write a readonly database; every session was read"
    ]


@pytest.mark.parametrize("table", ["text", "file"])
def test_tables_behind_the_views_are_refused_with_the_names_of_the_views(
    library: SessionLibrary, table: str
) -> None:
    with pytest.raises(SqlProblem, match="only SELECT over sessions, messages, spending, tools is allowed"):
        library.sql(f"select * from {table}")


def test_the_index_is_read_by_its_owner_alone_after_all_this(library: SessionLibrary, tmp_path: Path) -> None:
    library.sql("select 1")

    modes = {os.stat(path).st_mode & 0o777 for path in (tmp_path / "home" / "cache").iterdir()}
    assert modes == {0o600}


def test_a_compressed_file_that_is_too_large_for_lists_counts_and_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    zstandard = pytest.importorskip("zstandard", reason="the package zstandard is not installed")
    monkeypatch.setenv("BRANCHLINE_MAX_UNPACKED", "64")  # lists read an eighth of this
    folder = tmp_path / "user" / ".codex" / "sessions" / "2026" / "09" / "02"
    folder.mkdir(parents=True)
    lines = [item(role, secrets.token_hex(1000)) for _ in range(2_300) for role in ("assistant", "user")]
    data = b"".join([meta(), item("user", "begin"), *lines, item("assistant", "a needle at the end")])
    (folder / f"rollout-2026-09-02T01-00-00-{THREAD}.jsonl.zst").write_bytes(
        zstandard.ZstdCompressor().compress(data)
    )
    environment = {"BRANCHLINE_HOME": str(tmp_path / "home")}
    library = SessionLibrary.everywhere(home=tmp_path / "user", environment=environment)
    assert library.list(deep=True)[0].messages is None

    with library.statistics() as found:
        assert (found.unreadable, found.total().messages) == ((), len(lines) + 2)

    assert [hit.snippet.text for hit in library.search("needle")] == ["a needle at the end"]
    assert library.list(deep=True)[0].messages == len(lines) + 2


def test_sessions_of_other_directories_are_not_unreadable(tmp_path: Path) -> None:
    folder = tmp_path / "user" / ".codex" / "sessions" / "2026" / "09" / "02"
    folder.mkdir(parents=True)
    name = f"rollout-2026-09-02T01-00-00-{THREAD}.jsonl"
    (folder / name).write_bytes(meta() + item("user", "begin") + item("assistant", "done"))
    environment = {"BRANCHLINE_HOME": str(tmp_path / "home")}
    library = SessionLibrary.everywhere(tmp_path, home=tmp_path / "user", environment=environment)

    for _ in range(2):  # without an index, and with it
        with library.statistics() as found:
            assert (found.read, found.unreadable) == (0, ())


@pytest.mark.parametrize("first", ["original", "fork"])
def test_what_forks_share_counts_in_the_original_whichever_is_read_first(place: Path, first: str) -> None:
    with talk(place, 0, "first", title="original") as session:
        session.append_message(answer("one", cost=3.5))
        with session.fork() as fork:
            fork.append_message(answer("one", cost=0.25))
            files = {"original": session.file, "fork": fork.file}
    os.utime(str(files[first]), (1, 1))  # the oldest file is indexed first
    library = SessionLibrary(place)

    library.update_index()

    costs = sorted(one.cost for one in figures(library, "session").values())
    assert costs == [0.25, 3.51]
