"""An editable line of text with the keys of readline, independent of any screen.

The same keys work in every field: Ctrl+A and Ctrl+E go to the ends, Ctrl+B and Ctrl+F move, Ctrl+H and Ctrl+D
delete, Ctrl+W, Ctrl+U and Ctrl+K cut, Ctrl+Y pastes what was cut.
"""

from __future__ import annotations

from typing import Literal

from branchline.views.text import one_line

__all__ = ["EDIT_KEYS", "LineEdit"]

EDIT_KEYS = (*(f"ctrl+{letter}" for letter in "abefhdwuky"), "backspace", "delete")
"""The editing keys of every field."""

Verdict = Literal["changed", "moved", "refused"]
"""The effect of a key: it changed the text, moved the caret, or was not used."""


class LineEdit:
    """A text and a caret. ``cut`` is the text that was cut last."""

    def __init__(self, text: str = "") -> None:
        self.text = text
        self.caret = len(text)
        self.cut = ""

    @property
    def at_end(self) -> bool:
        return self.caret == len(self.text)

    def set(self, text: str) -> None:
        """Set the text, and move the caret to its end."""
        self.text, self.caret = text, len(text)

    def insert(self, text: str) -> None:
        """Insert text at the caret; line breaks become spaces."""
        text = one_line(text) if len(text) > 1 else text
        self.text = self.text[: self.caret] + text + self.text[self.caret :]
        self.caret += len(text)

    def press(self, key: str, character: str | None = None) -> Verdict:
        """Apply a key. Keys that move the caret are refused at the ends of the text."""
        before, at = self.text, self.caret
        match key:
            case "ctrl+a":
                self.caret = 0
            case "ctrl+e":
                self.caret = len(self.text)
            case "left" | "ctrl+b":
                self.caret = max(0, self.caret - 1)
            case "right" | "ctrl+f":
                self.caret = min(len(self.text), self.caret + 1)
            case "alt+b" | "ctrl+left":
                self.caret = self._word_start()
            case "alt+f" | "ctrl+right":
                self.caret = self._word_end()
            case "backspace" | "ctrl+h":
                self._delete(max(0, self.caret - 1), self.caret)
            case "delete" | "ctrl+d":
                self._delete(self.caret, self.caret + 1)
            case "ctrl+w" | "alt+backspace":
                self._delete(self._word_start(), self.caret, keep=True)
            case "ctrl+u":
                self._delete(0, self.caret, keep=True)
            case "ctrl+k":
                self._delete(self.caret, len(self.text), keep=True)
            case "ctrl+y":
                self.insert(self.cut)
            case _:
                if character is None or "+" in key or not character.isprintable():
                    return "refused"
                self.insert(character)
        if self.text != before:
            return "changed"
        if self.caret != at:
            return "moved"
        # Editing keys are used even without an effect; arrows and Delete are passed on at the ends.
        return "refused" if key in _SHARED else "moved"

    def _delete(self, start: int, end: int, *, keep: bool = False) -> None:
        if keep and self.text[start:end]:
            self.cut = self.text[start:end]
        self.text = self.text[:start] + self.text[end:]
        self.caret = start

    def _word_start(self) -> int:
        head = self.text[: self.caret].rstrip()
        return head.rfind(" ") + 1

    def _word_end(self) -> int:
        tail = self.text[self.caret :]
        blanks = len(tail) - len(tail.lstrip())
        end = tail.find(" ", blanks)
        return len(self.text) if end < 0 else self.caret + end


_SHARED = frozenset({"left", "right", "ctrl+left", "ctrl+right", "delete", "backspace"})
