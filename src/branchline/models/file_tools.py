"""Read-only file tools for a model: list, read and grep below one directory.

They need a permission of their own, :data:`READ_FILES`, which a chat asks for once per session.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
from contextlib import suppress
from typing import Any, BinaryIO

import msgspec

from branchline.models.contained_directory import ContainedDirectory, DirectoryItem, is_supported
from branchline.models.protocol import Tool
from branchline.models.tools import tool
from branchline.programs import safe_environment
from branchline.views.humanize import count

__all__ = ["READ_FILES", "file_tools"]

READ_FILES = "files"
"""The permission that the file tools share."""
GREP_SECONDS = 10.0

_MAX_ITEMS = 500
_MAX_LINES = 500
_MAX_CHARACTERS = 100_000
_MAX_LINE = 2_000
_MAX_SCANNED = 64_000_000
_MAX_MATCHES = 200
_SNIFFED = 8_000


def file_tools(root: str, *, grep_seconds: float = GREP_SECONDS) -> tuple[Tool, ...]:
    """Return the tools for one directory, or none if the platform or the directory does not support them."""
    if not is_supported():
        return ()
    try:
        files = _FileTools(ContainedDirectory(root), grep_seconds)
    except ValueError:
        return ()
    made = (tool(files.list_files), tool(files.read_file), tool(files.grep_files))
    return tuple(msgspec.structs.replace(one, permission=READ_FILES) for one in made)


class _FileTools:
    def __init__(self, directory: ContainedDirectory, grep_seconds: float) -> None:
        self._directory = directory
        self._grep_seconds = grep_seconds

    def list_files(self, path: str = ".", depth: int = 1) -> str:
        """List a directory below the working directory. Directories end with /, symlinks with @."""
        found = self._directory.items(path, depth=max(1, depth))
        listed = list(itertools.islice(found, _MAX_ITEMS + 1))
        lines = [_item_line(item) for item in listed[:_MAX_ITEMS]]
        if len(listed) > _MAX_ITEMS:
            lines.append(f"[only the first {_MAX_ITEMS} are listed]")
        return "\n".join(lines) or "[the directory is empty]"

    def read_file(self, path: str, start_line: int = 1, lines: int = _MAX_LINES) -> str:
        """Read lines of a text file below the working directory."""
        with self._directory.file(path) as file:
            return _read_lines(file, path, max(1, start_line), max(1, lines))

    async def grep_files(
        self, *, pattern: str, path: str = ".", glob: str = "*", ignore_case: bool = False
    ) -> str:
        """Search text files below the working directory for a Python regular expression."""
        request = {
            "root": self._directory.root,
            "pattern": pattern,
            "path": path,
            "glob": glob,
            "ignore_case": ignore_case,
            "limit": _MAX_MATCHES,
        }
        return await _grep(request, self._grep_seconds)


def _item_line(item: DirectoryItem) -> str:
    name = item.path if item.path.isprintable() else repr(item.path)
    marks = {"directory": "/", "symlink": "@", "other": " (not a file)"}
    return name + marks.get(item.kind, "" if item.size is None else f"  {count(item.size, 'byte')}")


def _read_lines(file: BinaryIO, path: str, start: int, count: int) -> str:
    first = file.read(_SNIFFED)
    if b"\0" in first:
        raise ValueError(f"cannot read {path!r}: it is not a text file")
    file.seek(0)
    taken: list[str] = []
    size = scanned = 0
    ended = False
    number = 0
    while len(taken) < count and size < _MAX_CHARACTERS:
        line = file.readline(_MAX_SCANNED)
        if not line:
            ended = True
            break
        number += 1
        scanned += len(line)
        if scanned > _MAX_SCANNED:
            raise ValueError(f"cannot read line {start} of {path!r}: the file is too large")
        if number >= start:
            text = line.decode("utf-8", "replace").rstrip("\n").rstrip("\r")
            taken.append(text[:_MAX_LINE] + (" [line cut]" if len(text) > _MAX_LINE else ""))
            size += len(taken[-1])
    if not taken:
        return f"[{path} has {number} lines]" if number else "[the file is empty]"
    if not ended and not file.read(1):
        ended = True
    if start > 1 or not ended:
        more = "the file ends here" if ended else f"start_line={number + 1} reads on"
        taken.append(f"[lines {start} to {number}; {more}]")
    return "\n".join(taken)


async def _grep(request: dict[str, Any], seconds: float) -> str:
    """Run the search in a child process, which is killed on timeout."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-I" if sys.flags.isolated else "-P",
        "-m",
        "branchline.models.grep_worker",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=safe_environment(),
        start_new_session=True,
    )
    assert process.stdin is not None
    lines: list[str] = []
    note = ""
    try:
        async with asyncio.timeout(seconds):
            process.stdin.write(json.dumps(request).encode())
            process.stdin.close()
            finished = await _collect(process, lines)
        if not finished:
            raise ValueError(await _error_text(process))
    except TimeoutError:
        note = f"[ended after {seconds:g} s: the pattern is too slow or there are too many files]"
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    if len(lines) > _MAX_MATCHES:
        lines, note = lines[:_MAX_MATCHES], f"[only the first {_MAX_MATCHES} matches]"
    if note:
        lines.append(note)
    return "\n".join(lines) or "[no matches]"


async def _collect(process: asyncio.subprocess.Process, lines: list[str]) -> bool:
    """Collect the matches; return whether the worker finished."""
    assert process.stdout is not None
    while line := await process.stdout.readline():
        if (found := json.loads(line)) is None:
            return True
        path, number, text = found
        lines.append(f"{path if path.isprintable() else repr(path)}:{number}: {text}")
    return False


async def _error_text(process: asyncio.subprocess.Process) -> str:
    assert process.stderr is not None
    lines = (await process.stderr.read()).decode("utf-8", "replace").strip().split("\n")
    return lines[-1].removeprefix("ValueError: ") or "the search ended without a result"
