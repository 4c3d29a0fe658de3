"""The promises of zot, each as it is worded."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from branchline import Ambiguous, Session, SessionLibrary
from branchline.actions.import_ import import_file
from branchline.cli.app import cli
from branchline.context import usage_rows
from branchline.entries import (
    AssistantMessage,
    Image,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from parity.kit import FORMATS, aged, files, talk, texts
from session.kit import CWD, assistant, clock, user

EVERY = pytest.mark.parametrize("format_", FORMATS)
PICTURE = Image(data="iVBORw0KGgo=", mime_type="image/png")


def prompts(session: Session) -> list[str]:
    return [turn.id for turn in SessionLibrary("nowhere").prior_turns(session)]


@EVERY
@pytest.mark.parity("ZOT-01")
def test_a_fork_at_any_past_prompt_records_parent_and_place_and_leaves_the_parent_alone(tmp_path, format_):
    session = talk(tmp_path, "same", "one", "same", "two", "same", "three", format=format_)
    before = Path(session.file).read_bytes()

    for number, prompt in enumerate(prompts(session)):
        made = session.fork(prompt)
        found = Session.open(made.file)
        assert texts(found) == ["same", "one", "same", "two", "same"][: 2 * number + 1]
        assert found.id != session.id
        assert found.parent_session in (session.file, session.id)
        assert found.fork_point == found.context().messages[-1].entry

    assert Path(session.file).read_bytes() == before


@pytest.mark.parity("ZOT-01")
def test_a_fork_in_zots_own_words_names_parent_and_fork_point(tmp_path):
    session = talk(tmp_path, "one", "two", "three", "four", format="zot")

    made = session.fork(prompts(session)[1])

    meta = json.loads(Path(made.file).read_text().splitlines()[0])["meta"]
    assert (meta["parent"], meta["fork_point"], meta["cwd"]) == (session.id, 3, CWD)


@EVERY
@pytest.mark.parity("ZOT-02")
def test_sums_over_sessions_count_everything_once(tmp_path, format_):
    session = talk(tmp_path, format=format_)
    session.append_messages([user("more"), assistant("dear", cost=2.0)])
    fork = session.fork()
    fork._clock = clock(5, start=1_900_000_000_000)
    fork.append_messages([user("own"), assistant("own", cost=4.0)])

    spent = fork.usage()

    assert spent.inherited.total.cost == pytest.approx(2.01)
    assert spent.own.total.cost == pytest.approx(4.0)
    library = SessionLibrary(tmp_path)
    assert sum(library.describe(row.key).own_cost for row in library.list()) == pytest.approx(6.01)


@pytest.mark.parity("ZOT-03")
def test_the_forest_links_forks_and_shows_what_is_odd(tmp_path):
    parent = talk(tmp_path, seed=1)
    first, second = parent.fork(), parent.fork()
    inner = first.fork()
    orphan = talk(tmp_path, seed=9, parent_session="gone")
    for name, other in (("x", "y"), ("y", "x")):  # a cycle
        talk(tmp_path, seed=ord(name), id=name, parent_session=other).close()
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(Path(second.file).read_bytes())  # a repeated id

    forest = SessionLibrary(tmp_path).forest()

    place = {item.row.key: (item.parent, item.depth) for item in forest}
    assert place[parent.key] == (None, 0)
    assert place[first.key] == (parent.key, 1)
    assert place[second.key] == (parent.key, 1)
    assert place[inner.key] == (first.key, 2)
    assert place[orphan.key] == (None, 0)
    keys = [item.row.key for item in forest]
    assert sorted(keys) == sorted({path.stem for path in tmp_path.glob("*.jsonl")})
    assert any(item.note for item in forest if item.row.id in ("x", "y"))


@EVERY
@pytest.mark.parity("ZOT-05")
def test_a_session_is_found_by_id_or_unique_prefix_reading_headers_only(tmp_path, format_):
    sessions = [talk(tmp_path, format=format_, seed=number) for number in range(3)]
    if format_ != "induscode":
        with Path(sessions[0].file).open("ab") as file:
            file.write(b"\x00 unreadable " * 10)  # what follows the header is not looked at
    library = SessionLibrary(tmp_path)

    for session in sessions:
        assert library.find(session.id).path == session.file
        others = [other.id for other in sessions if other is not session]
        length = next(n for n in range(1, 99) if not any(o.startswith(session.id[:n]) for o in others))
        assert library.find(session.id[:length]).path == session.file
    common = next(n for n in range(99) if len({session.id[: n + 1] for session in sessions}) > 1)
    if common:
        with pytest.raises(Ambiguous):
            library.find(sessions[0].id[:common])
    with pytest.raises(LookupError):
        library.find("no such session")


@EVERY
@pytest.mark.parity("ZOT-06")
def test_a_session_at_a_glance(tmp_path, format_):
    session = talk(tmp_path, "the first prompt", "yes", "more", "no", format=format_)
    if format_ == "piglet":  # which names one model for a whole session, and not whose it is
        session.append_model_change("anthropic", "claude-sonnet-4-5")
    session.close()

    found = SessionLibrary(tmp_path).describe(session.key)

    assert found.started == session.header.timestamp
    assert found.messages == 4
    assert found.first_prompt == "the first prompt"
    assert found.model == "claude-sonnet-4-5"
    assert found.cost == pytest.approx(0.02)
    assert found.provider == "anthropic"


@EVERY
@pytest.mark.parity("ZOT-07")
def test_the_latest_session_of_a_directory(tmp_path, format_):
    sessions = [talk(tmp_path, format=format_, seed=number) for number in range(3)]
    for session, days in zip(sessions, (3, 1, 2), strict=True):
        session.close()
        aged(session.file, days)

    latest = SessionLibrary(tmp_path).latest()

    assert latest.path == sessions[1].file
    assert SessionLibrary(tmp_path / "nowhere").latest() is None


@pytest.mark.parity("ZOT-08")
def test_pruning_is_asked_for_shown_first_and_spares_damaged_and_live_ones(tmp_path):
    empty = Session.create(CWD, directory=tmp_path, id="empty", persist="always")
    empty.close()
    live = Session.create(CWD, directory=tmp_path, id="live", persist="always")
    spoken = talk(tmp_path, id="spoken")
    damaged = Session.create(CWD, directory=tmp_path, id="damaged", persist="always")
    damaged.close()
    with Path(damaged.file).open("ab") as file:
        file.write(b'{"type":"message","id":"x" torn\n')
    library = SessionLibrary(tmp_path)
    before = files(tmp_path)

    shown = library.prune()
    assert [(item.row.id, item.removed) for item in shown] == [("empty", False)]
    assert files(tmp_path) == before
    done = library.prune(dry_run=False)

    assert [(item.row.id, item.removed) for item in done] == [("empty", True)]
    assert {row.id for row in library.list()} == {"live", "spoken", "damaged"}
    library.restore("empty")
    assert len(library.list()) == 4
    live.close()
    spoken.close()


@EVERY
@pytest.mark.parity("ZOT-09")
@pytest.mark.parametrize("persist", ["with_reply", "at_once"])
def test_closing_a_session_to_which_nothing_was_written_leaves_no_file(tmp_path, format_, persist):
    name = None if format_ == "branchline" else format_
    session = Session.create(CWD, directory=tmp_path, format=name, persist=persist)

    session.close()

    assert files(tmp_path) == {}


@EVERY
@pytest.mark.parity("ZOT-09")
def test_closing_keeps_what_was_said_here_or_by_somebody_else(tmp_path, format_):
    name = None if format_ == "branchline" else format_
    session = Session.create(CWD, directory=tmp_path, format=name, persist="at_once")
    other = Session.open(session.file)
    other.append_message("from another window")
    other.close()

    session.close()

    assert texts(Session.open(session.file)) == ["from another window"]


@pytest.mark.parametrize("format_", [name for name in FORMATS if name != "induscode"])
@pytest.mark.parity("ZOT-10")
def test_a_model_switch_is_recorded_and_survives_resume(tmp_path, format_):
    session = talk(tmp_path, format=format_)

    session.append_model_change("openai", "gpt-5")
    session.close()

    assert Session.open(session.file).context().model.id == "gpt-5"


@pytest.mark.parity("ZOT-11")
@pytest.mark.parametrize("format_", ["branchline", "zot"])
def test_usage_per_turn_and_cumulative(tmp_path, format_):
    session = talk(tmp_path, "q", "a", format=format_)
    session.append_messages([user("q"), assistant("b", cost=0.5)])

    rows = list(usage_rows(Session.open(session.file).transcript))

    assert [row.usage.cost for row in rows] == pytest.approx([0.01, 0.5])
    assert [row.cumulative.cost for row in rows] == pytest.approx([0.01, 0.51])
    if format_ == "zot":
        lines = [json.loads(line) for line in Path(session.file).read_text().splitlines()]
        totals = [line["cumulative"]["cost_usd"] for line in lines if line["type"] == "usage"]
        assert totals == pytest.approx([0.01, 0.51])


@pytest.mark.parity("ZOT-12")
def test_blocks_round_trip_in_zots_form(tmp_path):
    session = Session.create(CWD, directory=tmp_path, format="zot", clock=clock())
    call = ToolCall(id="c", name="read", arguments={"path": "a"})
    messages = [
        UserMessage(content=(Text(text="look"), PICTURE), timestamp=1_794_000_000_000),
        AssistantMessage(
            content=(Thinking(thinking="hm"), Text(text="ok"), call), timestamp=1_794_000_001_000
        ),
        ToolResult(
            tool_call_id="c",
            tool_name="read",
            content=(Text(text="no such file"), PICTURE),
            is_error=True,
            timestamp=1_794_000_002_000,
        ),
    ]

    session.append_messages(messages)

    found = [item.message for item in Session.open(session.file).context().messages]
    assert found[0].content == messages[0].content
    assert found[1].content == messages[1].content
    assert found[2].content == messages[2].content
    assert (found[2].tool_call_id, found[2].is_error) == ("c", True)


@pytest.mark.parity("ZOT-12")
def test_blocks_round_trip_natively(tmp_path):
    session = Session.create(CWD, directory=tmp_path, clock=clock())
    result = ToolResult(
        tool_call_id="c", tool_name="read", content=(Text(text="x"), PICTURE), is_error=True, timestamp=1
    )
    answer = AssistantMessage(
        content=(
            Thinking(thinking="hm"),
            Text(text="y"),
            ToolCall(id="c", name="read", arguments={"a": [1]}),
        ),
        usage=Usage(),
        timestamp=1,
    )

    session.append_messages([answer, result])

    assert [item.message for item in Session.open(session.file).context().messages] == [answer, result]


@pytest.mark.parity("ZOT-13")
def test_zots_folder_of_a_directory_is_found_and_listed(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    session = Session.create(CWD, format="zot")
    session.append_messages([user("hello"), assistant("hi")])
    session.close()

    folder = hashlib.sha256(CWD.encode()).hexdigest()[:16]

    assert Path(session.file).parent.name == folder
    assert [row.path for row in SessionLibrary.everywhere(CWD, agents=["zot"]).list()] == [session.file]


@EVERY
@pytest.mark.parity("ZOT-14")
def test_what_is_in_memory_is_on_disk_before_a_fork_or_a_tree_is_shown(tmp_path, format_):
    session = talk(tmp_path, format=format_)
    session.append_message(user("just now"))

    made = session.fork()
    rows = SessionLibrary(tmp_path).list(deep=True)

    assert texts(Session.open(made.file))[-1] == "just now"
    assert texts(Session.open(session.file))[-1] == "just now"
    assert {row.messages for row in rows} == {3}


@pytest.mark.parity("ZOT-16")
def test_a_line_of_a_hundred_megabytes_opens(tmp_path):
    path = tmp_path / "long.jsonl"
    with path.open("wb") as file:
        file.write(b'{"type":"meta","meta":{"id":"s","cwd":"/x","started":"2026-01-01T00:00:00Z"}}\n')
        file.write(b'{"type":"message","message":{"role":"user","content":[{"text":"')
        file.write(b"x" * 100_000_000)
        file.write(b'"}],"time":"2026-01-01T00:00:01Z"}}\n')

    session = Session.open(path)

    assert [len(text) for text in texts(session)] == [100_000_000]


@pytest.mark.parity("ZOT-17")
def test_export_leaves_the_directory_out_and_import_gives_a_fresh_id(tmp_path):
    session = talk(tmp_path / "zot", "hello", "hi", format="zot", cwd="/secret/place")
    out = tmp_path / "talk.zotsession"

    session.export(out, format="zotsession")
    done = import_file(out, cwd="/other", directory=tmp_path / "imported")

    assert "/secret/place" not in out.read_text()
    imported = Session.open(done.path)
    assert imported.id != session.id
    assert imported.cwd == "/other"
    assert texts(imported) == ["hello", "hi"]


@EVERY
@pytest.mark.parity("ZOT-20")
def test_a_fork_is_a_listed_file_at_once_also_when_it_ends_with_a_prompt(tmp_path, format_):
    session = talk(tmp_path, "one", "two", format=format_)

    made = session.fork(session.context().messages[0].entry)

    assert Path(made.file).exists()
    assert not made.is_draft
    library = SessionLibrary(tmp_path)
    assert made.file in [row.path for row in library.list()]
    place = {item.row.path: item.parent_path for item in library.forest()}
    assert place[made.file] == session.file
    assert not library.drafts()


@EVERY
@pytest.mark.parity("ZOT-21")
def test_the_forest_is_built_from_headers_alone(tmp_path, format_, monkeypatch):
    session = talk(tmp_path, "one", "x" * 300_000, format=format_)
    made = session.fork()
    read: list[int] = []
    from branchline.stores import files as store_files

    real = store_files._Snapshot.__enter__

    def enter(self):
        look = real(self)

        def counted(offset, size):
            data = look(offset, size)
            read.append(len(data))
            return data

        return counted

    monkeypatch.setattr(store_files._Snapshot, "__enter__", enter)

    forest = SessionLibrary(tmp_path).forest()

    assert {item.row.path: item.parent_path for item in forest}[made.file] == session.file
    assert sum(read) < 200_000


@pytest.mark.parity("ZOT-22")
def test_a_zot_file_that_ends_with_a_model_switch_can_be_forked_and_copied(tmp_path):
    session = talk(tmp_path, "one", "two", format="zot")
    session.append_model_change("openai", "gpt-5")

    for made in (
        session.fork(),
        session.fork(scope="tree"),
        session.fork(prompts(session)[0]),
        session.fork(to="branchline", store=None, cwd=tmp_path),
        Session.fork_from(session.file, "/target", directory=tmp_path / "copy"),
    ):
        found = Session.open(made.file)
        assert texts(found)[0] == "one"
        if len(texts(found)) == 2:
            assert found.context().model.id == "gpt-5"
        found.append_message(user("on it goes"))
        assert texts(found)[-1] == "on it goes"


@pytest.mark.parity("ZOT-09")
def test_new_keeps_its_file_except_in_zots_folder_where_it_waits_for_the_first_message(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    monkeypatch.setenv("BRANCHLINE_HOME", str(tmp_path / "home"))
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")

    def run(*words: str) -> dict[str, object]:
        done = CliRunner().invoke(cli, [*words, "--json"])
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    own, waiting = run("new"), run("new", "--format", "zot")
    assert "no messages yet" in CliRunner().invoke(cli, ["new"]).stderr

    assert Path(own["file"]).exists()
    path = Path(waiting["file"])
    assert not path.exists()
    assert not list(path.parent.glob("*.jsonl"))
    assert run("inspect", str(path))["id"] == waiting["session"]
    run("append", str(path), "hello")
    run("append", str(path), "--role", "assistant", "hi")
    assert path.exists()
    assert texts(Session.open(path)) == ["hello", "hi"]
