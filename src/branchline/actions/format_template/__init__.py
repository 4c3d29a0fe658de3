"""A template for a package that adds the format of another agent, with tests: the files in ``files``."""

from __future__ import annotations

import os
import re
from importlib.resources import files

import msgspec

from branchline.actions.output_file import require_new_path, write_new
from branchline.errors import InvalidArgument
from branchline.log import create_directory
from branchline.plugins.formats import formats

__all__ = ["FormatTemplate", "new_format"]

_FILES = {
    "pyproject.toml": "project.txt",
    "README.md": "readme.txt",
    "src/@MODULE@/__init__.py": "module.txt",
    "tests/test_@MODULE@.py": "tests.txt",
    "tests/samples/hello.jsonl": "sample.jsonl",
}
"""The files of a new package, each with its template."""
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
        raise InvalidArgument(
            f"{name!r} is not a valid format name: use lower-case letters, digits and dashes"
        )
    if name in {"branchline", *(one.name for one in formats())}:
        raise InvalidArgument(f"{name!r} is the name of an existing format: choose another one")
    directory = os.path.join(os.path.abspath(os.fspath(parent)), f"branchline-{name}")
    require_new_path(directory)
    module = f"branchline_{name.replace('-', '_')}"
    words = {
        "NAME": name,
        "MODULE": module,
        "CONSTANT": name.replace("-", "_").upper(),
        "CLASS": "".join(part.capitalize() for part in name.split("-")),
    }
    templates = files(__name__) / "files"
    texts = {place: (templates / name).read_text(encoding="utf-8") for place, name in _FILES.items()}
    texts["src/@MODULE@/py.typed"] = ""
    written = []
    for place, text in texts.items():
        path = os.path.join(directory, _filled(place, words))
        create_directory(os.path.dirname(path))
        write_new(path, _filled(text, words).encode())
        written.append(path)
    return FormatTemplate(directory=directory, files=tuple(written))


def _filled(text: str, words: dict[str, str]) -> str:
    for name, word in words.items():
        text = text.replace(f"@{name}@", word)
    return text
