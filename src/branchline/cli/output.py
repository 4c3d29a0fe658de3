"""The one way of words to people and of data to programs.

Everything printed passes :func:`branchline.views.text.safe`: text of a session can colour nothing, move
nothing and hide nothing. Colours are added after that, here and nowhere else. JSON is written with every
control character and everything beyond ASCII escaped.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
import sys
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

from branchline.cli.streams import write, write_bytes
from branchline.views.text import cut, one_line, safe, width

__all__ = ["Output", "Piece", "Style", "paint", "remark"]

Style = Literal["plain", "bold", "dim", "red", "green", "yellow", "blue", "magenta", "cyan"]
Color = Literal["auto", "always", "never"]

_CODES: dict[Style, str] = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
}
_DEEPEST = 20_000


class Painted(NamedTuple):
    """A piece of a line and how it looks on a terminal that shows colours."""

    text: str
    style: Style


Piece = str | Painted


def paint(style: Style, text: str) -> Painted:
    return Painted(text, style)


def remark(text: str) -> None:
    """Say something to the person on stderr; it is never part of the result."""
    with contextlib.suppress(OSError, ValueError):  # who cannot take the result may still hear the remark
        sys.stdout.flush()
    with contextlib.suppress(OSError, ValueError):  # where nobody listens, the exit code still says it
        sys.stderr.write(safe(text) + "\n")
        sys.stderr.flush()


class Output:
    """Where a command puts its result.

    ``json`` asks for data. ``columns`` is the width of the terminal, or None where lines are not cut:
    when stdout is not a terminal, or plain output was asked for.
    """

    def __init__(self, *, json: bool = False, plain: bool = False, color: Color = "auto") -> None:
        terminal = sys.stdout.isatty()
        self.json = json
        self.interactive = terminal and not plain
        self.columns = shutil.get_terminal_size().columns if self.interactive else None
        self.colored = color == "always" or (color == "auto" and self.interactive and _colors_welcome())

    def result(self, command: str, fields: dict[str, Any], *, version: int = 1) -> None:
        """Write the result of a command as one JSON object, which names its schema."""
        text = _encoded({"schema": f"branchline.{command}/{version}", **fields}, pretty=self.interactive)
        write(text + "\n")

    def plain_json(self, value: Any) -> None:
        """Write a value that has a shape of its own: the body of a request."""
        write(_encoded(value, pretty=self.interactive) + "\n")

    def line(self, *pieces: Piece) -> None:
        """Write one line made of pieces, whole: what is in it may be wanted elsewhere."""
        self._write(pieces, None)

    def row(self, *pieces: Piece) -> None:
        """Write one line of a list, cut to the terminal."""
        self._write(pieces, self.columns)

    def _write(self, pieces: Iterable[Piece], room: int | None) -> None:
        shown = []
        for piece in pieces:
            text = one_piece(piece)
            if room is not None:
                text = cut(text, room)
                room -= width(text)
            shown.append(self._styled(text, piece.style if isinstance(piece, Painted) else "plain"))
        write("".join(shown).rstrip() + "\n")

    def text(self, text: str, *, indent: str = "", style: Style = "plain") -> None:
        """Write some text with all its lines; long ones are broken between words on a terminal."""
        for line in safe(text).split("\n"):
            for part in _broken(line, None if self.columns is None else self.columns - len(indent)):
                write(indent + self._styled(part, style) + "\n" if part else "\n")

    def table(self, rows: Iterable[tuple[str, Piece]], *, style: Style = "dim") -> None:
        """Write names and values, the values in one column."""
        listed = list(rows)
        room = max((width(one_line(name)) for name, _ in listed), default=0)
        for name, value in listed:
            self.line(paint(style, f"{name:<{room}}"), "  ", value)

    def data(self, data: bytes) -> None:
        """Write bytes as they are, for another program to read; a terminal gets them filtered."""
        if sys.stdout.isatty():
            write(safe(data.decode("utf-8", "replace")))
            return
        write_bytes(data)

    def _styled(self, text: str, style: Style) -> str:
        if not self.colored or not text or style == "plain":
            return text
        return f"\x1b[{_CODES[style]}m{text}\x1b[0m"


def one_piece(piece: Piece) -> str:
    """The text of a piece for one line: filtered, its newlines and tabs blanks, its own blanks kept."""
    text = piece.text if isinstance(piece, Painted) else piece
    return safe(text).replace("\n", " ").replace("\t", " ")


def _broken(line: str, room: int | None) -> list[str]:
    """A line in parts that fit, broken at blanks only: a long path or address stays in one piece."""
    if room is None or width(line) <= room:
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


def _colors_welcome() -> bool:
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM", "") != "dumb"


def _encoded(value: Any, *, pretty: bool) -> str:
    """JSON in ASCII. What JSON has no number for is null; any depth that could be read can be written."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _DEEPEST))
    try:
        try:
            return json.dumps(value, indent=2 if pretty else None, allow_nan=False)
        except ValueError:
            return json.dumps(_finite(value), indent=2 if pretty else None, allow_nan=False)
    finally:
        sys.setrecursionlimit(limit)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
