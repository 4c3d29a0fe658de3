"""Child process that searches files for a pattern, so that catastrophic backtracking can be killed.

Python's regular expressions hold the GIL while they run, so no thread can stop them. The request is one JSON
object on standard input; each match is one JSON line on standard output, and the last line is ``null``.
"""

from __future__ import annotations

import fnmatch
import json
import re
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO

from branchline.models.contained_directory import ContainedDirectory

__all__ = ["LARGEST", "matches"]

LARGEST = 4_000_000
"""Size limit in bytes; larger files are skipped."""
_MAX_LINE = 4_000
_MAX_EXCERPT = 300
_SNIFFED = 8_000


def matches(request: dict[str, Any]) -> Iterator[tuple[str, int, str]]:
    """Yield path, line number and text of each matching line."""
    flags = re.IGNORECASE if request["ignore_case"] else 0
    try:
        pattern = re.compile(request["pattern"], flags)
    except (re.error, OverflowError, RecursionError) as problem:
        raise ValueError(f"{request['pattern']!r} is not a regular expression: {problem}") from None
    directory = ContainedDirectory(request["root"])
    for path, file in directory.files(request["path"]):
        if fnmatch.fnmatchcase(path, request["glob"]) or fnmatch.fnmatchcase(
            path.rpartition("/")[2], request["glob"]
        ):
            for number, line in _lines(file):
                if (found := pattern.search(line)) is not None:
                    start = max(0, found.start() - _MAX_EXCERPT // 3)
                    yield path, number, line[start : start + _MAX_EXCERPT]


def _lines(file: BinaryIO) -> Iterator[tuple[int, str]]:
    data = file.read(LARGEST + 1)
    if len(data) > LARGEST or b"\0" in data[:_SNIFFED]:
        return
    for number, line in enumerate(data.split(b"\n"), 1):
        yield number, line[:_MAX_LINE].decode("utf-8", "replace").rstrip("\r")


def _write(value: object) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def _main() -> None:
    request = json.load(sys.stdin)
    for count, found in enumerate(matches(request), 1):
        _write(found)
        if count > request["limit"]:
            break
    _write(None)


if __name__ == "__main__":
    _main()
