"""The output of commands: text for people, JSON for programs.

All text passes :func:`branchline.views.text.safe`, so text of a session cannot change colours, move the
cursor or hide anything. Colours are added afterwards, only here. JSON is pure ASCII: control characters and
all other characters are escaped.
"""

from __future__ import annotations

import contextlib
import math
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from branchline.cli.streams import write_bytes
from branchline.views.spans import Piece, Span, StyleRole, cut_line, shown_line
from branchline.views.text import cut, one_line, pad, safe, width

if TYPE_CHECKING:
    from branchline.cli.pager import Pager

__all__ = ["Color", "Output", "Piece", "StyleRole", "paint", "remark", "screen_size"]

Color = Literal["auto", "always", "never"]

_TOGETHER = 1000
_ASCII = str.maketrans("│└├─•›‹…⋯⊞⊟▸▾·×→↳█▉▊▋▌▍▎▏▇▆▅▄▃▂▁", "|`|-*><~~+->v.x>>########%*+=-:.")
"""ASCII replacements of drawing characters, one column each."""


def paint(role: StyleRole, text: str) -> Span:
    return Span(text, role)


_held: list[tuple[str, bool]] | None = None
"""Remarks held back while a pager has the screen."""


def remark(text: str, *, dim: bool = False) -> None:
    """Print a remark for the user on stderr, separate from the result; ``dim`` where stderr has colours."""
    if _held is not None:
        _held.append((text, dim))
        return
    text = safe(text)
    if dim and sys.stderr.isatty() and _colors_welcome():
        text = f"\x1b[2m{text}\x1b[0m"
    with contextlib.suppress(OSError, ValueError):  # stdout may be closed while stderr works
        sys.stdout.flush()
    with contextlib.suppress(OSError, ValueError):  # stderr may be closed: the exit code remains
        sys.stderr.write(text + "\n")
        sys.stderr.flush()


class Output:
    """The output of a command.

    ``json`` selects JSON. ``columns`` is the width of the terminal, or None if lines are not truncated: when
    stdout is not a terminal, or with ``plain``. ``plain`` selects words and indentation in place of drawings
    and symbols, for screen readers. ``paged`` shows the result in a pager on a terminal. The settings provide
    the defaults.
    """

    def __init__(
        self, *, json: bool = False, plain: bool = False, color: Color | None = None, paged: bool = False
    ) -> None:
        from branchline.settings import load

        loaded = load()
        settings = loaded.settings
        chosen = color or settings.color
        self.json = json
        self.settings = settings
        self.plain = plain or settings.plain
        self._on_terminal = sys.stdout.isatty()
        self.interactive = self._on_terminal and not self.plain
        self._paged = paged and self._on_terminal and sys.stdin.isatty()
        self._pager: Pager | None = None
        self.columns = _terminal_columns() if self.interactive else None
        self.colored = chosen == "always" or (chosen == "auto" and self.interactive and _colors_welcome())
        self.ascii = settings.ascii or not (sys.stdout.encoding or "utf-8").lower().startswith("utf")
        self._codes = self._theme() if self.colored else {}
        if loaded.findings and sys.stderr.isatty():
            what = "a setting is" if len(loaded.findings) == 1 else f"{len(loaded.findings)} settings are"
            remark(f"{what} ignored; `branchline config` shows why")

    def _theme(self) -> Mapping[StyleRole, str]:
        from branchline.cli.themes import THEMES, theme_for

        return THEMES[theme_for(self.settings.theme)]

    def measure(self) -> None:
        """Update the width of the terminal, which may have been resized."""
        self.columns = screen_size().columns if self.interactive else None

    def result(self, command: str, fields: dict[str, Any]) -> None:
        """Write the result of a command as one JSON object with the name of its schema."""
        text = _encoded({"schema": f"branchline.{command}/1", **fields}, pretty=self.interactive)
        self._emit(text + "\n")

    def plain_json(self, value: Any) -> None:
        """Write a JSON value without a schema, such as a request body."""
        self._emit(_encoded(value, pretty=self.interactive) + "\n")

    def line(self, *pieces: Piece) -> None:
        """Write a line without truncating it, so that it can be copied."""
        self._write(pieces, None)

    def row(self, *pieces: Piece) -> None:
        """Write a line of a list, truncated to the terminal."""
        self._write(pieces, self.columns)

    def painted(self, *pieces: Piece) -> str:
        """Return a line for a terminal: filtered, truncated, coloured."""
        return self._painted(pieces, self.columns)

    def _painted(self, pieces: Iterable[Piece], room: int | None) -> str:
        line = shown_line(pieces) if room is None else cut_line(pieces, room)
        return "".join(self._styled(text, role) for text, role in line)

    def _write(self, pieces: Iterable[Piece], room: int | None) -> None:
        self._put(self._painted(pieces, room).rstrip())

    def _put(self, text: str) -> None:
        self._emit((text.translate(_ASCII) if self.ascii else text) + "\n")

    def text(
        self, text: str, *, indent: str = "", role: StyleRole = "plain", words: Sequence[str] = ()
    ) -> None:
        """Write text, with ``words`` marked; on a terminal long lines are wrapped between words."""
        room = None if self.columns is None else self.columns - len(indent)
        parts: list[str] = []
        for line in safe(text).split("\n"):
            parts += [
                indent + self._marked(part, role, words) if part else "" for part in _broken(line, room)
            ]
            if len(parts) >= _TOGETHER:  # one system call for many lines
                self._put("\n".join(parts))
                parts.clear()
        if parts:
            self._put("\n".join(parts))

    def table(self, rows: Iterable[tuple[str, Piece]]) -> None:
        """Write names and values in two columns."""
        listed = [(one_line(name), value) for name, value in rows]
        room = max((width(name) for name, _ in listed), default=0)
        for name, value in listed:
            self.line(paint("dim", pad(name, room)), "  ", value)

    def data(self, data: bytes) -> None:
        """Write bytes unchanged for another program; a terminal gets filtered text."""
        if self._on_terminal:
            self._emit(safe(data.decode("utf-8", "replace")))
            return
        write_bytes(data)

    def _emit(self, text: str) -> None:
        data = text.encode(sys.stdout.encoding or "utf-8", "replace")
        if self._paged and self._pager is None:
            self._open_pager()
        if self._pager is None:
            write_bytes(data)
        else:
            self._pager.write(data)

    def _open_pager(self) -> None:
        global _held
        from branchline.cli.pager import Pager, pager_command

        self._paged = False
        command = pager_command(self.settings.pager)
        if command is not None and os.environ.get("TERM", "") != "dumb":
            self._pager, _held = Pager(command), []

    def close(self) -> None:
        """Wait until the pager exits, then print the remarks held back."""
        global _held
        if self._pager is None:
            return
        try:
            self._pager.close()
        finally:
            self._pager, held, _held = None, _held, None
            for text, dim in held or ():
                remark(text, dim=dim)

    def _marked(self, text: str, role: StyleRole, words: Sequence[str]) -> str:
        if not words or not self.colored:
            return self._styled(text, role)
        from branchline.views.hits import find_ranges
        from branchline.views.spans import marked_line

        line = marked_line(text, find_ranges(text, words), role, "match")
        return "".join(self._styled(part, role_of_part) for part, role_of_part in line)

    def _styled(self, text: str, role: StyleRole) -> str:
        codes = self._codes.get(role)
        return f"\x1b[{codes}m{text}\x1b[0m" if codes and text else text


def _broken(line: str, room: int | None) -> list[str]:
    """Wrap a line at spaces only, so that long paths and addresses stay in one piece."""
    if room is None or cut(line, room) == line:
        return [line]
    first, *words = line.split(" ")
    parts, used = [first], width(first)
    for word in words:
        needed = width(word) + 1
        if used + needed > room and parts[-1].strip():
            parts.append(word)
            used = needed - 1
        else:
            parts[-1] += " " + word
            used += needed
    return parts


def screen_size() -> os.terminal_size:
    """Return the present size of the terminal, ignoring ``COLUMNS`` if possible."""
    import shutil

    with contextlib.suppress(OSError, ValueError):
        size = os.get_terminal_size(sys.stdout.fileno())
        if size.columns > 0 and size.lines > 0:
            return size
    return shutil.get_terminal_size()


def _terminal_columns() -> int:
    import shutil

    return shutil.get_terminal_size().columns


def _colors_welcome() -> bool:
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM", "") != "dumb"


def _encoded(value: Any, *, pretty: bool) -> str:
    """Encode as ASCII JSON. Numbers that are not finite become null."""
    import json

    try:
        return json.dumps(value, indent=2 if pretty else None, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(value), indent=2 if pretty else None, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
