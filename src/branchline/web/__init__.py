"""A web viewer for sessions, served on this machine only (extra ``web``).

:func:`~branchline.web.server.serve` runs it; :func:`~branchline.web.app.create_app` makes the application.
"""

from __future__ import annotations

__all__: list[str] = []
