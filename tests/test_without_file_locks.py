"""A Python without `fcntl`, as on Windows: what needs no file locks works, the rest says what to do."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from stores.postgres_server import postgres_address, postgres_dsn
from support import ROOT

__all__ = ["postgres_address", "postgres_dsn"]

HIDDEN = ("fcntl", "pwd", "grp", "termios", "resource", "tty", "pty")
HIDE = f"""
import builtins, os, sys
for name in {("pread", "pwrite", "fchmod", "fchown", "fdatasync", "O_NOCTTY")!r}:
    delattr(os, name)
original = builtins.__import__
def hiding(name, globals=None, locals=None, fromlist=(), level=0):
    if name in {HIDDEN!r} and (globals or {{}}).get("__name__", "").startswith("branchline"):
        raise ImportError(f"No module named {{name!r}}", name=name)
    return original(name, globals, locals, fromlist, level)
builtins.__import__ = hiding
"""


@pytest.fixture
def python(tmp_path):
    """Run a program without the modules; return what it printed."""

    def run(code: str, *arguments: str, hide: str = HIDE, rc: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-c", hide + code, *map(str, arguments)],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            cwd=tmp_path,
            env={
                "PYTHONPATH": str(ROOT / "src"),
                "HOME": str(tmp_path),
                "BRANCHLINE_HOME": str(tmp_path / "home"),
                "PATH": "/usr/bin:/bin",
            },
        )
        assert done.returncode == rc, done.stderr
        assert "Traceback" not in done.stderr
        return done

    return run


TALK = """
import json, sys
from branchline import Session, SessionLibrary
with Session.in_memory() as session:
    first = session.append_message("hello")
    session.append_message({"role": "assistant", "content": "hi"})
    session.branch(first)
    print(len(session.entries()))
with SessionLibrary(sys.argv[1]) as library:
    with library.get_or_create("talk", on_conflict="append") as session:
        session.append_messages(["one", {"role": "assistant", "content": "two"}])
        session.set_title("Title")
    with library.get_or_create("talk", on_conflict="append") as session:
        session.append_message("three")
        with session.fork() as fork:
            fork.append_message("four")
    print(json.dumps([sorted(row.title or '' for row in library.list(deep=True)), len(library.search("four", budget=60))]))
    library.remove("talk")
    print(len(library.list()))
"""


def test_a_session_in_a_database_is_checked(python, tmp_path):
    code = """
import sys
from branchline import Session, SessionLibrary
with SessionLibrary(sys.argv[1]) as library:
    with library.get_or_create("talk") as session:
        session.append_messages(["one", {"role": "assistant", "content": "two"}])
        print(session.check().status)
        print(Session.open(session.file).check().problem)
"""
    assert python(code, tmp_path / "app.db").stdout == "clean\nNone\n"


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_sessions_in_memory_and_in_databases_work(python, request, tmp_path, store):
    where = tmp_path / "app.db" if store == "sqlite" else request.getfixturevalue("postgres_address")

    lines = python(TALK, where).stdout.splitlines()

    assert int(lines[0]) >= 2
    assert json.loads(lines[1]) == [["Title", "Title"], 1]
    assert lines[2] == "1"


def test_the_module_alone_may_be_missing(python, tmp_path):
    hide = "import sys\nsys.modules['fcntl'] = None\n"

    assert python(TALK, tmp_path / "app.db", hide=hide).stdout.splitlines()[2] == "1"


@pytest.mark.parametrize(
    ("module", "framework"),
    [
        ("adk", "google.adk"),
        ("agent_framework", "agent_framework"),
        ("claude_agent", "claude_agent_sdk"),
        ("langgraph", "langgraph.checkpoint"),
        ("openai_agents", "agents"),
        ("pydantic_ai", "pydantic_ai"),
    ],
)
def test_the_adapters_of_frameworks_can_be_imported(python, module, framework):
    pytest.importorskip(framework, reason=f"{framework} is not installed")
    python(f"import branchline.integrations.{module}")


def test_every_module_of_the_library_can_be_imported(python):
    code = """
import importlib, pkgutil, branchline
for found in pkgutil.walk_packages(branchline.__path__, "branchline."):
    if found.name.endswith("__main__"):
        continue
    try:
        importlib.import_module(found.name)
    except ImportError as problem:
        if "pip install" not in str(problem):
            raise
"""
    python(code)


REFUSED = {
    "a new session in a file": "Session.create('p', directory='talks')",
    "a session in a file": "Session.open('talk.jsonl')",
    "a directory": "SessionLibrary('talks').list()",
    "get_or_create": "SessionLibrary('talks').get_or_create('x')",
    "the index": "SessionLibrary('app.db').update_index()",
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_needs_file_locks_says_so_in_one_sentence(python, tmp_path, what):
    line = '{"type":"session","version":3,"id":"t","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/x"}\n'
    (tmp_path / "talk.jsonl").write_text(line)
    code = f"""
from branchline import BranchlineError, Session, SessionLibrary
try:
    {REFUSED[what]}
except BranchlineError as problem:
    print(problem)
"""

    said = python(code).stdout

    assert "no POSIX file locks" in said
    assert "WSL" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("arguments", [["ls"], ["ls", "--store", "app.db"], ["index"], ["web"], ["chat"], []])
def test_the_command_line_says_so_in_one_sentence(python, arguments):
    code = f"import sys; sys.argv[1:] = {arguments!r}\nfrom branchline.cli import main\nmain()"

    done = python(code, rc=1)

    assert done.stdout == ""
    assert done.stderr.startswith(
        "branchline: cannot run the command line: this system has no POSIX file locks"
    )
    assert "WSL" in done.stderr
    assert done.stderr.count("\n") == 1
