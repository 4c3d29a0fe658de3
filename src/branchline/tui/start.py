"""The way into the app: whether it can be opened, and opening it on some screen."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from typing import Literal

from branchline.library import SessionRow
from branchline.tree import Filter
from branchline.tui.browsing import Sort
from branchline.tui.source import Scope, Source

__all__ = ["View", "available", "run"]

View = Literal["sessions", "tree", "transcript", "forest"]


def available() -> bool:
    """Whether the extra ``tui`` is installed. Imports nothing."""
    return importlib.util.find_spec("textual") is not None


def run(
    source: Source,
    *,
    view: View = "sessions",
    scope: Scope = "here",
    row: SessionRow | None = None,
    words: str = "",
    sort: Sort = "recent",
    filter: Filter = "default",  # noqa: A002
    theme: Literal["dark", "light"] = "dark",
    mouse: bool = True,
    notice: str = "",
    pins: Iterable[str] = (),
    model: str | None = None,
    base_url: str | None = None,
) -> int:
    """Open the app and return an exit code when the person leaves it."""
    from branchline.plugins import Plugins  # noqa: PLC0415
    from branchline.tui.app import BranchlineApp  # noqa: PLC0415  Textual is heavy
    from branchline.tui.pins import Pins  # noqa: PLC0415
    from branchline.tui.summarizing import SummaryModel  # noqa: PLC0415

    app = BranchlineApp(
        source,
        view=view,
        scope=scope,
        row=row,
        words=words,
        sort=sort,
        filter=filter,
        theme=theme,
        notice=notice,
        pins=Pins(ids=pins),
        hooks=Plugins.load(),
        summary_model=None if model is None else SummaryModel(name=model, base_url=base_url),
    )
    app.run(mouse=mouse)
    return app.return_code or 0
