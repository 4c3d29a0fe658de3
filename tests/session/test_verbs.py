"""The verbs of a session do what the real pi's do, and where they do not, it is on purpose and said here.

`corpus/pi/verbs/expected.json` holds what pi 1.5.0 wrote. Three differences are meant: a side record (label, title,
usage, data) hangs from the leaf and does not become it; a move is recorded by a `leaf` entry; a session without
a reply is a draft.
"""

import json
import re
import shutil

import pytest

from branchline import Session
from branchline.clock import iso
from branchline.entries import AssistantMessage, Cost, Image, Text, Usage, UserMessage
from branchline.errors import EntryNotFound, InvalidId
from session.kit import (
    CWD,
    START,
    clock,
    facts,
    lines_of,
    path_of,
    records_of,
    require_same_after_reopening,
    said,
)
from support import CORPUS, load

SOURCE = CORPUS / "pi" / "verbs" / "source.jsonl"
EXPECTED = load(CORPUS / "pi" / "verbs" / "expected.json")
UNKNOWN = "ffffffff"


@pytest.fixture
def source(place):
    """The session that pi's verbs were tried on, opened."""
    place.mkdir()
    path = shutil.copy(SOURCE, place / "source.jsonl")
    with Session.open(path, clock=clock()) as session:
        yield session


def appended(session):
    """What was written behind the source, with pi's words for what is new each time."""
    return told(records_of(path_of(session))[len(lines_of(SOURCE)) :])


def told(records, parent=None):
    """Records as the expectations tell them: new ids numbered, new times called so."""
    names: dict[str, str] = {}

    def told_value(key, value):
        if key == "timestamp" and (value >= START if isinstance(value, int) else value >= iso(START)):
            return "<now>"
        if isinstance(value, dict):
            return {name: told_value(name, each) for name, each in value.items()}
        return names.get(value, value) if isinstance(value, str) else value

    for record in records:
        if record["type"] == "session":
            record.update(id="<new session id>")
            if record.get("parentSession") == parent:
                record["parentSession"] = "<absolute path of source.jsonl>"
        elif re.fullmatch("[0-9a-f]{16}", record["id"]):
            names[record["id"]] = f"new-{len(names) + 1}"
    return [told_value("", record) for record in records]


def from_the_leaf(records, leaf):
    """Pi chains labels, one below the other; ours all hang from the leaf."""
    return [{**record, "parentId": leaf} if record["type"] == "label" else record for record in records]


# -- forks -----------------------------------------------------------------------------------------------


@pytest.mark.parity("OPR-09", "OMP-08", "ZOT-01")
@pytest.mark.parametrize(
    ("entry", "leaf", "name"),
    [
        ("0000000b", "0000000b", "createBranchedSession(0000000b)"),
        ("00000003", "00000002", "createBranchedSession(00000003) (a label)"),
    ],
)
def test_a_fork_holds_the_path_rechained_and_the_labels_that_are_in_force_on_it(source, entry, leaf, name):
    before = path_of(source).read_bytes()

    made = source.fork(entry)

    written = told(records_of(path_of(made)), parent=source.file)
    assert written == from_the_leaf(EXPECTED[name]["file"], leaf)
    assert [list(record) for record in written] == [list(record) for record in EXPECTED[name]["file"]]
    assert made.leaf == leaf
    assert path_of(source).read_bytes() == before
    require_same_after_reopening(made)


@pytest.mark.parity("OPR-12")
def test_fork_from_copies_the_whole_tree_for_another_working_directory(source, place):
    made = Session.fork_from(path_of(source), "/home/u/other", directory=place / "other", clock=clock())

    expected = EXPECTED["forkFrom(source,/home/u/other)"]
    assert told(records_of(path_of(made)), parent=source.file) == expected["file"]
    assert lines_of(path_of(made))[1:] == lines_of(SOURCE)[1:]
    assert made.index.keys[made.transcript.reading.leaf] == expected["leaf"]
    assert made.cwd == "/home/u/other"


def test_forking_at_an_unknown_entry_is_an_error_and_makes_nothing(source, place):
    with pytest.raises(EntryNotFound, match=UNKNOWN):
        source.fork(UNKNOWN)

    assert [path.name for path in place.rglob("*.jsonl")] == ["source.jsonl"]


# -- moving ----------------------------------------------------------------------------------------------


@pytest.mark.parity("OPR-05", "OPR-07", "IND-09", "OMP-02")
def test_after_branching_the_next_message_becomes_a_child_of_that_entry(source):
    source.branch("00000002")
    source.append_message({"role": "user", "content": [{"type": "text", "text": "sibling"}]})

    leaf, *rest = appended(source)
    # pi forgets a move that nothing follows; ours is in the file at once, by a `leaf` entry that pi passes through.
    assert leaf == {
        "type": "leaf",
        "id": "new-1",
        "parentId": "00000002",
        "timestamp": "<now>",
        "targetId": "00000002",
    }
    [expected] = EXPECTED["branch(00000002) then append"]["appended"]
    assert rest == [{**expected, "id": "new-2"}]
    require_same_after_reopening(source)


@pytest.mark.parity("IND-10", "PIG-11", "OMP-02")
def test_after_a_reset_the_next_message_is_a_new_root_and_until_then_the_context_is_empty(source):
    source.reset()

    expected = EXPECTED["resetLeaf() then append"]
    assert source.leaf is expected["leafBetween"]
    assert source.path() == []
    assert said(source) == []
    require_same_after_reopening(source)

    source.append_message({"role": "user", "content": [{"type": "text", "text": "new root"}]})

    leaf, *rest = appended(source)
    assert (leaf["type"], leaf["parentId"], leaf["targetId"]) == ("leaf", None, None)
    assert rest == [{**expected["appended"][0], "id": "new-2"}]
    conversation = [node.id for node in source.tree() if source.entry(node.id).type != "leaf"]
    assert len(conversation) == expected["roots"]
    require_same_after_reopening(source)


@pytest.mark.parity("OPR-08", "PIG-07", "OMP-02")
def test_a_branch_summary_hangs_at_the_destination_and_names_the_leaf_that_was_left(source):
    usage = Usage(input=1, output=1, total_tokens=2, cost=Cost())

    entry = source.branch_with_summary(
        "00000002",
        "what was left",
        details={"readFiles": ["a"], "modifiedFiles": []},
        usage=usage,
        from_hook=False,
    )

    [expected] = EXPECTED["branchWithSummary(00000002, …)"]["appended"]
    # pi stood on the title, its last line; we stand on the message above it.
    assert appended(source) == [{**expected, "fromId": "0000000c"}]
    assert [list(record) for record in appended(source)] == [list(expected)]
    assert source.leaf == entry
    assert source.path() == ["00000001", "00000002", entry]
    require_same_after_reopening(source)


@pytest.mark.parity("OMP-02")
def test_a_summary_at_the_very_start_is_a_root_that_names_root(source):
    source.branch_with_summary(None, "back to the start")

    [expected] = EXPECTED["branchWithSummary(null, …)"]["appended"]
    assert appended(source) == [{**expected, "fromId": "root"}]
    require_same_after_reopening(source)


@pytest.mark.parity("OMP-02")
def test_a_summary_after_a_reset_names_root_because_no_leaf_was_left(source):
    source.reset()
    source.branch_with_summary("00000002", "left nothing")

    [expected] = EXPECTED["resetLeaf() then branchWithSummary(00000002, …)"]["appended"]
    assert appended(source)[1:] == [{**expected, "id": "new-2"}]
    require_same_after_reopening(source)


def test_a_branch_or_a_summary_at_a_side_record_goes_to_the_entry_that_it_hangs_from(source):
    source.branch("00000003")
    assert source.leaf == "00000002"

    entry = source.branch_with_summary("00000006", "elsewhere")

    assert source.index.parent(entry) == "00000004"


def test_branching_to_where_the_file_stands_writes_nothing(source):
    before = path_of(source).read_bytes()

    source.branch(source.leaf)

    assert path_of(source).read_bytes() == before


# -- errors ----------------------------------------------------------------------------------------------


@pytest.mark.parity("IND-09", "OMP-02")
@pytest.mark.parametrize(
    ("name", "verb"),
    [
        ("branch(unknown)", lambda session: session.branch(UNKNOWN)),
        ("branchWithSummary(unknown)", lambda session: session.branch_with_summary(UNKNOWN, "…")),
        ("appendLabelChange(unknown)", lambda session: session.append_label(UNKNOWN, "…")),
        ("appendContextEdit(unknown)", lambda session: session.append_context_edit(UNKNOWN, None)),
        ("a compaction", lambda session: session.append_compaction("…", UNKNOWN)),
        ("a path", lambda session: session.path(UNKNOWN)),
        ("children", lambda session: session.children(UNKNOWN)),
        ("a label that is asked for", lambda session: session.label(UNKNOWN)),
        ("an entry", lambda session: session.entry(UNKNOWN)),
        ("a context", lambda session: session.context(UNKNOWN)),
        ("None as the target of a branch", lambda session: session.branch(None)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_unknown_entry_is_an_error_that_names_it_and_nothing_happens(source, name, verb):
    before = facts(source)

    with pytest.raises(EntryNotFound, match="None" if "None" in name else UNKNOWN):
        verb(source)

    assert facts(source) == before
    assert path_of(source).read_bytes() == SOURCE.read_bytes()


def test_only_what_the_model_sees_on_the_active_path_can_be_edited_for_it(source):
    errors = EXPECTED["errors"]
    assert {"appendContextEdit(off the branch)", "appendContextEdit(on a label)"} < errors.keys()

    with pytest.raises(EntryNotFound, match="not on the active path"):
        source.append_context_edit("0000000a", None)
    with pytest.raises(
        EntryNotFound, match="not on the active path"
    ):  # pi keeps labels on its path, we do not
        source.append_context_edit("0000000d", None)
    source.branch("0000000b")
    with pytest.raises(ValueError, match="compaction"):
        source.append_context_edit("00000009", None)
    with pytest.raises(ValueError, match="None, a string or a list"):
        source.append_context_edit("00000007", {"content": 5})
    with pytest.raises(ValueError, match="None, a string or a list"):
        source.append_context_edit("00000007", 5)


# -- appending -------------------------------------------------------------------------------------------


def test_messages_of_extensions_and_edits_take_blocks_and_json_objects(source):
    blocks = (Text(text="Look"), Image(data="aGk=", mime_type="image/png"))
    fields = [{"type": "text", "text": "Look"}, {"type": "image", "data": "aGk=", "mimeType": "image/png"}]

    for content in (blocks, fields):
        edit = source.entry(source.append_context_edit("00000007", content))
        added = source.entry(source.append_custom_message("note", content))

        assert edit.replacement.content == added.content == blocks


@pytest.mark.parity("OPR-17", "PIG-05", "PIG-12")
def test_an_edit_a_title_of_two_lines_and_two_cleared_labels_are_written_as_pi_writes_them(source):
    name = "context edit with a string for an assistant; name with line breaks; label cleared twice"
    source.append_context_edit("00000007", "short")
    source.set_title("two\r\nlines\n\nhere  ")
    source.append_label("00000001", None)
    source.append_label("00000002", "")

    expected = EXPECTED[name]
    written = appended(source)
    # The edit is part of the conversation and becomes the leaf; the others hang from it.
    parents = ["0000000c", "new-1", "new-1", "new-1"]
    assert written == [
        {**record, "parentId": parent} for record, parent in zip(expected["appended"], parents, strict=True)
    ]
    assert [list(record) for record in written] == [list(record) for record in expected["appended"]]
    assert source.title == expected["name"]
    assert source.labels == {"0000000c": "off the path", "0000000a": "third"}
    assert said(source)[-2]["content"] == [{"type": "text", "text": "short"}]
    require_same_after_reopening(source)


@pytest.mark.parity("PIG-02")
def test_a_compaction_keeps_what_it_is_told_to_or_nothing_by_its_own_id(source):
    source.branch("0000000b")
    source.append_compaction(
        "summary", "00000007", 1000, details={"readFiles": [], "modifiedFiles": []}, from_hook=False
    )
    source.append_compaction("retain none", None, 1000)

    written = appended(source)[1:]
    expected = json.loads(
        json.dumps(EXPECTED["appendCompaction"]["appended"])
        .replace("new-2", "new-3")
        .replace("new-1", "new-2")
    )
    assert written == expected
    assert [list(record) for record in written] == [list(record) for record in expected]
    assert [message["summary"] for message in said(source)] == ["retain none"]
    require_same_after_reopening(source)


@pytest.mark.parity("PIG-05", "OPR-03")
def test_side_records_do_not_move_the_leaf(source):
    leaf = source.leaf

    source.append_label("00000001", "again")
    source.set_title("A title")
    source.append_custom("my-ext", {"a": 1})
    source.append_usage("cache_warm", Usage(input=1))

    assert source.leaf == leaf
    assert {record["parentId"] for record in appended(source)} == {leaf}
    assert reopened_leaf(source) == leaf
    assert source.index.parent(source.append_message("go on")) == leaf
    assert source.label("00000001") == "again"


def reopened_leaf(session):
    with Session.open(path_of(session)) as again:
        return again.leaf


# -- lazy creation, ids ----------------------------------------------------------------------------------


@pytest.mark.parity("OPR-02", "ZOT-09")
def test_a_session_file_appears_with_the_first_reply_and_holds_everything_before_it(place):
    """pi's file appears with the first question; ours with the first answer, and the question is in a draft till then."""
    session = Session.create(CWD, directory=place, id="my.session_1", clock=clock())
    shown = []

    session.append_model_change("anthropic", "claude-sonnet-4-5")
    session.set_title("Demo")
    shown.append(path_of(session).exists())
    session.append_message("hello")
    shown.append(path_of(session).exists())
    assert session.is_draft
    session.append_message({"role": "assistant", "content": []})
    shown.append(path_of(session).exists())

    expected = EXPECTED["lazy creation"]
    assert shown == [False, False, True]
    assert not session.is_draft
    assert [record["type"] for record in records_of(path_of(session))] == [*expected["lines"], "message"]
    assert path_of(session).name.endswith(expected["fileNameEndsWith"])
    require_same_after_reopening(session)


@pytest.mark.parametrize(
    "bad", ["", "-a", "a b", "a-", "../../x", "a/b", "a\n", "a\x00", "ä", ".a", "a" * 250]
)
def test_a_session_id_that_could_not_be_a_plain_file_name_is_refused_before_anything_is_made(
    source, place, bad
):
    assert set(EXPECTED["session id rules"]) == {"", "-a", "a b", "a.b_c-1"}

    for make in (
        lambda: Session.create(CWD, directory=place, id=bad),
        lambda: Session.in_memory(CWD, id=bad),
        lambda: source.fork(id=bad),
        lambda: Session.fork_from(path_of(source), CWD, directory=place, id=bad),
        lambda: Session.from_store(source.store, f"../{bad}"),
    ):
        with pytest.raises(InvalidId):
            make()
    assert [path.name for path in place.rglob("*.jsonl")] == ["source.jsonl"]


def test_a_session_id_may_have_dots_dashes_and_underscores_inside(place):
    session = Session.create(CWD, directory=place, id="a.b_c-1", persist="at_once")

    assert session.id == "a.b_c-1"
    assert path_of(session).name.endswith("_a.b_c-1.jsonl")


# -- what may be appended --------------------------------------------------------------------------------


@pytest.mark.parity("PIG-01")
def test_a_message_may_be_a_text_a_plain_object_or_a_record(place):
    session = Session.create(CWD, directory=place, clock=clock())

    session.append_message("a text is a user's")
    session.append_message({"role": "assistant", "content": [], "extra": {"kept": True}, "timestamp": 5})
    session.append_message(UserMessage(content=(Text(text="record"),)))
    session.append_message(AssistantMessage(content=(Text(text="done"),), timestamp=7))

    first, second, third, fourth = said(session)
    assert first["content"] == [{"type": "text", "text": "a text is a user's"}]
    assert first["timestamp"] > 1_700_000_000_000
    assert (second["timestamp"], third["role"], fourth["timestamp"]) == (5, "user", 7)
    assert b'"extra":{"kept":true}' in session.raw(session.path()[1])


@pytest.mark.parametrize("message", [{}, {"content": "x"}, {"role": ""}, {"role": 5}])
def test_a_message_without_a_role_is_refused_and_nothing_is_written(place, message):
    session = Session.create(CWD, directory=place)

    with pytest.raises(ValueError, match="role"):
        session.append_message(message)

    assert len(session) == 0
    assert not place.exists()


@pytest.mark.parametrize(
    ("message", "way"),
    [
        (
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "x", "input": {}}]},
            "from_anthropic",
        ),
        ({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t"}]}, "from_anthropic"),
        ({"role": "user", "content": [{"type": "image", "source": {"type": "base64"}}]}, "from_anthropic"),
        (
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "", "signature": "s"}]},
            "from_anthropic",
        ),
        ({"role": "assistant", "content": None, "tool_calls": [{"id": "c"}]}, "from_openai"),
        ({"role": "assistant", "content": "x", "tool_calls": [{"id": "c"}]}, "from_openai"),
        ({"role": "tool", "tool_call_id": "c", "content": "x"}, "from_openai"),
        ({"role": "tool", "content": "x"}, "from_openai"),
        ({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}, "from_openai"),
        ({"choices": [], "object": "chat.completion"}, "from_openai"),
        ({"role": "oracle", "content": "x"}, "there are user, assistant, toolResult"),
        ({"role": "user", "content": [{"type": "video"}]}, "there are text, image, thinking and toolCall"),
        ({"role": "user", "content": [{"type": "text", "text": 5}]}, "wrong type"),
        ({"role": "user"}, "needs the field 'content'"),
        ({"role": "toolResult", "content": "x"}, "needs the field 'toolCallId'"),
        ({"role": "user", "content": 5}, "its content is int"),
        ([], "append_messages"),
        (["one", "two"], "append_messages"),
    ],
)
def test_what_a_model_would_not_see_is_refused_with_the_way_to_append_it(place, message, way):
    session = Session.create(CWD, directory=place)

    with pytest.raises(ValueError, match=way):
        session.append_message(message)

    assert len(session) == 0
    assert not place.exists()


@pytest.mark.parametrize("message", [5, None, object(), b"bytes", 1.5, Session])
def test_what_is_no_message_at_all_is_refused_with_the_ways_there_are(place, message):
    session = Session.create(CWD, directory=place)

    for verb in (session.append_message, lambda message: session.append_messages([message])):
        with pytest.raises(TypeError, match=r"from_openai\(…\) and from_anthropic\(…\)"):
            verb(message)

    assert len(session) == 0


def test_what_is_no_json_is_refused_and_leaves_no_trace(place):
    session = Session.create(CWD, directory=place, clock=clock())
    session.append_message("hello")
    before, memory = path_bytes(session), facts(session)

    for verb in (
        lambda: session.append_message({"role": "user", "content": object()}),
        lambda: session.append_custom("x", {1, object()}),
        lambda: session.append_compaction("x", details=object()),
    ):
        with pytest.raises((TypeError, ValueError)):
            verb()

    assert (path_bytes(session), facts(session)) == (before, memory)
    session.append_message({"role": "assistant", "content": []})
    require_same_after_reopening(session)


def path_bytes(session):
    return session._writer.log.read(0, session._writer.log.size())


def test_a_closed_session_says_so(place):
    session = Session.create(CWD, directory=place, clock=clock())
    session.append_message("hello")
    session.close()
    session.close()

    with pytest.raises(ValueError, match="closed"):
        session.append_message("more")
