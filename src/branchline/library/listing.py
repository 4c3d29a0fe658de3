"""Lazy session listings: rows as files are read, and counts of the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Generic, Self, TypeVar

from branchline.stores import SkippedFile
from branchline.views.session_row import Listing, SessionRow, latest_first

__all__ = ["LazyListing", "Progress"]

Progress = Callable[[int, int, Sequence[SessionRow] | None], None]
"""``progress(loaded, total, rows)``, called after each file; from time to time with the sorted rows."""

_T = TypeVar("_T")


class LazyListing(Iterator[SessionRow], Generic[_T]):
    """An iterator over rows. Each step reads files until one is listed.

    ``loaded`` of ``total`` files have been read. ``rows`` are the rows so far, in the order of reading, and
    ``hidden`` the files left out, with reasons. ``listing()`` returns the rows so far at any time.
    """

    def __init__(
        self,
        files: Iterable[_T],
        look: Callable[[_T], SessionRow | SkippedFile],
        hidden: Iterable[SkippedFile] = (),
        *,
        total: int,
        limit: int | None = None,
        done: Callable[[], None] | None = None,
        notes: Callable[[], Sequence[str]] = tuple,
        shallow: Callable[[], int] = int,
    ) -> None:
        """``total`` is the number of files; ``done`` is called after the last.

        The listing gets ``notes`` and ``shallow``.
        """
        self._files = iter(files)
        self._look = look
        self._limit = limit
        self._done = done
        self._notes = notes
        self._shallow = shallow
        self.total = total
        self.loaded = 0
        self.rows: list[SessionRow] = []
        self.hidden = list(hidden)

    @property
    def unreadable(self) -> int:
        """The number of unreadable files among the rows so far."""
        return sum(row.problem is not None for row in self.rows)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> SessionRow:
        while not self.is_done:
            row = self._step()
            if row is not None:
                return row
        raise StopIteration

    @property
    def is_done(self) -> bool:
        """Whether all files were read, or the limit was reached."""
        return self.loaded == self.total or (self._limit is not None and len(self.rows) >= self._limit)

    def listing(self) -> Listing:
        """Return the rows so far, sorted."""
        return Listing(
            sorted(self.rows, key=latest_first),
            self.hidden,
            self.total - self.loaded,
            self._notes(),
            self._shallow(),
        )

    def finish(self, progress: Progress | None = None) -> Listing:
        """Read the remaining files. An exception raised by ``progress`` ends the listing."""
        next_partial = self.loaded + 1
        if progress is None and self._limit is None:
            self._look_at_all()
        while not self.is_done:
            self._step()
            if progress is not None and not self.is_done:
                # Every tenth file at first, then less often: sorting must not cost more than reading.
                partial = self.loaded >= next_partial
                progress(self.loaded, self.total, sorted(self.rows, key=latest_first) if partial else None)
                if partial:
                    next_partial = self.loaded - self.loaded % 10 + max(10, self.loaded // 10)
        listing = self.listing()
        if progress is not None:
            progress(self.total, self.total, listing)
        return listing

    def _look_at_all(self) -> None:
        """Read all files at once, in half the time of single steps."""
        look, rows, hidden = self._look, self.rows.append, self.hidden.append
        for file in islice(self._files, max(0, self.total - self.loaded - 1)):  # the last step says: done
            row = look(file)
            self.loaded += 1
            if type(row) is SessionRow:
                rows(row)
            else:
                assert isinstance(row, SkippedFile)
                hidden(row)

    def _step(self) -> SessionRow | None:
        row = self._look(next(self._files))
        self.loaded += 1
        if isinstance(row, SkippedFile):
            self.hidden.append(row)
        else:
            self.rows.append(row)
        if self.is_done and self._done is not None:
            self._done()
        return None if isinstance(row, SkippedFile) else row
