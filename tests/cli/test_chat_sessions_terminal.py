"""Sessions in a running chat, in a real terminal: fork, the tree of forks, switching, and zot past its limit."""

from __future__ import annotations

from pathlib import Path

import pytest

from branchline import Session, SessionLibrary
from branchline.entries import message_text
from cli.chat_terminal import READY

pytest.importorskip("prompt_toolkit")


def texts(file: str) -> list[str]:
    with Session.open(file) as session:
        return [message_text(item.message) for item in session.context().messages]


def files(world: Path) -> dict[str, str]:
    """The sessions of this directory by title, else by first prompt."""
    rows = SessionLibrary.everywhere(world).list(deep=True)
    return {row.title or row.first_prompt or row.id: row.path or "" for row in rows}


@pytest.mark.parity("ZOT-04", "ZOT-18")
def test_fork_tree_and_switching_as_in_zot(start, world):
    terminal = start()
    terminal.say("offline: say one")
    terminal.wait("^one")
    terminal.wait(READY)
    terminal.say("/name Parent")
    terminal.wait("^Parent")
    terminal.wait(READY)
    terminal.say("offline: say two")
    terminal.wait("^two")
    terminal.wait(READY)
    parent = files(world)["Parent"]
    before = Path(parent).read_bytes()

    terminal.say("/session fork")
    terminal.wait("Fork after which turn")
    terminal.write("one")
    terminal.wait(r"^❯ offline: say one")
    terminal.press("Enter")
    terminal.wait("you are in the new session|forked")
    terminal.wait(READY)
    terminal.say("/name Child")
    terminal.wait("^Child")
    terminal.wait(READY)
    terminal.say("offline: say three")
    terminal.wait("^three")
    terminal.wait(READY)
    child = files(world)["Child"]
    assert texts(child) == ["offline: say one", "one", "offline: say three", "three"]
    assert Path(parent).read_bytes() == before

    terminal.say("/session tree")  # the current one is under the cursor, below its parent
    shown = terminal.wait(r"^❯ .* └─ Child  \[current\]")
    assert "Parent" in shown
    terminal.press("Escape")
    terminal.wait("nothing selected; you stay in this session")

    terminal.say("/session tree")
    terminal.wait(r"^❯ .* └─ Child  \[current\]")
    terminal.press("Up")
    terminal.wait(r"^❯ .* Parent")
    terminal.press("Enter")
    terminal.wait(r"session .* \(Parent\), 2 turns")
    terminal.say("offline: say back in the parent")
    terminal.wait("^back in the parent")
    terminal.wait(READY)
    assert texts(parent)[-1] == "back in the parent"

    terminal.say("/sessions")
    terminal.wait(r"^❯ .* Parent  \[current\]")
    terminal.write("Child")
    terminal.wait(r"^❯ .* Child$")
    terminal.press("Enter")
    terminal.wait(r"session .* \(Child\), 2 turns")

    terminal.say("/session frok")
    terminal.wait("unknown operation 'frok'; /session takes fork, tree, export, import")
    terminal.wait(READY)
    terminal.say("/session export talk.jsonl")
    terminal.wait("exported to")
    terminal.wait(READY)
    terminal.say("/session import talk.jsonl")
    terminal.wait("imported")
    terminal.wait(r"session .* \(Child\), 2 turns")
    terminal.say("offline: say in the copy")
    terminal.wait("^in the copy")
    terminal.wait(READY)
    assert str(world) not in (world / "talk.jsonl").read_text()
    assert texts(child)[-1] == "three"
    terminal.say("/quit")
    terminal.wait("^code 0")


@pytest.mark.parity("IND-21")
def test_the_picker_of_sessions_renames_deletes_and_toggles_its_scope(start, world):
    for title in ("Alpha", "Beta"):
        with Session.create(world) as session:
            session.append_message(f"about {title}")
            session.append_message({"role": "assistant", "content": [{"type": "text", "text": "yes"}]})
            session.set_title(title)
    other = world.parent / "other"
    other.mkdir()
    with Session.create(other) as session:
        session.append_message("about Gamma")
        session.append_message({"role": "assistant", "content": [{"type": "text", "text": "yes"}]})
        session.set_title("Gamma")
    terminal = start()

    terminal.say("/sessions")
    shown = terminal.wait(r"Tab: all directories · Ctrl-R: rename · Ctrl-X: delete")
    assert "Gamma" not in shown
    terminal.press("Tab")
    terminal.wait("Gamma")
    terminal.press("Tab")
    terminal.wait(r"\(this directory\)")
    terminal.write("Alpha")
    terminal.wait(r"^❯ .*Alpha")
    terminal.press("C-r")
    terminal.wait("New title:")
    terminal.write("Omega")
    terminal.wait("New title: .*Omega")
    terminal.press("Enter")
    terminal.write("Beta")
    terminal.wait(r"^❯ .*Beta")
    terminal.press("C-x")
    terminal.wait("to the trash")
    terminal.wait("Ctrl-Z: undo")
    assert set(files(world)) == {"Omega"}
    terminal.press("C-z")
    terminal.wait("restored")
    assert set(files(world)) == {"Omega", "Beta"}
    terminal.press("Escape")
    terminal.wait("nothing selected; you stay in this session")
    terminal.say("/quit")
    terminal.wait("^code 0")


@pytest.mark.parity("ZOT-19")
def test_a_zot_session_past_its_limit_goes_on_in_compacted_forks(start, world, monkeypatch):
    """It holds more than the model takes, and is filled again and again: every prompt is answered."""
    monkeypatch.setenv("BRANCHLINE_RESERVE_TOKENS", "30000")  # of 32,000
    monkeypatch.setenv("BRANCHLINE_KEEP_RECENT_TOKENS", "300")
    with Session.create(world, format="zot") as session:
        for number in range(20):
            session.append_message(f"prompt {number} " + "word " * 1_600)
            session.append_message({"role": "assistant", "content": [{"type": "text", "text": "fine"}]})
        first = session.file
    assert first is not None
    before = Path(first).read_bytes()
    terminal = start("--resume", first)
    terminal.wait(r"context \S+ 40\.\dk of 32")  # past the limit

    for number in range(8):
        terminal.write("long " * 300)
        terminal.press("M-Enter")
        terminal.say(f"offline: say answer {number}")
        terminal.wait(rf"^answer {number}")
        terminal.wait(READY)
    told = terminal.history()
    terminal.say("/quit")
    terminal.wait("^code 0")

    assert told.count("the context was compacted into a fork: you continue in session") >= 2
    assert "fork_compacted" not in told
    assert "cannot hold" not in told
    assert Path(first).read_bytes().startswith(before)  # the prompt that did not fit is in it too
    forest = SessionLibrary.everywhere(world).forest()
    assert [item.depth for item in forest] == list(range(len(forest)))  # each a fork of the one before
    assert forest[0].row.path == first
    assert texts(forest[-1].row.path)[-1] == "answer 7"
    said = {text for item in forest for text in texts(item.row.path)}
    assert {f"answer {number}" for number in range(8)} <= said


@pytest.mark.parity("ZOT-19")
def test_going_back_in_a_zot_session_forks_and_gives_the_prompt_back(start, world):
    with Session.create(world, format="zot") as session:
        for words in ("first", "second"):
            session.append_message(f"offline: say {words}")
            session.append_message({"role": "assistant", "content": [{"type": "text", "text": words}]})
        file = session.file
    assert file is not None
    before = Path(file).read_bytes()
    terminal = start("--resume", file)

    terminal.say("/undo")
    terminal.wait("zot sessions have no branches: you continue in the fork")
    terminal.wait(r"^❯ offline: say second")
    terminal.say(" attempt")
    terminal.wait("^second attempt")
    terminal.wait(READY)
    terminal.say("/retry")
    terminal.wait("you continue in the fork")
    terminal.wait(READY)
    terminal.say("/fork --native @leaf")
    terminal.wait("you are in the new session|forked")
    terminal.wait(READY)
    terminal.say("/label here")
    terminal.wait("labelled")
    terminal.wait(READY)
    terminal.say("/quit")
    terminal.wait("^code 0")

    assert Path(file).read_bytes() == before
    formats = {row.format for row in SessionLibrary.everywhere(world).list(deep=True)}
    assert formats == {"zot", "pi"}
