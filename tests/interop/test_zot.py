"""The real zot reads what we write, and nothing that we write is lost to a zot that runs at the same time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from branchline import Session
from branchline.errors import ReadOnly
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
