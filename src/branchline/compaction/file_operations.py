"""Files read and changed by a part of a conversation, according to its tool calls."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from branchline.entries import AssistantMessage, Message, ToolResult, tool_calls

__all__ = ["FileOperations", "FileTally", "files_block"]


class FileOperations(msgspec.Struct, frozen=True, kw_only=True):
    """Files that were only read, and files that were changed, each sorted; no file is in both."""

    read: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()

    def details(self) -> dict[str, list[str]]:
        """Return the details stored in a compaction or branch summary."""
        return {"readFiles": list(self.read), "modifiedFiles": list(self.modified)}


class FileTally:
    """Collects file operations from messages."""

    def __init__(self) -> None:
        self._read: set[str] = set()
        self._modified: set[str] = set()

    def add_messages(self, messages: Iterable[Message]) -> None:
        """Add the tool calls of answers, and the nested calls that tools made."""
        for message in messages:
            match message:
                case AssistantMessage():
                    for call in tool_calls(message.content):
                        self._add_call(call.name, call.arguments)
                case ToolResult() if message.nested_calls:
                    nested = message.nested_calls.get("calls")
                    for one in nested if isinstance(nested, list) else ():
                        if isinstance(one, dict):
                            self._add_call(one.get("name"), one.get("arguments"))
                case _:
                    pass

    def add_details(self, details: Any) -> None:
        """Add the files that an earlier summary recorded."""
        if isinstance(details, dict):
            self._read.update(_paths(details.get("readFiles")))
            self._modified.update(_paths(details.get("modifiedFiles")))

    def result(self) -> FileOperations:
        modified = self._modified
        return FileOperations(read=_sorted(self._read - modified), modified=_sorted(modified))

    def _add_call(self, name: Any, arguments: Any) -> None:
        path = arguments.get("path") if isinstance(arguments, dict) else None
        if not isinstance(path, str) or not path:
            return
        if name == "read":
            self._read.add(path)
        elif name in ("write", "edit"):
            self._modified.add(path)


def files_block(files: FileOperations) -> str:
    """Return the lists as appended to a summary, each after a blank line; empty if there are none."""
    blocks = [("read-files", files.read), ("modified-files", files.modified)]
    return "".join("\n\n" + "\n".join([f"<{name}>", *paths, f"</{name}>"]) for name, paths in blocks if paths)


def _paths(value: Any) -> list[str]:
    return [path for path in value if isinstance(path, str)] if isinstance(value, list) else []


def _sorted(paths: Iterable[str]) -> tuple[str, ...]:
    """Sort by UTF-16 code units, like the agents that share these files."""
    return tuple(sorted(paths, key=lambda path: path.encode("utf-16-be", "surrogatepass")))
