"""The interface between a chat and its terminal: output, input, pickers and interrupts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

import msgspec

from branchline.conductor import Event
from branchline.session import Session
from branchline.views.browser.tree_cursor import TreeCursor
from branchline.views.cards import Card
from branchline.views.spans import Line, Piece, StyleRole, line_text

__all__ = ["SUMMARIZING", "Frontend", "Picker", "PickerAction", "PickerOption", "TreeChoice", "options_with"]

SUMMARIZING = "summarizing (Escape cancels)"


class PickerOption(msgspec.Struct, frozen=True, kw_only=True):
    """One row of a picker."""

    key: str
    line: Line


class TreeChoice(msgspec.Struct, frozen=True, kw_only=True):
    """The entries of a session as a tree with filters, folds, search and labels, as in the browser."""

    state: TreeCursor[Session]
    label: Callable[[str, str | None], object]
    """Names an entry, or takes its name away."""


class PickerAction(msgspec.Struct, frozen=True, kw_only=True):
    """An action of a picker besides picking: by its key, or in line mode by its name.

    ``run`` gets the key of the option under the cursor, or None. It returns the picker to show next; None
    shows the same one again.
    """

    name: str
    key: str
    """As prompt_toolkit names it, for example ``c-r``."""
    help: str
    run: Callable[[str | None], Awaitable[Picker | None]]


class Picker(msgspec.Struct, frozen=True, kw_only=True):
    """A list to pick from. ``selected`` is the option under the cursor at first."""

    question: str
    options: Sequence[PickerOption]
    selected: int = 0
    search: Callable[[str], Sequence[PickerOption]] | None = None
    """Finds the options that match the typed text (default: those whose rows contain all words)."""
    tree: TreeChoice | None = None
    """For entries of a session: the selector that a screen shows instead of the options."""
    actions: tuple[PickerAction, ...] = ()
    numbered: bool = False
    """Whether a digit picks the option of that number at once."""

    def find(self, words: str) -> Sequence[PickerOption]:
        """Return the options that match the typed text."""
        return options_with(self.options, words) if self.search is None else self.search(words)


def options_with(options: Sequence[PickerOption], words: str) -> list[PickerOption]:
    """Return the options whose rows contain all words, ignoring case."""
    wanted = words.lower().split()
    return [one for one in options if all(word in line_text(one.line).lower() for word in wanted)]


class Frontend(Protocol):
    """The terminal of a chat, or a substitute for it."""

    def line(self, *pieces: Piece) -> None:
        """Show one line of a result."""
        ...

    def text(self, text: str, *, role: StyleRole = "plain") -> None:
        """Show some text with all its lines."""
        ...

    def notice(self, text: str) -> None:
        """Show a message that is not a result: what happened, or what went wrong."""
        ...

    @property
    def columns(self) -> int | None:
        """The width of the terminal; None if lines are not cut."""
        ...

    def card(self, card: Card) -> None:
        """Show a part of the conversation that is already in the session."""
        ...

    def problem(self, words: str) -> None:
        """Show on one line why there is no answer; it is not text of the model."""
        ...

    def on_event(self, event: Event) -> None:
        """Show an event of the conversation."""
        ...

    def progress(self, words: str, label: str = SUMMARIZING) -> None:
        """Show the end of a text that is being written and shown in full later."""
        ...

    def prefill(self, text: str) -> None:
        """Put text into the input line."""
        ...

    async def read(self) -> str | None:
        """Return the next line of the user; None if they quit."""
        ...

    @property
    def can_ask(self) -> bool:
        """Whether the user can see a question and answer it before anything happens."""
        ...

    async def ask(self, question: str) -> str | None:
        """Ask for a line of text; None if the user cancels."""
        ...

    async def pick(self, picker: Picker) -> str | None:
        """Return the key of the picked option; None if the user cancels."""
        ...

    def interruptible(self, stop: Callable[[], object]) -> AbstractContextManager[None]:
        """Let the user stop an operation while it runs."""
        ...
