"""The way into the app: whether it can be opened, and opening it on some screen."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Literal

from branchline.library import SessionRow
from branchline.tree import Filter
from branchline.views.browser.layout import SMALLEST
from branchline.views.browser.state import BrowserState

if TYPE_CHECKING:
    from branchline.flows.hooks import Hooks

__all__ = ["View", "available", "run"]

View = Literal["sessions", "tree", "transcript", "forest"]


def available() -> bool:
    """Whether the extra ``tui`` is installed. Imports nothing."""
    return importlib.util.find_spec("textual") is not None


def run(
    state: BrowserState,
    *,
    view: View = "sessions",
    row: SessionRow | None = None,
    filter: Filter = "default",  # noqa: A002
    theme: Literal["dark", "light"] = "dark",
    mouse: bool = True,
    notice: str = "",
    model: str | None = None,
    base_url: str | None = None,
) -> int:
    """Open the app and return an exit code when the person leaves it.

    Where it opens with the list, the first screenful is drawn here, before Textual is loaded.
    """
    from branchline.tui.terminal_handover import first_screen  # noqa: PLC0415

    def draw(columns: int, rows: int) -> str | None:
        if view != "sessions" or columns < SMALLEST[0] or rows < SMALLEST[1]:
            return None
        return _first_words(state, columns, rows, theme)

    with first_screen(draw) as terminal:
        from branchline.actions.navigate import SummaryModel  # noqa: PLC0415
        from branchline.tui.app import BranchlineApp  # noqa: PLC0415  Textual is heavy

        app = BranchlineApp(
            state,
            view=view,
            row=row,
            filter=filter,
            theme=theme,
            notice=notice,
            hooks=_hooks,
            give_back=terminal.give_back,
            summary_model=None if model is None else SummaryModel(name=model, base_url=base_url),
        )
        terminal.hand_over()
        app.run(mouse=mouse)
    return app.return_code or 0


def _first_words(state: BrowserState, columns: int, rows: int, theme: Literal["dark", "light"]) -> str:
    from branchline.tui.first_frame import color_system, first_frame, to_ansi  # noqa: PLC0415
    from branchline.tui.styles import DARK, LIGHT  # noqa: PLC0415

    picture = first_frame(state, columns, rows)
    return to_ansi(picture, LIGHT if theme == "light" else DARK, color_system())


def _hooks() -> Hooks:
    from branchline.plugins import Plugins  # noqa: PLC0415

    return Plugins.load()
