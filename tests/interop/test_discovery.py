"""Sessions are found where the real pi and the real oh-my-pi put them, nobody telling them where."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from branchline import SessionLibrary
from interop.peers import Peer
from interop.scenarios import assistant

HERE = Path(__file__).parent
STEPS = [
    ["appendMessage", {"role": "user", "content": [{"type": "text", "text": "Hello"}], "timestamp": 1}],
    ["appendMessage", assistant("Good day")],
]


def written(peer: Peer, driver: str, cwd: Path, environment: dict[str, str]) -> str:
    """Let a program hold a short conversation in a directory, and say where the file is."""
    wish = json.dumps({"create": [str(cwd)], "steps": STEPS})
    seen: Any = peer.run(HERE / driver, text=wish, environment=environment)
    assert Path(seen["file"]).exists()
    return str(seen["file"])


@pytest.mark.parametrize("moved", [False, True])
def test_what_pi_keeps_for_a_directory_is_found(pi: Peer, tmp_path: Path, moved: bool):
    cwd, home = tmp_path / "my project" / "a-b", tmp_path / "home"
    cwd.mkdir(parents=True)
    home.mkdir()
    moves = {"PI_CODING_AGENT_DIR": str(tmp_path / "elsewhere") if moved else str(home / ".pi" / "agent")}
    file = written(pi, "pi.mjs", cwd, {"HOME": str(home), **moves})

    found = SessionLibrary.everywhere(cwd, agents=["pi"], environment=moves if moved else {}, home=home).list(
        deep=True
    )

    assert [(row.path, row.agent, row.first_prompt, row.messages) for row in found] == [
        (file, "pi", "Hello", 2)
    ]


@pytest.mark.parametrize("below_home", [False, True])
def test_what_oh_my_pi_keeps_for_a_directory_is_found(oh_my_pi: Peer, tmp_path: Path, below_home: bool):
    home = tmp_path / "home"
    cwd = (home if below_home else tmp_path) / "code" / "my project"
    cwd.mkdir(parents=True)
    home.mkdir(exist_ok=True)
    environment = {
        "HOME": str(home),
        "PI_CODING_AGENT_DIR": "",
        "XDG_DATA_HOME": "",
        "TMPDIR": str(home / "t"),
    }
    file = written(oh_my_pi, "oh_my_pi.mjs", cwd, environment)

    found = SessionLibrary.everywhere(cwd, agents=["oh-my-pi"], environment=environment, home=home).list(
        deep=True
    )

    assert [(row.path, row.agent, row.first_prompt) for row in found] == [(file, "oh-my-pi", "Hello")]
