"""The text of an entry, as search and statistics use it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from branchline.entries import Usage

__all__ = ["EntryText", "files_in", "strings_in"]

_PATHS = frozenset({"path", "file_path", "filePath", "notebook_path", "filename", "file", "target_file"})
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
_LONGEST_PATH = 1024


class EntryText(msgspec.Struct, frozen=True):
    """The text of one entry, its tool calls and its usage."""

    role: str
    said: str = ""
    """Text written by the user and the model."""
    tools: str = ""
    """Tool input and output."""
    tool_names: str = ""
    """The names of the tools called or answered, one per line."""
    files: tuple[str, ...] = ()
    """The files that its tool calls name."""
    model: str = ""
    """``provider/model`` of an answer; empty for other entries."""
    failed: bool = False
    """Whether it is the result of a failed call, or a failed answer."""
    usage: Usage | None = None
    spender: str = ""
    """The ``provider/model`` to which the usage is attributed."""


def strings_in(value: Any) -> list[str]:
    """Return all texts inside some arguments, in order."""
    found: list[str] = []
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            found.append(one)
        elif isinstance(one, dict):
            waiting += reversed(one.values())
        elif isinstance(one, list):
            waiting += reversed(one)
    return found


def files_in(arguments: dict[str, Any], texts: list[str]) -> Iterator[str]:
    """Yield the files that the arguments of a tool call name; ``texts`` are all texts in them."""
    for name, value in arguments.items():
        if name in _PATHS and isinstance(value, str) and 0 < len(value) <= _LONGEST_PATH:
            yield value
    for text in texts:
        if "*** " in text:
            yield from (path.strip()[:_LONGEST_PATH] for path in _PATCHED.findall(text))
