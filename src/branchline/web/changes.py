"""The changes that pages can make. They append to the session, and raise if it is read-only.

Each change has a type of body: unknown or missing fields are an error, and so are control characters.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from branchline.library.annotations import Annotations
from branchline.web.viewed import ViewedSession

__all__ = ["CHANGES", "Change"]


_DIRECTIONS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Marks that change the direction of what follows, in lists and terminals too."""


class _Text(msgspec.Struct, forbid_unknown_fields=True):
    text: str

    def __post_init__(self) -> None:
        _check_text(self.text)


class _Entry(msgspec.Struct, forbid_unknown_fields=True):
    entry: str


class _EntryText(msgspec.Struct, forbid_unknown_fields=True):
    entry: str
    text: str

    def __post_init__(self) -> None:
        _check_text(self.text)


def _check_text(text: str) -> None:
    for character in text:
        if unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"} or character in _DIRECTIONS:
            raise ValueError(f"a control character (U+{ord(character):04X}) cannot be part of this text")


def _label(viewed: ViewedSession, given: _EntryText) -> dict[str, Any]:
    viewed.session.append_label(given.entry, given.text or None)
    return {"entry": given.entry, "label": viewed.session.labels.get(given.entry)}


def _title(viewed: ViewedSession, given: _Text) -> dict[str, Any]:
    viewed.session.set_title(given.text)
    return {"title": viewed.session.title}


def _branch(viewed: ViewedSession, given: _Entry) -> dict[str, Any]:
    viewed.session.branch(given.entry)
    return {"leaf": viewed.session.leaf}


def _fork(viewed: ViewedSession, given: _Entry) -> dict[str, Any]:
    with viewed.session.fork(given.entry) as made:
        return {"session": made.id, "file": made.file}


def _tags(viewed: ViewedSession, given: _Text) -> dict[str, Any]:
    """Set the tags, which are stored outside the session, so that sessions of any agent can have them."""
    wanted = given.text.replace(",", " ").split()
    return {"tags": Annotations().tag(viewed.row, wanted, replace=True).tags}


class Change(NamedTuple):
    """The type of the body, and what to do."""

    body: type[msgspec.Struct]
    make: Callable[[ViewedSession, Any], dict[str, Any]]


CHANGES = {
    "label": Change(_EntryText, _label),
    "title": Change(_Text, _title),
    "tags": Change(_Text, _tags),
    "branch": Change(_Entry, _branch),
    "fork": Change(_Entry, _fork),
}
"""Changes by the last part of the URL."""
