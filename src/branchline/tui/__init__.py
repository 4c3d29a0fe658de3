"""The full-screen browser (extra ``tui``): screens over the same views that the plain commands print.

Textual is imported when :func:`run` or :func:`pick` is called: by the screens, not by the views that they
show.
"""

from __future__ import annotations

from branchline.tui.launch import pick, run

__all__ = ["pick", "run"]
