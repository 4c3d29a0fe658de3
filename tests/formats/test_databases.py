"""Rows of opencode, llm and Goose as entries: what each kind of row means."""

from __future__ import annotations

import json
import re
import sqlite3
from pathlib import Path

import pytest

from branchline import Session, SessionLibrary
from branchline.actions.convert import ConvertRequest, convert
from branchline.actions.import_ import import_file
from branchline.actions.remove import remove
from branchline.actions.repair import repair
from branchline.context.builder import custom_content
from branchline.entries import (
    AssistantMessage,
    ContextEdit,
    CustomMessage,
    Image,
    MessageEntry,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
    message_text,
)
from branchline.errors import NotSupported
from branchline.formats.opencode.documents import document_of
from branchline.library.branch_count import count_branches
from formats.database_kit import (
    DATABASES,
    START,
    goose_database,
    llm_conversations,
    llm_database,
    opencode_database,
)
from session.kit import assistant, user
from support import CORPUS

SUMMARY_LAST = (
    "codex/synthetic/threads/sessions/2026/09/02/"
    "rollout-2026-09-02T02-00-00-019f1000-0000-7000-8000-000000000002.jsonl"
)


def opened(make, tmp_path: Path, name: str = "any.db") -> Session:
    session_id = make(tmp_path / name)
    return Session.open(f"{tmp_path / name}#{session_id}")


def shape(session: Session) -> list[str]:
    """Each entry of the path in a few words."""
    words = []
    for entry in session.entries(session.path()):
        match entry:
            case MessageEntry(message=message):
                words.append(f"{message.role}: {message_text(message, ' ')}")
            case _:
                words.append(entry.type)
    return words


def test_an_opencode_session_is_a_path_that_ends_before_a_pending_revert(tmp_path):
    session = opened(opencode_database, tmp_path)

    assert shape(session) == [
        "user: Look at this",
        "assistant: I read.",
        "toolResult: one",
        "toolResult: no such file",
        "toolResult: old",
        "context_edit",
        "toolResult: ",
        "assistant: Both.",
        "user: Kept",
        "custom_message",
        "assistant: ",
        "compaction",
        "custom_message",
        "assistant: 1",
        "assistant: 2",
        "assistant: Half",
        "custom_message",
    ]
    assert session.children(session.leaf) == ["msg_012"]
    assert (session.title, session.cwd) == ("Everything", "/home/dev/demo")
    spent = session.usage().all.total
    assert (spent.input, spent.output, spent.cache_read, spent.cache_write) == (70, 28, 35, 14)


@pytest.mark.parametrize(
    ("message", "part", "leaf"),
    [
        ("msg_002", "prt_002_0", "msg_001"),
        ("msg_002", "prt_002_2", "msg_001"),
        ("msg_002", "prt_002_4", "prt_002_3"),
        ("msg_009", "prt_009_2", "msg_009"),
    ],
    ids=["first part", "text", "second result", "second step"],
)
def test_a_pending_opencode_revert_may_name_a_part(tmp_path, message, part, leaf):
    """A part that begins no entry stands for its message."""
    session_id = opencode_database(tmp_path / "any.db")
    revert = json.dumps({"messageID": message, "partID": part})
    changed(tmp_path / "any.db", ("UPDATE session SET revert = ?", revert))

    assert Session.open(f"{tmp_path / 'any.db'}#{session_id}").leaf == leaf


def test_a_pending_opencode_revert_to_a_request_for_a_compaction_keeps_the_entry_before_it(tmp_path):
    """The request is a message of opencode and no entry, so what is undone begins after the entry above."""
    session_id = opencode_database(tmp_path / "any.db")
    revert = json.dumps({"messageID": "msg_006"})
    changed(tmp_path / "any.db", ("UPDATE session SET revert = ?", revert))

    session = Session.open(f"{tmp_path / 'any.db'}#{session_id}")

    assert session.leaf == "msg_005"
    assert "msg_006" not in session.index
    assert [session.entry(child).type for child in session.children("msg_005")] == ["compaction"]


def test_an_opencode_message_without_an_id_has_no_parts(tmp_path):
    session_id = opencode_database(tmp_path / "any.db")
    with sqlite3.connect(tmp_path / "any.db") as connection:
        connection.execute("UPDATE session SET revert = NULL")
        connection.execute("UPDATE message SET id = NULL WHERE id = 'msg_013'")
    connection.close()

    session = Session.open(f"{tmp_path / 'any.db'}#{session_id}")

    assert shape(session)[-2:] == ["user: Hidden", "assistant: "]


def test_the_context_of_an_opencode_session_begins_with_its_last_summary(tmp_path):
    session = opened(opencode_database, tmp_path)

    said = [(one.message.role, message_text(one.message, " ")) for one in session.context().messages]

    assert said[:3] == [("compactionSummary", "A summary."), ("user", "Kept"), ("custom", "a")]


def test_opencode_parts_become_blocks_and_results(tmp_path):
    session = opened(opencode_database, tmp_path)
    entries = session.entries(session.path())

    prompt, answer, first, second, _cleared, edit, attached = [
        entry.message if isinstance(entry, MessageEntry) else entry for entry in entries[:7]
    ]

    assert [type(block) for block in prompt.content] == [Text, Image]
    assert [type(block) for block in answer.content] == [Thinking, Text, *[ToolCall] * 5]
    assert (answer.model, answer.provider, answer.stop_reason) == ("m", "p", "toolUse")
    assert answer.usage.cost.total == 0.25
    assert (first.is_error, first.details) == (False, {"title": "a", "metadata": {"lines": 1}})
    assert (second.is_error, second.tool_name) == (True, "read")
    assert isinstance(edit, ContextEdit)
    assert edit.target == "prt_002_6"
    assert isinstance(attached.content[1], Image)
    failed = entries[10].message
    assert (failed.stop_reason, failed.error_message) == ("error", "refused")
    assert entries[-2].message.stop_reason == "aborted"


def test_threads_of_llm_share_messages_and_count_their_own_turns(tmp_path):
    first = opened(llm_database, tmp_path)
    second = Session.open(f"{tmp_path / 'any.db'}#t2")

    assert shape(first) == [
        "system: Be short",
        "user: A fragment and this",
        "assistant: ",
        "toolResult: one",
        "toolResult: Error",
        "assistant: One line.",
    ]
    assert first.leaf == "b2:4"
    assert second.leaf == "b2:5"
    assert second.parent_session == "t1"
    assert count_branches(first.index) == 2
    assert [type(block) for block in first.entries(["b2:1"])[0].message.content] == [Text, Image]
    # Four turns, one of which gave the same answer again; cached tokens are counted apart.
    assert (first.usage().all.total.input, first.usage().all.total.cache_read) == (24, 16)
    assert second.usage().all.total.output == 3


def test_conversations_of_older_versions_of_llm_are_read(tmp_path):
    session = opened(llm_conversations, tmp_path)

    assert shape(session) == [
        "system: Be short",
        "user: A fragment\nHow many?",
        "assistant: ",
        "toolResult: 1",
        "assistant: One.",
        "user: Thanks",
        "assistant: Welcome.",
    ]
    assert session.title == "Lines"
    assert session.usage().all.total.input == 22


def test_goose_messages_that_the_model_does_not_see_leave_its_context(tmp_path):
    session = opened(goose_database, tmp_path)

    said = [(one.message.role, message_text(one.message, " ")) for one in session.context().messages]

    assert said == [
        ("custom", "A summary."),
        ("toolResult", "gone"),
        ("toolResult", "old"),
        ("assistant", "One line."),
    ]
    assert shape(session)[:2] == ["user: How many lines?", "context_edit"]
    hidden = [entry for entry in session.entries(session.path()) if isinstance(entry, CustomMessage)]
    assert [entry.display for entry in hidden] == [False]
    assert (session.title, session.cwd) == ("Count lines", "/home/dev/demo")
    spent = session.usage().all.total  # Goose counts cached tokens as input
    assert (spent.input, spent.output, spent.cache_read, spent.cache_write) == (25, 7, 12, 3)
    assert (spent.cost, spent.unpriced) == (0.25, 0)


def test_older_goose_files_are_read(tmp_path):
    folder = tmp_path / ".local" / "share" / "goose" / "sessions"
    folder.mkdir(parents=True)
    lines = [
        {"working_dir": "/home/dev/demo", "description": "Old", "accumulated_input_tokens": 5},
        {"role": "user", "created": 1_700_000_000, "content": [{"type": "text", "text": "Hello"}]},
        {"role": "assistant", "created": 1_700_000_001, "content": [{"type": "text", "text": "Hi"}]},
    ]
    (folder / "20240101_1.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n{damaged\n")
    library = SessionLibrary.everywhere(home=tmp_path, environment={}, agents=["goose"])

    (row,) = library.list(deep=True)

    assert (row.id, row.title, row.messages, row.cwd) == ("20240101_1", "Old", 2, "/home/dev/demo")
    assert row.findings == 1


PLACES = {
    "opencode": (".local/share/opencode/opencode.db", "XDG_DATA_HOME", "opencode/opencode-dev.db"),
    "llm": (".config/io.datasette.llm/logs.db", "LLM_USER_PATH", "logs.db"),
    "goose": (".local/share/goose/sessions/sessions.db", "GOOSE_PATH_ROOT", "data/sessions/sessions.db"),
}


@pytest.mark.parametrize("agent", PLACES)
def test_databases_are_found_in_default_places_and_where_variables_say(agent, tmp_path):
    default, variable, named = PLACES[agent]
    for place in (tmp_path / default, tmp_path / "elsewhere" / named):
        place.parent.mkdir(parents=True)
        DATABASES[agent](place)
    (tmp_path / default).with_name("other.db").write_bytes(b"")

    found = [
        [row.path for row in SessionLibrary.everywhere(home=tmp_path, environment=environment).list()]
        for environment in ({}, {variable: str(tmp_path / "elsewhere")})
    ]

    assert all(path.startswith(f"{tmp_path / default}#") for path in found[0])
    assert all(path.startswith(f"{tmp_path / 'elsewhere' / named}#") for path in found[1])
    assert found[0]
    assert found[1]


def test_search_and_statistics_cover_the_sessions_of_a_database(tmp_path, monkeypatch):
    monkeypatch.setenv("BRANCHLINE_HOME", str(tmp_path / "ours"))
    place = tmp_path / ".local" / "share" / "opencode" / "opencode.db"
    place.parent.mkdir(parents=True)
    opencode_database(place)
    environment = {"BRANCHLINE_HOME": str(tmp_path / "ours")}
    library = SessionLibrary.everywhere(home=tmp_path, environment=environment, agents=["opencode"])

    before = library.search("summary", budget=10)
    connection = sqlite3.connect(place)
    connection.execute(
        "UPDATE part SET data = ?, time_updated = time_updated + 1 WHERE id = 'prt_001_0'",
        (json.dumps({"type": "text", "text": "Zebra"}),),
    )
    connection.commit()
    connection.close()
    after = library.search("zebra", budget=10)
    (group,) = library.stats("agent")

    assert [hit.row.path for hit in before.hits] == [f"{place}#ses_1"]
    assert [hit.row.path for hit in after.hits] == [f"{place}#ses_1"]
    assert group.name == "opencode"


@pytest.mark.parametrize("agent", DATABASES)
def test_a_session_of_a_database_is_imported_as_lines_that_are_listed(tmp_path, agent):
    session_id = DATABASES[agent](tmp_path / "any.db")
    source = Session.open(f"{tmp_path / 'any.db'}#{session_id}")

    done = import_file(str(source.file), directory=tmp_path / "copies")

    (row,) = SessionLibrary(tmp_path / "copies").list()
    assert (row.path, row.id) == (done.path, source.id)
    assert shape(Session.open(done.path)) == shape(source)


@pytest.mark.parametrize("agent", [name for name in DATABASES if name != "opencode"])
def test_sessions_of_databases_convert_to_every_format_and_fork(agent, tmp_path, monkeypatch):
    monkeypatch.setenv("BRANCHLINE_HOME", str(tmp_path / "ours"))
    session = opened(DATABASES[agent], tmp_path)
    (tmp_path / "out").mkdir()
    said = [text for text in shape(session) if text.startswith(("user", "assistant"))]
    if agent == "goose":  # what was compacted is not said any more, and a notice is text elsewhere
        said = ["assistant: One line."]

    made = {
        target: convert(session, ConvertRequest(to=target, output=str(tmp_path / "out") + "/")).files[0]
        for target in ("pi", "zot", "operator", "opencode")
    }
    forked = session.fork()

    for target in ("pi", "zot", "operator"):
        with Session.open(made[target].path) as back:
            assert len([text for text in shape(back) if text.startswith(tuple(said))]) == len(said), target
    assert forked.file.startswith(str(tmp_path / "ours"))
    assert shape(forked) == shape(session)


def changed(path: Path, *statements: tuple[str | int, ...]) -> None:
    connection = sqlite3.connect(path)
    for sql, *values in statements:
        connection.execute(sql, values)
    connection.commit()
    connection.close()


def test_a_value_of_opencode_that_is_not_json_costs_itself_only(tmp_path):
    path = tmp_path / "any.db"
    session_id = opencode_database(path)
    before = shape(Session.open(f"{path}#{session_id}"))
    changed(
        path,
        ("UPDATE part SET data = ? WHERE id = 'prt_001_0'", '{"type":"text",\n\t"text":"Hi"}'),
        ("UPDATE part SET data = ? WHERE message_id = 'msg_003'", '{"type":"te'),
        ("UPDATE message SET data = 'half' WHERE id = 'msg_004'",),
        ("UPDATE part SET id = 'prt_\"' || id WHERE message_id = 'msg_005'",),
    )

    session = Session.open(f"{path}#{session_id}")

    assert shape(session)[0] == "user: Hi"
    assert session.entry("msg_004").custom_type == "damaged"
    assert set(before[-2:]) <= set(shape(session))
    assert list(map(repr, session.entries())) == [repr(session.entry(key)) for key in session.index.keys]


def test_a_session_that_was_converted_for_opencode_hangs_below_its_origin(tmp_path, monkeypatch):
    """``opencode import`` keeps the metadata of a session."""
    monkeypatch.setenv("BRANCHLINE_HOME", str(tmp_path / "ours"))
    origin = Session.create("/home/dev/demo", directory=tmp_path / "ours" / "sessions")
    origin.append_messages([user("Hello"), assistant("Hi")])
    (made,) = convert(origin, ConvertRequest(to="opencode", output=str(tmp_path) + "/")).files
    info = json.loads(Path(made.path).read_bytes())["info"]
    place = tmp_path / ".local" / "share" / "opencode" / "opencode.db"
    place.parent.mkdir(parents=True)
    opencode_database(place)
    changed(
        place,
        ("ALTER TABLE session ADD COLUMN metadata",),
        ("UPDATE session SET metadata = ? WHERE id = 'ses_1'", json.dumps(info["metadata"])),
    )
    environment = {"BRANCHLINE_HOME": str(tmp_path / "ours")}
    library = SessionLibrary.everywhere(home=tmp_path, environment=environment)

    lines = [(node.row.id, node.depth, node.row.subagent) for node in library.forest()]

    assert "parentID" not in info
    assert lines == [(origin.id, 0, False), ("ses_1", 1, False)]
    with Session.open(made.path) as document, Session.open(f"{place}#ses_1") as imported:
        assert document.header.parent_session == imported.header.parent_session == origin.file


def test_forks_of_opencode_hang_below_the_sessions_that_they_copy(tmp_path):
    """opencode names no origin: a fork has messages as old as those of the session that it was made of."""
    path = tmp_path / "any.db"
    opencode_database(path)
    _, *times = [START + 1000 * number for number in range(15)]
    _fork(path, "ses_1", "ses_2", "Everything (fork #1)", times[9], times[10])
    _fork(path, "ses_1", "ses_3", "Everything (fork #1)", times[9] + 1, times[11])
    _fork(path, "ses_3", "ses_4", "Everything (fork #2)", times[9] + 2, times[12])
    _fork(path, "ses_2", "ses_5", "Named by its user", times[11], times[12])
    _fork(path, "ses_3", "ses_6", "Named by its user", times[12], times[13])
    _fork(path, "ses_1", "ses_7", "Nothing copied (fork #1)", START, times[13])
    changed(path, ("UPDATE session SET title = 'Renamed' WHERE id = 'ses_1'",))

    shallow, deep = SessionLibrary(path).forest(), SessionLibrary(path).forest(deep=True)

    below = {"ses_2": "ses_1", "ses_3": "ses_1", "ses_4": "ses_3", "ses_5": "ses_2", "ses_6": "ses_3"}
    for forest in (shallow, deep):
        assert {item.row.key: item.parent for item in forest if item.parent is not None} == below
    with Session.open(f"{path}#ses_2") as session:
        assert session.parent_session is None


_FORK = """
INSERT INTO session
SELECT ?1, project_id, NULL, ?1, directory, ?2, version, NULL, ?3, ?4 FROM session WHERE id = ?5
"""
_COPIES = """
INSERT INTO message
SELECT ?1 || id, ?1, time_created, ?3, data FROM message WHERE session_id = ?2 AND time_created < ?3
"""
_OWN = "INSERT INTO message SELECT 'own_' || ?1, ?1, ?2, ?2, data FROM message WHERE id = 'msg_001'"


def _fork(path: Path, source: str, fork: str, title: str, created: int, own: int) -> None:
    """Copy the messages of a session up to a time as opencode does, and add one."""
    changed(
        path,
        (_FORK, fork, title, created, own, source),
        (_COPIES, fork, source, created),
        (_OWN, fork, own),
    )


def test_forks_of_goose_hang_below_the_sessions_that_they_copy(tmp_path):
    """Goose names no origin: copied messages keep their ids, and the origin may have been compacted since."""
    path = tmp_path / "any.db"
    goose_database(path)
    changed(path, ("UPDATE messages SET message_id = 'msg_' || id",))
    for fork, source, last in (("f1", "20261115_1", 3), ("f2", "f1", 99), ("f3", "20261115_1", 99)):
        changed(
            path,
            (f"{_GOOSE_FORK} '20261115_1'", fork),
            (_GOOSE_COPIES, fork, source, last),
            (_GOOSE_OWN, fork, f"own_{fork}"),
        )
    changed(
        path,
        (f"{_GOOSE_FORK} '20261115_1'", "other"),
        (_GOOSE_OWN, "other", "own_other"),
        ("UPDATE messages SET id = id + 1000 WHERE session_id = '20261115_1'",),
    )

    forest = SessionLibrary(path).forest()

    below = {"f1": "20261115_1", "f2": "f1", "f3": "20261115_1"}
    assert {item.row.key: item.parent for item in forest if item.parent is not None} == below


_GOOSE_FORK = """
INSERT INTO sessions (id, name, session_type, working_dir, created_at, updated_at)
SELECT ?1, name, session_type, working_dir, created_at, updated_at FROM sessions WHERE id =
"""
_GOOSE_COPIES = """
INSERT INTO messages (message_id, session_id, role, content_json, created_timestamp, metadata_json)
SELECT message_id, ?1, role, content_json, created_timestamp, metadata_json FROM messages
WHERE session_id = ?2 ORDER BY id LIMIT ?3
"""
_GOOSE_OWN = """
INSERT INTO messages (message_id, session_id, role, content_json, created_timestamp)
VALUES (?2, ?1, 'user', '[{"type":"text","text":"Own."}]', 1900000000)
"""


@pytest.mark.parametrize(
    "metadata", ["{", "[]", '{"branchline":1}', '{"branchline":{"from":{}}}', 7, b"\xff"]
)
def test_metadata_of_opencode_that_names_no_session_links_nothing(metadata, tmp_path):
    path = tmp_path / "any.db"
    session_id = opencode_database(path)
    changed(
        path,
        ("ALTER TABLE session ADD COLUMN metadata",),
        ("UPDATE session SET metadata = ?", metadata),
    )

    with Session.open(f"{path}#{session_id}") as session:
        assert session.header.parent_session is None


def test_parts_of_opencode_are_in_the_order_of_their_ids_whatever_the_database_returns(tmp_path):
    path = tmp_path / "any.db"
    session_id = opencode_database(path)
    texts = [json.dumps({"type": "text", "text": text}) for text in ("two", "one")]
    changed(
        path,
        ("DELETE FROM part WHERE message_id = 'msg_001'",),
        ("INSERT INTO part VALUES ('prt_001_b', 'msg_001', 'ses_1', 1, 1, ?)", texts[0]),
        ("INSERT INTO part VALUES ('prt_001_a', 'msg_001', 'ses_1', 1, 1, ?)", texts[1]),
    )

    (first, *_) = Session.open(f"{path}#{session_id}").entries()

    assert [block.text for block in first.message.content] == ["one", "two"]


def test_an_opencode_session_is_the_same_without_the_index_of_newer_versions(tmp_path):
    path = tmp_path / "any.db"
    session_id = opencode_database(path)
    changed(path, ("DELETE FROM part WHERE message_id = 'msg_003'",))
    before = list(map(repr, Session.open(f"{path}#{session_id}").entries()))
    changed(path, ("DROP INDEX part_message_id_id_idx",))

    assert list(map(repr, Session.open(f"{path}#{session_id}").entries())) == before


def test_deleted_messages_of_an_opencode_session_without_a_title_leave_the_leaf_where_it_is(tmp_path):
    path = tmp_path / "any.db"
    session_id = opencode_database(path)
    changed(path, ("UPDATE session SET title = '', revert = NULL",))
    gone = {"id": "msg_999", "role": "user", "time": {"created": 2**41}}
    part = {"id": "prt_999", "messageID": "msg_999", "type": "text", "text": "Never mind"}
    for number, (kind, data) in enumerate(
        (
            ("message.updated.1", {"info": gone}),
            ("message.part.updated.1", {"part": part}),
            ("message.removed.1", {"messageID": "msg_999"}),
        ),
        90,
    ):
        event = json.dumps(data)
        sql = "INSERT INTO event VALUES (?, 'ses_1', ?, ?, ?)"
        changed(path, (sql, f"evt_{number}", str(number), kind, event))

    live = Session.open(f"{path}#{session_id}")
    session = Session.open(f"{path}#{session_id}+deleted")

    assert session.entry("msg_999").message.content[0].text == "Never mind"
    assert session.leaf == live.leaf


def test_a_document_for_opencode_reads_back_as_the_session_that_it_was_made_of(tmp_path):
    session = opened(opencode_database, tmp_path)
    (file,) = convert(session, ConvertRequest(to="opencode", output=str(tmp_path / "a.json"))).files
    document = json.loads(Path(file.path).read_bytes())

    read = Session.open(file.path).transcript

    kinds = list(zip(read.tree.types, read.tree.roles, strict=True))
    wanted = [
        (entry.type, entry.message.role if isinstance(entry, MessageEntry) else None)
        for entry in session.entries(session.path())
        if not isinstance(entry, ContextEdit)
    ]
    assert kinds[: len(wanted) - 1] == wanted[:-1]  # the last one is a prompt now
    ids = [one["info"]["id"] for one in document["messages"]]
    ids += [part["id"] for one in document["messages"] for part in one["parts"]]
    assert sorted(ids[: len(document["messages"])]) == ids[: len(document["messages"])]
    assert len(set(ids)) == len(ids)
    with pytest.raises(Exception, match="no header"):
        document_of(b"{}\n")


def test_what_opencode_cannot_hold_is_reported_and_one_document_is_written_for_each_branch(tmp_path):
    session = Session.in_memory(tmp_path)
    first = session.append_message(UserMessage(content="Hello"))
    session.append_message(AssistantMessage(content=(Text(text="One"),), provider="p", model="m"))
    session.branch(first)
    session.append_message(AssistantMessage(content=(Text(text="Two"),), provider="p", model="m"))
    session.append_label(first, "start")

    (tree,) = convert(session, ConvertRequest(to="opencode", output=str(tmp_path / "a.json"))).files
    each = convert(session, ConvertRequest(to="opencode", scope="branches", output=f"{tmp_path}/")).files

    assert {note.kind for note in tree.fidelity.lost} == {"answer", "label", "leaf move"}
    assert len(each) == 2
    said = [json.loads(Path(file.path).read_bytes())["messages"][1]["parts"][1]["text"] for file in each]
    assert sorted(said) == ["One", "Two"]


def test_hidden_context_stays_hidden_in_opencode(tmp_path):
    """opencode sends synthetic texts to the model and does not show them; it hides no images."""
    session = Session.in_memory(tmp_path)
    picture = Image(data="iVBORw0KGgo=", mime_type="image/png")
    session.append_message(UserMessage(content="Hello"))
    session.append_custom_message("reminder", "Be short", display=False)
    session.append_custom_message("picture", (Text(text="Look"), picture), display=False)
    session.append_custom_message("notice", "Saved", display=True)

    (made,) = convert(session, ConvertRequest(to="opencode", output=str(tmp_path / "a.json"))).files

    messages = json.loads(Path(made.path).read_bytes())["messages"]
    assert [[part.get("synthetic", False) for part in one["parts"]] for one in messages] == [
        [False],
        [True],
        [False, False],
        [False],
    ]
    assert {(note.why, len(note.entries)) for note in made.fidelity.approximated} == {
        ("without the name of the extension", 1),
        ("as a user message", 2),
    }
    with Session.open(made.path) as read:
        hidden = read.entries(read.path())[1]
        assert isinstance(hidden, CustomMessage)
        assert (hidden.display, message_text(custom_content(hidden))) == (False, "Be short")


def test_a_session_without_a_title_has_its_first_prompt_as_title_in_opencode(tmp_path):
    """opencode shows titles only, and names no session that has an answer already."""
    session = Session.in_memory(tmp_path)
    session.append_custom_message("reminder", "Be short", display=False)
    session.append_message(UserMessage(content="Count\nthe lines " + "x" * 200))

    (made,) = convert(session, ConvertRequest(to="opencode", output=str(tmp_path / "a.json"))).files

    title = json.loads(Path(made.path).read_bytes())["info"]["title"]
    assert title == "Count the lines " + "x" * 83 + "…"


def test_calls_for_opencode_have_ids_and_names_that_apis_accept(tmp_path):
    """opencode sends both as they are, and APIs refuse a request with an empty id or one that was used before."""
    session = Session.in_memory(tmp_path)
    for call, output in (("", "one"), ("fine", "two"), ("fine", "three"), ("a|b", "four")):
        session.append_message(UserMessage(content="go on"))
        asked = ToolCall(id=call, name="[read] it", arguments={})
        session.append_message(AssistantMessage(content=(asked,), provider="p", model="m"))
        session.append_message(
            ToolResult(tool_call_id=call, tool_name="[read] it", content=(Text(text=output),))
        )

    (made,) = convert(session, ConvertRequest(to="opencode", output=str(tmp_path / "a.json"))).files

    document = json.loads(Path(made.path).read_bytes())
    calls = [part for one in document["messages"] for part in one["parts"] if part["type"] == "tool"]
    ids = [part["callID"] for part in calls]
    assert [part["state"]["output"] for part in calls] == ["one", "two", "three", "four"]
    assert [part["tool"] for part in calls] == ["_read__it"] * 4
    assert ids[1] == "fine"
    assert len(set(ids)) == 4
    assert all(re.fullmatch("[0-9A-Za-z_-]+", one) for one in ids)


@pytest.mark.parametrize("name", ["piglet/damaged/legacy-bad-line.jsonl", SUMMARY_LAST])
def test_opencode_begins_with_what_a_compaction_keeps_where_it_has_no_summary_before_that(tmp_path, name):
    source = CORPUS / name
    with Session.open(source) as session:
        spoken = [message_text(item.message) for item in session.context().messages]

        request = ConvertRequest(to="opencode", output=str(tmp_path / "a.json"), lossy=True)
        (file,) = convert(session, request).files

    with Session.open(file.path) as made:
        assert [message_text(item.message) for item in made.context().messages] == spoken
    assert "replaced by a summary" in {note.why.split(";")[0] for note in file.fidelity.lost}


def test_a_session_that_is_shown_follows_the_database_and_says_when_it_is_deleted(tmp_path):
    pytest.importorskip("textual")
    from branchline.tui.session_watcher import SessionWatcher

    watcher = SessionWatcher(opened(opencode_database, tmp_path))
    connection = sqlite3.connect(tmp_path / "any.db")
    quiet = watcher.poll()

    text = json.dumps({"type": "text", "text": "Look at that"})
    connection.execute("UPDATE part SET data = ?, time_updated = 9 WHERE id = 'prt_001_0'", [text])
    connection.commit()
    changed = watcher.poll()
    connection.execute("DELETE FROM session")
    connection.commit()
    deleted = watcher.poll()

    assert quiet == (0, None, None)
    assert changed.words is None
    assert shape(changed.session)[0] == "user: Look at that"
    assert "was deleted; showing the last known contents" in deleted.words
    assert shape(watcher.session)[0] == "user: Look at that"


def test_a_session_of_a_database_is_neither_removed_nor_repaired(tmp_path):
    session_id = opencode_database(tmp_path / "any.db")

    for action in (lambda path: remove([path]), repair):
        with pytest.raises(NotSupported, match="part of a database"):
            action(f"{tmp_path / 'any.db'}#{session_id}")
