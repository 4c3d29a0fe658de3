"""The promises of induscode, each as it is worded."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from branchline import EntryNotFound, InvalidId, Session, SessionLibrary, places
from branchline.cli.app import cli
from parity.kit import FORMATS, aged, files, talk, texts
from session.kit import assistant, clock, user


def run(*words: str) -> str:
    done = CliRunner().invoke(cli, list(words))
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory and a home of their own."""
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    monkeypatch.setenv("BRANCHLINE_HOME", str(tmp_path / "home"))
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


@pytest.mark.parity("IND-01")
def test_a_library_touches_nothing_until_asked_and_a_missing_directory_is_empty(tmp_path):
    place = tmp_path / "not" / "there"

    library = SessionLibrary(place)
    listing = library.list()
    deep = library.list(deep=True)

    assert (len(listing), len(deep), len(library.forest())) == (0, 0, 0)
    assert not place.parent.exists()


@pytest.mark.parity("IND-02")
def test_a_shallow_list_tells_metadata_only_newest_first_ties_by_id(tmp_path):
    for key, days in (("gamma", 1), ("beta", 1), ("alpha", 2), ("delta", 0)):
        (tmp_path / f"{key}.jsonl").write_text("?" * 7)
        aged(tmp_path / f"{key}.jsonl", days)
    (tmp_path / "note.txt").write_text("x")
    (tmp_path / "delta.jsonl").chmod(0)  # nothing is opened

    rows = SessionLibrary(tmp_path).list()

    assert [row.id for row in rows] == ["delta", "beta", "gamma", "alpha"]
    assert [row.path for row in rows] == [str(tmp_path / f"{row.id}.jsonl") for row in rows]
    assert {row.size for row in rows} == {7}
    assert rows[0].modified_ms == 1_700_000_000_000
    known = {"key", "id", "path", "size", "modified_ms"}
    assert {name for name, value in msgspec.structs.asdict(rows[0]).items() if value} == known


@pytest.mark.parity("IND-02")
def test_the_json_of_a_list_tells_the_time_in_milliseconds(world):
    session = talk(Path(places.session_directory()))
    session.close()
    aged(session.file, 3)

    (row,) = json.loads(run("ls", "--shallow", "--json"))["sessions"]

    assert row["modified_ms"] == 1_700_000_000_000 - 3 * 86_400_000


@pytest.mark.parity("IND-03")
def test_a_deep_list_adds_count_title_and_preview_and_marks_what_it_cannot_read(tmp_path):
    session = talk(tmp_path, "first\nprompt", "answer", "left behind", "also left")
    session.branch(session.path()[1])
    session.append_message(
        {"role": "toolResult", "toolCallId": "c", "toolName": "x", "content": [], "isError": False}
    )
    session.set_title("A talk")
    session.close()
    (tmp_path / "broken.jsonl").write_bytes(b"\x00 nothing")

    rows = {row.key: row for row in SessionLibrary(tmp_path).list(deep=True)}

    row = rows[session.key]
    assert (row.messages, row.title, row.first_prompt) == (3, "A talk", "first prompt")
    assert rows["broken"].problem
    assert len(rows) == 2


@pytest.mark.parity("IND-04")
def test_open_gives_a_live_session_or_none_and_an_id_is_never_a_path(tmp_path):
    place = tmp_path / "sessions"
    session = talk(place)
    session.close()
    (tmp_path / "outside.jsonl").write_bytes(Path(session.file).read_bytes())
    library = SessionLibrary(place)

    live = library.open(session.key)

    live.append_message("it lives")
    assert library.open("absent") is None
    for verb in (
        library.open,
        library.path_of,
        library.remove,
        library.describe,
        lambda name: library.set_title(name, "t"),
        lambda name: library.rename(name, "new"),
        lambda name: library.rename(session.key, name),
    ):
        with pytest.raises(InvalidId):
            verb("../outside")
    assert (tmp_path / "outside.jsonl").exists()


@pytest.mark.parity("IND-05", "IND-20")
def test_rename_moves_a_session_in_one_step_also_while_somebody_appends(tmp_path):
    one, other = talk(tmp_path, seed=1), talk(tmp_path, seed=2)
    other.close()
    library = SessionLibrary(tmp_path)

    with pytest.raises(ValueError, match="absent"):
        library.rename("absent", "new")
    with pytest.raises(ValueError, match="already"):
        library.rename(one.key, other.key)
    path = library.rename(one.key, "renamed")
    one.append_message("said meanwhile")

    assert path == str(tmp_path / "renamed.jsonl")
    assert Path(path).exists()
    assert not Path(tmp_path / f"{one.key}.jsonl").exists()
    assert texts(library.open("renamed"))[-1] == "said meanwhile"
    assert {row.key for row in library.list()} == {"renamed", other.key}


@pytest.mark.parity("IND-05")
def test_at_every_moment_of_a_rename_the_session_is_there_under_one_of_its_names(tmp_path, monkeypatch):
    session = talk(tmp_path)
    session.close()
    seen: list[bool] = []
    real_link, real_unlink = os.link, os.unlink

    def look(*_arguments):
        seen.append(any(path.stat().st_size for path in tmp_path.glob("*.jsonl")))

    from branchline.log import SYSTEM

    monkeypatch.setattr(SYSTEM, "link", lambda *a, **o: (real_link(*a, **o), look()))
    monkeypatch.setattr(SYSTEM, "unlink", lambda *a, **o: (look(), real_unlink(*a, **o), look()))

    SessionLibrary(tmp_path).rename(session.key, "renamed")

    assert seen
    assert all(seen)


@pytest.mark.parity("IND-20")
def test_giving_a_title_is_another_verb_that_moves_nothing(tmp_path):
    session = talk(tmp_path)
    session.close()
    library = SessionLibrary(tmp_path)

    library.set_title(session.key, "A title")

    (row,) = library.list(deep=True)
    assert (row.key, row.title) == (session.key, "A title")


@pytest.mark.parity("IND-06")
def test_remove_tells_whether_there_was_one_and_the_command_line_can_undo_it(world):
    session = talk(Path(places.session_directory()))
    session.close()
    library = SessionLibrary.for_cwd()

    assert library.remove("absent") is False
    assert library.remove(session.key) is True
    assert library.remove(session.key) is False
    library.restore()
    run("rm", session.id)
    assert not Path(session.file).exists()
    run("restore")
    assert texts(library.open(session.key)) == ["question", "answer"]


@pytest.mark.parity("IND-07")
def test_the_tree_is_flat_depth_first_over_every_root_and_reads_nothing(tmp_path):
    session = talk(tmp_path, "one", "two")
    first, second = session.path()
    session.branch(first)
    third = session.append_message(assistant("three"))
    session.reset()
    fourth = session.append_message(user("four"))
    session.branch(second)
    before = files(tmp_path)

    nodes = SessionLibrary(tmp_path / "elsewhere").tree(session)

    said = [node for node in nodes if node.id in (first, second, third, fourth)]
    assert [(node.id, node.parent, node.label, node.depth, node.is_current) for node in said] == [
        (first, None, "user: one", 0, False),
        (second, first, "assistant: two", 1, True),
        (third, first, "assistant: three", 1, False),
        (fourth, None, "user: four", 0, False),
    ]
    assert {node.id for node in nodes} == {entry.id for entry in session.entries()}
    assert all(node.is_leaf == (not session.index.children(node.id)) for node in nodes)
    assert files(tmp_path) == before


@pytest.mark.parity("IND-08")
def test_prior_turns_are_the_prompts_with_words_on_the_active_path(tmp_path):
    session = talk(tmp_path, "one", "answer", "left")
    session.branch(session.path()[1])
    session.append_message(user("   "))
    turn = session.append_message(user("two\nlines"))
    before = files(tmp_path)

    turns = SessionLibrary(tmp_path).prior_turns(session)

    assert [(item.text, item.preview) for item in turns] == [("one", "one"), ("two\nlines", "two lines")]
    assert turns[1].id == turn
    assert files(tmp_path) == before


@pytest.mark.parity("IND-09")
@pytest.mark.parametrize("format_", [name for name in FORMATS if name != "zot"])
def test_branching_checks_its_target_changes_nothing_and_survives_reopening(tmp_path, format_):
    session = talk(tmp_path, "one", "two", "three", "four", format=format_)
    first, second = (item.entry for item in session.context().messages[:2])
    before = Path(session.file).read_bytes()

    with pytest.raises(ValueError, match="nowhere"):
        session.branch("nowhere")
    session.branch(second)
    reopened = Session.open(session.file)
    assert texts(reopened) == ["one", "two"]
    added = session.append_message(user("again"))
    session.append_message(assistant("and again"))

    said = [item.entry for item in session.context().messages]
    assert said[:3] == [first, second, added]
    assert texts(Session.open(session.file)) == ["one", "two", "again", "and again"]
    if format_ != "oh-my-pi":  # its title lies in a slot at the start of the file
        assert Path(session.file).read_bytes().startswith(before)


@pytest.mark.parity("IND-10")
def test_a_reset_starts_a_new_root_and_a_new_session_begins_beside_it(tmp_path):
    session = talk(tmp_path)

    session.reset()
    root = session.append_message(user("anew"))
    fresh = session.new_session()

    assert session.path() == [root]
    assert len(session.children(None)) == 2
    assert fresh.id != session.id
    assert fresh.store.directory == str(tmp_path)
    assert len(fresh) == 0


def line(**fields: object) -> str:
    return json.dumps({"schema": "indus/transcript@1", **fields}) + "\n"


def node(key: str, prev: str | None, at: int) -> str:
    message = {"role": "user", "content": key, "timestamp": 1_794_700_000_000 + at}
    time = f"2026-11-14T21:46:{at:02}.000Z"
    return line(kind="entry", id=key, prev=prev, role="user", at=time, message=message)


@pytest.mark.parity("IND-11")
def test_the_leaf_is_the_recorded_one_else_the_deepest_and_a_stale_head_is_noticed(tmp_path):
    entries = node("a", None, 1) + node("b", "a", 2) + node("c", "b", 3) + node("d", "a", 4)
    recorded, without, stale = (tmp_path / f"{name}.ndjson" for name in ("recorded", "without", "stale"))
    recorded.write_text(entries + line(kind="head", session="s", leaf="b"))
    without.write_text(entries)
    stale.write_text(
        node("a", None, 1) + line(kind="head", session="s", leaf="a") + node("b", "a", 2) + node("c", "b", 3)
    )

    sessions = [Session.open(path) for path in (recorded, without, stale)]

    assert [session.leaf for session in sessions[:2]] == ["b", "c"]
    assert sessions[0].newest_descendant() == "c"
    assert [finding.kind for finding in sessions[2].findings] == ["stale-head"]
    assert sessions[2].leaf == "c"


@pytest.mark.parity("IND-12")
def test_one_function_scopes_sessions_and_no_two_directories_share_a_scope():
    directories = ["/a/b", "/a-b", "/a_b", "/a b", "/A/b", "/a/b/c", "/a//b"]

    scopes = {directory: places.session_directory(directory) for directory in directories}

    assert len(set(scopes.values())) == len(directories) - 1  # /a//b is /a/b
    assert scopes["/a/b"] == scopes["/a//b"]
    assert Path(Session.create("/a-b").file).parent == Path(scopes["/a-b"])
    assert SessionLibrary.for_cwd("/a-b").name == scopes["/a-b"]


@pytest.mark.parity("IND-16")
def test_rows_nodes_and_turns_are_frozen_and_hold_no_message(tmp_path):
    session = talk(tmp_path)
    library = SessionLibrary(tmp_path)
    records = [
        library.list(deep=True)[0],
        library.tree(session)[0],
        library.prior_turns(session)[0],
        session.nodes()[0],
    ]

    for record in records:
        values = [getattr(record, name) for name in record.__struct_fields__]
        flat = [item for value in values for item in (value if isinstance(value, tuple) else (value,))]
        assert all(value is None or isinstance(value, str | int | float) for value in flat)
        with pytest.raises(AttributeError):
            record.id = "other"


@pytest.mark.parity("IND-17")
@pytest.mark.parametrize("format_", FORMATS)
def test_a_directory_of_any_format_is_listed_by_what_lies_in_it(tmp_path, format_):
    session = talk(tmp_path, "a question", "an answer", format=format_)
    session.close()

    for library in (SessionLibrary(tmp_path), SessionLibrary(sessions_dir=tmp_path)):
        assert [row.path for row in library.list()] == [session.file]
        assert [row.first_prompt for row in library.list(deep=True)] == ["a question"]
        assert texts(library.open(session.key)) == ["a question", "an answer"]
        assert len(library.forest()) == 1
    assert "a question" in run("ls", "--dir", str(tmp_path))
    assert "a question" in run("forest", "--dir", str(tmp_path))
    found = json.loads(run("browse", "--dir", str(tmp_path), "--search", "question", "--json"))
    assert [row["path"] for row in found["sessions"]] == [session.file]


@pytest.mark.parity("IND-17")
def test_where_nothing_is_listed_the_answer_says_what_was_passed_over_and_why(tmp_path):
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / "--my-proj--").mkdir()

    listing = SessionLibrary(tmp_path).list()

    assert not listing
    reasons = {item.name: item.reason for item in listing.hidden}
    assert ".ndjson" in reasons["notes.txt"]
    assert "folder" in reasons["--my-proj--"]
    for command in ("ls", "forest"):
        output = run(command, "--dir", str(tmp_path))
        assert "notes.txt" in output
        assert "--my-proj--" in output


@pytest.mark.parity("IND-18")
def test_every_list_and_every_newest_have_one_order(world):
    place = Path(places.session_directory())
    days = [round(time.time() * 1000) - number * 86_400_000 for number in (4, 2, 3, 5)]
    folders = [place, place, place, Path(Session.create(format="zot").store.directory)]
    sessions = []
    for number, (folder, start) in enumerate(zip(folders, days, strict=True)):
        options = {"format": "zot"} if folder != place else {}
        with talk(folder, f"talk {number}", "yes", cwd=world, clock=clock(number, start), **options) as made:
            sessions.append(made)
        aged(made.file, number)
    with SessionLibrary(place).open(sessions[0].key) as oldest:
        oldest.append_label(oldest.leaf, "x")  # its file is now the last that changed
    order = [sessions[number].id for number in (1, 2, 0, 3)]

    here = SessionLibrary.everywhere(world)

    for _without_and_with_an_index in range(2):
        assert [row.id for row in here.list(deep=True)] == order
        assert [row["id"] for row in json.loads(run("ls", "--json"))["sessions"]] == order
        assert [row["id"] for row in json.loads(run("browse", "--search", "", "--json"))["sessions"]] == order
        assert here.latest().id == json.loads(run("inspect", "@last", "--json"))["id"] == order[0]
        assert Session.continue_recent(world).id == order[0]
        here.update_index()
    assert here.list()[0].id == sessions[0].id  # the shallow list has the times of the files
    with Session.open(sessions[3].file) as zot:
        zot.append_messages([user("again"), assistant("yes")])
    assert json.loads(run("inspect", "@last", "--json"))["id"] == zot.id
    done = CliRunner().invoke(cli, ["chat", "--continue", "--model", "offline:echo"], input="hello\n")
    assert done.exit_code == 0, done.output
    assert texts(Session.open(zot.file))[4] == "hello"


@pytest.mark.parity("IND-19")
@pytest.mark.parametrize(
    "verb",
    [
        lambda session: session.branch("nowhere"),
        lambda session: session.branch_with_summary("nowhere", "s"),
        lambda session: session.fork("nowhere"),
        lambda session: session.entry("nowhere"),
        lambda session: session.entries(["nowhere"]),
        lambda session: session.raw("nowhere"),
        lambda session: session.path("nowhere"),
        lambda session: session.children("nowhere"),
        lambda session: session.label("nowhere"),
        lambda session: session.append_label("nowhere", "x"),
        lambda session: session.append_compaction("s", "nowhere", 1),
        lambda session: session.append_context_edit("nowhere", None),
        lambda session: session.context("nowhere"),
        lambda session: session.outline(folded=["nowhere"]),
        lambda session: session.fork_compacted("s", "nowhere"),
    ],
)
def test_an_unknown_entry_is_a_value_error_and_a_lookup_error_in_every_verb(tmp_path, verb):
    session = talk(tmp_path)

    for kind in (ValueError, LookupError, EntryNotFound):
        with pytest.raises(kind, match="nowhere"):
            verb(session)


@pytest.mark.parity("IND-22")
def test_labels_name_what_a_node_is(tmp_path):
    def entry(key: str, prev: str | None, role: str, message: dict[str, object]) -> str:
        return line(
            kind="entry", id=key, prev=prev, role=role, at="2026-11-14T21:46:01.000Z", message=message
        )

    path = tmp_path / "s.ndjson"
    path.write_text(
        entry("a", None, "user", {"role": "user", "content": "find it"})
        + entry(
            "b", "a", "assistant", {"role": "assistant", "content": [{"type": "text", "text": "looking"}]}
        )
        + entry(
            "c", "b", "tool", {"role": "toolResult", "toolCallId": "1", "toolName": "grep", "content": []}
        )
        + entry("d", "c", "condense", {"role": "compactionSummary", "summary": "what was", "tokensBefore": 9})
        + entry("e", "d", "system", {"role": "system", "content": "be kind"})
        + entry("f", "e", "note", {"role": "user", "content": "$ ls\na.txt", "timestamp": 5})
    )
    native = talk(tmp_path / "native")
    native.append_compaction("in short", None, 10)

    labels = [item.label for item in SessionLibrary(tmp_path).tree(Session.open(path))]

    assert labels[:3] == ["user: find it", "assistant: looking", "tool: grep"]
    assert "what was" in labels[3]
    assert labels[4:] == ["system", "note"]
    assert SessionLibrary(tmp_path).tree(native)[-1].label == "compaction: in short"


@pytest.mark.parity("IND-24")
@pytest.mark.parametrize("time", [None, True, 12, [1], {"a": 1}, "nonsense"])
@pytest.mark.parametrize("format_", FORMATS)
def test_an_entry_whose_time_has_a_wrong_type_keeps_its_words(tmp_path, format_, time):
    session = talk(tmp_path, "the question", "the answer", format=format_)
    session.close()
    path = Path(session.file)
    lines = []
    for text in path.read_text(encoding="utf-8").splitlines():
        fields = json.loads(text)
        if "the question" in text:
            _set_times(fields, time)
        lines.append(json.dumps(fields))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")

    found = Session.open(path)

    assert texts(found) == ["the question", "the answer"]
    first = found.entry(found.path()[0] if format_ != "zot" else found.context().messages[0].entry)
    assert not isinstance(first.timestamp, bool | int | list | dict)


def _set_times(fields: object, time: object) -> None:
    if isinstance(fields, list):
        for item in fields:
            _set_times(item, time)
    elif isinstance(fields, dict):
        for name in fields:
            if name in ("timestamp", "ts", "time", "at"):
                fields[name] = time
            else:
                _set_times(fields[name], time)
