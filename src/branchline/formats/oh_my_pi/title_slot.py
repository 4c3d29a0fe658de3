"""The title of a session: a slot of 256 bytes before the header, and entries that record changes.

When a session is renamed, oh-my-pi overwrites the slot and appends an entry with the same time. branchline
only appends the entry, so a change newer than the slot overrides it. Files without a slot may have a title in
their header, as older releases wrote it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from branchline.context.javascript import trim
from branchline.entries import json_codec

__all__ = ["SLOT_BYTES", "TitleSlot", "TitleState", "TitleTracker", "clean_title", "read_slot", "slot_line"]

SLOT_BYTES = 256
"""The size of the slot, including its newline. It never changes, so nothing after it moves."""

_SOURCES = (None, "auto", "user")


class TitleSlot(NamedTuple):
    """Contents of the slot: the title (empty: none), its source, and its time."""

    title: str = ""
    source: str | None = None
    updated: str = ""


class TitleState(NamedTuple):
    """Everything that a :class:`TitleTracker` has seen."""

    slot: TitleSlot | None
    changes: dict[str, str]
    in_header: bool
    title: str
    source: str | None


def read_slot(fields: Mapping[str, Any]) -> TitleSlot | None:
    """Return the slot in this JSON object; None if it is not a valid one."""
    title, source, updated = fields.get("title"), fields.get("source"), fields.get("updatedAt")
    valid = (
        fields.get("type") == "title"
        and fields.get("v") == 1
        and fields["v"] is not True
        and isinstance(title, str)
        and isinstance(updated, str)
        and isinstance(fields.get("pad"), str)
        and source in _SOURCES
        and ("source" not in fields or source is not None)
    )
    return TitleSlot(str(title), source, str(updated)) if valid else None


def slot_line(slot: TitleSlot) -> bytes:
    """Return the slot as a line of exactly 256 bytes; a longer title is truncated between two characters."""
    empty = _line(slot._replace(title=""), b"")
    room = SLOT_BYTES - len(empty)
    if room < 0:
        raise ValueError(f"the time {slot.updated[:40]!r} does not fit into a title slot")
    kept = ""
    for character in slot.title[:room]:
        room -= len(json_codec.dumps(character)) - 2
        if room < 0:
            break
        kept += character
    kept = trim(kept)
    line = _line(slot._replace(title=kept), b"")
    return _line(slot._replace(title=kept), b" " * (SLOT_BYTES - len(line)))


def clean_title(title: str) -> str:
    """Return a title as oh-my-pi stores it: control characters and whitespace runs become one space."""
    return trim(re.sub(" +", " ", re.sub("[\x00-\x1f\x7f-\x9f]", " ", title)))


class TitleTracker:
    """Finds the current title from slot, header and changes, in file order."""

    def __init__(self) -> None:
        self._slot: TitleSlot | None = None
        self._changes: dict[str, str] = {}
        self._in_header = False
        self._title = ""
        self.source: str | None = None
        self.changed: str | None = None
        """The time of the change that gave the current title."""

    @property
    def state(self) -> TitleState:
        """Everything seen so far; another tracker can continue from it."""
        return TitleState(self._slot, self._changes, self._in_header, self._title, self.source)

    @state.setter
    def state(self, seen: TitleState) -> None:
        self._slot, self._changes, self._in_header, self._title, self.source = seen

    @property
    def current(self) -> str | None:
        """The title; None for an untitled session."""
        return trim(self._title) or None

    @property
    def in_slot(self) -> str | None:
        """The title in the slot; None for a file without a slot."""
        return None if self._slot is None else trim(self._slot.title)

    @property
    def expected_slot(self) -> bytes | None:
        """Return the slot that matches the change with the same time; None if there is no such change."""
        slot = self._slot
        if slot is None or (title := self._changes.get(slot.updated)) is None:
            return None
        try:
            return slot_line(slot._replace(title=title))
        except ValueError:  # the time does not fit
            return None

    def see_slot(self, slot: TitleSlot) -> None:
        self._slot = slot
        self._title, self.source = slot.title, slot.source

    def see_header(self, fields: Mapping[str, Any]) -> None:
        """Use the title in the header if there is no slot."""
        title, source = fields.get("title"), fields.get("titleSource")
        if self._slot is None and isinstance(title, str) and title:
            self._in_header = True
            self._title, self.source = title, source if isinstance(source, str) else None

    def see_change(self, fields: Mapping[str, Any]) -> None:
        """Apply an entry that records a new title.

        The slot or the header holds the title that oh-my-pi last wrote there. A change overrides it only if
        it is newer than the slot, or names the header's title as the one that it replaces.
        """
        title, source, time = fields.get("title"), fields.get("source"), fields.get("timestamp")
        if not isinstance(title, str):
            return
        if isinstance(time, str):
            self._changes[time] = title
        if self._slot is not None:
            forced = self.source == "user" and source == "auto"
            newer = isinstance(time, str) and self._is_newer(time, title) and not forced
        else:
            newer = not self._in_header or fields.get("previousTitle") == self._title
        if newer:
            self._title, self.source = title, source if isinstance(source, str) else None
            self.changed = time if isinstance(time, str) else None

    def _is_newer(self, time: str, title: str) -> bool:
        """Return whether a change came after the slot, though perhaps in the same moment."""
        assert self._slot is not None
        if time != self._slot.updated:
            return time > self._slot.updated
        try:
            return slot_line(self._slot._replace(title=title)) != slot_line(self._slot)
        except ValueError:  # the time does not fit
            return False


def _line(slot: TitleSlot, pad: bytes) -> bytes:
    source = {} if slot.source is None else {"source": slot.source}
    fields = {"type": "title", "v": 1, "title": slot.title, **source, "updatedAt": slot.updated}
    return json_codec.dumps(fields)[:-1] + b',"pad":"' + pad + b'"}\n'
