"""A list to pick from in the terminal: typing narrows it, arrows move, Enter selects, Escape cancels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.formatted_text import ANSI, StyleAndTextTuples, to_formatted_text
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import BufferControl, FormattedTextControl, HSplit, Layout, VSplit, Window
from prompt_toolkit.layout.dimension import Dimension

from branchline.chat.frontend import Picker, PickerAction, PickerOption
from branchline.cli.output import Output, paint
from branchline.views.outline import window

__all__ = ["pick"]

_ROWS = 14


async def pick(picker: Picker, out: Output, terminal: Input) -> str | None:
    """Return the key of the picked option; None if the user cancelled."""
    while True:
        chosen = await _List(picker, out).application(terminal).run_async(handle_sigint=False)
        if not isinstance(chosen, _Pressed):
            return chosen
        picker = await chosen.action.run(chosen.option) or picker


class _Pressed(NamedTuple):
    """The key of an action, pressed on this option."""

    action: PickerAction
    option: str | None


class _List:
    """The shown options, and the cursor."""

    def __init__(self, picker: Picker, out: Output) -> None:
        self._picker = picker
        self._out = out
        self._options: Sequence[PickerOption] = picker.options
        self._at = picker.selected
        self._filter = Buffer(multiline=False, on_text_changed=self._narrow)

    def application(self, terminal: Input) -> Application[str | _Pressed | None]:
        head = Window(FormattedTextControl(self._head), height=1, dont_extend_height=True)
        words = VSplit(
            [
                Window(FormattedTextControl("  find: "), width=8, height=1),
                Window(BufferControl(self._filter), height=1),
            ]
        )
        help_line = Window(FormattedTextControl(self._help), height=1, dont_extend_height=True)
        actions = [help_line] if self._picker.actions else []
        rows = Window(FormattedTextControl(self._rows), height=Dimension(max=_ROWS), dont_extend_height=True)
        return Application(
            layout=Layout(HSplit([head, rows, words, *actions]), focused_element=self._filter),
            key_bindings=self._keys(),
            input=terminal,
            erase_when_done=True,
        )

    # -- showing --------------------------------------------------------------------------------------

    def _head(self) -> StyleAndTextTuples:
        by_number = "a digit or " if self._picker.numbered else ""
        facts = f"  {len(self._options)} · {by_number}Enter selects, Escape cancels"
        return self._line(paint("heading", self._picker.question), paint("dim", facts))

    def _help(self) -> StyleAndTextTuples:
        return self._line(paint("dim", "  " + " · ".join(action.help for action in self._picker.actions)))

    def _rows(self) -> StyleAndTextTuples:
        shown: StyleAndTextTuples = []
        for number in window(len(self._options), self._at, _ROWS):
            here = number == self._at
            digit = f"{number + 1}  " if self._picker.numbered else ""
            cursor = paint("cursor", "❯ " if here else "  ")
            shown += self._line(cursor, paint("title", digit), *self._options[number].line)
            shown.append(("", "\n"))
        if not shown:
            shown = self._line(paint("dim", "  no matches"))
        return shown

    def _line(self, *pieces: object) -> StyleAndTextTuples:
        return list(to_formatted_text(ANSI(self._out.painted(*pieces))))  # type: ignore[arg-type]

    # -- keys -----------------------------------------------------------------------------------------

    def _narrow(self, buffer: Buffer) -> None:
        words = buffer.text
        self._options = self._picker.find(words) if words.strip() else self._picker.options
        self._at = 0 if words.strip() else self._picker.selected

    def _move(self, by: int) -> None:
        self._at = max(0, min(len(self._options) - 1, self._at + by))

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()
        steps = {"up": -1, "down": 1, "pageup": -_ROWS, "pagedown": _ROWS, "c-p": -1, "c-n": 1}
        for name, by in steps.items():
            keys.add(name)(lambda _event, by=by: self._move(by))
        keys.add("home")(lambda _event: self._move(-len(self._options)))
        keys.add("end")(lambda _event: self._move(len(self._options)))

        @keys.add("enter")
        def _(event: KeyPressEvent) -> None:
            if self._options:
                event.app.exit(result=self._options[self._at].key)

        @keys.add("escape", eager=True)
        def _(event: KeyPressEvent) -> None:
            if self._filter.text:
                self._filter.reset()
                self._narrow(self._filter)
            else:
                event.app.exit(result=None)

        @keys.add("c-c")
        @keys.add("c-d")
        def _(event: KeyPressEvent) -> None:
            event.app.exit(result=None)

        if self._picker.numbered:
            for digit in "123456789":
                keys.add(digit, eager=True)(self._pick_number)
        for action in self._picker.actions:
            keys.add(action.key, eager=True)(lambda event, action=action: self._press(event, action))
        return keys

    def _pick_number(self, event: KeyPressEvent) -> None:
        number = int(event.data)
        if number <= len(self._picker.options):
            event.app.exit(result=self._picker.options[number - 1].key)

    def _press(self, event: KeyPressEvent, action: PickerAction) -> None:
        option = self._options[self._at].key if self._options else None
        event.app.exit(result=_Pressed(action, option))
