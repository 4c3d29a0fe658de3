"""A home directory with the sessions of every program, each where that program keeps them.

The files are samples of the corpus with another working directory in them; the newest file of each program
is a minute older than that of the program before it, so that lists have one order.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from branchline import Session, places
from branchline.clock import FixedClock
from branchline.plugins.formats import formats
from support import CORPUS

PROGRAMS = (
    "branchline",
    "pi",
    "oh-my-pi",
    "operator",
    "induscode",
    "zot",
    "piglet",
    "claude-code",
    "codex",
)
ELSEWHERE = "/home/dev/elsewhere"
NOW = 1_794_800_000
_CWD = re.compile(rb'"cwd":\s*"[^"]*"')


class Home(NamedTuple):
    """Where it is, for which working directory, and the files of each program there."""

    path: Path
    cwd: str
    files: dict[str, list[Path]]
    """The sessions of the working directory."""
    elsewhere: dict[str, list[Path]]
    """Those of another one, in folders that both share where the program has such."""
    subagents: dict[str, list[Path]]
    earlier: dict[str, list[Path]]
    """Files that another one continues as the same session."""

    def of(self, agent: str, number: int = 0) -> Path:
        return self.files[agent][number]


def build_home(path: Path, cwd: str) -> Home:
    """Fill a home directory."""
    home = Home(path, cwd, {name: [] for name in PROGRAMS}, {name: [] for name in PROGRAMS}, {}, {})
    makers: dict[str, Callable[[Home], None]] = {
        "branchline": _ours,
        "pi": _pi,
        "oh-my-pi": _oh_my_pi,
        "operator": _operator,
        "induscode": _induscode,
        "zot": _zot,
        "piglet": _piglet,
        "claude-code": _claude_code,
        "codex": _codex,
    }
    for name in PROGRAMS:
        makers[name](home)
    for file in home.path.rglob("*.jsonl*"):  # sub-agents too: no file is newer than NOW, whatever the date
        os.utime(file, (NOW - 86_400, NOW - 86_400))
    for number, name in enumerate(PROGRAMS):
        for older, file in enumerate([*home.files[name], *home.elsewhere[name]]):
            moment = NOW - 60 * number - 3600 * older
            os.utime(file, (moment, moment))
    return home


def place_sample(sample: Path, target: Path, cwd: str) -> Path:
    """A copy of a sample that says another working directory."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(_CWD.sub(b'"cwd":' + json.dumps(cwd).encode(), sample.read_bytes()))
    return target


def folder(home: Home, agent: str, cwd: str) -> Path:
    """The folder that a program has for a working directory."""
    format_ = next(one for one in formats() if one.name == agent)
    found = format_.home.directory(cwd, {}, str(home.path))
    assert found is not None
    return Path(found)


def _ours(home: Home) -> None:
    for cwd, files in ((home.cwd, home.files), (ELSEWHERE, home.elsewhere)):
        directory = places.session_directory(cwd, {}, str(home.path))
        clock = FixedClock(1_767_225_600_000, seed=len(cwd))
        with Session.create(cwd, directory=directory, id=f"ours{len(cwd)}", clock=clock) as session:
            session.append_message("Why is the sky blue?")
            session.append_message({"role": "assistant", "content": [{"type": "text", "text": "Air."}]})
        assert session.file is not None
        files["branchline"].append(Path(session.file))


def _pi(home: Home) -> None:
    # Two working directories that pi gives one folder: a-b and a/b are the same to it.
    shared = folder(home, "pi", home.cwd)
    golden = CORPUS / "pi" / "golden"
    for name in ("g004", "g006"):
        home.files["pi"].append(place_sample(golden / f"{name}.jsonl", shared / f"{name}.jsonl", home.cwd))
    other = home.cwd.replace("/", "-").replace("-", "/", 1)
    home.elsewhere["pi"].append(place_sample(golden / "g007.jsonl", shared / "g007.jsonl", other))


def _oh_my_pi(home: Home) -> None:
    samples, own = CORPUS / "oh-my-pi", folder(home, "oh-my-pi", home.cwd)
    name = "2026-11-15T07-25-31-381Z_01a1de18-d375-7203-a171-ae8a7c213d6f"
    home.files["oh-my-pi"].append(place_sample(samples / "branches.jsonl", own / f"{name}.jsonl", home.cwd))
    home.elsewhere["oh-my-pi"].append(
        place_sample(
            samples / "untitled.jsonl", folder(home, "oh-my-pi", ELSEWHERE) / "untitled.jsonl", ELSEWHERE
        )
    )
    home.subagents["oh-my-pi"] = [
        place_sample(samples / "subagent.jsonl", own / name / "Scout.jsonl", home.cwd)
    ]


def _operator(home: Home) -> None:
    root = home.path / ".operator" / "profiles"
    for sample in sorted((CORPUS / "operator" / "profiles").rglob("*.jsonl")):
        target = root / sample.relative_to(CORPUS / "operator" / "profiles")
        other = b'"cwd":"/home/dev/other"' in sample.read_bytes()[:400]
        place_sample(sample, target, ELSEWHERE if other else home.cwd)
        data = target.read_bytes().replace(b"/home/dev/.operator", str(home.path / ".operator").encode())
        target.write_bytes(data)
        (home.elsewhere if other else home.files)["operator"].append(target)


def _induscode(home: Home) -> None:
    samples = sorted((CORPUS / "induscode" / "sessions" / "--home-dev-acme--").glob("s_*.ndjson"))
    for sample, cwd, files in zip(samples, (home.cwd, ELSEWHERE), (home.files, home.elsewhere), strict=False):
        files["induscode"].append(place_sample(sample, folder(home, "induscode", cwd) / sample.name, cwd))


def _zot(home: Home) -> None:
    samples = CORPUS / "zot" / "sessions"
    for sample in sorted((samples / "decceffad0360217").glob("*.jsonl"))[:8]:
        home.files["zot"].append(place_sample(sample, folder(home, "zot", home.cwd) / sample.name, home.cwd))
    for sample in (samples / "2031976951db625b").glob("*.jsonl"):
        typed = home.cwd + "/"
        home.files["zot"].append(place_sample(sample, folder(home, "zot", typed) / sample.name, typed))
    for sample in (samples / "41a3f6c1c774149b").glob("*.jsonl"):
        home.elsewhere["zot"].append(
            place_sample(sample, folder(home, "zot", ELSEWHERE) / sample.name, ELSEWHERE)
        )


def _piglet(home: Home) -> None:
    root = home.path / ".config" / "piglet" / "sessions"
    for number, sample in enumerate(sorted((CORPUS / "piglet" / "sessions").glob("*.jsonl"))):
        cwd, files = (ELSEWHERE, home.elsewhere) if number == 0 else (home.cwd, home.files)
        files["piglet"].append(place_sample(sample, root / sample.name, cwd))


def _claude_code(home: Home) -> None:
    samples, own = CORPUS / "claude-code" / "synthetic", folder(home, "claude-code", home.cwd)
    for sample in sorted((samples / "lineage").glob("*.jsonl")):
        home.files["claude-code"].append(place_sample(sample, own / sample.name, home.cwd))
    with_agents = samples / "sub-agents"
    for sample in sorted(with_agents.rglob("*")):
        target = own / sample.relative_to(with_agents)
        if sample.suffix == ".jsonl":
            place_sample(sample, target, home.cwd)
            # Samples share made-up ids; real ones are shared by copies alone.
            target.write_bytes(target.read_bytes().replace(b'"u1"', b'"w1"'))
            agent = sample.name.startswith("agent-")
            (home.subagents.setdefault("claude-code", []) if agent else home.files["claude-code"]).append(
                target
            )
    other = home.cwd.replace("/", "-").replace("-", "/", 1)
    titles = next((samples / "titles").glob("*.jsonl"))
    home.elsewhere["claude-code"].append(place_sample(titles, own / titles.name, other))


def _codex(home: Home) -> None:
    samples, root = CORPUS / "codex" / "synthetic", home.path / ".codex"
    for sample in sorted((samples / "threads").rglob("rollout-*.jsonl")):
        target = place_sample(sample, root / sample.relative_to(samples / "threads"), home.cwd)
        if list(sample.parent.glob(f"*{sample.stem[-36:]}_*.jsonl")):
            home.earlier["codex"] = [target]
            continue
        if '"subagent":' in target.read_text(encoding="utf-8", errors="replace")[:1000]:
            home.subagents["codex"] = [target]
        else:
            home.files["codex"].append(target)
    (root / "session_index.jsonl").write_bytes((samples / "threads" / "session_index.jsonl").read_bytes())
    first, *_rest, last = sorted((samples / "lineage").rglob("rollout-*.jsonl"))
    home.files["codex"].append(place_sample(first, root / "archived_sessions" / first.name, home.cwd))
    home.elsewhere["codex"].append(
        place_sample(last, root / last.relative_to(samples / "lineage"), ELSEWHERE)
    )


def compressed(home: Home) -> Path:
    """A compressed rollout beside the others; what it says about its working directory is in the sample."""
    sample = next((CORPUS / "codex" / "synthetic" / "compressed").rglob("*.zst"))
    target = home.path / ".codex" / "sessions" / "2026" / "09" / "01" / sample.name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(sample.read_bytes())
    os.utime(target, (NOW - 90_000, NOW - 90_000))
    return target
