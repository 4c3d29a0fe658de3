"""The tree selector of the chat, with the state, rows and keys of the browser's tree screen.

Typing searches, Enter selects, Escape clears the search and then cancels. Shift+L edits the label of the
entry under the cursor.
"""

from __future__ import annotations

from prompt_toolkit.application import Application, get_app
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import ANSI, StyleAndTextTuples, to_formatted_text
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import FormattedTextControl, Layout, Window

from branchline.chat.frontend import TreeChoice
from branchline.cli.output import Output, Piece, paint
from branchline.cli.terminal_keys import with_short_escape
from branchline.errors import BranchlineError
from branchline.views.browser.entry_menu import refusal
from branchline.views.browser.keymap import TREE_LETTERS, TREE_SELECTOR
from branchline.views.browser.line_edit import EDIT_KEYS, LineEdit
from branchline.views.browser.search_line import TYPE_TO_SEARCH, field_line, search_line
from branchline.views.outline import EMPTY, counter, window
from branchline.views.spans import with_cursor
from branchline.views.text import one_line

__all__ = ["select_entry"]

_ROWS = 30
_BARS = 4


async def select_entry(question: str, choice: TreeChoice, out: Output, terminal: Input) -> str | None:
    """Return the id of the selected entry; None if the user cancelled."""
    return await _Selector(question, choice, out).application(terminal).run_async(handle_sigint=False)


class _Selector:
    """The selector on a terminal, with a label that is being edited, if any."""

    def __init__(self, question: str, choice: TreeChoice, out: Output) -> None:
        self._question = question
        self._choice = choice
        self._state = choice.state
        self._out = out
        self._search_edit = LineEdit(choice.state.words)
        self._label: LineEdit | None = None
        self._notice = ""

    def application(self, terminal: Input) -> Application[str | None]:
        window_ = Window(FormattedTextControl(self._screen, focusable=True), dont_extend_height=True)
        made: Application[str | None] = Application(
            layout=Layout(window_), key_bindings=self._keys(), input=terminal, erase_when_done=True
        )
        return with_short_escape(made)

    # -- showing --------------------------------------------------------------------------------------

    @property
    def _height(self) -> int:
        return max(3, min(_ROWS, get_app().output.get_size().rows - _BARS - 1))

    def _screen(self) -> StyleAndTextTuples:
        state, columns = self._state, self._out.columns or 80
        lines = [
            self._line(
                paint("heading", self._question),
                paint("dim", "  Enter selects, Escape cancels, Shift+L labels, F8 filters, Ctrl+←→ fold"),
            ),
            self._line(*self._search()),
        ]
        for index in window(len(state), max(0, state.cursor), self._height):
            line = state.line(index, columns)
            lines.append(self._line(*(with_cursor(line) if index == state.cursor else line)))
        if not len(state):
            lines.append(self._line(paint("dim", EMPTY)))
        lines.append(
            self._line(paint("dim", counter(state.outline, state.cursor)), paint("warning", self._notice))
        )
        shown: StyleAndTextTuples = []
        for line_ in lines:
            shown += [*line_, ("", "\n")]
        return shown[:-1]

    def _search(self) -> tuple[Piece, ...]:
        if self._label is None:
            return search_line(self._search_edit, TYPE_TO_SEARCH, typing=True)
        return (
            paint("label", " label: "),
            *field_line(self._label),
            paint("dim", "  Enter saves it, empty removes it, Escape cancels"),
        )

    def _line(self, *pieces: Piece) -> StyleAndTextTuples:
        return list(to_formatted_text(ANSI(self._out.painted(*pieces))))

    # -- keys -----------------------------------------------------------------------------------------

    def _keys(self) -> KeyBindings:
        bindings = KeyBindings()
        labelling = Condition(lambda: self._label is not None)
        for key in TREE_SELECTOR:
            for names in _terminal_keys(key.keys):
                bindings.add(*names, filter=~labelling)(lambda _event, action=key.action: self._act(action))

        @bindings.add("enter")
        def _(event: KeyPressEvent) -> None:
            if self._label is not None:
                self._save_label()
            elif (key := self._state.key) is not None:
                event.app.exit(result=key)

        @bindings.add("escape")
        def _(event: KeyPressEvent) -> None:
            if self._label is not None:
                self._label = None
            elif self._state.words:
                self._search_edit.set("")
                self._state.search("")
            else:
                event.app.exit(result=None)

        @bindings.add("c-c")
        def _(event: KeyPressEvent) -> None:
            event.app.exit(result=None)

        for name in EDIT_KEYS:
            for keys in _terminal_keys(name):
                bindings.add(*keys)(lambda _event, key=name: self._edit(key))

        @bindings.add(Keys.BracketedPaste)
        @bindings.add(Keys.Any)
        def _(event: KeyPressEvent) -> None:
            text = one_line(event.data) if event.data != " " else " "
            if self._label is not None or text not in TREE_LETTERS:
                self._field.insert(text)
                self._typed()

        return bindings

    @property
    def _field(self) -> LineEdit:
        return self._search_edit if self._label is None else self._label

    def _edit(self, key: str) -> None:
        if self._field.press(key) == "changed":
            self._typed()

    def _typed(self) -> None:
        if self._label is None:
            self._state.search(self._search_edit.text)

    def _act(self, action: str) -> None:
        self._notice = ""
        if action == "label":
            self._begin_label()
        else:
            self._state.act(action, self._height)

    def _begin_label(self) -> None:
        if (key := self._state.key) is None:
            return
        self._state.move_to(self._state.cursor)  # stays at the labelled entry when the search ends
        session = self._state.session
        why = refusal(session.transcript, "label")
        if why is not None:
            self._notice = f"   not labelled: {why}"
        else:
            self._label = LineEdit(session.label(key) or "")

    def _save_label(self) -> None:
        text, self._label = self._field.text.strip(), None
        if (key := self._state.key) is None:
            return
        try:
            self._choice.label(key, text or None)
        except (BranchlineError, OSError, ValueError) as problem:
            self._notice = f"   not labelled: {problem}"
            return
        self._state.set_session(self._state.session)


def _terminal_keys(keys: str) -> list[tuple[str, ...]]:
    """Translate keys to prompt_toolkit names, without those that a terminal cannot send."""
    found: list[tuple[str, ...]] = []
    for key in keys.split(","):
        *held, last = key.split("+")
        match held:
            case []:
                found.append((last,))
            case ["ctrl"]:
                found.append((f"c-{last}",))
            case ["alt"]:
                found.append(("escape", last))
            case ["shift"] if len(last) > 1 and not last[1:].isdigit():
                found.append((f"s-{last}",))
            case _:
                pass
    return found
