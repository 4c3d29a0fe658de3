"""Start the app on one of its screens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from branchline.library import SessionRow
from branchline.tree import Filter
from branchline.views.browser.layout import SMALLEST
from branchline.views.browser.state import BrowserState

if TYPE_CHECKING:
    from branchline.flows.hooks import Hooks
    from branchline.library.browser_source import LibrarySource
    from branchline.tui.app import BranchlineApp

__all__ = ["View", "pick", "run"]

View = Literal["sessions", "tree", "transcript", "forest"]


def run(
    state: BrowserState[LibrarySource],
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
    """Run the app and return its exit code."""
    options = {"view": view, "row": row, "filter": filter, "notice": notice}
    summary = None if model is None else (model, base_url)
    return _open(state, theme=theme, mouse=mouse, summary=summary, **options).return_code or 0


def pick(
    state: BrowserState[LibrarySource],
    verb: str,
    *,
    theme: Literal["dark", "light"] = "dark",
    mouse: bool = True,
) -> SessionRow | None:
    """Run the app to pick a session for a verb; None if the user quits."""
    return _open(state, theme=theme, mouse=mouse, picking=verb).picked


def _open(
    state: BrowserState[LibrarySource],
    *,
    theme: Literal["dark", "light"],
    mouse: bool,
    summary: tuple[str, str | None] | None = None,
    **options: Any,
) -> BranchlineApp:
    """Run the app until the user quits.

    If it opens with the list, the first frame is drawn here, before Textual is loaded.
    """
    view = options.get("view", "sessions")
    from branchline.tui.terminal_handover import first_screen  # noqa: PLC0415

    def draw(columns: int, rows: int) -> str | None:
        if view != "sessions" or columns < SMALLEST[0] or rows < SMALLEST[1]:
            return None
        return _first_words(state, columns, rows, theme)

    with first_screen(draw) as terminal:
        from branchline.actions.summary_model import SummaryModel  # noqa: PLC0415
        from branchline.tui.app import BranchlineApp  # noqa: PLC0415  Textual is heavy

        app = BranchlineApp(
            state,
            theme=theme,
            palette=_has_palette(),
            hooks=_hooks,
            give_back=terminal.give_back,
            summary_model=None if summary is None else SummaryModel(name=summary[0], base_url=summary[1]),
            **options,
        )
        terminal.hand_over()
        app.run(mouse=mouse)
    return app


def _first_words(
    state: BrowserState[LibrarySource], columns: int, rows: int, theme: Literal["dark", "light"]
) -> str:
    from branchline.tui.first_frame import color_system, first_frame, to_ansi  # noqa: PLC0415
    from branchline.tui.styles import theme_name  # noqa: PLC0415

    picture = first_frame(state, columns, rows)
    return to_ansi(picture, theme_name(theme, palette=_has_palette()), color_system())


def _has_palette() -> bool:
    """Whether the terminal has 256 colours or fewer."""
    from rich.color import ColorSystem  # noqa: PLC0415

    from branchline.tui.first_frame import color_system  # noqa: PLC0415

    return color_system() not in (None, ColorSystem.TRUECOLOR)


def _hooks() -> Hooks:
    from branchline.plugins import Plugins  # noqa: PLC0415

    return Plugins.load()
