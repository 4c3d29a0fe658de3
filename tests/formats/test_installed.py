"""Formats of other packages: found when they are needed, and never in the way of those that are here."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from branchline import Session, SessionLibrary
from branchline.entries import message_text
from branchline.errors import NotASession
from branchline.plugins.formats import detect, formats, installed_formats
from homes import PROGRAMS, build_home
from support import ROOT

PAGE = (ROOT / "docs" / "formats" / "writing-a-format.md").read_text(encoding="utf-8")
EXAMPLE = re.search(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)[1]
CONTENT = (
    b'{"tiny": 1, "session": "t1", "cwd": "/home/me/shop"}\n'
    b'{"who": "user", "says": "Hello"}\n{"who": "assistant", "says": "Good day"}\n'
)


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Install a package of one module, with entry points, for the length of a test."""
    site = tmp_path / "site"

    def call(module: str, source: str, **points: str) -> None:
        site.mkdir(exist_ok=True)
        (site / f"{module}.py").write_text(source, encoding="utf-8")
        about = site / f"{module}-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
        listed = "".join(f"{name} = {value}\n" for name, value in points.items())
        (about / "entry_points.txt").write_text(f"[branchline.formats]\n{listed}")
        if str(site) not in sys.path:
            monkeypatch.syspath_prepend(str(site))
        installed_formats.cache_clear()

    yield call
    installed_formats.cache_clear()
    for path in site.glob("*.py"):
        sys.modules.pop(path.stem, None)


@pytest.fixture
def tiny(install, tmp_path):
    """The format of the documentation, installed, and a session of it in its place."""
    install("tiny_sessions", EXAMPLE, tiny="tiny_sessions:TINY")
    path = tmp_path / "home" / ".tiny" / "talk.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(CONTENT)
    return path


def test_a_session_of_an_installed_format_opens(tiny):
    with Session.open(tiny) as session:
        assert (session.id, session.cwd, len(session)) == ("t1", "/home/me/shop", 2)
        assert session.entry(session.leaf).message.content[0].text == "Good day"
        assert session.read_only == "sessions of tiny are read-only"


def test_its_sessions_are_discovered_with_all_others(tiny, tmp_path):
    listing = SessionLibrary.everywhere("/home/me/shop", environment={}, home=tmp_path / "home").list(
        deep=True
    )
    moved = SessionLibrary.everywhere(
        "/home/me/shop", agents=["tiny"], environment={"TINY_HOME": str(tiny.parent)}, home=tmp_path
    )

    assert [(row.agent, row.id, row.messages, row.first_prompt) for row in listing] == [
        ("tiny", "t1", 2, "Hello")
    ]
    assert moved.find("t1").path == str(tiny)


def test_it_is_listed_behind_the_formats_that_are_here(tiny):
    assert [format_.name for format_ in formats()][-2:] == ["pi", "tiny"]


def test_a_native_fork_of_such_a_session_holds_its_conversation(tiny, tmp_path):
    with Session.fork_from(tiny, "/home/me/shop", directory=tmp_path / "forks") as fork:
        assert fork.parent_session == str(tiny)
        assert [message_text(item.message) for item in fork.context().messages] == ["Hello", "Good day"]


@pytest.mark.parametrize(
    ("source", "value", "reason"),
    [
        ("raise RuntimeError('no luck')", "broken_one:X", "RuntimeError: no luck"),
        ("", "broken_one:X", "AttributeError: .*"),
        ("X = 5", "broken_one:X", "it is a int, not a Format object"),
        ("", "nobody_has_this:X", "ModuleNotFoundError: .*"),
        ("from branchline.formats import PI as X", "broken_one:X", "a format named 'pi' exists already"),
        (
            "from branchline.formats import *\nX = Format(traits=FormatTraits(name=''), reader=None, home=None)",
            "broken_one:X",
            "it has no name",
        ),
    ],
    ids=["raises", "empty", "no format", "no module", "taken", "nameless"],
)
def test_a_broken_format_is_told_by_name_and_breaks_nothing(install, tiny, tmp_path, source, value, reason):
    install("broken_one", source, bad=value)

    (broken,) = installed_formats().broken
    assert broken.name == "bad of broken_one"
    assert re.fullmatch(reason, broken.reason)
    assert detect(CONTENT, "x.jsonl").name == "tiny"
    with pytest.raises(NotASession, match="the format 'bad of broken_one' is broken"):
        detect(b"nobody knows this", "x.jsonl")
    assert SessionLibrary.everywhere(environment={}, home=tmp_path).broken_formats == [broken]


def test_a_format_that_fails_over_a_file_does_not_know_it(install):
    install(
        "failing",
        textwrap.dedent("""
        from branchline.formats import Format, FormatTraits
        class Failing:
            def sniff(self, head, path): raise KeyError("oops")
            def roots(self, environment, home): raise KeyError("lost")
        FAILING = Format(traits=FormatTraits(name="failing"), reader=Failing(), home=Failing())
        """),
        failing="failing:FAILING",
    )

    with pytest.raises(NotASession, match=r"tried: .*failing"):
        detect(b"nobody knows this", "x.jsonl")
    assert [one.reason for one in SessionLibrary.everywhere().broken_formats] == ["KeyError: 'lost'"]


TITLES = "type('Titles', (), {'titles_near': lambda self, path: [][0]})()"


@pytest.mark.parametrize(
    ("part", "mistake", "told"),
    [
        ("FormatTraits(", "file_patterns=5, ", "the format tiny failed here: TypeError"),
        ("FormatTraits(", "suffix=5, ", "the format tiny failed here: TypeError"),
        ("(FormatHome):\n", "    def subagent_of(self, *_): raise KeyError('oops')\n", "KeyError: 'oops'"),
        ("TINY = Format(", f"titles={TITLES}, ", "IndexError"),
        ('log_reader(self, path=""):\n', "        raise KeyError('oops')\n", "KeyError: 'oops'"),
    ],
    ids=["patterns", "suffix", "subagents", "titles", "reader"],
)
def test_a_mistake_in_a_format_costs_its_own_sessions_alone(install, tmp_path, part, mistake, told):
    assert EXAMPLE.count(part) == 1
    source = EXAMPLE.replace(part, part + mistake)
    install("tiny_sessions", source, tiny="tiny_sessions:TINY")
    home = build_home(tmp_path / "home", "/home/me/shop")
    path = home.path / ".tiny" / "talk.jsonl"
    path.parent.mkdir()
    path.write_bytes(CONTENT)

    for deep in (False, True):
        listing = SessionLibrary.everywhere("/home/me/shop", environment={}, home=home.path).list(deep)

        assert {row.agent for row in listing} == set(PROGRAMS)
        assert told in next(item.reason for item in listing.hidden if "/.tiny" in item.name)


def test_packages_are_looked_through_only_when_no_format_here_knows_a_file():
    code = """if True:
        import sys
        from branchline.plugins.formats import detect
        detect(b'{"type":"session","version":3,"id":"s","timestamp":"","cwd":"/"}\\n', "x.jsonl")
        detect(b'{"type":"meta","meta":{"id":"z"}}\\n', "x.jsonl")
        assert "importlib.metadata" not in sys.modules
    """

    subprocess.run([sys.executable, "-c", code], check=True, timeout=60, cwd=Path(ROOT))
