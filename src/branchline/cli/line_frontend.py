"""A chat without a terminal: one prompt per line, answers as text, remarks on stderr.

Scripts and tests use it. Pickers are numbered lists: the answer is a number, the key of an option, or a
search with one match. An empty line or a command cancels.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from branchline.chat import Chat
from branchline.chat.frontend import SUMMARIZING, Picker, PickerAction, PickerOption
from branchline.cli.output import Output, Piece, StyleRole, paint, remark
from branchline.cli.stdin_lines import InputLines, Interrupted
from branchline.conductor import Event, MessageAppended, TextDelta, ToolStarted
from branchline.entries import AssistantMessage, ToolResult, message_text
from branchline.views.cards import Card
from branchline.views.humanize import format_size
from branchline.views.outline import window
from branchline.views.spans import cut_line
from branchline.views.text import one_line
from branchline.views.tool_calls import Call
from branchline.views.tool_views import call_text

__all__ = ["LineFrontend"]

_LISTED = 40
_LONGEST_LINE = 300
"""Characters of an option in a list."""
_COMMANDS = ("/", "!")


class LineFrontend:
    """Reads and writes lines. Without ``answers``, the answers of the model are not printed."""

    def __init__(self, out: Output, *, answers: bool = True) -> None:
        self._out = out
        self._answers = answers
        self._begun = ""
        self._input = InputLines()
        self._warned = False
        self._kept: str | None = None  # a line that was read ahead
        self.interrupted = False
        """Whether the user quit by interrupting twice."""

    def bind(self, chat: Chat) -> None:
        """Do nothing: this frontend does not need the chat."""

    # -- showing --------------------------------------------------------------------------------------

    def line(self, *pieces: Piece) -> None:
        self._out.line(*pieces)
        sys.stdout.flush()

    def text(self, text: str, *, role: StyleRole = "plain") -> None:
        self._out.text(text, role=role)
        sys.stdout.flush()

    def notice(self, text: str) -> None:
        remark(text)

    def progress(self, words: str, label: str = SUMMARIZING) -> None:
        """Show nothing: there is no terminal."""

    def problem(self, words: str) -> None:
        self.notice(words)

    @property
    def columns(self) -> int | None:
        return self._out.columns

    def card(self, card: Card) -> None:
        status = f" ({', '.join(card.status)})" if card.kind == "tool" and card.status else ""
        words = {
            "user": "You",
            "assistant": "Assistant",
            "thinking": "Thought",
            "tool": "Tool",
            "bash": "Shell",
        }
        name = words.get(card.kind)
        text = card.title if card.kind in ("tool", "bash", "note", "damage") else card.body.strip("\n")
        self.text(f"{name}: {text}{status}" if name else text or card.title)
        for picture in card.pictures:
            self.text(f"{picture.mime_type}, {format_size(picture.size)}")

    def on_event(self, event: Event) -> None:
        match event:
            case TextDelta() if self._answers:
                *lines, self._begun = (self._begun + event.text).split("\n")
                for line in lines:
                    self.text(line)
            case ToolStarted(call=call):
                self.notice(one_line(call_text(Call(call.id, call.name, call.arguments))))
            case MessageAppended(message=AssistantMessage()) if self._begun:
                self.text(self._begun)
                self._begun = ""
            case MessageAppended(message=ToolResult() as result) if result.is_error is True:
                self.notice(f"{result.tool_name} failed: {one_line(message_text(result))}")
            case _:
                pass

    def prefill(self, text: str) -> None:
        self.notice("your prompt was not sent; edit and resend it:")
        self.text(text)

    @contextmanager
    def interruptible(self, stop: Callable[[], object]) -> Iterator[None]:
        del stop  # interrupts go to the chat directly
        yield

    # -- asking ---------------------------------------------------------------------------------------

    async def read(self) -> str | None:
        line = await self._next("> ")
        if not isinstance(line, Interrupted):
            self._warned = False
            return line
        if self._warned:
            self.interrupted = True
            return None
        self._warned = True
        self.notice("interrupted; press Ctrl-C again to quit")
        return ""

    @property
    def can_ask(self) -> bool:
        """Whether questions can be asked; input from a script holds prompts, not answers."""
        return not self._out.json and all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))

    async def ask(self, question: str) -> str | None:
        self.notice(question)
        line = await self._next("? ")
        return None if isinstance(line, Interrupted) else line or None

    async def pick(self, picker: Picker) -> str | None:
        options, at = picker.options, picker.selected
        self.notice(f"{picker.question} Number, search text, or Enter to cancel:")
        if picker.actions:
            self.notice(f"also: {', '.join(f'{action.name} NUMBER' for action in picker.actions)}")
        while True:
            self._list(options, at)
            line = await self._next("? ")
            if line is None or isinstance(line, Interrupted) or not (answer := line.strip()):
                return None
            if answer.startswith(_COMMANDS):  # cancels, and runs as a command
                self._kept = line
                return None
            if answer.isdecimal() and 0 < int(answer[:9]) <= len(options):
                return options[int(answer) - 1].key
            if any(one.key == answer for one in options):
                return answer
            if (action := _action(picker, answer)) is not None:
                chosen = _numbered(options, answer)
                return await self.pick(await action.run(chosen) or picker)
            found = picker.find(answer)
            if len(found) == 1:
                return found[0].key
            if found:
                options, at = found, 0
            else:
                self.notice(f"nothing here has {answer!r}")

    def _list(self, options: Sequence[PickerOption], at: int) -> None:
        """Print the options around the selected one, with their numbers."""
        shown = window(len(options), at, _LISTED)
        room = len(str(len(options)))
        for number in shown:
            line = cut_line(options[number].line, _LONGEST_LINE)
            self._out.row(paint("number", f"{number + 1:>{room}}  "), *line)
        sys.stdout.flush()
        if len(shown) < len(options):
            self.notice(f"{len(shown)} of {len(options)} shown; type to search the others")

    async def _next(self, mark: str) -> str | Interrupted | None:
        if self._kept is not None:
            kept, self._kept = self._kept, None
            return kept
        if sys.stdin.isatty():
            sys.stdout.write(mark)
            sys.stdout.flush()
        return await self._input.next()

    def interrupt(self) -> None:
        """Handle an interrupt while idle."""
        self._input.interrupt()


def _action(picker: Picker, answer: str) -> PickerAction | None:
    """The action that an answer names, with or without a number."""
    name, _, number = answer.partition(" ")
    if number and not number.strip().isdecimal():
        return None
    return next((action for action in picker.actions if action.name == name), None)


def _numbered(options: Sequence[PickerOption], answer: str) -> str | None:
    number = answer.partition(" ")[2].strip()
    if number and 0 < int(number[:9]) <= len(options):
        return options[int(number) - 1].key
    return None
