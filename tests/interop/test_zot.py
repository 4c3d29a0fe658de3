"""The real zot reads what we write, and nothing that we write is lost to a zot that runs at the same time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from branchline import Session
from branchline.conversion import convert
from branchline.entries import (
    AssistantMessage,
    Header,
    Image,
    Text,
    Thinking,
    UserMessage,
)
from branchline.errors import ReadOnly
from branchline.formats import ZOT
from interop.peers import GoPeer

CWD = "/home/u/project"


def texts(seen: dict[str, Any]) -> list[str]:
    return ["".join(block.get("text", "") for block in message["content"]) for message in seen["messages"]]


def test_what_a_zot_that_created_its_session_would_overwrite_is_refused(zot: GoPeer, tmp_path: Path):
    path = zot.ask("create", root=str(tmp_path), cwd=CWD)["path"]
    zot.ask("say", text="one")

    with Session.open(path) as session:
        with pytest.raises(ReadOnly, match=rf"zot \(process {zot.process.pid}\) has it open.*fork"):
            session.append_message("two, from elsewhere")
        assert session.read_only is not None
        with session.fork() as made:
            made.append_message("two, in a fork")
            fork = made.file
    zot.ask("say", text="three")
    zot.ask("close")

    seen = zot.ask("look", path=path, root=str(tmp_path), cwd=CWD)
    assert texts(seen) == ["one", "three"]
    with Session.open(path) as session:
        assert not session.findings
        session.append_message("four, once it is closed")
    assert fork is not None


def test_a_zot_that_resumed_its_session_appends_and_loses_nothing(zot: GoPeer, tmp_path: Path):
    path = zot.ask("create", root=str(tmp_path), cwd=CWD)["path"]
    zot.ask("say", text="one")
    zot.ask("close")
    zot.ask("resume", path=path)

    with Session.open(path) as session:
        session.append_message("two, from elsewhere")
    zot.ask("say", text="three")

    assert texts(zot.ask("look", path=path)) == ["one", "two, from elsewhere", "three"]


def converted(source: Session, place: Path) -> tuple[str, Any]:
    header = Header(id="c16e23b8-0dad-4288-853f-6657b00cae58", timestamp="2026-11-15T06:36:09.643Z", cwd=CWD)
    made = convert(source.transcript, ZOT, header)
    path = place / f"{ZOT.home.file_key(header)}.jsonl"
    path.write_bytes(made.data)
    return str(path), made.fidelity


def test_an_answer_of_thoughts_alone_is_no_empty_message_for_zot_and_the_report_says_so(
    zot: GoPeer, tmp_path: Path
):
    source = Session.in_memory()
    source.append_message("a question")
    source.append_message(
        AssistantMessage(content=(Thinking(thinking="hm"),), provider="p", model="m", stop_reason="aborted")
    )
    source.append_message("go on")

    path, fidelity = converted(source, tmp_path)

    assert texts(zot.ask("look", path=path)) == ["a question", "go on"]
    (note,) = fidelity.approximated
    assert note.why == "with thinking that zot does not read; omitted by zot, as it has no other content"
    with Session.open(path) as session:
        ours = [item.message for item in session.context().messages]
    assert ours == [item.message for item in source.context().messages]


def test_a_picture_that_zot_drops_is_in_the_report(zot: GoPeer, tmp_path: Path):
    source = Session.in_memory()
    good, bad = (Image(data=data, mime_type="image/png") for data in ("iVBORw0KGgo=", "not base64"))
    source.append_message(UserMessage(content=(Text(text="look"), good, bad)))

    path, fidelity = converted(source, tmp_path)

    (message,) = zot.ask("look", path=path)["messages"]
    assert [block.get("data") for block in message["content"]] == [None, "iVBORw0KGgo="]
    (note,) = fidelity.approximated
    assert note.why == "with an image that zot does not read: its data is not base64"


def test_a_new_session_survives_the_sweep_of_zot_until_its_first_message(
    zot: GoPeer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("ZOT_HOME", str(tmp_path))
    with Session.create(CWD, format="zot", title="A title", persist="always") as session:
        path = session.file
    assert path is not None

    assert not zot.ask("sweep", root=str(tmp_path), cwd=CWD).get("paths")
    with Session.open(path) as session:
        session.append_message("hello")

    assert zot.ask("sweep", root=str(tmp_path), cwd=CWD)["paths"] == [path]
    seen = zot.ask("look", path=path, root=str(tmp_path), cwd=CWD)
    assert (seen["title"], texts(seen)) == ("A title", ["hello"])
