"""No name in a session leads out of the folder in which a conversion or an export puts its files."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
from pathlib import Path

import pytest

from branchline import Session
from branchline.actions.convert import TARGETS, ConvertRequest, convert
from branchline.actions.export import ExportRequest, export, export_branches
from branchline.errors import BranchlineError

IDS = (
    "../../../../evil",
    "{outside}/evil",
    "a/b",
    "..",
    ".",
    ".hidden",
    "x\n\x1b[31m",
    "A" * 300,
    "-rf",
    "a\\..\\b",
    "a\0b",
    "é/../é",
    "0197f3a0-0000-7000-8000-000000000001/../../../evil",
)
CWDS = ("../../../evil", "/..", "/tmp/\0x", "/" + "d" * 5000, "", "--evil", "/a/../../b", "~/../evil")
TIMES = ("../../../evil", "9999999-01-01T00:00:00Z", "2026-01-01T00:00:00/../../../../../evil", "")
TITLES = ("../../evil", "/evil", "..\n")
HOSTILE = (
    *({"id": one} for one in IDS),
    *({"cwd": one} for one in CWDS),
    *({"timestamp": one} for one in TIMES),
    *({"title": one} for one in TITLES),
)


def source(path: Path, fields: dict[str, str], outside: Path) -> Path:
    good = {
        "id": "0197f3a0-0000-7000-8000-000000000001",
        "timestamp": "2026-01-01T00:00:00.000Z",
        "cwd": "/tmp/x",
    }
    title = fields.get("title")
    named = {key: value.replace("{outside}", str(outside)) for key, value in fields.items() if key != "title"}
    lines: list[object] = [{"type": "session", "version": 3} | good | named]
    time = "2026-01-01T00:00:01.000Z"
    for number, (role, parent) in enumerate((("user", None), ("assistant", "e0"))):
        message = {"role": role, "content": "hello", "timestamp": 1}
        lines.append(
            {"type": "message", "id": f"e{number}", "parentId": parent, "timestamp": time, "message": message}
        )
    if title is not None:
        lines.append({"type": "session_info", "id": "t", "parentId": "e1", "timestamp": time, "name": title})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def everything(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


@pytest.mark.parametrize("to", TARGETS)
def test_no_target_writes_outside_its_folder(
    to: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in list(os.environ):
        if name.startswith(("XDG_", "BRANCHLINE_", "PI_", "COPILOT_", "CODEX_", "CLAUDE_", "ZOT_", "QWEN_")):
            monkeypatch.delenv(name)
    for number, fields in enumerate(HOSTILE):
        top = tmp_path / str(number)
        home, out = top / "a" / "b" / "c" / "home", top / "a" / "b" / "c" / "out"
        home.mkdir(parents=True)
        out.mkdir()
        monkeypatch.setenv("HOME", str(home))
        file = source(top / "a" / "source.jsonl", fields, top)
        before = everything(top)
        with contextlib.suppress(BranchlineError), Session.open(file) as session:
            for same, place in itertools.product((True, False), ("install", "directory", "file")):
                given = {"directory": out, "file": out / f"named-{same}.jsonl"}.get(place)
                request = ConvertRequest(to=to, same_id=same, install=place == "install", output=given)
                with contextlib.suppress(BranchlineError, OSError):
                    made = convert(session, request)
                    for one in made.files if place == "install" else ():
                        agent = Path(os.path.relpath(one.path, home)).parts
                        assert ".." not in agent
                        assert agent[0].startswith(".")

        new = everything(top) - before
        assert {name for name in new if not name.startswith(("a/b/c/home/.", "a/b/c/out/"))} == set()
        assert all(path.is_file() for path in out.iterdir()), "a name made a folder below the output"


@pytest.mark.parametrize("identity", IDS)
def test_an_id_that_is_a_path_is_refused_before_anything_is_written(
    identity: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "a" / "home"
    home.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("COPILOT_HOME", raising=False)
    file = source(tmp_path / "source.jsonl", {"id": identity}, tmp_path)
    harmless = identity == "-rf"

    with contextlib.ExitStack() as stack:
        if not harmless:
            stack.enter_context(pytest.raises(BranchlineError))
        with Session.open(file) as session:
            convert(session, ConvertRequest(to="copilot", same_id=True, install=True))

    made = [name for name in everything(tmp_path) if name.endswith("events.jsonl")]
    assert made == (["a/home/.copilot/session-state/-rf/events.jsonl"] if harmless else [])


@pytest.mark.parametrize("kind", ["jsonl", "md", "html"])
def test_an_export_into_a_directory_stays_in_it(kind: str, tmp_path: Path) -> None:
    for number, fields in enumerate(HOSTILE):
        top = tmp_path / str(number)
        out = top / "a" / "out"
        out.mkdir(parents=True)
        file = source(top / "a" / "source.jsonl", fields, top)
        before = everything(top)
        with contextlib.suppress(BranchlineError), Session.open(file) as session:
            request = ExportRequest(format=kind)  # type: ignore[arg-type]
            export(session, out, request)
            export_branches(session, out, request)

        assert {name for name in everything(top) - before if not name.startswith("a/out/")} == set()
