"""Sessions of older Gemini CLI releases, one document each, as the lines that later releases write."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from branchline.entries import json_codec
from branchline.errors import NotASession
from branchline.formats.common.json_documents import document_in
from branchline.formats.json_values import list_of
from branchline.formats.lines import head_lines
from branchline.formats.protocol import Content, DocumentFiles

__all__ = ["GeminiDocuments"]

_PATH = re.compile(r"[/\\]chats[/\\](?:[^/\\]+[/\\])?session-[^/\\]*\.json$")


_MESSAGES = re.compile(rb'"messages"\s*:\s*\[')
_TYPICAL = re.compile(rb'"projectHash"\s*:\s*"|"type"\s*:\s*"gemini"')


class GeminiDocuments(DocumentFiles):
    """``session-*.json``: metadata and the final list of messages."""

    def recognizes(self, path: str) -> bool:
        return _PATH.search(path) is not None

    def begins(self, head: bytes) -> bool:
        """Recognize a copy with another path: one object on many lines, or a first line with all messages."""
        line = next(head_lines(head.lstrip()))
        if (first := json_codec.loads_object(line)) is not None:
            return isinstance(first.get("messages"), list) and _TYPICAL.search(line) is not None
        text = head if line.strip() == b"{" else line
        return _MESSAGES.search(text) is not None and _TYPICAL.search(text) is not None

    def continuation(self, path: str) -> str | None:
        """Return the file of lines in which later releases continue a document, under the same name."""
        return f"{path}l" if self.recognizes(path) else None

    def lines(self, content: Content, path: str, companion: Callable[[str], bytes | None]) -> Iterator[bytes]:
        del companion
        document = document_in(content.read(0, content.size()), path)
        if not isinstance(document, dict) or not {"sessionId", "messages"} & document.keys():
            raise NotASession(f"{path} is not a session of Gemini CLI: it has no messages")
        messages = list_of(document.pop("messages", None))
        summary = document.pop("summary", None)
        yield json_codec.dumps({"sessionId": "", "projectHash": "", **document}) + b"\n"
        for message in messages:
            yield json_codec.dumps(message) + b"\n"
        if summary is not None:
            yield json_codec.dumps({"$set": {"summary": summary}}) + b"\n"
