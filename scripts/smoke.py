"""Smoke test of an installed branchline: `python -I smoke.py base` without extras, `all` with all of them.

Runs with the interpreter of a clean environment and imports nothing but branchline and the standard library.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path


def run(*arguments: str, words: str = "") -> str:
    """Return the output of the installed command."""
    command = Path(sys.executable).with_name("branchline")
    done = subprocess.run(
        [command, *arguments], input=words, capture_output=True, text=True, timeout=60, check=False
    )
    if done.returncode:
        sys.exit(f"`branchline {' '.join(arguments)}` exited with {done.returncode}:\n{done.stderr}")
    return done.stdout


def check_import(*, extras: bool) -> None:
    """Check that only msgspec is loaded, and typing_extensions, which msgspec imports if installed."""
    before = set(sys.modules)
    import branchline

    assert branchline.__file__ is not None
    assert Path(branchline.__file__).is_relative_to(sys.prefix), branchline.__file__
    assert branchline.Session.in_memory().append_message("hello")
    loaded = {name.partition(".")[0] for name in set(sys.modules) - before} - sys.stdlib_module_names
    expected = {"branchline", "msgspec"} | ({"typing_extensions"} if extras else set())
    assert loaded == expected, f"a session in memory loads {sorted(loaded)}"
    for name in branchline.__all__:
        getattr(branchline, name)


def check_session(directory: Path) -> None:
    from branchline import AssistantMessage, Session, Text

    with Session.create("/project", directory=directory) as session:
        question = session.append_message("Why is the sky blue?")
        session.append_message(AssistantMessage(content=(Text(text="Rayleigh scattering."),)))
        session.branch(question)
        session.append_message("In one word?")
        with Session.open(session.file) as again:
            assert again.path() == session.path()
            assert again.context() == session.context()
            assert len(again.children(question)) == 2
        assert "Rayleigh scattering." in run("export", str(session.file), "--format", "jsonl")


def check_commands() -> None:
    from branchline import __version__

    assert run("--version") == f"branchline {__version__}\n"
    assert "Usage: branchline" in run("--help")
    assert "Release 0.1" in run("--demo", "ls")
    assert "Usage: branchline browse" in run("--demo", "browse", "--help")


def check_extras(*, installed: bool) -> None:
    from branchline import UnknownModel
    from branchline.models import model_by_name

    assert (find_spec("textual") is not None) is installed
    missing = ""
    try:
        model_by_name("openai:gpt-5")
    except UnknownModel as problem:
        missing = str(problem)
    assert (".[chat]" in missing) is not installed, missing
    if installed:
        import zstandard

        from branchline.tui.app import BranchlineApp

        assert zstandard.decompress(zstandard.compress(b"words")) == b"words"
        assert issubclass(BranchlineApp, object)
        assert "You said: hello there" in run("chat", words="hello there\n")


def main() -> None:
    extras = sys.argv[1:] == ["all"]
    with tempfile.TemporaryDirectory() as home:
        os.environ["HOME"] = home
        os.environ["OPENAI_API_KEY"] = "unused"
        os.chdir(home)
        check_import(extras=extras)
        check_commands()
        check_session(Path(home, "sessions"))
        check_extras(installed=extras)


main()
