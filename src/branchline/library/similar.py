"""Semantic search with an embedder from another package.

Only prompts, answers and summaries are embedded, without tool output. The vectors are in a separate file; the
full-text index works without it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from branchline.catalog import Catalog, CatalogUnavailable
from branchline.catalog.documents import Document, documents_of
from branchline.catalog.embeddings import Embeddings, Similar
from branchline.library.scanner import Scanner, SeenFile
from branchline.plugins.embedders import Embedder

__all__ = ["most_similar", "update_embeddings"]

_TOGETHER = 64
_LONGEST = 4000
_ROLES = ("user", "assistant", "summary")


def update_embeddings(scanner: Scanner[Any], open_catalog: Callable[[], Catalog], embedder: Embedder) -> int:
    """Embed every indexed message that has no vector yet, and return their number.

    Raises CatalogUnavailable without an index, NotSupported if the embedder fails.
    """
    with open_catalog() as catalog, _embeddings(catalog, embedder) as vectors:
        marks = _marks(catalog)
        wanted = vectors.missing({mark for found in marks.values() for mark in found})
        files = [
            file
            for file in scanner.scan()[0]
            if wanted.intersection(marks.get(scanner.stored_log(file).path or "", ()))
        ]
        done = 0
        for file in files:
            documents = [one for one in _documents(scanner, file) if one.mark in wanted and one.said.strip()]
            wanted.difference_update(one.mark for one in documents)
            for start in range(0, len(documents), _TOGETHER):
                some = documents[start : start + _TOGETHER]
                vectors.put([one.mark for one in some], embedder([one.said[:_LONGEST] for one in some]))
                done += len(some)
        return done


def most_similar(
    open_catalog: Callable[[], Catalog], embedder: Embedder, text: str, *, limit: int
) -> Sequence[Similar]:
    """Return the messages that are most similar to a text."""
    with open_catalog() as catalog, _embeddings(catalog, embedder) as vectors:
        return vectors.nearest(embedder([text])[0], limit)


def _embeddings(catalog: Catalog, embedder: Embedder) -> Embeddings:
    if catalog.directory is None:
        raise CatalogUnavailable("there is no index to embed")
    return Embeddings(catalog.directory, embedder.name)


def _marks(catalog: Catalog) -> dict[str, list[int]]:
    """The messages of every file that can be embedded."""
    found: dict[str, list[int]] = {}
    with catalog.guarded():
        rows = catalog.connection.execute(
            "SELECT file.path, doc.mark FROM doc JOIN file ON file.id = doc.file WHERE doc.role IN (?, ?, ?)",
            _ROLES,
        )
        for path, mark in rows:
            found.setdefault(path, []).append(mark)
    return found


def _documents(scanner: Scanner[Any], file: Any) -> list[Document]:
    seen: list[Document] = []

    def see(one: SeenFile) -> None:
        if one.transcript is not None:
            seen.extend(documents_of(one.transcript))

    scanner.deep_row(file, see)
    return seen
