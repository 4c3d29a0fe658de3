"""What a chat needs of a screen: to show, to ask, to let somebody pick, and to hear that they want out."""

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
    """The entries of a session with their tree: filters, folds, search and labels, as in the browser."""

    state: TreeCursor[Session]
    label: Callable[[str, str | None], object]
    """Names an entry, or takes its name away."""


class PickerAction(msgspec.Struct, frozen=True, kw_only=True):
    """Something that can be done in a picker besides picking: by its key, or line by line by its name.

    ``run`` gets the key of the option under the cursor, None where there is none. It gives the picker to show
    next, None to show the same one again.
    """

    name: str
    key: str
    """As prompt_toolkit names it, for example ``c-r``."""
    help: str
    run: Callable[[str | None], Awaitable[Picker | None]]


class Picker(msgspec.Struct, frozen=True, kw_only=True):
    """Something to pick from. ``find`` gives the options for what somebody typed to narrow them down.

    ``at`` is the option that the cursor stands on first.
    """

    question: str
    options: Sequence[PickerOption]
    find: Callable[[str], Sequence[PickerOption]]
    selected: int = 0
    tree: TreeChoice | None = None
    """For entries of a session: the selector that a screen shows instead of the options."""
    actions: tuple[PickerAction, ...] = ()
    numbered: bool = False
    """Whether a digit picks the option of that number at once."""


def options_with(options: Sequence[PickerOption], words: str) -> list[PickerOption]:
    """The options whose rows have all these words, in any case."""
    wanted = words.lower().split()
    return [one for one in options if all(word in line_text(one.line).lower() for word in wanted)]


class Frontend(Protocol):
    """A screen, or whatever stands for one."""

    def line(self, *pieces: Piece) -> None:
        """Show one line of a result."""
        ...

    def text(self, text: str, *, role: StyleRole = "plain") -> None:
        """Show some text with all its lines."""
        ...

    def notice(self, text: str) -> None:
        """Say something beside the results: what happened, what went wrong."""
        ...

    @property
    def columns(self) -> int | None:
        """The width of the screen; None where lines are not cut."""
        ...

    def card(self, card: Card) -> None:
        """Show a part of the conversation that is in the session already."""
        ...

    def problem(self, words: str) -> None:
        """Show on one line why there is no answer; the model did not say it."""
        ...

    def on_event(self, event: Event) -> None:
        """Show what the conversation says."""
        ...

    def progress(self, words: str, label: str = SUMMARIZING) -> None:
        """Show the end of something that is being written and will be seen later."""
        ...

    def prefill(self, text: str) -> None:
        """Put words where the person writes the next ones."""
        ...

    async def read(self) -> str | None:
        """What the person says next; None when they leave."""
        ...

    @property
    def can_ask(self) -> bool:
        """Whether a person is there who sees a question and can answer it before anything happens."""
        ...

    async def ask(self, question: str) -> str | None:
        """A few words from the person; None when they do not want to."""
        ...

    async def pick(self, picker: Picker) -> str | None:
        """The key of the option that the person picks; None when they pick nothing."""
        ...

    def interruptible(self, stop: Callable[[], object]) -> AbstractContextManager[None]:
        """While something goes on: the person can stop it."""
        ...
