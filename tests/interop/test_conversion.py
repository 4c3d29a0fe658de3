"""Real programs open what was converted for them, and see the conversation that it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from branchline import Session
from branchline.conversion import convert
from branchline.formats import INDUSCODE, OH_MY_PI, PI, Format
from formats.conversion_kit import HEADER, read, said, samples, written
from interop.peers import Peer
from interop.test_induscode import induscode  # noqa: F401  a fixture
from interop.test_oh_my_pi import ask as ask_oh_my_pi
from interop.test_oh_my_pi import home, our_view, view_of  # noqa: F401  a fixture
from interop.test_pi import ask as ask_pi
from interop.test_pi import our_view as our_pi_view
from interop.test_pi import view_of as pi_view_of

SOURCES = ["zot", "piglet", "operator", "claude-code", "codex", "induscode", "oh-my-pi", "pi"]
MOST = 2  # files of each program: every one is a start of the other


def healthy(program: str, target: Format) -> list[Any]:
    """The longest samples of a program without damage."""
    found = [read(path.read_bytes(), name=str(path)) for path in samples(program)]
    whole = [one for one in found if not one.findings and one.format is not target and said(one)]
    return sorted(whole, key=lambda one: -len(one.tree))[:MOST]


def kept(target: Format, data: bytes, place: Path) -> Session:
    place.mkdir(parents=True, exist_ok=True)
    path = place / f"{target.home.file_key(HEADER)}{target.traits.suffix}"
    path.write_bytes(data)
    return Session.open(path)


def heard(view: dict[str, Any]) -> dict[str, Any]:
    """The path, the labels, and who says what. A source may not tell which model answered."""
    said_by_whom = [message[:5] for message in view["context"]]
    return {name: view[name] for name in ("path", "labels", "entries", "parent")} | {"words": said_by_whom}


@pytest.mark.parametrize("program", SOURCES[:-1])
def test_pi_opens_what_was_converted(newest_pi: Peer, tmp_path: Path, program: str):
    for source in healthy(program, PI):
        with kept(PI, convert(source, PI, HEADER).data, tmp_path) as session:
            assert heard(pi_view_of(ask_pi(newest_pi, open=session.file))) == heard(our_pi_view(session))


@pytest.mark.parametrize("program", SOURCES)
def test_oh_my_pi_opens_what_was_converted(oh_my_pi: Peer, home: Path, program: str):  # noqa: F811
    for source in healthy(program, OH_MY_PI):
        place = home / "agent" / "sessions" / "--home-u-project--"
        with kept(OH_MY_PI, convert(source, OH_MY_PI, HEADER).data, place) as session:
            seen = view_of(ask_oh_my_pi(oh_my_pi, home, open=session.file))
            assert heard(seen) == heard(our_view(session))


@pytest.mark.parametrize("program", SOURCES)
def test_induscode_opens_what_was_converted(induscode: Any, tmp_path: Path, program: str):  # noqa: F811
    for source in healthy(program, INDUSCODE):
        data = convert(source, INDUSCODE, HEADER).data
        with kept(INDUSCODE, data, tmp_path) as session:
            shown = induscode("look", directory=str(tmp_path), session=INDUSCODE.home.file_key(HEADER))

            assert shown["path"] == session.path()
            assert said(written(data, INDUSCODE)) == said(session.transcript)
