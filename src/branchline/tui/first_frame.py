"""The first frame of the browser, drawn without Textual.

Loading Textual takes most of the startup time. The first frame is drawn before, so that the user can read
meanwhile. The same state draws the same lines at the same positions, so nothing moves when Textual takes
over.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from rich.color import ColorSystem
from rich.style import Style

from branchline.tui.styles import GROUNDS, styles_for
from branchline.views.browser.hint_line import hints
from branchline.views.browser.layout import BROWSER_BARS, air_of, layout_for
from branchline.views.browser.line_edit import LineEdit
from branchline.views.browser.state import BrowserState, Pill, top_bar
from branchline.views.spans import Line, Span, cut_line, line_width, make_line, with_cursor

__all__ = ["Area", "color_system", "first_frame", "to_ansi"]

Ground = Literal["background", "panel", "cursor-ground"]


class Area(NamedTuple):
    """A part of a row of the screen."""

    line: Line
    columns: int
    ground: Ground = "background"
    ink: Literal["foreground", "border"] = "foreground"


def first_frame(state: BrowserState[Any], width: int, height: int) -> list[list[Area]]:
    """Return every row of the screen; the preview is empty."""
    if state.height != height:
        state.height = height
        state.lay()
    air = air_of(height)
    layout = layout_for(width, height, bars=BROWSER_BARS + sum(air))
    room = layout.room(len(state))
    hint_line = make_line(
        *(span for hint in hints("sessions", width, letters=state.letters) for span in hint.line)
    )
    border = [[Area(make_line("─" * width), width, ink="border")]]
    pane = [*border, *([[Area((), width)]] * (layout.below - 1))] if layout.below else []
    blank = [Area((), width)]
    return [
        [Area(_pills(top_bar("Sessions", demo=state.demo, width=width)), width)],
        *([blank] * air.search),
        [Area(state.search_line(LineEdit(state.words), width, typing=not state.letters), width)],
        *([blank] * air.filters),
        [Area(_pills(state.pills(width)), width)],
        *([blank] * air.columns),
        [Area(state.columns_line(room), width)],
        *(
            [*_row(state, index, room, width - layout.beside), *_pane(layout.beside)]
            for index in range(layout.rows)
        ),
        *pane,
        [Area(state.message_line(), width)],
        [Area(hint_line, width)],
    ]


def _pills(pills: list[Pill]) -> Line:
    return make_line(*(pill.span for pill in pills))


def _row(state: BrowserState[Any], index: int, room: int, columns: int) -> list[Area]:
    if index < len(state):
        line = state.line(index, room)
        first = index == state.line_of(0)
        row = Area(with_cursor(line), room, "cursor-ground") if first else Area(line, room)
    else:
        empty = state.empty_lines() if not len(state) else []
        row = Area(empty[index] if index < len(empty) else (), room)
    return [row, *([Area((), columns - room)] if columns > room else [])]


def _pane(columns: int) -> list[Area]:
    return [Area(make_line("│"), 1, ink="border"), Area((), columns - 1)] if columns else []


def to_ansi(picture: list[list[Area]], theme: str, system: ColorSystem | None) -> str:
    """Return a frame as terminal output, from the upper left corner; every row is padded."""
    grounds, styles = GROUNDS[theme], styles_for(theme)
    words = []
    for number, row in enumerate(picture, 1):
        words.append(f"\x1b[{number};1H")
        for line, columns, ground_name, ink in row:
            ground = Style(color=grounds[ink], bgcolor=grounds[ground_name])
            shown = cut_line(line, columns)
            for text, role in (*shown, Span(" " * (columns - line_width(shown)))):
                words.append((ground + styles[role]).render(text, color_system=system))
    return "".join(words)


def color_system(environment: Mapping[str, str] | None = None) -> ColorSystem | None:
    """Return the colour support that the environment announces; None without colours."""
    environment = os.environ if environment is None else environment
    if environment.get("NO_COLOR"):
        return None
    if environment.get("COLORTERM", "").strip().lower() in ("truecolor", "24bit"):
        return ColorSystem.TRUECOLOR
    kind = environment.get("TERM", "").strip().lower().rpartition("-")[2]
    return ColorSystem.EIGHT_BIT if kind in ("256color", "kitty") else ColorSystem.STANDARD
