"""Split streamed Markdown into finished blocks and an unfinished rest.

A block is finished when a line follows that cannot belong to it. Every line is examined once.
"""

from __future__ import annotations

import re

__all__ = ["MarkdownStream"]

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])(?:\s|$)")


class MarkdownStream:
    """Receives text in chunks and returns finished blocks."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._begun = ""
        self._fence = ""
        self._blank = False

    @property
    def rest(self) -> str:
        return "\n".join([*self._lines, self._begun])

    def feed(self, text: str) -> list[str]:
        """Add text; return the blocks that it finished."""
        *lines, self._begun = (self._begun + text).split("\n")
        return [block for line in lines if (block := self._take(line))]

    def finish(self) -> str:
        """Return the remaining text as a block."""
        rest, self._lines, self._begun, self._fence, self._blank = self.rest, [], "", "", False
        return rest.strip("\n")

    def _take(self, line: str) -> str:
        """Add a line; return the block before it if the line begins another one."""
        if self._fence:
            self._lines.append(line)
            if line.strip().startswith(self._fence) and not line.strip().strip(self._fence[0]):
                self._fence = ""
            return ""
        if not line.strip():
            self._blank = bool(self._lines)
            if self._lines:
                self._lines.append(line)
            return ""
        done = ""
        if self._blank and not self._continues(line):
            done = "\n".join(self._lines).strip("\n")
            self._lines = []
        self._blank = False
        if (fence := _FENCE.match(line)) is not None:
            self._fence = fence[1]
        self._lines.append(line)
        return done

    def _continues(self, line: str) -> bool:
        """Whether a line after an empty one still belongs to a list."""
        return _ITEM.match(self._lines[0]) is not None and (
            line[0].isspace() or _ITEM.match(line) is not None
        )
