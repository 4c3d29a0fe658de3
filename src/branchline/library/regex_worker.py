"""Runs user-supplied regular expressions in a child process, so that catastrophic backtracking can be killed.

A pattern such as ``(a+)+b`` can take exponential time, and the interpreter lock would block all other threads
meanwhile. The child process is killed if a pattern takes more than a few seconds for one session.
"""

from __future__ import annotations

import struct
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import Self

__all__ = ["RegexTimeout", "RegexWorker"]

SECONDS = 2.0
_SPAN = struct.Struct("<qq")
_CHILD = """
import re, struct, sys
source, out = sys.stdin.buffer, sys.stdout.buffer
def text():
    return source.read(struct.unpack("<Q", source.read(8))[0]).decode("utf-8", "surrogatepass")
pattern = re.compile(text(), re.IGNORECASE | re.MULTILINE)
while head := source.read(8):
    found = map(pattern.search, [text() for _ in range(struct.unpack("<Q", head)[0])])
    out.write(b"".join(struct.pack("<qq", *((-1, -1) if one is None else one.span())) for one in found))
    out.flush()
"""


class RegexTimeout(Exception):
    """A pattern took too long."""


class RegexWorker:
    """Searches for one pattern. Use it in a ``with`` block, from one thread at a time."""

    def __init__(self, pattern: str, *, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._child = subprocess.Popen(  # noqa: S603
            [sys.executable, "-I", "-S", "-c", _CHILD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._write(_text(pattern))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        self._child.kill()
        for stream in (self._child.stdin, self._child.stdout):
            if stream is not None:
                try:
                    stream.close()
                except OSError:  # unwritten data is not needed
                    continue
        self._child.wait()

    def __call__(self, texts: Sequence[str]) -> bool:
        """Return whether the pattern matches any text. Raises RegexTimeout if that takes too long."""
        return any(span is not None for span in self.spans(texts))

    def spans(self, texts: Sequence[str]) -> list[tuple[int, int] | None]:
        """Return the first match in each text. Raises RegexTimeout if that takes too long."""
        size = _SPAN.size * len(texts)
        timer = threading.Timer(self._seconds, self._child.kill)
        timer.start()
        try:
            self._write(struct.pack("<Q", len(texts)) + b"".join(map(_text, texts)))
            assert self._child.stdout is not None
            answer = self._child.stdout.read(size)
        except OSError:
            answer = b""
        finally:
            timer.cancel()
        if len(answer) != size:
            raise RegexTimeout
        return [None if start < 0 else (start, end) for start, end in _SPAN.iter_unpack(answer)]

    def _write(self, data: bytes) -> None:
        assert self._child.stdin is not None
        self._child.stdin.write(data)
        self._child.stdin.flush()


def _text(text: str) -> bytes:
    data = text.encode("utf-8", "surrogatepass")
    return struct.pack("<Q", len(data)) + data
