"""The real pi reads what we write, we read what pi writes, and both can take turns in one file."""

from __future__ import annotations

import json
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from branchline import Session, SessionLibrary
from branchline.entries import SIDE_TYPES, message_fields, message_text
from branchline.library import SessionRow
from branchline.stores import FilesStore
from interop import model_server
from interop.peers import Peer
from interop.scenarios import NEWER, SCENARIOS, Scenario, assistant, everything

DRIVER = Path(__file__).with_name("pi.mjs")
CWD = "/home/u/project"
TOLD = ("role", "content", "summary", "toolCallId", "toolName", "customType", "display", "command", "output")


# -- what is compared ------------------------------------------------------------------------------------


def ask(peer: Peer, **wish: Any) -> dict[str, Any]:
    """Let pi open or create a session, do the steps, and say what it sees."""
    answer: dict[str, Any] = peer.run(DRIVER, text=json.dumps(wish))
    return answer


def view_of(seen: dict[str, Any]) -> dict[str, Any]:
    """What pi sees, without the side records that it keeps on its path."""
    return {
        "path": [key for key, kind in seen["branch"] if kind not in SIDE_TYPES],
        "context": [[message.get(name) for name in TOLD] for message in seen["messages"]],
        "model": seen["model"] and [seen["model"]["provider"], seen["model"]["modelId"]],
        "thinking": seen["thinkingLevel"],
        "labels": seen["labels"],
        "title": seen["name"],
        "entries": seen["ids"],
        "parent": seen["parent"],
    }


def our_view(session: Session) -> dict[str, Any]:
    context = session.context()
    messages = [message_fields(item.message) for item in context.messages]
    return {
        "path": session.path(),
        "context": json.loads(json.dumps([[message.get(name) for name in TOLD] for message in messages])),
        "model": context.model and [context.model.provider, context.model.id],
        "thinking": context.thinking_level,
        "labels": session.labels,
        "title": session.title,
        "entries": list(session.index),
        "parent": session.parent_session,
    }


def facts_of(info: dict[str, Any]) -> dict[str, Any]:
    """What a list of pi says about a session."""
    return {
        "path": info["path"],
        "cwd": info["cwd"],
        "title": info.get("name"),
        "parent": info.get("parentSessionPath"),
        "created": info["created"],
        "active": info["modified"],
        "messages": info["messageCount"],
    }


def our_facts(row: SessionRow) -> dict[str, Any]:
    active = datetime.fromtimestamp(row.last_activity_ms / 1000, UTC)
    return {
        "path": row.path,
        "cwd": row.cwd,
        "title": row.title,
        "parent": row.parent_session,
        "created": row.created,
        "active": active.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "messages": row.total_messages,
    }


def assert_pi_agrees(peer: Peer, session: Session) -> None:
    """Pi sees what we see, what we see survives reopening, and pi's reading leaves the file as it is."""
    assert session.file is not None
    before = Path(session.file).read_bytes()

    seen = ask(peer, open=session.file)

    assert view_of(seen) == our_view(session)
    assert our_view(Session.open(session.file)) == our_view(session)
    assert Path(session.file).read_bytes() == before


# -- what we write ---------------------------------------------------------------------------------------


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session.create(CWD, directory=tmp_path, durability="os")


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_pi_sees_our_session_as_we_do(pi: Peer, session: Session, scenario: Scenario):
    scenario(session)

    assert_pi_agrees(pi, session)


@pytest.mark.parametrize("scenario", NEWER, ids=lambda scenario: scenario.__name__)
def test_the_newest_pi_sees_the_newer_entries_as_we_do(newest_pi: Peer, session: Session, scenario: Scenario):
    scenario(session)

    assert_pi_agrees(newest_pi, session)


@pytest.mark.parametrize("scope", ["path", "tree"])
def test_pi_opens_our_fork_and_finds_its_parent(pi: Peer, session: Session, scope: Any):
    everything(session)
    there = session.path()[3]

    fork = session.fork(there, scope=scope)

    assert fork.parent_session == session.file
    assert fork.leaf == there
    assert_pi_agrees(pi, fork)


def test_pi_opens_our_copy_of_a_whole_session(pi: Peer, session: Session, tmp_path: Path):
    everything(session)
    assert session.file is not None

    copy = Session.fork_from(session.file, "/home/u/elsewhere", directory=tmp_path)

    assert copy.parent_session == session.file
    assert_pi_agrees(pi, copy)


def test_pi_lists_our_sessions_as_we_do(pi: Peer, tmp_path: Path):
    for scenario in SCENARIOS:
        session = Session.create(CWD, directory=tmp_path, durability="os")
        scenario(session)
    session.fork(session.path()[3])

    listed = ask(pi, list=[CWD, str(tmp_path)])

    rows = {row.id: row for row in SessionLibrary(tmp_path).list(deep=True)}
    assert len(rows) == len(SCENARIOS) + 1
    assert {info["id"]: facts_of(info) for info in listed} == {
        key: our_facts(row) for key, row in rows.items()
    }


# -- what comes from other programs ----------------------------------------------------------------------


@pytest.mark.parametrize("program", ["oh-my-pi", "operator", "induscode", "zot", "piglet"])
def test_pi_opens_our_fork_of_a_session_of_another_program(pi: Peer, tmp_path: Path, program: str):
    session = Session.create(CWD, format=program, directory=tmp_path / "theirs", durability="os")
    session.append_messages(["first question", assistant("first answer")])
    session.append_messages(["second question", assistant("second answer")])

    fork = session.fork(to="pi", store=FilesStore(tmp_path / "ours"))

    said = [message_text(item.message) for item in session.context().messages]
    assert [message_text(item.message) for item in fork.context().messages] == said
    assert view_of(ask(pi, open=fork.file)) == our_view(fork)


def test_a_session_that_we_begin_for_pi_lies_where_pi_looks(
    newest_pi: Peer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path / "agent"))
    session = Session.create("/home/u/my project", format="pi", durability="os")
    everything(session)

    assert Path(session.file or "").parent == tmp_path / "agent" / "sessions" / "--home-u-my project--"
    assert_pi_agrees(newest_pi, session)


# -- what pi writes --------------------------------------------------------------------------------------

USER = {"role": "user", "content": [{"type": "text", "text": "pi asks"}], "timestamp": 1794725185329}
ANSWER = assistant("pi answers", timestamp=1794725185330)


def step(number: int) -> dict[str, int]:
    """The result of an earlier step, in the place of an argument."""
    return {"step": number}


PI_STEPS: list[list[Any]] = [
    ["appendMessage", USER],
    ["appendMessage", ANSWER],
    ["appendLabelChange", step(0), "start"],
    ["appendMessage", USER],
    ["appendSessionInfo", "A name\nfrom pi"],
    ["appendMessage", ANSWER],
    ["appendModelChange", "openai", "gpt-5"],
    ["appendThinkingLevelChange", "high"],
    ["appendCustomEntry", "extension", {"a": [1, None]}],
    ["appendCustomMessageEntry", "extension", "remember", True, {"d": 1}],
    ["branch", step(1)],
    ["appendMessage", {**USER, "content": "as a plain text"}],
    ["appendLabelChange", step(3), "other branch"],
    ["appendLabelChange", step(0)],
    ["branchWithSummary", step(5), "Back from the other branch."],
    ["appendMessage", USER],
    ["appendCompaction", "What pi remembers.", step(5), 4321, {"readFiles": []}],
    ["appendMessage", ANSWER],
    ["resetLeaf"],
    ["appendMessage", USER],
    ["branch", step(17)],
    ["appendLabelChange", step(17), "here"],
]


def test_we_see_a_session_of_pi_as_it_does_after_every_step(pi: Peer, tmp_path: Path):
    """A move that nothing follows is known to the running pi alone, so a pi that opens the file is asked."""
    seen = ask(pi, create=[CWD, str(tmp_path)], steps=PI_STEPS, watch=True)
    data = Path(seen["file"]).read_bytes()

    views = [our_view(Session.in_memory(data=data[:size])) for size, _ in seen["watched"]]

    assert len(views) > len(PI_STEPS) - 2
    assert views == [view_of(step) for _, step in seen["watched"]]


def test_we_see_the_newer_entries_of_pi_as_it_does(newest_pi: Peer, tmp_path: Path):
    steps = [
        ["appendMessage", {"role": "system", "content": "Be brief.", "timestamp": 1794725185328}],
        *PI_STEPS[:4],
        ["appendContextEdit", step(1), {"content": "shorter"}],
        ["appendContextEdit", step(2), {"content": "a text for an answer"}],
        ["appendUsage", "cache_warm", "anthropic", "claude", ANSWER["usage"], "a note"],
        ["appendContextEdit", step(4), None],
        ["appendCompaction", "Nothing kept.", None, 12],
        ["appendMessage", USER],
    ]

    seen = ask(newest_pi, create=[CWD, str(tmp_path)], steps=steps)

    assert our_view(Session.open(seen["file"])) == view_of(seen)


def test_we_see_the_session_that_pi_branched_off(pi: Peer, tmp_path: Path):
    steps = [*PI_STEPS[:14], ["createBranchedSession", step(9)]]

    seen = ask(pi, create=[CWD, str(tmp_path)], steps=steps)

    assert our_view(Session.open(seen["file"])) == view_of(seen)


# -- taking turns ----------------------------------------------------------------------------------------


def before_nothing(session: Session) -> None:
    """Nothing happens between our last message and pi's first."""


def before_a_label(session: Session) -> None:
    session.append_label(session.path()[0], "start")


def before_a_move(session: Session) -> None:
    session.append_message("left behind")
    session.branch(session.path()[1])


@pytest.mark.parametrize("between", [before_nothing, before_a_label, before_a_move])
def test_taking_turns_in_one_file_gives_one_path(pi: Peer, session: Session, between: Scenario):
    path = [session.append_message("we ask"), session.append_message(assistant("we answer"))]
    between(session)

    seen = ask(pi, open=session.file, steps=[["appendMessage", USER], ["appendMessage", ANSWER]])
    path += seen["results"]
    session.refresh()
    path += [session.append_message("we ask again"), session.append_message(assistant("we answer again"))]
    seen = ask(
        pi, open=session.file, steps=[["appendMessage", USER], ["appendLabelChange", path[0], "pi was here"]]
    )
    path.append(seen["results"][0])
    session.refresh()
    path.append(session.append_message(assistant("the last word")))

    assert session.path() == path
    assert_pi_agrees(pi, session)


def test_a_session_that_pi_began_goes_on_with_us(pi: Peer, tmp_path: Path):
    seen = ask(pi, create=[CWD, str(tmp_path)], steps=PI_STEPS)
    session = Session.open(seen["file"], durability="os")
    written = Path(seen["file"]).read_bytes()

    session.append_message("we go on")
    session.append_label(session.path()[-1], "ours")

    assert session.path()[:-1] == view_of(seen)["path"]
    assert Path(seen["file"]).read_bytes().startswith(written)
    assert_pi_agrees(pi, session)


def test_both_writing_at_once_make_two_branches(pi: Peer, session: Session):
    """Each goes on under its own leaf; nothing is lost, and who wrote last is where a reader lands."""
    shared = [session.append_message("we ask"), session.append_message(assistant("we answer"))]

    seen = ask(pi, open=session.file, steps=[["appendMessage", USER]])
    ours = session.append_message("at the same time")

    assert session.path() == [*shared, ours]
    assert sorted(session.children(shared[1])) == sorted([*seen["results"], ours])
    assert_pi_agrees(pi, session)


def test_a_session_without_an_answer_that_pi_continues_is_read_once(pi: Peer, tmp_path: Path):
    """pi 0.73.1 writes header and entries again before it goes on."""
    with Session.create(CWD, directory=tmp_path, format="pi", persist="always") as session:
        first = session.append_message("a question")
        file = session.file
    assert file is not None

    seen = ask(pi, open=file, steps=[["appendMessage", assistant("an answer")]])

    with Session.open(file) as session:
        assert session.path() == [first, seen["branch"][-1][0]]
        assert session.findings == []
        assert our_view(session)["context"] == view_of(seen)["context"]
        session.append_message("and another question")
        assert Session.open(file).path() == session.path()


@pytest.mark.parametrize("title", ["\ufeffMarked\ufeff", " \u00a0Spaced\u2028", "\x85Kept\x1c", "\ufeff"])
def test_blanks_at_the_ends_of_a_title_are_those_of_pi(pi: Peer, tmp_path: Path, title: str):
    made = ask(
        pi,
        create=[CWD, str(tmp_path)],
        steps=[["appendMessage", assistant("hello")], ["appendSessionInfo", title]],
    )

    with Session.open(made["file"]) as session:
        assert session.title == made["name"]
        session.set_title(title)
        assert session.title == made["name"]


@pytest.mark.parametrize("program", ["branchline", "claude-code", "codex", "qwen", "zot"])
def test_pi_itself_goes_on_with_a_session_that_was_handed_to_it(
    newest_pi: Peer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str
):
    """The whole program, which needs more of a file than the part of it that reads sessions."""
    monkeypatch.setenv("HOME", str(tmp_path))
    agent, project = tmp_path / ".pi" / "agent", tmp_path / "project"
    agent.mkdir(parents=True)
    project.mkdir()
    with Session.in_memory(str(project), id="source") as source:
        source.append_message("What is a monad?")
        source.append_message({"role": "assistant", "content": [{"type": "text", "text": "A monoid."}]})
        made = source.convert(to=program, output=tmp_path / "there.jsonl").files[0]
    with Session.open(made.path) as there:
        back = there.convert(to="pi", install=True, cwd=project).files[0]

    with model_server.model_server() as server:
        model = {"id": "fake", "name": "fake", "input": ["text"], "contextWindow": 100000, "maxTokens": 1000}
        model |= {
            "reasoning": False,
            "cost": dict.fromkeys(("input", "output", "cacheRead", "cacheWrite"), 0),
        }
        provider = {
            "baseUrl": f"{server.url}/v1",
            "apiKey": "x",
            "api": "openai-completions",
            "models": [model],
        }
        (agent / "models.json").write_text(json.dumps({"providers": {"fake": provider}}))
        arguments = ("--provider", "fake", "--model", "fake", "--session", back.path)
        done = subprocess.run(
            [newest_pi.node, newest_pi.module.with_name("cli.js"), *arguments, "-p", "And now?"],
            cwd=project,
            env={**newest_pi.environment(), "PI_CODING_AGENT_DIR": str(agent)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    assert (done.returncode, done.stdout.strip()) == (0, model_server.ANSWER), done.stderr
    with Session.open(back.path) as found:
        messages = [item.message for item in found.context().messages]
    said = [message_text(message) for message in messages if message.role in ("user", "assistant")]
    assert said == ["What is a monad?", "A monoid.", "And now?", model_server.ANSWER]


# -- the program itself -----------------------------------------------------------------------------------


def readme_example(directory: Path) -> Session:
    """The session that the README's example makes, which ends with an answer without usage."""
    session = Session.create(directory, directory=directory / "sessions")
    session.append_message("Why is the sky blue?")
    session.append_message(
        {"role": "assistant", "content": [{"type": "text", "text": "Rayleigh scattering."}]}
    )
    return session


def texts_as_content(directory: Path) -> Session:
    """An answer and a tool result whose content is a text."""
    session = readme_example(directory)
    session.append_message("Look.")
    call = {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "a"}}
    session.append_message({"role": "assistant", "content": [call]})
    session.append_message({"role": "toolResult", "toolCallId": "c1", "toolName": "read", "content": "text"})
    session.append_message({"role": "assistant", "content": "Plain text."})
    return session


@pytest.mark.parametrize("make", [readme_example, texts_as_content])
@pytest.mark.parametrize("way", ["native", "converted", "forked"])
def test_pi_continues_what_the_library_wrote(newest_pi: Peer, tmp_path: Path, make: Any, way: str):
    with make(tmp_path) as session:
        file = session.file
        if way == "converted":
            file = session.convert("pi", output=f"{tmp_path}/out/").files[0].path
        elif way == "forked":
            file = session.fork(to="pi", store=FilesStore(tmp_path / "forks")).file
    with model_server.model_server() as server:
        model = {"id": "fake-model", "input": ["text"], "contextWindow": 128000, "maxTokens": 4096}
        given = {"baseUrl": f"{server.url}/v1", "apiKey": "x", "api": "openai-completions", "models": [model]}
        (tmp_path / ".pi" / "agent").mkdir(parents=True)
        (tmp_path / ".pi" / "agent" / "models.json").write_text(json.dumps({"providers": {"fake": given}}))
        done = subprocess.run(
            [
                *(newest_pi.node, newest_pi.module.with_name("cli.js")),
                *("--provider", "fake", "--model", "fake-model", "--session", file, "-p", "Go on."),
            ],
            cwd=tmp_path,
            env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            stdin=subprocess.DEVNULL,
        )

        assert done.returncode == 0, done.stderr
        sent = json.dumps(server.requests[-1]["messages"])
    assert "Rayleigh scattering." in sent
    assert "Go on." in sent
