"""A chat in a terminal: a line to write in, answers as Markdown, lists to pick from.

Enter says it, Alt+Enter begins a new line, Escape twice opens the tree or the turns. While an answer is
written, Escape or Ctrl-C stops it; the model hears a line that is entered meanwhile when it can, and what is
only typed waits for the next prompt.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import ANSI
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input import create_input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

from branchline.chat import Chat
from branchline.chat.completion import suggestions
from branchline.chat.frontend import Picker
from branchline.chat.notices import status_line
from branchline.cli.output import Output, Piece, StyleRole, paint
from branchline.cli.streaming_answer import AnswerView
from branchline.cli.terminal_keys import KeyListener
from branchline.cli.terminal_picker import pick
from branchline.cli.themes import theme_for
from branchline.cli.tree_selector import select_entry
from branchline.cli.visible_text import SafeText
from branchline.conductor import Event, MessageAppended, TextDelta, ThinkingDelta, ToolStarted, TurnEnded
from branchline.entries import AssistantMessage, ToolResult, UserMessage, message_text
from branchline.library.turns import prior_turns
from branchline.views.humanize import count
from branchline.views.spans import line_text
from branchline.views.text import one_line
from branchline.views.tool_calls import Call
from branchline.views.tool_views import call_text

__all__ = ["TerminalFrontend"]

_TWICE = 2.0  # seconds in which a second Ctrl-C leaves
_RESULT_LINES = 6
_OPEN = "\x00open"
_COMMANDS = {"tree": "/tree", "turns": "/jump"}
"""What Escape, pressed twice, stands for, by the setting ``double_escape``."""


class TerminalFrontend:
    """The screen of a chat in a terminal."""

    interrupted = False
    can_ask = True

    def __init__(self, out: Output) -> None:
        self._out = out
        self._answer = AnswerView(colored=out.colored, light=theme_for(out.settings.theme) == "light")
        self._input = create_input()
        self._keys = KeyListener(self._input, self._steer)
        self._chat: Chat | None = None
        self._given = ""
        self._status = ""
        self._answered = False
        self._thought = ""
        self._summary = ""
        self._last_interrupt = 0.0
        self._prompt: PromptSession[str] = PromptSession(
            history=InMemoryHistory(),
            input=self._input,
            multiline=True,
            completer=_Suggesting(self),
            complete_while_typing=Condition(_is_command),
            key_bindings=self._bindings(),
            bottom_toolbar=self._toolbar,
            prompt_continuation="  ",
            input_processors=[SafeText()],
        )

    def bind(self, chat: Chat) -> None:
        """The chat that this is the screen of."""
        self._chat = chat
        for turn in prior_turns(chat.conductor.session):
            self._prompt.history.append_string(turn.text)

    @property
    def chat(self) -> Chat | None:
        return self._chat

    # -- showing --------------------------------------------------------------------------------------

    def line(self, *pieces: Piece) -> None:
        self._answer.flush()
        self._out.line(*pieces)
        sys.stdout.flush()

    def text(self, text: str, *, role: StyleRole = "plain") -> None:
        self._answer.flush()
        self._out.text(text, role=role)
        sys.stdout.flush()

    def notice(self, text: str) -> None:
        self.text(f"· {text}", role="dim")

    def on_event(self, event: Event) -> None:
        if self._thought and not isinstance(event, ThinkingDelta):
            self._fold_thought()
        match event:
            case TextDelta():
                self._answer.write(event.text)
            case ThinkingDelta():
                self._thought += event.text
                self._answer.show_transient(f"thinking: {self._thought[-200:]}")
            case ToolStarted(call=call):
                self.line(paint("tool", f"→ {call_text(Call(call.id, call.name, call.arguments))}"))
            case MessageAppended(message=ToolResult() as result):
                self._show_result(result)
            case MessageAppended(message=UserMessage() as said) if self._answered:  # while it worked
                self.line(paint("user", f"❯ {message_text(said)}"))
            case MessageAppended(message=AssistantMessage()) | TurnEnded():
                self._answered = isinstance(event, MessageAppended)
                self._answer.flush()
            case _:
                pass

    def _fold_thought(self) -> None:
        words, self._thought = self._thought, ""
        facts = count(len(words.split()), "word")
        self._answer.flush()
        self._out.row(paint("thinking", f"▸ thought: {words}"[:400]), paint("dim", f"  {facts}"))
        sys.stdout.flush()

    def _show_result(self, result: ToolResult) -> None:
        """The first lines of what a tool gave, each cut to the terminal."""
        self._answer.flush()
        lines = message_text(result, "\n").strip("\n").split("\n")
        for line in lines[:_RESULT_LINES]:
            self._out.row("  ", paint("error" if result.is_error is True else "dim", line))
        if len(lines) > _RESULT_LINES:
            self._out.row(paint("dim", f"  … {count(len(lines) - _RESULT_LINES, 'more line')}"))
        sys.stdout.flush()

    def progress(self, words: str) -> None:
        self._summary = (self._summary + words)[-200:]
        self._answer.show_transient(f"summarizing (Escape cancels):  {self._summary}")

    def prefill(self, text: str) -> None:
        self._given = text

    @contextmanager
    def interruptible(self, stop: Callable[[], object]) -> Iterator[None]:
        self._summary = ""
        with self._keys.listening(stop):
            try:
                yield
            finally:
                self._answer.flush()

    def _steer(self, text: str) -> bool:
        """Let the model hear a line that was entered while it works."""
        return self._chat is not None and self._chat.steer(text.strip())

    # -- asking ---------------------------------------------------------------------------------------

    async def read(self) -> str | None:
        given = self._given or self._keys.typed().rstrip("\n")
        if self._chat is not None:  # nothing changes while the person writes, so that once is enough
            self._status = one_line(line_text(status_line(self._chat.conductor)))
        self._given = ""
        try:
            line = await self._prompt.prompt_async(
                ANSI(self._out.painted(paint("user", "❯ "))), default=given, handle_sigint=False
            )
        except (EOFError, KeyboardInterrupt):
            return None
        return _COMMANDS[self._out.settings.double_escape] if line == _OPEN else line

    async def ask(self, question: str) -> str | None:
        asking: PromptSession[str] = PromptSession(input=self._input)
        with self._keys.paused():
            self._answer.flush()
            try:
                return await asking.prompt_async(f"{question} ", handle_sigint=False) or None
            except (EOFError, KeyboardInterrupt):
                return None

    async def pick(self, picker: Picker) -> str | None:
        with self._keys.paused():
            self._answer.flush()
            if picker.tree is not None:
                return await select_entry(picker.question, picker.tree, self._out, self._input)
            return await pick(picker, self._out, self._input)

    def interrupt(self) -> None:
        """An interrupt that did not come from the keyboard."""
        app = self._prompt.app
        if app.is_running:
            self._clear_or_leave(app.current_buffer.text, app.current_buffer.reset, app.exit)

    # -- keys -----------------------------------------------------------------------------------------

    def _clear_or_leave(self, written: str, clear: Callable[[], object], leave: Callable[..., None]) -> None:
        now = time.monotonic()
        if not written and now - self._last_interrupt < _TWICE:
            leave(exception=KeyboardInterrupt)
            return
        self._last_interrupt = now
        clear()

    def _bindings(self) -> KeyBindings:
        keys = KeyBindings()

        @keys.add("enter")
        def _(event: KeyPressEvent) -> None:
            event.current_buffer.validate_and_handle()

        @keys.add("escape", "enter")
        def _(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text("\n")

        @keys.add("escape", "escape", filter=Condition(lambda: not get_app().current_buffer.text))
        def _(event: KeyPressEvent) -> None:
            event.app.exit(result=_OPEN)

        @keys.add("c-c")
        def _(event: KeyPressEvent) -> None:
            buffer = event.current_buffer
            self._clear_or_leave(buffer.text, buffer.reset, event.app.exit)

        return keys

    def _toolbar(self) -> str:
        if time.monotonic() - self._last_interrupt < _TWICE:
            return "press Ctrl-C again to quit"
        return self._status


def _is_command() -> bool:
    """Whether the name of a command is being written: only then completions come by themselves."""
    text = get_app().current_buffer.text
    return text.startswith("/") and " " not in text


class _Suggesting(Completer):
    """Completions of the chat for the line that is being written."""

    def __init__(self, front: TerminalFrontend) -> None:
        self._front = front

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        del complete_event
        if self._front.chat is not None:
            for one in suggestions(self._front.chat, document.text_before_cursor):
                yield Completion(one.text, start_position=-one.replaces, display_meta=one.about)
