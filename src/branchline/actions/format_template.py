"""A template for a package that adds the format of another agent, with tests."""

from __future__ import annotations

import os
import re

import msgspec

from branchline.actions.output_file import require_new_path, write_new
from branchline.log import create_directory
from branchline.plugins.formats import formats

__all__ = ["FormatTemplate", "new_format"]

_NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")


class FormatTemplate(msgspec.Struct, frozen=True, kw_only=True):
    """The files that were written."""

    directory: str
    files: tuple[str, ...]


def new_format(name: str, parent: str | os.PathLike[str] = ".") -> FormatTemplate:
    """Write a package for the format of an agent into a new directory below ``parent``.

    Raises ValueError for a name with anything but lower-case letters, digits and dashes or the name of an
    existing format, and FileExists if the directory exists.
    """
    if _NAME.fullmatch(name) is None:
        raise ValueError(f"{name!r} is not a valid format name: use lower-case letters, digits and dashes")
    if name in {"branchline", *(one.name for one in formats())}:
        raise ValueError(f"{name!r} is the name of an existing format: choose another one")
    directory = os.path.join(os.path.abspath(os.fspath(parent)), f"branchline-{name}")
    require_new_path(directory)
    module = f"branchline_{name.replace('-', '_')}"
    words = {
        "NAME": name,
        "MODULE": module,
        "CONSTANT": name.replace("-", "_").upper(),
        "CLASS": "".join(part.capitalize() for part in name.split("-")),
    }
    files = []
    for place, template in _FILES.items():
        path = os.path.join(directory, _filled(place, words))
        create_directory(os.path.dirname(path))
        write_new(path, _filled(template, words).encode())
        files.append(path)
    return FormatTemplate(directory=directory, files=tuple(files))


def _filled(text: str, words: dict[str, str]) -> str:
    for name, word in words.items():
        text = text.replace(f"@{name}@", word)
    return text


_PROJECT = """\
[build-system]
requires = ["setuptools>=69"]
build-backend = "setuptools.build_meta"

[project]
name = "branchline-@NAME@"
version = "0.1.0"
description = "Sessions of @NAME@ for branchline"
requires-python = ">=3.11"
dependencies = ["branchline"]

[project.entry-points."branchline.formats"]
@NAME@ = "@MODULE@:@CONSTANT@"

[tool.setuptools.packages.find]
where = ["src"]

[tool.pytest.ini_options]
testpaths = ["tests"]
"""

_README = """\
# branchline-@NAME@

Reads the sessions of @NAME@, so that branchline lists, shows, searches and converts them.

1. Put a few real session files into `tests/samples/`, with everything that the program can write.
2. Change `src/@MODULE@/__init__.py` until `branchline show tests/samples/FILE` shows what the program shows.
3. `pip install -e . pytest && pytest` runs the conformance suite of branchline on your samples: damage,
   hostile values, files that grow, lists that must agree with opened sessions.
4. `branchline ls --agent @NAME@` lists the sessions below the roots that the home names.

The guide: docs/formats/writing-a-format.md of branchline.
"""

_MODULE = '''\
"""Sessions of @NAME@: JSON lines, the first of which describes the session."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Any

from branchline.entries import (
    AssistantMessage,
    Damaged,
    Entry,
    Header,
    MessageEntry,
    Text,
    UserMessage,
    json_codec,
)
from branchline.formats import Format, FormatHome, FormatReader, FormatTraits, JsonlReader, LogIndex

__all__ = ["@CONSTANT@"]


class @CLASS@LogReader(JsonlReader):
    """Makes a tree of the lines of one file."""

    format_name = "@NAME@"

    def take(self, fields: dict[str, Any], line: bytes, offset: int) -> None:
        """One line. Values may be missing or of any type: take what is right and leave out the rest."""
        index = self.reading
        if "@NAME@" in fields and index.header is None:
            index.header = Header(id=_text(fields.get("session")) or "unknown", cwd=_text(fields.get("cwd")))
            index.read_only = "sessions of @NAME@ are read-only; fork it to continue"
        elif fields.get("role") in ("user", "assistant"):
            parent = index.tree.keys[-1] if len(index.tree) else None
            key = f"line-{index.lines}"
            self.add_entry(key, parent, line, offset, role=fields["role"], time=_text(fields.get("time")))
        else:
            self.note_not_an_entry("an object without a role", line, offset)


class @CLASS@Reader(FormatReader[LogIndex]):
    """Recognizes files and decodes their lines."""

    def sniff(self, head: bytes, path: str) -> bool:
        """Be strict: formats that come later get what you refuse."""
        return head.startswith(b'{"@NAME@":')

    def log_reader(self, path: str = "") -> @CLASS@LogReader:
        return @CLASS@LogReader()

    def decode(self, line: bytes, index: LogIndex, position: int) -> Entry:
        key, parent = index.tree.keys[position], index.tree.parent_position(position)
        common: dict[str, Any] = {
            "id": key,
            "parent": None if parent < 0 else index.tree.keys[parent],
            "timestamp": index.tree.times[position],
        }
        if position in index.tree.placeholders:
            return Damaged(**common)
        fields = json_codec.loads(line)
        content = (Text(text=_text(fields.get("text"))),)
        if index.tree.roles[position] == "user":
            return MessageEntry(**common, message=UserMessage(content=content))
        answer = AssistantMessage(content=content, model=_text(fields.get("model")) or None)
        return MessageEntry(**common, message=answer)


class @CLASS@Home(FormatHome):
    """Where the program keeps its files. It opens none."""

    def roots(self, environment: Mapping[str, str], home: str) -> list[str]:
        return [environment.get("@CONSTANT@_HOME") or posixpath.join(home, ".@NAME@", "sessions")]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


@CONSTANT@ = Format(
    traits=FormatTraits(name="@NAME@", file_patterns=("*.jsonl",), links=None, records_cost=False),
    reader=@CLASS@Reader(),
    home=@CLASS@Home(),
)
'''

_TESTS = '''\
"""The format keeps what branchline asks of every format, and reads what its program wrote."""

from pathlib import Path

from @MODULE@ import @CONSTANT@
from branchline import Session
from branchline.formats import FormatContract

SAMPLES = Path(__file__).parent / "samples"


class Test@CLASS@(FormatContract):
    format = @CONSTANT@

    def samples(self):
        return {str(path): path.read_bytes() for path in sorted(SAMPLES.glob("*.jsonl"))}


def test_a_session_is_read_as_its_program_shows_it():
    with Session.open(SAMPLES / "hello.jsonl") as session:
        assert session.id == "s1"
        assert session.cwd == "/home/me/shop"
        assert [message.role for message in session.context().messages] == ["user", "assistant"]
'''

_SAMPLE = """\
{"@NAME@": 1, "session": "s1", "cwd": "/home/me/shop"}
{"role": "user", "text": "Hello", "time": "2026-01-05T09:00:00.000Z"}
{"role": "assistant", "text": "Good day", "model": "some-model", "time": "2026-01-05T09:00:01.000Z"}
"""

_FILES = {
    "pyproject.toml": _PROJECT,
    "README.md": _README,
    "src/@MODULE@/__init__.py": _MODULE,
    "src/@MODULE@/py.typed": "",
    "tests/test_@MODULE@.py": _TESTS,
    "tests/samples/hello.jsonl": _SAMPLE,
}
