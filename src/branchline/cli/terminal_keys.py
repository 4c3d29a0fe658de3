"""Keys during an answer: Escape and Ctrl-C stop it, lines are passed on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TypeVar

from prompt_toolkit.application import Application
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPress, KeyPressEvent
from prompt_toolkit.keys import Keys

__all__ = ["KeyListener", "typing_keys", "with_short_escape"]

_Result = TypeVar("_Result")

_ALONE = 0.1  # seconds after which Escape is a key and not the start of a sequence
_HEARD = "heard after this step"
_WAITS = "waits for the end of the answer"
_ESCAPE_WAIT = 0.05
"""Seconds after which Escape is a key and not the start of a sequence: a terminal sends one in a burst."""


def with_short_escape(app: Application[_Result]) -> Application[_Result]:
    """Return the application, in which keys that follow Escape are keys of their own."""
    app.timeoutlen = app.ttimeoutlen = _ESCAPE_WAIT
    return app


def typing_keys() -> KeyBindings:
    """Return the bindings of a prompt: a slash after Escape begins a command, however fast it is typed."""
    keys = KeyBindings()

    @keys.add("escape", "/")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("/")

    return keys


class KeyListener:
    """Listens to a terminal between two prompts.

    ``hear`` is called with every entered line; a line that it refuses is kept for the next prompt. ``show``
    is called after each key with the typed text, and with what happens to a line that was entered.
    """

    def __init__(
        self, terminal: Input, hear: Callable[[str], bool], show: Callable[[str, str], object]
    ) -> None:
        self._input = terminal
        self._hear = hear
        self._show = show
        self._typed = ""
        self._stop: Callable[[], object] | None = None
        self._held = ExitStack()

    def typed(self) -> str:
        """Return the typed text once, for editing."""
        typed, self._typed = self._typed, ""
        return typed

    @contextmanager
    def listening(self, stop: Callable[[], object]) -> Iterator[None]:
        """Call ``stop`` on Escape or Ctrl-C."""
        self._stop = stop
        self._listen()
        try:
            yield
        finally:
            self._held.close()
            self._stop = None

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stop listening while other code reads the terminal."""
        self._held.close()
        try:
            yield
        finally:
            if self._stop is not None:
                self._listen()

    def _listen(self) -> None:
        self._held.enter_context(self._input.raw_mode())
        self._held.enter_context(self._input.attach(self._ready))

    def _ready(self) -> None:
        self._take(self._input.read_keys())
        asyncio.get_running_loop().call_later(_ALONE, self._flush)

    def _flush(self) -> None:
        if self._stop is not None:
            self._take(self._input.flush_keys())

    def _take(self, presses: list[KeyPress]) -> None:
        shown, becomes = self._typed, ""
        for press in presses:
            if press.key in (Keys.Escape, Keys.ControlC):
                if self._stop is not None:
                    self._stop()
            elif press.key == Keys.BracketedPaste or not isinstance(press.key, Keys):
                self._typed += press.data
            elif press.key in (Keys.ControlM, Keys.ControlJ):
                shown, becomes = self._typed, _WAITS
                if not self._typed.strip() or self._hear(self._typed):
                    self._typed, becomes = "", _HEARD
                else:
                    self._typed += "\n"
                continue
            elif press.key in (Keys.ControlH, Keys.Backspace):
                self._typed = self._typed[:-1]
            shown, becomes = self._typed, ""
        if presses:
            self._show(shown, becomes)
