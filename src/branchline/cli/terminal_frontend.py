"""A chat in a terminal: an input line, answers as Markdown, lists to pick from.

Enter sends, Alt+Enter inserts a newline, Escape twice opens the tree or the turns. During an answer, Escape
or Ctrl-C stops it; a line that is entered meanwhile is sent to the model when possible, and other typed text
is kept for the next prompt.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import msgspec
from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition, is_searching
from prompt_toolkit.formatted_text import ANSI
from prompt_toolkit.input import create_input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.styles import Style

from branchline.chat import Chat
from branchline.chat.completion import suggestions
from branchline.chat.frontend import SUMMARIZING, Picker
from branchline.chat.notices import status_line
from branchline.cli.input_history import InputHistory
from branchline.cli.output import Output, Piece, StyleRole, paint
from branchline.cli.streaming_answer import AnswerView
from branchline.cli.terminal_keys import KeyListener, typing_keys, with_short_escape
from branchline.cli.terminal_picker import pick
from branchline.cli.themes import theme_for
from branchline.cli.tree_selector import select_entry
from branchline.cli.visible_text import SafeText
from branchline.conductor import Event, MessageAppended, TextDelta, ThinkingDelta, ToolStarted, TurnEnded
from branchline.entries import AssistantMessage, ToolResult, UserMessage, message_text
from branchline.library.turns import prior_turns
from branchline.places import data_directory
from branchline.views.call_lines import call_row, diff_lines, short_diff
from branchline.views.cards import Card, cards
from branchline.views.file_mentions import with_mentions
from branchline.views.humanize import count, duration, format_size
from branchline.views.spans import Line, Span, cut_line, line_width, make_line, shown_line
from branchline.views.text import one_line
from branchline.views.tool_calls import Call
from branchline.views.tool_views import call_text

__all__ = ["TerminalFrontend"]

_TWICE = 2.0  # seconds in which a second Ctrl-C quits
_SEQUENCE = 1.0  # seconds in which a key after Escape belongs to it
_FAILURE_LINES = 6
_MEASURE = 88
_HISTORY = "chat-history.jsonl"
_OPEN = "\x00open"
_KEY_COMMANDS = {"\x00f1": "/help", "\x00f9": "/model", "\x00c-t": "/tree"}
"""Commands with a key of their own."""
_KEYS = (
    ("Enter", "send"),
    ("Alt+Enter", "new line"),
    ("↑", "earlier"),
    ("/", "commands"),
    ("@", "file"),
    ("Ctrl+T", "tree"),
    ("F9", "model"),
    ("F1", "help"),
)
_COMMANDS = {"tree": "/tree", "turns": "/jump"}
"""The command for Escape twice, by the setting ``double_escape``."""


class TerminalFrontend:
    """The screen of a chat in a terminal."""

    interrupted = False
    can_ask = True

    def __init__(self, out: Output, *, keep_history: bool = True) -> None:
        self._out = out
        path = os.path.join(data_directory(), _HISTORY) if out.settings.input_history else None
        self._history = InputHistory(path, keep=keep_history)
        self._answer = AnswerView(colored=out.colored, light=theme_for(out.settings.theme) == "light")
        self._input = create_input()
        self._keys = KeyListener(self._input, self._steer, self._answer.show_typed)
        self._chat: Chat | None = None
        self._given = ""
        self._status: Line = ()
        self._answered = False
        self._asking = ""  # the entry of the answer whose calls are running
        self._started = 0.0
        self._rows = False  # whether the last line was a call or thinking
        self._thought = ""
        self._summary = ""
        self._last_interrupt = 0.0
        self._escaped = 0.0  # when Escape was pressed
        self._prompt: PromptSession[str] = PromptSession(
            history=self._history,
            input=self._input,
            multiline=True,
            completer=_Suggesting(self),
            complete_while_typing=Condition(_is_completed),
            key_bindings=self._bindings(),
            bottom_toolbar=self._toolbar,
            prompt_continuation="  ",
            input_processors=[SafeText()],
            style=Style.from_dict({"bottom-toolbar": "noreverse"}),
        )
        with_short_escape(self._prompt.app)

    def bind(self, chat: Chat) -> None:
        self._chat = chat
        self._history.add_session(with_mentions(turn.text) for turn in prior_turns(chat.conductor.session))

    @property
    def chat(self) -> Chat | None:
        return self._chat

    # -- showing --------------------------------------------------------------------------------------

    @property
    def columns(self) -> int | None:
        self._out.measure()
        return self._out.columns

    def line(self, *pieces: Piece) -> None:
        self._begin()
        self._out.line(*pieces)
        sys.stdout.flush()

    def text(self, text: str, *, role: StyleRole = "plain") -> None:
        self._begin()
        self._out.text(text, role=role)
        sys.stdout.flush()

    def problem(self, words: str) -> None:
        self._begin()
        line = make_line(Span(f"▸ {words}", "error"))
        hint = "  Enter shows all"
        room = (self._out.columns or 80) - 1
        if line_width(shown_line(line)) > room:
            line = (*cut_line(line, room - len(hint)), Span(hint, "dim"))
        self._out.row(*line)
        sys.stdout.flush()

    def _begin(self) -> None:
        """Prepare to print something permanent."""
        self._answer.flush()
        self._out.measure()

    def notice(self, text: str) -> None:
        self.text(f"· {text}", role="dim")

    def card(self, card: Card) -> None:
        self._begin()
        columns = min(_MEASURE, (self._out.columns or 80) - 1)
        if card.kind in ("user", "assistant"):
            self._end_rows()
        match card.kind:
            case "user":
                self._prompt_card(card)
            case "assistant":
                self._answer.markdown(card.body)
            case "thinking":
                self._thought_line(card.body)
            case "tool" | "bash":
                self._out.row(*call_row(card, columns))
                for line in diff_lines(short_diff(card), columns) if short_diff(card) else ():
                    self._out.row(*line)
                if card.error:
                    self._failure_lines(card.body)
                self._rows = True
            case "note" | "damage":
                self._out.row(paint("error" if card.error else "dim", f"▸ {card.title}"))
            case _:
                self._out.row(paint("summary", card.title), paint("dim", f"  {'  '.join(card.meta)}"))
                self._answer.markdown(card.body)
        sys.stdout.flush()

    def _prompt_card(self, card: Card) -> None:
        text = with_mentions(card.body)
        for number, line in enumerate(text.split("\n")):
            self._out.text(f"{'  ' if number else '❯ '}{line}", role="prompt")
        for picture in card.pictures:
            self._out.row(paint("dim", f"  {picture.mime_type}, {format_size(picture.size)}"))

    def on_event(self, event: Event) -> None:
        if self._thought and not isinstance(event, ThinkingDelta):
            words, self._thought = self._thought, ""
            self._begin()
            self._thought_line(words)
        match event:
            case TextDelta():
                self._end_rows()
                self._answer.write(event.text)
            case ThinkingDelta():
                self._thought += event.text
                self._answer.show_transient(f"thinking: {self._thought[-200:]}")
            case ToolStarted(call=call):
                self._started = time.monotonic()
                self._answer.flush()
                self._answer.show_transient(f"{call_text(Call(call.id, call.name, call.arguments))} …")
            case MessageAppended(message=ToolResult() as result):
                self._show_call(event.entry, result)
            case MessageAppended(message=UserMessage() as said) if self._answered:  # while it worked
                self.line(paint("user", f"❯ {message_text(said)}"))
            case MessageAppended(message=AssistantMessage()):
                self._answered = True
                self._asking = event.entry
                self._answer.flush()
            case TurnEnded():
                self._answered = self._rows = False
                self._answer.flush()
            case _:
                pass

    def _thought_line(self, words: str) -> None:
        """Print thinking on one line: its beginning, and its length."""
        facts = f"  {count(len(words.split()), 'word')}"
        room = min(_MEASURE, (self._out.columns or 80) - 1) - len(facts)
        line = cut_line((Span("▸ Thought ", "dim"), Span(one_line(words[: 4 * room]), "thinking")), room)
        self._out.row(*line, paint("dim", facts))
        self._rows = True
        sys.stdout.flush()

    def _end_rows(self) -> None:
        """Print an empty line between calls or thinking and the text after them."""
        if self._rows:
            self._rows = False
            self.line()

    def _show_call(self, entry: str, result: ToolResult) -> None:
        """Print a call and its outcome on one line, and its error below."""
        lasted = time.monotonic() - self._started if self._started else None
        self._started = 0.0
        assert self._chat is not None
        session = self._chat.conductor.session
        asked = [self._asking] if self._asking in session.index else []
        made = cards(session.entries([*asked, entry]), home=os.path.expanduser("~"))
        for card in made:
            if card.kind == "tool" and (card.call is None or card.call.id == result.tool_call_id):
                timed = card.meta if lasted is None else (*card.meta, duration(lasted))
                self.card(msgspec.structs.replace(card, meta=timed))

    def _failure_lines(self, text: str) -> None:
        """Print the first lines of the output of a failed call."""
        lines = text.strip("\n").split("\n")
        for line in lines[:_FAILURE_LINES]:
            self._out.row("        ", paint("error", line))
        if len(lines) > _FAILURE_LINES:
            self._out.row(paint("dim", f"        … {count(len(lines) - _FAILURE_LINES, 'more line')}"))

    def progress(self, words: str, label: str = SUMMARIZING) -> None:
        self._summary = (self._summary + words)[-200:]
        room = max(10, (self.columns or 80) - len(label) - 4)
        self._answer.show_transient(f"{label}: {one_line(self._summary)[-room:]}")

    def prefill(self, text: str) -> None:
        self._given = text

    @contextmanager
    def interruptible(self, stop: Callable[[], object]) -> Iterator[None]:
        self._summary = ""
        with self._keys.listening(stop):
            try:
                yield
            finally:
                self._answer.show_typed("")
                self._answer.flush()

    def _steer(self, text: str) -> bool:
        """Send a line to the model while it works."""
        return self._chat is not None and self._chat.steer(text.strip())

    # -- asking ---------------------------------------------------------------------------------------

    async def read(self) -> str | None:
        given = self._given or self._keys.typed().rstrip("\n")
        if self._chat is not None:  # does not change while the user types
            self._status = status_line(self._chat.conductor)
        self._given = ""
        try:
            line = await self._prompt.prompt_async(
                ANSI(self._out.painted(paint("user", "❯ "))), default=given, handle_sigint=False
            )
        except (EOFError, KeyboardInterrupt):
            return None
        if line == _OPEN:
            return _COMMANDS[self._out.settings.double_escape]
        return _KEY_COMMANDS.get(line, line)

    async def ask(self, question: str) -> str | None:
        asking: PromptSession[str] = PromptSession(input=self._input, key_bindings=typing_keys())
        with_short_escape(asking.app)
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
        """Handle an interrupt that did not come from the keyboard."""
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
        asyncio.get_running_loop().call_later(_TWICE, self._prompt.app.invalidate)  # it leaves no more then
        clear()

    def _bindings(self) -> KeyBindings:
        keys = typing_keys()

        @keys.add("enter")
        def _(event: KeyPressEvent) -> None:
            if self._follows_escape(event):
                event.current_buffer.insert_text("\n")
            else:
                event.current_buffer.validate_and_handle()

        @keys.add("escape", filter=~is_searching)
        def _(event: KeyPressEvent) -> None:
            if self._follows_escape(event) and not event.current_buffer.text:
                event.app.exit(result=_OPEN)
            else:
                self._escaped = time.monotonic()

        @keys.add("escape", "enter")
        def _(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text("\n")

        for name in _KEY_COMMANDS:
            keys.add(name[1:])(lambda event, name=name: self._run(event, name))

        @keys.add("escape", "escape", filter=Condition(lambda: not get_app().current_buffer.text))
        def _(event: KeyPressEvent) -> None:
            event.app.exit(result=_OPEN)

        @keys.add("c-c")
        def _(event: KeyPressEvent) -> None:
            buffer = event.current_buffer
            self._clear_or_leave(buffer.text, buffer.reset, event.app.exit)

        return keys

    def _follows_escape(self, event: KeyPressEvent) -> bool:
        """Return whether the key before this one was Escape, a moment ago."""
        before = [press.key for press in event.previous_key_sequence]
        return before == [Keys.Escape] and time.monotonic() - self._escaped < _SEQUENCE

    def _run(self, event: KeyPressEvent, command: str) -> None:
        """Run the command of a key; typed text is kept."""
        self._given = event.current_buffer.text
        event.app.exit(result=command)

    def _toolbar(self) -> ANSI:
        self._out.measure()
        if time.monotonic() - self._last_interrupt < _TWICE:
            return ANSI(self._out.painted(paint("warning", "press Ctrl-C again to quit")))
        attached = 0 if self._chat is None else len(self._chat.attached)
        files = (Span(f" · {count(attached, 'file')} attached", "label"),) if attached else ()
        keys = _keys_line(self._out.columns or 80)
        return ANSI(f"{self._out.painted(*self._status, *files)}\n{self._out.painted(*keys)}")


def _keys_line(columns: int) -> Line:
    """The most useful keys that fit, and the help key."""
    *keys, help_key = ((Span(name, "title"), Span(f" {what}   ", "dim")) for name, what in _KEYS)
    room = columns - line_width(help_key)
    shown: Line = ()
    for key in keys:
        if line_width((*shown, *key)) > room:
            break
        shown = (*shown, *key)
    return (*shown, *help_key)


def _is_completed() -> bool:
    """Whether completions open automatically: for a command name, and for a file after ``@``."""
    buffer = get_app().current_buffer
    text = buffer.text
    if text.startswith("/"):
        return " " not in text
    return buffer.document.get_word_before_cursor(WORD=True).startswith("@")


class _Suggesting(Completer):
    """Completions of the chat for the input line."""

    def __init__(self, front: TerminalFrontend) -> None:
        self._front = front

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        del complete_event
        if self._front.chat is not None:
            for one in suggestions(self._front.chat, document.text_before_cursor):
                yield Completion(one.text, start_position=-one.replaces, display_meta=one.about)
