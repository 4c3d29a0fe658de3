"""The real induscode reads what we write and we read what it writes, as the same path."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from branchline import Session
from branchline.clock import FixedClock
from branchline.context import build_context
from branchline.entries import (
    AssistantMessage,
    BashExecution,
    Compaction,
    Header,
    Image,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
    message_text,
)
from branchline.formats import EntryLog
from branchline.formats.induscode import INDUSCODE
from formats.induscode_kit import SAMPLES, move
from interop import peers

DRIVER = Path(__file__).with_name("induscode_driver.py")
PACKAGES = ("induscode==0.1.6", "mcp<2")  # it does not start with the next mcp
INSTALL_SECONDS = 600
SESSION = "s_mwhiju6j_fy49o976"

Ask = Callable[..., dict[str, Any]]


def _install(place: Path) -> None:
    """A private environment with the program, by package name from the index of this machine."""
    subprocess.run([sys.executable, "-m", "venv", str(place)], check=True, capture_output=True, timeout=120)
    command = [
        place / "bin" / "python",
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        *PACKAGES,
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise peers.PeerMissing(f"pip took more than {INSTALL_SECONDS} s for {PACKAGES[0]}") from None
    if done.returncode != 0:
        raise peers.PeerMissing(f"pip cannot install {PACKAGES[0]}")


@pytest.fixture(scope="session")
def induscode(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """The program, asked by its library; skipped, with the reason, where it cannot be had."""
    try:
        place = peers._once("induscode", _install)
    except peers.PeerMissing as missing:
        pytest.skip(str(missing))
    home = tmp_path_factory.mktemp("induscode")
    environment = {
        **os.environ,
        "INDUSAGI_HOME": str(home),
        "HOME": str(home),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    environment.pop("PYTHONPATH", None)

    with subprocess.Popen(
        [place / "bin" / "python", DRIVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        env=environment,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def ask(verb: str, **order: Any) -> dict[str, Any]:
            print(json.dumps({"verb": verb, **order}), file=process.stdin, flush=True)
            answer: dict[str, Any] = json.loads(process.stdout.readline())
            assert "error" not in answer, answer["error"]
            return answer

        yield ask
        process.stdin.close()  # its input ends, and so does the program


def question(text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text}], "timestamp": 1_794_700_000_000}


def answer(text: str) -> dict[str, Any]:
    cost = {"input": 0.1, "output": 0.2, "cacheRead": 0.0, "cacheWrite": 0.0, "total": 0.3}
    return {
        "role": "assistant",
        "content": [{"type": "text", "text": text}],
        "api": "anthropic-messages",
        "provider": "anthropic",
        "model": "claude-sonnet-4-5",
        "usage": {"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 3, "cost": cost},
        "stopReason": "stop",
        "timestamp": 1_794_700_001_000,
    }


def opened(directory: Path, seed: int = 0) -> Session:
    return Session.open(directory / f"{SESSION}.ndjson", clock=FixedClock(1_794_722_740_407, seed=seed))


def agree(induscode: Ask, session: Session, directory: Path) -> dict[str, Any]:
    """Both show the same path with same text."""
    shown = induscode("look", directory=str(directory), session=SESSION)
    assert shown["path"] == session.path()
    assert shown["texts"] == [message_text(item.message) for item in session.context().messages]
    return shown


STEPS = [
    ["append", question("one")],
    ["append", answer("two")],
    ["append", question("three")],
    ["append", answer("four")],
]


@pytest.mark.parity("IND-11")
@pytest.mark.parametrize(
    ("steps", "finding"),
    [
        (STEPS, None),
        ([*STEPS, ["branch", 1]], "below-head"),
        ([*STEPS, ["branch", 1], ["append", question("five")], ["append", answer("six")]], "stale-head"),
        ([*STEPS, ["reset"]], "below-head"),
        ([*STEPS, ["reset"], ["append", question("five")]], "stale-head"),
        ([*STEPS, ["branch", 0], ["append", question("five")], ["branch", 3]], None),
    ],
    ids=["linear", "branched", "gone on", "reset", "begun anew", "back on the first branch"],
)
def test_we_read_where_induscode_stands(induscode, tmp_path, steps, finding):
    """«What induscode shows after a restart is not where the user was»: we show where the user was."""
    written = induscode("write", directory=str(tmp_path), session=SESSION, steps=steps)

    with opened(tmp_path) as session:
        assert session.path() == written["path"]
        assert [message_text(item.message) for item in session.context().messages] == written["texts"]
        assert [found.kind for found in session.findings] == ([] if finding is None else [finding])


def test_induscode_reads_what_we_append_branch_and_reset(induscode, tmp_path):
    made = induscode("write", directory=str(tmp_path), session=SESSION, steps=STEPS)["made"]
    with opened(tmp_path) as session:
        session.append_message("appended")
        agree(induscode, session, tmp_path)

        move(session, made[1])
        agree(induscode, session, tmp_path)

        session.append_message("another branch")
        shown = agree(induscode, session, tmp_path)
        assert set(shown["tree"]) == set(session.index.keys)

        session.branch_with_summary(made[0], "was elsewhere")
        agree(induscode, session, tmp_path)

        move(session, None)
        agree(induscode, session, tmp_path)

        session.append_message("from the start")
        agree(induscode, session, tmp_path)

        session.append_compaction("everything so far", tokens_before=99)
        assert agree(induscode, session, tmp_path)["roles"] == ["condense"]


def test_induscode_reads_every_kind_of_message_that_we_write(induscode, tmp_path):
    induscode("write", directory=str(tmp_path), session=SESSION, steps=STEPS[:1])
    call = ToolCall(id="c", name="bash", arguments={"command": "ls", "n": 10**20})
    with opened(tmp_path) as session:
        session.append_message(
            AssistantMessage(
                content=(Thinking(thinking="hm", thinking_signature="s"), Text(text="I look"), call),
                api="a",
                provider="p",
                model="m",
                usage=Usage(input=1, output=2),
                stop_reason="toolUse",
            )
        )
        session.append_message(
            ToolResult(tool_call_id="c", tool_name="bash", content=(Text(text="a.txt"),), details={"exit": 0})
        )
        session.append_message(
            UserMessage(content=(Text(text="see"), Image(data="aGk=", mime_type="image/png")))
        )
        session.append_message(BashExecution(command="ls", output="x", exit_code=0))
        session.append_custom_message("ext", "note")

        shown = induscode("look", directory=str(tmp_path), session=SESSION)

        assert shown["path"] == session.path()
        assert shown["roles"] == ["user", "assistant", "tool", "user", "note", "note"]
        assert shown["texts"][:4] == ["one", "I look", "a.txt", "see"]
        assert shown["listed"] == {SESSION: 4}


def test_induscode_goes_on_where_we_stopped_and_we_where_it_stopped(induscode, tmp_path):
    made = induscode("write", directory=str(tmp_path), session=SESSION, steps=STEPS)["made"]
    with opened(tmp_path) as session:
        move(session, made[1])
        session.append_message("ours")

    theirs = induscode(
        "write", directory=str(tmp_path), session=SESSION, steps=[["append", answer("theirs")]]
    )

    with opened(tmp_path, seed=50) as session:
        assert session.path() == theirs["path"]
        session.append_message("ours again")
        agree(induscode, session, tmp_path)


def test_what_we_appended_survives_when_induscode_writes_the_file_again(induscode, tmp_path):
    induscode("write", directory=str(tmp_path), session=SESSION, steps=STEPS)
    with opened(tmp_path) as session:
        ours = session.append_message("ours")
        summary = session.branch_with_summary(ours, "was elsewhere", details={"read_files": ["a"]})
        record = session.entry(summary)

    induscode("write", directory=str(tmp_path), session=SESSION, steps=[["branch", ours]])

    with opened(tmp_path, seed=50) as session:
        assert session.leaf == ours
        assert session.entry(summary) == record


def test_induscode_reads_a_compaction_with_the_messages_that_were_kept(induscode, tmp_path):
    induscode("write", directory=str(tmp_path), session=SESSION, steps=STEPS)
    path = tmp_path / f"{SESSION}.ndjson"
    data = path.read_bytes()
    found = EntryLog(INDUSCODE, lambda offset, size: data[offset : offset + size], str(path))
    kept = tuple(item.message for item in build_context(found, found.reading.leaf).messages[2:])
    compaction = Compaction(
        id="c" * 16,
        parent=found.leaf,
        timestamp="2026-11-15T08:00:00.000Z",
        summary="short",
        retained_tail=kept,
    )

    path.write_bytes(data + INDUSCODE.writer.encode([compaction], found.reading))

    with opened(tmp_path) as session:
        assert agree(induscode, session, tmp_path)["texts"] == ["short", "three", "four"]


def test_induscode_reads_a_fork(induscode, tmp_path):
    data = next(SAMPLES.rglob("s_mwhiju8t*")).read_bytes()
    found = EntryLog(INDUSCODE, lambda offset, size: data[offset : offset + size], "s.ndjson")

    (tmp_path / f"{SESSION}.ndjson").write_bytes(
        INDUSCODE.writer.fork(found, found.reading.leaf, Header(id=SESSION))
    )

    assert induscode("look", directory=str(tmp_path), session=SESSION)["path"] == found.tree.path(found.leaf)


def test_a_session_that_we_begin_is_one_for_induscode(induscode, tmp_path):
    (tmp_path / f"{SESSION}.ndjson").write_bytes(b"")
    with opened(tmp_path) as session:
        session.append_message("first")
        session.append_message(AssistantMessage(content="second", provider="p", model="m"))

        assert agree(induscode, session, tmp_path)["listed"] == {SESSION: 2}


# -- handing over ------------------------------------------------------------------------------------------


def seen_by(induscode: Ask, session: Session) -> dict[str, Any]:
    """What the program shows of the file of a session, which must be what we see in it."""
    path = Path(session.file or "")
    shown = induscode("look", directory=str(path.parent), session=path.stem)
    assert shown["path"] == session.path()
    assert shown["texts"] == [message_text(item.message) for item in session.context().messages]
    assert Session.open(path).path() == session.path()
    return shown


@pytest.mark.parity("IND-11", "IND-09")
@pytest.mark.parametrize("scope", ["path", "tree"])
def test_a_session_goes_from_induscode_to_us_and_back_with_everything_that_we_did(induscode, tmp_path, scope):
    """It writes, we append, branch, compact and fork; it opens both files and sees what we see."""
    made = induscode("write", directory=str(tmp_path), session=SESSION, steps=STEPS)["made"]
    with opened(tmp_path) as session:
        asked, _ = session.append_messages(["we ask", answer("we answer")])
        seen_by(induscode, session)
        session.branch(made[1])
        seen_by(induscode, session)
        session.append_messages(["another question", answer("another answer")])
        seen_by(induscode, session)
        session.append_compaction("what happened so far", session.path()[-1], 99)
        assert seen_by(induscode, session)["texts"] == ["what happened so far", "another answer"]
        session.append_message("go on")
        session.append_compaction("and since then", session.path()[-1], 99)
        assert seen_by(induscode, session)["texts"] == ["and since then", "go on"]
        session.append_message(answer("gladly"))

        fork = session.fork(scope=scope)
        older = session.fork(asked, scope=scope)

    for copy in (fork, older):
        seen_by(induscode, copy)
        assert copy.format == "induscode"
    assert len(older.path()) == len(STEPS) + 1
    listed = induscode("look", directory=str(tmp_path), session=SESSION)["listed"]
    assert {SESSION, older.id} <= set(listed)


@pytest.mark.parity("IND-11")
def test_the_entry_that_we_offer_is_where_the_user_of_induscode_was(induscode, tmp_path):
    """After going back and not going on, the file stands above its newest entry, which is offered."""
    written = induscode("write", directory=str(tmp_path), session=SESSION, steps=[*STEPS, ["branch", 1]])

    with opened(tmp_path) as session:
        assert session.path() == written["path"]
        assert session.newest_descendant() == written["made"][-1]
        session.branch(session.newest_descendant())

        assert seen_by(induscode, session)["path"] == written["made"]


def test_a_stale_head_is_put_right_by_going_to_where_we_stand(induscode, tmp_path):
    steps = [*STEPS, ["branch", 1], ["append", question("five")], ["append", answer("six")]]
    written = induscode("write", directory=str(tmp_path), session=SESSION, steps=steps)
    restarted = induscode("look", directory=str(tmp_path), session=SESSION)
    assert restarted["path"] != written["path"]

    with opened(tmp_path) as session:
        session.branch(session.leaf)

        assert seen_by(induscode, session)["path"] == written["path"]


@pytest.mark.parity("IND-12")
def test_a_new_session_of_induscode_lies_in_its_own_layout(induscode, tmp_path, monkeypatch):
    monkeypatch.setenv("INDUSAGI_HOME", str(tmp_path))
    monkeypatch.delenv("INDUSAGI_CODING_AGENT_DIR", raising=False)

    session = Session.create("/home/me/my_proj", format="induscode", clock=FixedClock(1_794_722_740_407))
    session.append_messages(["first", answer("second")])

    assert Path(session.file).parent == tmp_path / "sessions" / "--home-me-my-proj--"
    assert seen_by(induscode, session)["listed"] == {session.id: 2}


def test_what_induscode_writes_after_our_append_to_a_torn_file_stays_visible(induscode, tmp_path):
    induscode("write", directory=str(tmp_path), session=SESSION, steps=STEPS)
    with (tmp_path / f"{SESSION}.ndjson").open("ab") as file:
        file.write(b'{"schema":"indus/transcript@1","kind":"entry","id":"01M')
    with opened(tmp_path) as session:
        ours = session.append_message("behind the torn line")

    induscode("write", directory=str(tmp_path), session=SESSION, steps=[["append", answer("much later")]])

    shown = induscode("look", directory=str(tmp_path), session=SESSION)
    assert shown["path"][-2] == ours
    assert shown["texts"][-2:] == ["behind the torn line", "much later"]
