"""Fragments and attachments: a log stores each once, and any number of messages may name it."""

from __future__ import annotations

from typing import Any

from branchline.formats.common.tables import text_of
from branchline.formats.llm.values import attachment_block
from branchline.formats.protocol import Query

__all__ = ["StoredValues"]

_MOST_REPEATED = 1 << 27
"""Bytes that a session repeats: a small log must not expand to a huge session."""
_ATTACHMENT = "SELECT id, type, path, url, CASE WHEN ? THEN content END FROM attachments WHERE id = ?"
_FRAGMENT = "SELECT content FROM fragments WHERE id = ?"


class StoredValues:
    """Reads the values that the messages of one session name.

    Beyond a limit on repetitions, a fragment is a note with its number, and an attachment has no content.
    """

    def __init__(self, query: Query) -> None:
        self._query = query
        self._fragments: dict[object, str] = {}
        self._attached: set[str] = set()
        self._left = _MOST_REPEATED

    def fragment(self, number: object) -> str:
        """Return the text of a fragment, or "" if it is missing."""
        text = self._fragments.get(number)
        if text is None:
            text = next((text_of(content) for (content,) in self._query(_FRAGMENT, number)), "")
            self._fragments[number] = text
            return text
        if self._left <= 0:
            return f"[fragment {number} again]"
        self._left -= len(text)
        return text

    def attachment(self, name: str) -> dict[str, Any]:
        """Return the block of an attachment."""
        is_whole = name not in self._attached or self._left > 0
        row = next(self._query(_ATTACHMENT, is_whole, name), (name, None, None, None, None))
        if name in self._attached:
            self._left -= len(row[-1] or b"")
        self._attached.add(name)
        return attachment_block(row)
