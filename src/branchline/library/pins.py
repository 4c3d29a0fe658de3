"""Pinned sessions, stored in one file outside the sessions."""

from __future__ import annotations

import os
from collections.abc import Iterable

import msgspec

from branchline import places
from branchline.log import replace_file

__all__ = ["Pins"]


class _File(msgspec.Struct):
    pins: list[str] = []


class Pins:
    """The names of pinned sessions; none if the file cannot be read, and ``problem`` says why.

    ``ids`` are pinned by the settings.
    """

    def __init__(self, path: str | None = None, *, ids: Iterable[str] = ()) -> None:
        self.path = path or os.path.join(places.data_directory(), "pins.json")
        self.problem: str | None = None
        self.ids = frozenset(ids)
        self._names = self._read()

    def _read(self) -> dict[str, None]:
        try:
            with open(self.path, "rb") as file:
                return dict.fromkeys(msgspec.json.decode(file.read(), type=_File).pins)
        except FileNotFoundError:
            return {}
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as problem:
            self.problem = f"the pins in {self.path} cannot be read: {problem}"
            return {}

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __len__(self) -> int:
        return len(self._names)

    def toggle(self, names: Iterable[str]) -> bool:
        """Pin all of these, or unpin them if all are pinned; return whether they are pinned now.

        Pins that another window has added are kept.
        """
        wanted = list(names)
        pinned = not all(name in self._names for name in wanted)
        self._names = self._read()
        for name in wanted:
            if pinned:
                self._names[name] = None
            else:
                self._names.pop(name, None)
        os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
        replace_file(self.path, msgspec.json.encode(_File(pins=list(self._names))), backup=False)
        return pinned
