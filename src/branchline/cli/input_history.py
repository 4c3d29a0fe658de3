"""The input history of chats, in a private file with one JSON string per line."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress

from prompt_toolkit.history import History

__all__ = ["InputHistory"]

_KEPT = 1_000
_LARGEST = 2_000_000
"""The largest file in bytes; then its older half is dropped."""
_LONGEST = 20_000


class InputHistory(History):
    """Earlier input, newest first: the prompts of the session, then those of the file.

    With ``keep``, new input is written. Without a ``path`` there is only the session. Errors of the file are
    ignored: the chat works without a history.
    """

    def __init__(self, path: str | None, *, keep: bool = True) -> None:
        super().__init__()
        self._path = path
        self._keep = keep
        self._prompts: list[str] = []

    def add_session(self, prompts: Iterable[str]) -> None:
        """Offer the prompts of a session before those of the file, without writing them."""
        self._prompts = list(prompts)
        self._loaded = False
        self._loaded_strings = []

    def load_history_strings(self) -> Iterator[str]:
        seen: set[str] = set()
        for text in (*reversed(self._prompts), *reversed(self._stored())):
            if text not in seen:
                seen.add(text)
                yield text

    def store_string(self, string: str) -> None:
        if self._path is None or not self._keep or not string.strip() or len(string) > _LONGEST:
            return
        with suppress(OSError):
            os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
            descriptor = os.open(self._path, flags | getattr(os, "O_CLOEXEC", 0), 0o600)
            try:
                if hasattr(os, "fchmod"):
                    os.fchmod(descriptor, 0o600)
                os.write(descriptor, json.dumps(string).encode() + b"\n")
                size = os.fstat(descriptor).st_size
            finally:
                os.close(descriptor)
            if size > _LARGEST:
                self._shorten()

    def _stored(self) -> list[str]:
        if self._path is None:
            return []
        found: list[str] = []
        with suppress(OSError), open(self._path, encoding="utf-8", errors="replace") as file:
            for line in file.read(_LARGEST * 2).split("\n")[-_KEPT - 1 :]:
                with suppress(ValueError):
                    if isinstance(text := json.loads(line), str):
                        found.append(text)
        return found

    def _shorten(self) -> None:
        """Replace the file atomically by its newer half."""
        assert self._path is not None
        kept = self._stored()[-_KEPT // 2 :]
        temporary = f"{self._path}.{os.getpid()}"
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "wb") as file:
            file.write("".join(json.dumps(text) + "\n" for text in kept).encode())
        os.replace(temporary, self._path)
