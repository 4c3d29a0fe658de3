"""Secrets in columns: tables of Markdown, of database clients, and drawn with lines.

The line of dashes below the names of the columns is what makes a table. Each cell of a column whose name denotes
a secret is judged like the value of a field with this name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from branchline.redaction.places import Secret

__all__ = ["column_secrets", "table_signs"]

_BAR = r"(?:[|│║┃]|â\x94[\x82\x83]|â\x95\x91)"
_DASH = r"(?:[-=─━═]|â\x94[\x80\x81]|â\x95\x90)"
_CROSS = r"(?:[+|┼╪╬├┤╞╡╠╣┿╋]|â\x94[\x9c\xa4\xbc\xbf]|â\x95[\x8b\x9e\xa0\xa1\xa3\xaa\xac])"
_NEWLINE = r"(?:\r?\n|\\+(?:r\\+)?n)"
_SIGNS = (
    re.compile(r"\|(?=[ ]?:?-)"),
    re.compile(r"\+(?=--)"),
    re.compile(r"\\u25(?=1[cC]|3[cC]|4[bB]|5[eE]|6[0aAcC])"),  # in JSON
)
_WIDE_SIGNS = (
    *map(re.compile, "┼╪╬├╞╠"),
    re.compile("â(?=\x94[\x9c\xbc]|\x95[\x9e\xa0\xaa\xac])"),
)
"""Each begins with one character, which is searched at the speed of memory; a class of them is not."""
_RULE = re.compile(rf"[ \t>]{{0,12}}(?:{_CROSS}|{_DASH}|[ :]){{3,2000}}[ \t]{{0,4}}(?={_NEWLINE}|\Z)")
_BREAK = re.compile(_NEWLINE)
_CELL = re.compile(rf"(?:(?!{_BAR}|{_NEWLINE}).)*", re.DOTALL)
_BARS = re.compile(_BAR)
_NAME = re.compile(r"[\s`*_\"']*(?P<name>[^\W\d](?:[\w .-]{0,38}\w)?)[\s`*_\"']*\Z")
_VALUE = re.compile(r"[\s`*_\"']*(?P<value>[^\s`\"'][^\n]{0,400}?)[\s`\"']*\Z")
_MOST_ROWS = 10_000
_LONGEST_ROW = 20_000


def table_signs(text: str) -> list[int]:
    """Return offsets in lines that may be the dashes of a table, in order."""
    patterns = _SIGNS if text.isascii() else (*_SIGNS, *_WIDE_SIGNS)
    return sorted(sign.start() for pattern in patterns for sign in pattern.finditer(text))


def column_secrets(
    text: str, signs: list[int], kind_of: Callable[[str, str], str | None]
) -> Iterator[Secret]:
    """Yield the secrets in columns; ``kind_of`` says what a value is under a name."""

    def secret_name(cell: str) -> str | None:
        named = _NAME.match(cell)
        if named is None:
            return None
        name = named["name"].replace(" ", "_")
        return name if kind_of(name, _PROBE) else None

    def named_before(cells: list[tuple[int, int]], number: int) -> str | None:
        """Return the name in the cell before this one, as in a table of variables."""
        return secret_name(text[slice(*cells[number - 1])]) if number else None

    done = 0
    for place in signs:
        if place < done:
            continue
        start = _line_start(text, place)
        rule = _RULE.match(text, start)
        done = _line_end(text, place)
        if rule is None or start == 0 or rule.end() < place:
            continue
        header = _line_start(text, _before_break(text, start))
        if _BARS.search(text, header, start) is None:
            continue
        columns = {
            number: name
            for number, (first, last) in enumerate(_cells(text, header))
            if (name := secret_name(text[first:last]))
        }
        row = rule.end()
        for _ in range(_MOST_ROWS):
            newline = _BREAK.match(text, row)
            if newline is None:
                break
            row = newline.end()
            cells = _cells(text, row)
            end = cells[-1][1]
            if len(cells) == 1 and _RULE.match(text, row) is None:
                break
            for number, (first, last) in enumerate(cells):
                name = columns.get(number) or named_before(cells, number)
                if name is None:
                    continue
                value = _VALUE.match(text[first:last])
                if value is not None and (kind := kind_of(name, value["value"].rstrip())):
                    begin = first + value.start("value")
                    yield Secret(begin, begin + len(value["value"].rstrip()), kind)
            row = end
        done = max(done, row)


_PROBE = "zQ7-kX9w!pL2mVb4Tr8y"
"""A value that is a secret under every name that denotes one."""


def _cells(text: str, start: int) -> list[tuple[int, int]]:
    """Return the places of the cells of a line."""
    cells: list[tuple[int, int]] = []
    while True:
        cell = _CELL.match(text, start, min(len(text), start + _LONGEST_ROW))
        end = start if cell is None else cell.end()
        cells.append((start, end))
        bar = _BARS.match(text, end)
        if bar is None:
            return cells
        start = bar.end()


def _line_start(text: str, place: int) -> int:
    """Return where the line with this offset begins; its newline may be an escape."""
    earliest = max(0, place - _LONGEST_ROW)
    newline, escape = text.rfind("\n", earliest, place), text.rfind("\\n", earliest, place)
    return max(0, newline + 1, escape + 2 if escape >= 0 else 0)


def _before_break(text: str, start: int) -> int:
    """Return the end of the line before the one that begins here."""
    end = start - 1
    while end > 0 and text[end] in "\n\r\\n":
        end -= 1
    return end + 1


def _line_end(text: str, place: int) -> int:
    newline = _BREAK.search(text, place)
    return len(text) if newline is None else newline.end()
