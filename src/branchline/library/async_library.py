"""The methods of a library as coroutines, for programs with an event loop; each runs in a worker thread."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from branchline.errors import InvalidType
from branchline.library.library import SessionLibrary
from branchline.views.session_row import SessionRow

__all__ = ["AsyncSessionLibrary"]

_P = ParamSpec("_P")
_T = TypeVar("_T")
_TOGETHER = 32  # rows that are handed to an event loop at once


def _in_thread(
    verb: Callable[Concatenate[SessionLibrary, _P], _T],
) -> Callable[Concatenate[AsyncSessionLibrary, _P], Coroutine[Any, Any, _T]]:
    @wraps(verb)
    async def call(self: AsyncSessionLibrary, /, *arguments: _P.args, **options: _P.kwargs) -> _T:
        import asyncio  # noqa: PLC0415  only async callers need it

        return await asyncio.to_thread(verb, self.library, *arguments, **options)

    return call


class AsyncSessionLibrary:
    """A library with coroutines for methods. ``progress`` is called in the worker thread."""

    def __init__(self, library: SessionLibrary) -> None:
        if not isinstance(library, SessionLibrary):
            raise InvalidType(f"this takes a SessionLibrary, not {type(library).__name__}")
        self.library = library

    list = _in_thread(SessionLibrary.list)
    earlier_parts = _in_thread(SessionLibrary.earlier_parts)
    known_rows = _in_thread(SessionLibrary.known_rows)
    latest = _in_thread(SessionLibrary.latest)
    find = _in_thread(SessionLibrary.find)
    find_by_id = _in_thread(SessionLibrary.find_by_id)
    find_by_title = _in_thread(SessionLibrary.find_by_title)
    forest = _in_thread(SessionLibrary.forest)
    drafts = _in_thread(SessionLibrary.drafts)
    path_of = _in_thread(SessionLibrary.path_of)
    describe = _in_thread(SessionLibrary.describe)
    open = _in_thread(SessionLibrary.open)
    get = _in_thread(SessionLibrary.get)
    get_or_create = _in_thread(SessionLibrary.get_or_create)
    close = _in_thread(SessionLibrary.close)
    rename = _in_thread(SessionLibrary.rename)
    set_title = _in_thread(SessionLibrary.set_title)
    remove = _in_thread(SessionLibrary.remove)
    reload = _in_thread(SessionLibrary.reload)
    search = _in_thread(SessionLibrary.search)
    sql = _in_thread(SessionLibrary.sql)
    statistics = _in_thread(SessionLibrary.statistics)
    stats = _in_thread(SessionLibrary.stats)
    index_status = _in_thread(SessionLibrary.index_status)
    update_index = _in_thread(SessionLibrary.update_index)
    details = _in_thread(SessionLibrary.details)
    rows_at = _in_thread(SessionLibrary.rows_at)
    trash = _in_thread(SessionLibrary.trash)
    restore = _in_thread(SessionLibrary.restore)
    prune = _in_thread(SessionLibrary.prune)
    check = _in_thread(SessionLibrary.check)
    import_file = _in_thread(SessionLibrary.import_file)

    async def iter_rows(self, deep: bool = False, *, limit: int | None = None) -> AsyncIterator[SessionRow]:  # noqa: FBT001, FBT002
        """Yield the rows of :meth:`SessionLibrary.iter_rows`, read in batches."""
        import asyncio  # noqa: PLC0415  as above

        rows = await asyncio.to_thread(self.library.iter_rows, deep, limit=limit)
        while not rows.is_done:
            for row in await asyncio.to_thread(_next_rows, rows):
                yield row


def _next_rows(rows: Any) -> Any:
    return tuple(itertools.islice(rows, _TOGETHER))
