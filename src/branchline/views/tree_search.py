"""Search in the tree screen: every word must occur, in any case, in the label or the text of an entry."""

from __future__ import annotations

from collections.abc import Mapping

from branchline.formats import LabelState
from branchline.tree import EntrySource
from branchline.views.entry_rows import search_text

__all__ = ["Search"]


class Search:
    """The search of one session. The first one reads all payloads and caches their text."""

    def __init__(self, source: EntrySource, labels: Mapping[str, LabelState] | None = None) -> None:
        self.source = source
        self.labels: Mapping[str, LabelState] = {} if labels is None else labels
        self._texts: list[str] = []

    def find(self, query: str) -> set[int] | None:
        """Return the positions where all words of the query occur; None if the query has no words."""
        words = query.lower().split()
        if not words:
            return None
        self.collect()
        first, *others = words
        found = [place for place, text in enumerate(self._texts) if first in text]
        for word in others:
            found = [place for place in found if word in self._texts[place]]
        return {*found, *self._labeled(words)}

    def _labeled(self, words: list[str]) -> list[int]:
        """The positions where label and text together have all words."""
        positions = self.source.tree.positions
        found = []
        for key, label in self.labels.items():
            place = positions.get(key)
            if place is not None:
                name = label.text.lower()
                if all(word in name or word in self._texts[place] for word in words):
                    found.append(place)
        return found

    def collect(self, most: int | None = None) -> bool:
        """Read at most ``most`` entries that were not read yet; return whether all have been read.

        A screen that must stay responsive calls this in small steps before :meth:`find`.
        """
        texts, size = self._texts, len(self.source.tree)
        end = size if most is None else min(size, len(texts) + most)
        entries = self.source.iter_entries(range(len(texts), end))
        texts += [search_text(entry).lower() for entry in entries]
        return len(texts) >= size
