"""Contents of sessions kept for the next search, as many as fit a budget; the oldest go first."""

from __future__ import annotations

from typing import Any

from branchline.views.browser.source import Source
from branchline.views.query import Match, Query, Search, SearchFields, SearchText
from branchline.views.session_row import SessionRow, row_name

__all__ = ["SearchTextCache"]

_BUDGET = 64 << 20
"""Characters."""
_NO = Match(found=False)


class SearchTextCache:
    """Judges sessions by what is said inside them, reading each file once as long as memory allows."""

    def __init__(self, source: Source[Any], budget: int = _BUDGET) -> None:
        self._source = source
        self._budget = budget
        self._kept: dict[tuple[str, int, int], SearchText] = {}
        self._used = 0

    def judge(
        self, row: SessionRow, face: SearchFields, query: Query, *, fuzzy: bool, search: Search | None = None
    ) -> Match:
        """Whether a session is found. One that cannot be read is not; the list shows it without a query."""
        known = query.match(face, fuzzy=fuzzy, search=search)
        if not known.open:
            return known
        key = (row_name(row), row.size, row.modified_ms)
        contents = self._kept.get(key)
        if contents is None:
            try:
                contents = self._source.contents(row, query)
            except Exception:  # noqa: BLE001  files change and vanish while they are searched
                return _NO
            if contents is None:
                return _NO
            self._keep(key, contents)
        return query.match(face, contents, fuzzy=fuzzy, search=search)

    def _keep(self, key: tuple[str, int, int], contents: SearchText) -> None:
        if contents.size > self._budget // 4:
            return
        self._kept[key] = contents
        self._used += contents.size
        while self._used > self._budget:
            self._used -= self._kept.pop(next(iter(self._kept))).size
