"""The real oh-my-pi reads what we write, we read what it writes, and both can take turns in one file."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from branchline import Session
from branchline.entries import Header, Usage, message_fields
from branchline.formats import OH_MY_PI, PI, EntryLog
from branchline.formats.oh_my_pi import path_state
from formats import oh_my_pi_kit as kit
from interop.peers import Peer
from interop.scenarios import SCENARIOS, Scenario, assistant, everything, usage

DRIVER = Path(__file__).with_name("oh_my_pi.mjs")
CWD = "/home/u/project"
SIDE = frozenset({"label", "title_change", "session_info", "model_usage", "usage", "custom", "leaf"})
TOLD = ("role", "content", "summary", "toolCallId", "toolName", "customType", "display", "command", "output")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home of its own, so that the real program finds and leaves nothing elsewhere."""
    place = tmp_path / "home"
    place.mkdir()
    return place


# -- what is compared ------------------------------------------------------------------------------------


def ask(peer: Peer, home: Path, **wish: Any) -> dict[str, Any]:
    """Let oh-my-pi open or create a session, do the steps, and say what it sees."""
    environment = {"HOME": str(home), "PI_CODING_AGENT_DIR": str(home / "agent"), "TMPDIR": str(home / "tmp")}
    answer: dict[str, Any] = peer.run(DRIVER, text=json.dumps(wish), environment=environment)
    return answer


def view_of(seen: dict[str, Any]) -> dict[str, Any]:
    """What oh-my-pi sees, without the side records that it keeps on its path."""
    return {
        "path": [key for key, kind in seen["branch"] if kind not in SIDE],
        "context": [[message.get(name) for name in TOLD] for message in seen["messages"]],
        "model": seen["models"].get("default"),
        "models": seen["models"],
        "thinking": seen["thinkingLevel"],
        "mode": seen["mode"],
        "rules": seen["rules"],
        "labels": seen["labels"],
        "entries": seen["ids"],
        "roots": seen["roots"],
        "parent": seen["header"].get("parentSession"),
        "tokens": [
            seen["usage"][name] for name in ("input", "output", "cacheRead", "cacheWrite", "totalTokens")
        ],
        "cost": pytest.approx(seen["usage"]["cost"]),
    }


def our_view(session: Session) -> dict[str, Any]:
    context = session.context()
    leaf = -1 if session.leaf is None else session.index.position(session.leaf)
    state = path_state(session.transcript, leaf)
    spent = session.usage().all.total
    messages = [message_fields(item.message) for item in context.messages]
    return {
        "path": session.path(),
        "context": json.loads(json.dumps([[message.get(name) for name in TOLD] for message in messages])),
        "model": context.model and f"{context.model.provider}/{context.model.id}",
        "models": state.models,
        "thinking": context.thinking_level,
        "mode": state.mode,
        "rules": list(state.injected_rules),
        "labels": session.labels,
        "entries": list(session.index),
        "roots": session.index.roots(),
        "parent": session.parent_session,
        "tokens": [spent.input, spent.output, spent.cache_read, spent.cache_write, spent.total_tokens],
        "cost": spent.cost,
    }


def assert_oh_my_pi_agrees(peer: Peer, home: Path, session: Session) -> dict[str, Any]:
    """It sees what we see, what we see survives reopening, and its reading leaves the file as it is."""
    assert session.file is not None
    before = Path(session.file).read_bytes()

    seen = ask(peer, home, open=session.file)

    assert session.transcript.format is OH_MY_PI
    assert our_view(session) == view_of(seen)
    assert our_view(Session.open(session.file)) == our_view(session)
    assert Path(session.file).read_bytes() == before
    return seen


# -- what we write ---------------------------------------------------------------------------------------


@pytest.fixture
def session(home: Path) -> Session:
    """An empty session of oh-my-pi, begun by us."""
    header = Header(
        version=3, id="01a1de18-d375-7203-a171-ae8a7c213d6f", timestamp="2026-11-15T07:25:31.381Z", cwd=CWD
    )
    file = home / "agent" / "sessions" / "--home-u-project--" / f"{OH_MY_PI.home.file_key(header)}.jsonl"
    file.parent.mkdir(parents=True)
    file.write_bytes(OH_MY_PI.writer.encode_header(header))
    return Session.open(file, durability="os")


@pytest.mark.parametrize("scenario", [*SCENARIOS, usage], ids=lambda scenario: scenario.__name__)
def test_oh_my_pi_sees_our_session_as_we_do(oh_my_pi: Peer, home: Path, session: Session, scenario: Scenario):
    scenario(session)

    assert_oh_my_pi_agrees(oh_my_pi, home, session)


@pytest.mark.parity("OMP-01")
def test_branch_tree_children_and_labels_are_those_of_the_program(
    oh_my_pi: Peer, home: Path, session: Session
):
    everything(session)

    seen = ask(oh_my_pi, home, open=session.file)

    assert session.index.path(seen["branch"][-1][0]) == [key for key, _ in seen["branch"]]
    assert session.index.roots() == seen["roots"]
    assert {key: session.index.children(key) for key in session.index} == seen["children"]
    assert {key: session.label(key) for key in session.index if session.label(key)} == seen["labels"]


def test_the_slot_keeps_its_bytes_and_the_program_goes_on_renaming(
    oh_my_pi: Peer, home: Path, session: Session
):
    """Our name is an entry: oh-my-pi keeps showing the one in its slot until it gives one itself."""
    everything(session)
    slot = OH_MY_PI.writer.encode_header(session.header)[:256]
    assert session.file is not None

    seen = ask(oh_my_pi, home, open=session.file, steps=[["setSessionName", "Theirs", "user"]])
    after = Path(session.file).read_bytes()

    assert session.title == "Everything, again"
    assert seen["name"] == "Theirs"
    assert after[256:].startswith(b'{"type":"session"')
    assert after[:256] != slot
    assert Session.open(session.file).title == "Theirs"


@pytest.mark.parametrize("where", [0, 3, None])
def test_oh_my_pi_opens_our_fork(oh_my_pi: Peer, home: Path, session: Session, where: int | None):
    everything(session)
    path = session.path()
    here = path[-1] if where is None else path[where]
    header = Header(
        version=3, id="fork", timestamp="2030-01-01T00:00:00.000Z", cwd=CWD, parent_session=session.file
    )
    file = home / "agent" / "sessions" / "--home-u-project--" / "fork.jsonl"

    file.write_bytes(OH_MY_PI.writer.fork(session.transcript, session.index.position(here), header))
    fork = Session.open(file, durability="os")
    seen = assert_oh_my_pi_agrees(oh_my_pi, home, fork)

    assert fork.path() == session.path(here)
    assert seen["name"] == fork.title == session.title
    assert seen["header"]["titleSource"] == "user"


def test_oh_my_pi_opens_our_copy_of_a_whole_session(oh_my_pi: Peer, home: Path, session: Session):
    everything(session)
    header = Header(
        version=3, id="copy", timestamp="2030-01-01T00:00:00.000Z", cwd=CWD, parent_session=session.id
    )
    file = home / "agent" / "sessions" / "--home-u-project--" / "copy.jsonl"

    file.write_bytes(OH_MY_PI.writer.copy(session.transcript, header))
    seen = assert_oh_my_pi_agrees(oh_my_pi, home, Session.open(file))

    assert seen["header"]["parentSession"] == session.id
    assert seen["header"]["providerPromptCacheKey"] == session.id


@pytest.mark.parity("OMP-15")
def test_oh_my_pi_reads_the_old_version_that_we_upgraded(oh_my_pi: Peer, home: Path):
    lines = [
        {"type": "session", "id": "old", "timestamp": "2025-11-20T09:00:00.000Z", "cwd": CWD},
        {"type": "message", "timestamp": "2025-11-20T09:00:01.000Z", "message": USER},
        {"type": "message", "timestamp": "2025-11-20T09:00:02.000Z", "message": ANSWER},
        {"type": "message", "timestamp": "2025-11-20T09:00:03.000Z", "message": USER},
        {
            "type": "compaction",
            "timestamp": "2025-11-20T09:00:04.000Z",
            "summary": "before",
            "firstKeptEntryIndex": 3,
            "tokensBefore": 7,
        },
        {
            "type": "message",
            "timestamp": "2025-11-20T09:00:05.000Z",
            "message": {**HOOK, "role": "hookMessage"},
        },
    ]
    file = home / ".omp" / "agent" / "sessions" / "--home-u-project--" / "old.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))

    session = Session.open(file, durability="os")
    before = session.path()
    session.append_message("we go on")

    assert session.path()[:-1] == before
    assert [item.message.__struct_config__.tag for item in session.context().messages] == [
        "compactionSummary",
        "user",
        "custom",
        "user",
    ]
    assert_oh_my_pi_agrees(oh_my_pi, home, session)


# -- what oh-my-pi writes --------------------------------------------------------------------------------

USER = {"role": "user", "content": [{"type": "text", "text": "it asks"}], "timestamp": 1794725185329}
ANSWER = assistant("it answers", timestamp=1794725185330)
HOOK = {"role": "custom", "customType": "h", "content": "hook", "display": False, "timestamp": 1794725185331}
CALL = {"type": "toolCall", "id": "call_1", "name": "read", "arguments": {"path": "a.py"}}
RESULT = {"role": "toolResult", "toolCallId": "call_1", "toolName": "read", "isError": False, "timestamp": 1}
SPENT = ANSWER["usage"]


def step(number: int) -> dict[str, int]:
    """The result of an earlier step, in the place of an argument."""
    return {"step": number}


STEPS: list[list[Any]] = [
    ["appendModelChange", "anthropic/claude-sonnet-4-5"],
    ["appendModelChange", "anthropic/claude-haiku-4-5", "smol"],
    ["appendThinkingLevelChange", "high", "auto"],
    ["appendServiceTierChange", {"openai": "priority"}],
    ["appendMessage", USER],
    ["appendMessage", ANSWER],
    [
        "appendMessage",
        {**ANSWER, "model": "another", "stopReason": "error", "errorMessage": "overloaded", "content": []},
    ],
    ["setSessionName", "First name", "auto", "first-message"],
    [
        "appendMessage",
        {**ANSWER, "content": [{"type": "text", "text": "look"}, CALL], "stopReason": "toolUse"},
    ],
    ["appendMessage", {**RESULT, "content": [{"type": "text", "text": "x"}]}],
    ["appendLabelChange", step(4), "start"],
    ["appendModeChange", "plan", {"planFile": "PLAN.md"}],
    ["appendTtsrInjection", ["no-print", "no-print", "other"]],
    ["appendCredentialPin", "anthropic", "0" * 64],
    ["appendMessage", {"role": "developer", "content": [{"type": "text", "text": "note"}], "timestamp": 2}],
    ["appendMessage", {"role": "fileMention", "files": [{"path": "a", "content": "b"}], "timestamp": 3}],
    [
        "appendMessage",
        {
            "role": "pythonExecution",
            "code": "1",
            "output": "1",
            "exitCode": 0,
            "cancelled": False,
            "truncated": False,
            "timestamp": 4,
        },
    ],
    ["appendCustomEntry", "todo_hud_state", {"open": True}],
    ["appendCustomMessageEntry", "reminder", "Keep it short", False, {"n": 1}, "agent"],
    [
        "appendModelUsage",
        {
            "purpose": "title",
            "role": "tiny",
            "api": "x",
            "provider": "openai",
            "model": "nano",
            "usage": SPENT,
            "stopReason": "stop",
        },
        {"owner": 5},
    ],
    ["appendMessage", USER],
    ["setSessionName", "Second  name\n", "user"],
    ["appendMessage", {**ANSWER, "content": [{"type": "text", "text": "again"}, {**CALL, "id": "call_2"}]}],
    ["appendMessage", USER],
    ["branch", step(5)],
    ["appendMessage", {**USER, "content": "as a plain text"}],
    ["branchWithSummary", step(9), "Back from the other branch."],
    ["appendMessage", ANSWER],
    [
        "appendCompaction",
        "What it remembers.",
        "short",
        step(9),
        4321,
        {"details": {"readFiles": []}, "method": "soft", "tokensAfter": 5},
    ],
    ["appendMessage", ANSWER],
    ["appendThinkingLevelChange"],
    ["appendResetBoundary"],
    ["appendMessage", USER],
    ["appendMessage", ANSWER],
    ["appendModeChange", "none"],
    ["resetLeaf"],
    ["appendMessage", USER],
    ["discardEntryDurably", step(33)],
    ["branch", step(29)],
    ["appendLabelChange", step(29), "here"],
    ["appendLabelChange", step(4)],
]


@pytest.mark.parity("OMP-09")
def test_we_see_a_session_as_oh_my_pi_does_after_every_step(oh_my_pi: Peer, home: Path):
    """A move that nothing follows is known to the running program alone, so one that opens the file is asked."""
    seen = ask(oh_my_pi, home, create=[CWD, str(home / "sessions")], steps=STEPS, watch=True)

    for number, (text, there) in enumerate(seen["watched"]):
        session = Session.in_memory(data=text.encode("latin-1"))
        assert (number, our_view(session)) == (number, view_of(there))
        assert session.title == there["name"]
        assert not session.findings
    assert len(seen["watched"]) == len(STEPS) - 5


@pytest.mark.parametrize("verb", [["createBranchedSession", step(22)], ["fork"]], ids=["branched", "copied"])
def test_we_see_the_session_that_oh_my_pi_forked(oh_my_pi: Peer, home: Path, verb: list[Any]):
    seen = ask(oh_my_pi, home, create=[CWD, str(home / "sessions")], steps=[*STEPS[:24], verb])

    session = Session.open(seen["file"])

    assert our_view(session) == view_of(seen)
    assert session.title == seen["name"] == "Second name"
    assert session.parent_session == seen["header"]["parentSession"]


def test_pictures_that_oh_my_pi_keeps_apart_are_put_back(oh_my_pi: Peer, home: Path):
    data = "iVBORw0KGgo" + "A" * 4001
    picture = {"type": "image", "data": data, "mimeType": "image/png"}
    steps = [["appendMessage", {**USER, "content": [picture]}], ["appendMessage", ANSWER]]
    seen = ask(oh_my_pi, home, create=[CWD, str(home / "agent" / "sessions" / "-x")], steps=steps)
    line = Path(seen["file"]).read_bytes().split(b"\n")[2]

    session = Session.open(seen["file"])

    assert b'"data":"blob:sha256:' in line
    assert session.context().messages[0].message.content[0].data == data
    assert json.loads(session.raw(session.path()[0]))["message"]["content"][0]["data"].startswith("blob:")


def test_pictures_of_a_session_outside_the_agent_directory_are_found_there(
    oh_my_pi: Peer, home: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(home / "agent"))
    data = "iVBORw0KGgo" + "A" * 4001
    picture = {"type": "image", "data": data, "mimeType": "image/png"}
    steps = [["appendMessage", {**USER, "content": [picture]}], ["appendMessage", ANSWER]]

    seen = ask(oh_my_pi, home, create=[CWD, str(home / "elsewhere")], steps=steps)

    with Session.open(seen["file"]) as session:
        assert session.context().messages[0].message.content[0].data == data
        assert our_view(session)["context"] == view_of(ask(oh_my_pi, home, open=seen["file"]))["context"]


# -- context rules that its samples do not show ------------------------------------------------------------

HELD = {"openaiRemoteCompaction": {"provider": "openai", "replacementHistory": [{"type": "message"}]}}
SUMMED = {"anthropicCompaction": {"provider": "anthropic", "content": "held"}}


def compaction(first: str, **fields: Any) -> dict[str, Any]:
    return {"type": "compaction", "summary": "sum", "firstKeptEntryId": first, "tokensBefore": 1, **fields}


def said(kind: str) -> dict[str, Any]:
    return {"type": "custom_message", "customType": kind, "content": "x", "display": False}


TALK = [kit.user("a"), kit.user("b"), kit.user("c")]
AFTER = kit.user("after")
THOUGHT = {"type": "thinking", "thinking": "hm", "thinkingSignature": "seal"}
SEALED = {"type": "redactedThinking", "data": "x"}
STORIES: dict[str, list[dict[str, Any]]] = {
    "provider history": [*TALK, compaction("e2", preserveData=HELD), AFTER],
    "history up to an entry": [
        *TALK,
        compaction("e2", preserveData=HELD, providerReplayThroughEntryId="e2"),
        AFTER,
    ],
    "history up to nobody": [
        *TALK,
        compaction("e2", preserveData=HELD, providerReplayThroughEntryId="gone"),
        AFTER,
    ],
    "history without provider": [*TALK, compaction("e2", preserveData={"openaiRemoteCompaction": {}}), AFTER],
    "provider summary": [*TALK, compaction("e2", preserveData=SUMMED), AFTER],
    "clear after compaction": [*TALK, compaction("e2"), {"type": "reset_boundary"}, AFTER],
    "compaction after clear": [*TALK, {"type": "reset_boundary"}, kit.user("d"), compaction("e5"), AFTER],
    "recovered": [kit.user("a"), kit.answer("half", retryRecovery={"attempt": 1}), kit.answer("b")],
    "empty failure": [kit.user("a"), kit.answer({"type": "thinking", "thinking": " "}, stopReason="error")],
    "internal": [kit.user("a"), said("prewalk-plan"), said("vibe-mode-context"), said("reminder")],
    "open call": [kit.answer(THOUGHT, SEALED, "w", kit.call("o"), kit.call("c")), kit.result("c"), AFTER],
    "only open calls": [kit.user("a"), kit.answer(kit.call("o")), AFTER],
    "failed with results": [kit.answer("half", kit.call("c"), stopReason="aborted"), kit.result("c"), AFTER],
    "interrupted": [kit.user("a"), kit.answer("half", stopReason="aborted"), said("interrupted-thinking")],
    "task": [
        kit.message("toolResult", toolName="task", toolCallId="t", content=[], details={"usage": SPENT})
    ],
}


@pytest.mark.parity("OMP-09")
@pytest.mark.parametrize("name", STORIES)
def test_rules_of_the_context_are_those_of_the_program(oh_my_pi: Peer, home: Path, name: str):
    file = home / "story.jsonl"
    file.write_bytes(kit.story(*STORIES[name]))

    seen = view_of(ask(oh_my_pi, home, open=str(file)))
    ours = our_view(Session.open(file))

    for fact in ("path", "context", "model", "tokens", "cost"):
        assert ours[fact] == seen[fact], fact


@pytest.mark.parametrize(
    "moved",
    [
        {},
        {"PI_CONFIG_DIR": ".other"},
        {"OMP_PROFILE": "work"},
        {"PI_PROFILE": "work"},
        {"OMP_PROFILE": "", "PI_PROFILE": "work"},
        {"OMP_PROFILE": "work", "PI_CODING_AGENT_DIR": "/nowhere"},
        {"XDG_DATA_HOME": "xdg"},
        {"XDG_DATA_HOME": "xdg", "OMP_PROFILE": "work"},
    ],
)
def test_the_root_of_all_sessions_is_that_of_the_program(oh_my_pi: Peer, home: Path, moved: dict[str, str]):
    (home / "xdg" / "omp").mkdir(parents=True)
    environment = {"HOME": str(home), "TMPDIR": "/tmp", "PI_CODING_AGENT_DIR": "", "XDG_DATA_HOME": ""}
    environment |= {name: str(home / value) if value == "xdg" else value for name, value in moved.items()}

    wish = json.dumps({"directories": ["/opt/app"], "whole": True})
    named = oh_my_pi.run(DRIVER, text=wish, environment=environment)

    assert OH_MY_PI.home.directory("/opt/app", environment, str(home)) == named["/opt/app"]


# -- taking turns ----------------------------------------------------------------------------------------


def before_nothing(session: Session) -> None:
    """Nothing happens between our last message and its first."""


def before_a_label(session: Session) -> None:
    session.append_label(session.path()[0], "start")


def before_a_move(session: Session) -> None:
    session.append_message("left behind")
    session.branch(session.path()[1])


def before_a_rename(session: Session) -> None:
    session.set_title("ours")


@pytest.mark.parametrize("between", [before_nothing, before_a_label, before_a_move, before_a_rename])
def test_taking_turns_in_one_file_gives_one_path(
    oh_my_pi: Peer, home: Path, session: Session, between: Scenario
):
    path = [session.append_message("we ask"), session.append_message(assistant("we answer"))]
    between(session)

    seen = ask(oh_my_pi, home, open=session.file, steps=[["appendMessage", USER], ["appendMessage", ANSWER]])
    path += seen["results"]
    session.refresh()
    path += [session.append_message("we ask again"), session.append_message(assistant("we answer again"))]
    steps = [["appendMessage", USER], ["appendLabelChange", path[0], "it was here"]]
    seen = ask(oh_my_pi, home, open=session.file, steps=steps)
    path.append(seen["results"][0])
    session.refresh()
    path.append(session.append_message(assistant("the last word")))

    assert session.path() == path
    assert_oh_my_pi_agrees(oh_my_pi, home, session)


def test_a_session_that_oh_my_pi_began_goes_on_with_us(oh_my_pi: Peer, home: Path):
    seen = ask(oh_my_pi, home, create=[CWD, str(home / "agent" / "sessions" / "-x")], steps=STEPS)
    session = Session.open(seen["file"], durability="os")
    written = Path(seen["file"]).read_bytes()

    session.append_message("we go on")
    session.append_model_change("openai", "gpt-5")
    session.append_thinking_level_change("low")
    session.append_label(session.path()[-1], "ours")
    session.append_usage("summary", Usage(input=3, total_tokens=3), provider="openai", model="nano")

    assert Path(seen["file"]).read_bytes().startswith(written)
    assert_oh_my_pi_agrees(oh_my_pi, home, session)


# -- handing over ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scope", ["path", "tree"])
def test_a_session_goes_from_oh_my_pi_to_us_and_back_with_everything_that_we_did(
    oh_my_pi: Peer, home: Path, scope: Any
):
    """It writes, we append, branch, label, name, compact and fork; it opens both files and sees what we see."""
    seen = ask(oh_my_pi, home, create=[CWD, str(home / "agent" / "sessions" / "-x")], steps=STEPS[:24])
    session = Session.open(seen["file"], durability="os")
    asked, answered = session.append_messages(["we ask", assistant("we answer")])
    session.append_label(asked, "ours")
    session.branch(asked)
    session.append_message(assistant("another answer"))
    session.set_title("Handed over")
    session.append_compaction("What happened so far.", asked, 4321)
    session.append_message("go on")

    fork = session.fork(scope=scope)

    assert_oh_my_pi_agrees(oh_my_pi, home, session)
    seen = assert_oh_my_pi_agrees(oh_my_pi, home, fork)
    assert seen["name"] == fork.title == "Handed over"
    assert fork.labels[asked] == "ours"
    assert (answered in fork) == (scope == "tree")
    assert Path(fork.file or "").parent == Path(session.file or "").parent
    assert fork.parent_session == (session.id if scope == "tree" else session.file)
    theirs = ask(oh_my_pi, home, open=fork.file, steps=[["appendMessage", USER], ["appendMessage", ANSWER]])
    path = fork.path()
    fork.refresh()
    assert fork.path() == [*path, *theirs["results"]]


def test_a_session_that_we_begin_lies_where_oh_my_pi_looks_and_opens_there(
    oh_my_pi: Peer, home: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(home / "agent"))
    monkeypatch.setenv("TMPDIR", str(home / "tmp"))
    project = home / "code" / "project"
    project.mkdir(parents=True)
    session = Session.create(project, format="oh-my-pi", durability="os")
    everything(session)
    assert session.file is not None

    environment = {"HOME": str(home), "PI_CODING_AGENT_DIR": str(home / "agent"), "TMPDIR": str(home / "tmp")}
    named = oh_my_pi.run(
        DRIVER, text=json.dumps({"directories": [str(project)], "whole": True}), environment=environment
    )

    assert os.path.realpath(named[str(project)]) == os.path.realpath(os.path.dirname(session.file))
    assert_oh_my_pi_agrees(oh_my_pi, home, session)
    assert Session.continue_recent(project, format="oh-my-pi").id == session.id


def test_the_folder_of_a_session_is_where_oh_my_pi_looks_for_it(oh_my_pi: Peer, home: Path, session: Session):
    everything(session)
    seen = ask(oh_my_pi, home, open=session.file)
    Path(seen["folder"]).mkdir()
    Path(seen["folder"], "0.bash.log").write_text("a long output")

    copy, path = session.fork(scope="tree"), session.fork()

    seen = ask(oh_my_pi, home, open=copy.file)
    assert Path(seen["folder"], "0.bash.log").read_text() == "a long output"
    assert not Path(ask(oh_my_pi, home, open=path.file)["folder"]).exists()


# -- places ----------------------------------------------------------------------------------------------


def test_directories_are_named_as_oh_my_pi_names_them(oh_my_pi: Peer, home: Path):
    outside = home.parent / "outside"
    for place in (home / "code" / "my proj", home / "tmp" / "x" / "y", outside):
        place.mkdir(parents=True)
    (home / "link").symlink_to(outside)
    cwds = [str(place) for place in (home, home / "code/my proj", home / "tmp/x/y", outside, home / "link")]
    cwds += ["/opt/app", "/", "/opt/a:b", str(home / "gone/for good"), str(home / "..odd")]
    elsewhere = home.parent / "temporary"
    elsewhere.mkdir()
    environment = {"HOME": str(home), "TMPDIR": str(elsewhere), "PI_CODING_AGENT_DIR": str(home / "agent")}

    named = oh_my_pi.run(
        DRIVER,
        text=json.dumps({"directories": [*cwds, str(elsewhere), f"{elsewhere}/x"]}),
        environment=environment,
    )

    ours = {cwd: OH_MY_PI.home.directory(cwd, environment, str(home)) for cwd in named}
    assert {cwd: os.path.basename(path or "") for cwd, path in ours.items()} == named


def test_what_pi_wrote_is_seen_as_oh_my_pi_sees_it_once_it_has_a_slot(oh_my_pi: Peer, home: Path):
    """Names, edits and model changes of pi have no effect any more after oh-my-pi has taken a file over."""
    file = home / "taken-over.jsonl"
    native = Session.create(CWD, directory=home / "native", durability="os")
    everything(native)
    native.append_context_edit(native.path()[0], "shorter")
    assert native.file is not None
    file.write_bytes(Path(native.file).read_bytes())
    assert Session.open(file).transcript.format is PI

    seen = ask(oh_my_pi, home, open=str(file), steps=[["setSessionName", "Taken over", "user"]])

    session = Session.open(file)
    assert session.transcript.format is OH_MY_PI
    assert our_view(session) == view_of(seen)
    assert session.title == "Taken over"
    assert isinstance(session.transcript, EntryLog)


def test_the_title_of_a_new_session_is_where_oh_my_pi_looks_for_it(
    oh_my_pi: Peer, home: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(home / "agent"))
    with Session.create(CWD, format="oh-my-pi", title="A plan", persist="always") as session:
        session.append_message(USER)
        session.append_message(ANSWER)

    seen = ask(oh_my_pi, home, open=session.file)

    assert seen["name"] == session.title == "A plan"
