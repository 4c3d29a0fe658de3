"""The changes that pages can make. They append to the session, and raise if it is read-only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from branchline.library.annotations import Annotations, check_tag
from branchline.web.viewed import ViewedSession

__all__ = ["CHANGES"]

Given = Mapping[str, str | None]


def _label(viewed: ViewedSession, given: Given) -> dict[str, Any]:
    entry = _entry(given)
    viewed.session.append_label(entry, given.get("text") or None)
    return {"entry": entry, "label": viewed.session.labels.get(entry)}


def _title(viewed: ViewedSession, given: Given) -> dict[str, Any]:
    viewed.session.set_title(given.get("text") or "")
    return {"title": viewed.session.title}


def _branch(viewed: ViewedSession, given: Given) -> dict[str, Any]:
    viewed.session.branch(_entry(given))
    return {"leaf": viewed.session.leaf}


def _fork(viewed: ViewedSession, given: Given) -> dict[str, Any]:
    with viewed.session.fork(_entry(given)) as made:
        return {"session": made.id, "file": made.file}


def _entry(given: Given) -> str:
    entry = given.get("entry")
    if not entry:
        raise ValueError("the field `entry` is missing")
    return entry


def _tags(viewed: ViewedSession, given: Given) -> dict[str, Any]:
    """Set the tags, which are stored outside the session, so that sessions of any agent can have them."""
    wanted = tuple(map(check_tag, (given.get("text") or "").replace(",", " ").split()))
    known = Annotations()
    known.untag(viewed.row, set(known.of(viewed.row).tags) - set(wanted))
    return {"tags": known.tag(viewed.row, wanted).tags}


CHANGES: dict[str, Callable[[ViewedSession, Given], dict[str, Any]]] = {
    "label": _label,
    "title": _title,
    "tags": _tags,
    "branch": _branch,
    "fork": _fork,
}
"""Changes by the last part of the URL."""
