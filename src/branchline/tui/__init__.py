"""The full-screen browser (extra ``tui``): screens over the same views that the plain commands print.

Nothing here imports Textual before :func:`run` or :func:`pick` is called; modules of the screens do, those of
the views that they show do not.
"""

from __future__ import annotations

from branchline.tui.launch import pick, run

__all__ = ["pick", "run"]
