"""Embedding functions from other packages, for semantic search.

A package declares its function in the entry point group ``branchline.embedders``; the setting ``embedder``
selects one. Without the setting none is loaded. The function, by convention ``branchline_embed``, takes a
list of texts and returns one vector for each, all of the same length.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Sequence
from importlib.metadata import entry_points

from branchline.errors import NotSupported
from branchline.plugins.packages import call_plugin

__all__ = ["GROUP", "Embed", "Embedder", "load_embedder"]

GROUP = "branchline.embedders"
"""The entry point group for embedders."""
Embed = Callable[[list[str]], Sequence[Sequence[float]]]


class Embedder:
    """A named embedding function; its vectors are validated and normalized."""

    def __init__(self, name: str, embed: Embed) -> None:
        self.name = name
        self._embed = embed

    def __call__(self, texts: Sequence[str]) -> list[array[float]]:
        """Return a unit vector for each text. Raises NotSupported if the function fails."""
        try:
            vectors = [_normalized(vector) for vector in call_plugin(self._embed, list(texts))]
        except Exception as problem:  # from another package: it may raise anything
            raise NotSupported(
                f"the embedder {self.name} failed: {type(problem).__name__}: {problem}"
            ) from problem
        if len(vectors) != len(texts) or len({len(vector) for vector in vectors}) > 1:
            raise NotSupported(f"the embedder {self.name} must return one vector of one length for each text")
        return vectors


def load_embedder(name: str) -> Embedder:
    """Return the installed embedder of this name. Raises NotSupported if it cannot be loaded."""
    points = {point.name: point for point in entry_points(group=GROUP)}
    if name not in points:
        known = ", ".join(sorted(points)) or "none"
        raise NotSupported(
            f"no embedder named {name!r} is installed (setting `embedder`); installed: {known}"
        )
    try:
        found = call_plugin(points[name].load)
    except Exception as problem:  # as above
        raise NotSupported(f"the embedder {name} cannot be loaded: {problem}") from problem
    return Embedder(name, found)


def _normalized(vector: Sequence[float]) -> array[float]:
    numbers = array("f", map(float, vector))
    length = math.sqrt(sum(number * number for number in numbers))
    if not numbers or not math.isfinite(length):
        raise ValueError("a vector needs finite numbers")
    return numbers if length == 0 else array("f", [number / length for number in numbers])
