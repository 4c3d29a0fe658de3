"""What we append to a session of oh-my-pi is what that program would have written."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from branchline import Session
from branchline.clock import FixedClock
from branchline.entries import (
    Compaction,
    Header,
    MessageEntry,
    SystemMessage,
    Usage,
    UserMessage,
    message_fields,
)
from branchline.errors import NotSupported
from branchline.formats import OH_MY_PI
from formats.oh_my_pi_kit import HEADER, SAMPLES, answer, read, story, user

NOW = 1_800_000_000_000
TIME = "2027-01-15T08:00:00.000Z"
USAGE = Usage(input=7, output=3, total_tokens=10)


def opened(path: Path, **options: Any) -> Session:
    return Session.open(path, durability="os", clock=FixedClock(NOW, step=0), **options)


@pytest.fixture
def session(tmp_path: Path) -> Session:
    """A live copy of the sample with every type of entry."""
    shutil.copy(SAMPLES / "every-entry-type.jsonl", tmp_path / "s.jsonl")
    return opened(tmp_path / "s.jsonl")


def appended(session: Session, act: Callable[[Session], Any]) -> list[dict[str, Any]]:
    """The lines that a verb writes behind what was there, byte for byte as compact JSON in their key order."""
    assert session.file is not None
    before = Path(session.file).read_bytes()
    act(session)
    after = Path(session.file).read_bytes()
    assert after.startswith(before)
    lines = [json.loads(line) for line in after[len(before) :].splitlines()]
    assert after[len(before) :] == b"".join(
        json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n" for line in lines
    )
    return lines


def common(line: dict[str, Any], parent: str | None) -> dict[str, Any]:
    """What a line begins with; the id is checked elsewhere."""
    return {"type": line["type"], "id": line["id"], "parentId": parent, "timestamp": TIME}


LEAF = "a996b5d8"  # where the sample stands: the last entry that is part of the conversation

VERBS: list[tuple[str, Callable[[Session], Any], dict[str, Any]]] = [
    (
        "message",
        lambda session: session.append_message(UserMessage(content="hi", timestamp=5)),
        {"message": {"role": "user", "content": "hi", "timestamp": 5}},
    ),
    (
        "model_change",
        lambda session: session.append_model_change("openai", "gpt-5"),
        {"model": "openai/gpt-5", "resolvedModelIsFallback": False},
    ),
    (
        "thinking_level_change",
        lambda session: session.append_thinking_level_change("low"),
        {"thinkingLevel": "low", "configured": None},
    ),
    (
        "label",
        lambda session: session.append_label("6cc758a1", "better"),
        {"targetId": "6cc758a1", "label": "better"},
    ),
    ("label", lambda session: session.append_label("6cc758a1", None), {"targetId": "6cc758a1"}),
    (
        "title_change",
        lambda session: session.set_title("  A new\nname "),
        {"title": "A new name", "source": "user", "previousTitle": "Parser work"},
    ),
    (
        "compaction",
        lambda session: session.append_compaction("So far.", "067532cb", 4321, details={"readFiles": []}),
        {
            "summary": "So far.",
            "firstKeptEntryId": "067532cb",
            "tokensBefore": 4321,
            "details": {"readFiles": []},
        },
    ),
    (
        "model_usage",
        lambda session: session.append_usage("title", USAGE, provider="openai", model="gpt-5-nano"),
        {
            "purpose": "title",
            "api": "",
            "provider": "openai",
            "model": "gpt-5-nano",
            "usage": {
                "input": 7,
                "output": 3,
                "cacheRead": 0,
                "cacheWrite": 0,
                "totalTokens": 10,
                "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0},
            },
            "stopReason": "stop",
        },
    ),
]


@pytest.mark.parametrize(("kind", "act", "own"), VERBS, ids=[kind for kind, _, _ in VERBS])
def test_a_verb_appends_one_line_as_oh_my_pi_writes_it(session, kind, act, own):
    (line,) = appended(session, act)

    assert line["type"] == kind
    assert list(line.items()) == list({**common(line, LEAF), **own}.items())


@pytest.mark.parametrize("kind", ["custom", "custom_message"])
def test_entries_of_extensions_have_their_payload_before_their_links(session, kind):
    def act(session: Session) -> None:
        if kind == "custom":
            session.append_custom("mine", {"a": 1})
        else:
            session.append_custom_message("mine", "said", display=False, details={"n": 1})

    (line,) = appended(session, act)

    assert line["parentId"] == LEAF
    assert list(line)[-3:] == ["id", "parentId", "timestamp"]
    own = ["customType", "data"] if kind == "custom" else ["customType", "content", "display", "details"]
    assert list(line)[1:-3] == own


@pytest.mark.parametrize("target", ["6625e60a", None])
def test_a_branch_summary_names_its_destination(session, target):
    (line,) = appended(session, lambda session: session.branch_with_summary(target, "tried it"))

    own = {"fromId": target or "root", "summary": "tried it"}
    assert list(line.items()) == list({**common(line, target), **own}.items())
    assert session.path()[-1] == line["id"]


@pytest.mark.parametrize("target", ["6625e60a", None])
def test_a_move_is_a_leaf_entry_that_hangs_from_its_target(session, target):
    (line,) = appended(session, lambda session: session.reset() if target is None else session.branch(target))

    assert list(line.items()) == list({**common(line, target), "type": "leaf", "targetId": target}.items())
    assert session.leaf == opened(Path(session.file)).leaf == target


def test_a_move_that_an_append_follows_is_told_by_its_parent(session):
    session.branch("6625e60a")

    (line,) = appended(session, lambda session: session.append_message("another way"))

    assert line["parentId"] == "6625e60a"


def test_side_records_do_not_move_the_leaf(session):
    session.append_label("6625e60a", "x")
    session.set_title("y")
    session.append_custom("z")
    session.append_usage("warm", USAGE)

    (line,) = appended(session, lambda session: session.append_message("go on"))

    assert line["parentId"] == LEAF


def test_a_compaction_that_keeps_nothing_names_itself(session):
    (line,) = appended(session, lambda session: session.append_compaction("All of it."))

    assert line["firstKeptEntryId"] == line["id"]
    assert line["tokensBefore"] == 0
    assert [item.message.summary for item in session.context().messages] == ["All of it."]


def test_what_a_summary_cost_is_kept_and_counted(session):
    before = session.usage().all.total.total_tokens

    (line,) = appended(session, lambda session: session.append_compaction("s", usage=USAGE, from_hook=True))

    assert line["fromExtension"] is True
    assert line["usage"]["totalTokens"] == 10
    assert session.usage().all.total.total_tokens == before + 10


def test_the_title_slot_keeps_its_bytes_and_our_title_is_in_force_after_reopening(session):
    slot = Path(session.file).read_bytes()[:256]

    session.set_title("Ours")
    session.set_title("Ours again")

    assert Path(session.file).read_bytes()[:256] == slot
    again = opened(Path(session.file))
    assert again.title == session.title == "Ours again"
    assert json.loads(again.raw(list(again.index)[-1]))["previousTitle"] == "Ours"


def test_a_title_can_be_taken_away(session):
    session.set_title("")

    assert opened(Path(session.file)).title is None


def test_everything_that_was_written_is_read_back_as_it_is_in_memory(session):
    session.append_message("one")
    session.append_message({**answer("two")["message"], "timestamp": 6})
    session.append_label(session.path()[-1], "here")
    session.branch(session.path()[-2])
    session.append_model_change("openai", "gpt-5")
    session.set_title("t")
    session.branch_with_summary(session.path()[3], "back")
    session.append_compaction("c", session.path()[-2], 7)

    again = opened(Path(session.file))

    assert again.path() == session.path()
    assert again.labels == session.labels
    assert again.title == session.title
    assert again.entries() == session.entries()
    assert again.context() == session.context()
    assert not again.findings


# -- what it cannot hold ----------------------------------------------------------------------------------

REFUSED: list[Callable[[Session], Any]] = [
    lambda session: session.append_context_edit("067532cb", "shorter"),
    lambda session: session.append_context_edit("067532cb", None),
    lambda session: session.append_message({"role": "system", "content": "Be brief."}),
    lambda session: session.append_message(SystemMessage(content="Be brief.")),
]


@pytest.mark.parametrize("act", REFUSED)
def test_what_oh_my_pi_would_not_see_is_refused_and_the_file_stays_as_it_was(session, act):
    before = Path(session.file).read_bytes()

    with pytest.raises(NotSupported, match="Fork it into a native session"):
        act(session)

    assert Path(session.file).read_bytes() == before
    assert session.append_message("still alive")


def test_nothing_is_written_when_one_of_many_is_refused(session):
    entries = [
        MessageEntry(id="a", message=UserMessage(content="hi")),
        Compaction(id="b", summary="s", retained_tail=()),
    ]

    with pytest.raises(NotSupported):
        OH_MY_PI.writer.encode(entries, session.transcript.reading)


# -- new files --------------------------------------------------------------------------------------------

NEW = Header(version=3, id="new", timestamp=TIME, cwd="/home/u/proj", parent_session="/there/s.jsonl")


def test_a_new_file_begins_with_an_empty_slot_and_a_header():
    data = OH_MY_PI.writer.encode_header(NEW)

    slot, header, rest = data.split(b"\n")
    assert rest == b""
    assert len(slot) == 255
    assert slot.startswith(
        b'{"type":"title","v":1,"title":"","updatedAt":"2027-01-15T08:00:00.000Z","pad":"  '
    )
    assert header == (
        b'{"type":"session","version":3,"id":"new","timestamp":"2027-01-15T08:00:00.000Z",'
        b'"cwd":"/home/u/proj","parentSession":"/there/s.jsonl"}'
    )
    assert read(data).reading.header == NEW


@pytest.mark.parametrize("titles", [("Early",), ("First", "Early")])
def test_a_title_given_before_the_first_answer_is_where_oh_my_pi_looks_for_it(tmp_path, titles):
    with Session.create("/tmp", directory=tmp_path, format="oh-my-pi", clock=FixedClock(5)) as session:
        session.append_message("hi")
        for title in titles:  # in the same moment
            session.set_title(title)
        session.append_message({"role": "assistant", "content": "hello"})
        session.append_message("more")
        file, entries = session.file, list(session.index.keys)

    slot, header, *_ = Path(file).read_bytes().splitlines(keepends=True)
    assert len(slot) == 256
    assert (json.loads(slot)["title"], json.loads(slot)["source"]) == ("Early", "user")
    assert (json.loads(header)["title"], json.loads(header)["titleSource"]) == ("Early", "user")
    with Session.open(file) as again:
        assert (again.title, list(again.index.keys)) == ("Early", entries)
        assert not again.findings


def test_a_title_given_in_the_moment_of_another_is_the_title(tmp_path):
    with Session.create(
        "/tmp", directory=tmp_path, format="oh-my-pi", title="One", persist="at_once", clock=FixedClock(5)
    ) as session:
        session.set_title("Two")

        assert session.title == "Two"


@pytest.mark.parametrize("kind", ["anthropicServerTool", "fallback"])
def test_blocks_that_only_oh_my_pi_writes_are_kept_whole_as_dictionaries_too(kind):
    """What was read can be appended as the JSON that it was read from."""
    block = {"type": kind, "block": {"type": "server_tool_use", "id": "a", "input": {}}}
    with Session.in_memory("/tmp", format="oh-my-pi") as session:
        key = session.append_message({"role": "assistant", "content": [block]})
        (kept,) = session.entry(key).message.content

        assert (kept.type, kept.fields) == (kind, block)
    with Session.in_memory("/tmp") as native, pytest.raises(ValueError, match="there are no blocks of type"):
        native.append_message({"role": "assistant", "content": [block]})


def test_a_fork_holds_the_path_chained_across_labels_and_carries_the_title():
    """The program itself leaves labels out without chaining what stands around them: sample fork-branched."""
    source = read(SAMPLES / "fork-source.jsonl")

    data = OH_MY_PI.writer.fork(source, source.tree.position("4cc940e0"), NEW)

    found = read(data)
    assert found.tree.path("4cc940e0") == ["b933757b", "845dc899", "a36b4549", "4cc940e0"]
    assert not found.findings
    assert found.reading.title == "Source"
    assert json.loads(data[:256])["source"] == "user"
    assert json.loads(data.split(b"\n")[1])["titleSource"] == "user"
    copied = {found.tree.keys[position]: found.raw(position) for position in range(len(found.tree))}
    assert copied["4cc940e0"] == source.raw(source.tree.position("4cc940e0"))


def test_a_fork_before_the_first_entry_is_an_empty_session_with_a_parent():
    source = read(SAMPLES / "fork-source.jsonl")

    found = read(OH_MY_PI.writer.fork(source, -1, NEW))

    assert len(found.tree) == 0
    assert found.reading.header is not None
    assert found.reading.header.parent_session == "/there/s.jsonl"


def test_a_copy_holds_every_line_and_goes_on_with_the_prompt_cache():
    source = read(SAMPLES / "fork-source.jsonl")

    data = OH_MY_PI.writer.copy(source, NEW)

    assert data.split(b"\n")[2:] == (SAMPLES / "fork-source.jsonl").read_bytes().split(b"\n")[2:]
    header = json.loads(data.split(b"\n")[1])
    assert header["providerPromptCacheKey"] == "01a1de18-d3a0-768b-b2eb-d1ddc7bccf23"
    assert header["title"] == "Source"


def test_directories_of_a_workspace_go_along_into_forks():
    header = {**HEADER, "additionalDirectories": ["/a", "/b"], "previousSessionFiles": ["/old"]}
    source = read(story(user("hi"), header=header))

    for data in (OH_MY_PI.writer.fork(source, 0, NEW), OH_MY_PI.writer.copy(source, NEW)):
        fields = json.loads(data.split(b"\n")[1])
        assert fields["additionalDirectories"] == ["/a", "/b"]
        assert "previousSessionFiles" not in fields


def test_a_fork_names_a_kept_entry_where_the_provider_holds_the_history_up_to_a_label():
    history = {"provider": "openai", "replacementHistory": [{"type": "message"}]}
    compaction = {
        "type": "compaction",
        "summary": "s",
        "firstKeptEntryId": "e1",
        "tokensBefore": 1,
        "providerReplayThroughEntryId": "e2",
        "preserveData": {"openaiRemoteCompaction": history},
    }
    label = {"type": "label", "targetId": "e1", "label": "x"}
    source = read(story(user("held"), label, user("sent"), compaction, user("after")))

    found = read(OH_MY_PI.writer.fork(source, 4, NEW))

    assert json.loads(found.raw(2))["providerReplayThroughEntryId"] == "e1"
    assert found.entry(2).first_kept == "e3"


# -- older versions ---------------------------------------------------------------------------------------


def old_file(directory: Path, version: int, slot: bytes) -> Path:
    head = {"type": "session", "id": "old", "timestamp": "2025-11-20T09:00:00.000Z", "cwd": "/home/u/proj"}
    lines: list[dict[str, Any]] = [head if version == 1 else {**head, "version": version}]
    for number, message in enumerate(
        [
            {"role": "user", "content": "one", "timestamp": 1},
            {"role": "hookMessage", "customType": "h", "content": "two", "display": True, "timestamp": 2},
        ]
    ):
        links = {} if version == 1 else {"id": f"e{number}", "parentId": f"e{number - 1}" if number else None}
        lines.append(
            {"type": "message", "timestamp": "2025-11-20T09:00:01.000Z", "message": message, **links}
        )
    path = directory / ".omp" / "old.jsonl"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(slot + b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    return path


@pytest.mark.parity("OMP-15")
@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("with_slot", [False, True])
def test_an_old_version_is_upgraded_with_the_first_append_and_keeps_its_slot(tmp_path, version, with_slot):
    slot = OH_MY_PI.writer.encode_header(NEW)[:256] if with_slot else b""
    path = old_file(tmp_path, version, slot)
    written = path.read_bytes()
    session = opened(path)
    before = session.path()

    assert opened(path).path() == before
    assert path.read_bytes() == written
    session.append_message("three")

    after = path.read_bytes()
    assert after.startswith(slot)
    assert json.loads(after[len(slot) :].split(b"\n")[0])["version"] == 3
    again = opened(path)
    assert again.transcript.format is OH_MY_PI
    assert again.path()[:2] == before
    assert [message_fields(item.message)["role"] for item in again.context().messages] == [
        "user",
        "custom",
        "user",
    ]
    others = [other for other in path.parent.rglob("*") if other.is_file() and other != path]
    assert written in [other.read_bytes() for other in others]
