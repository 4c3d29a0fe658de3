"""Atomic changes to the settings file."""

from __future__ import annotations

import os
from collections.abc import Callable

from branchline.errors import NotSaved
from branchline.log import replace_file
from branchline.log.directories import create_directory
from branchline.settings import settings_path

__all__ = ["change_settings", "write_settings"]


def change_settings(edit: Callable[[str], str]) -> None:
    """Apply an edit to the text of the file. Raises NotSaved, and writes nothing, if it fails."""
    path = settings_path()
    try:
        with open(path, encoding="utf-8", newline="") as file:
            before = file.read()
    except (FileNotFoundError, NotADirectoryError):
        before = ""
    except UnicodeDecodeError:
        raise NotSaved(f"cannot change {path}: it is not UTF-8") from None
    try:
        after = edit(before.removeprefix("\ufeff"))
    except ValueError as problem:
        raise NotSaved(f"cannot change {path}: {problem}; `branchline config edit` opens it") from None
    if after != before:
        write_settings(path, after)


def write_settings(path: str, text: str) -> None:
    """Write the whole file, readable only by its owner."""
    create_directory(os.path.dirname(path))
    replace_file(path, text.encode(), backup=False)
