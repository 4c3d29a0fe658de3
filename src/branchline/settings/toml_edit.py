"""Set or remove one value in a TOML text; every other character, including comments, is preserved.

The text is tokenized into statements, so that nothing inside a string is mistaken for a setting. The result
is parsed again before it is returned: if it differs from the intended value, ValueError is raised instead.
"""

from __future__ import annotations

import re
import tomllib
from typing import Any, NamedTuple

from branchline.settings.schema import toml_text

__all__ = ["Statement", "remove_value", "set_value", "statements"]

_TOKEN = re.compile(
    r'''
      (?P<string>"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?'{3,5}|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')
    | (?P<comment>\#[^\n]*)
    | (?P<open>[\[{]) | (?P<close>[\]}])
    | (?P<equals>=) | (?P<newline>\n)
    | (?P<other>[^"'\#\[\]{}=\n]+|.)
    ''',
    re.VERBOSE | re.DOTALL,
)


class Statement(NamedTuple):
    """A top-level setting: its name and line, and the offsets of statement and value in the text."""

    name: str
    line: int
    start: int
    value_start: int
    value_end: int
    end: int


class _Text(NamedTuple):
    statements: list[Statement]
    top: int
    """The offset of the first table, or of the end of the text."""


def statements(text: str) -> list[Statement]:
    """Return the top-level settings of a TOML text, ignoring tables."""
    return _read(text).statements


def set_value(text: str, name: str, value: Any) -> str:
    """Return the text with a setting changed or added. Raises ValueError if the text is not valid TOML."""
    before = _parsed(text)
    layout = _read(text)
    written = toml_text(value)
    found = [statement for statement in layout.statements if statement.name == name]
    if found:
        _, _, _, start, end, _ = found[0]
        after = text[:start] + written + text[end:]
    else:
        after = _inserted(text, layout, name, written)
    return _verified(after, {**before, name: list(value) if isinstance(value, tuple) else value})


def remove_value(text: str, name: str) -> str:
    """Return the text without a setting and the comment on its line; comments above it stay."""
    before = _parsed(text)
    for statement in _read(text).statements:
        if statement.name == name:
            after = text[: statement.start] + text[statement.end :]
            return _verified(after, {key: value for key, value in before.items() if key != name})
    return text


def _inserted(text: str, layout: _Text, name: str, written: str) -> str:
    """Insert a setting below the comment with its default, or after the last setting, outside of tables."""
    newline = "\r\n" if "\r\n" in text else "\n"
    shown = re.compile(rf"^# ?{re.escape(name)} =[^\n]*\n", re.MULTILINE).search(text, 0, layout.top)
    if shown is not None:
        place = shown.end()
    else:
        place = layout.statements[-1].end if layout.statements else layout.top
    head, tail = text[:place], text[place:]
    if head and not head.endswith("\n"):
        head += newline
    if shown is None and tail and not layout.statements:
        tail = newline + tail  # a table follows
    return f"{head}{name} = {written}{newline}{tail}"


def _parsed(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("values are nested too deeply") from None


def _verified(text: str, expected: dict[str, Any]) -> str:
    if _parsed(text) != expected:
        raise ValueError("the file is written in a way that cannot be changed safely; please edit it by hand")
    return text


def _read(text: str) -> _Text:
    """Return the settings before the first table."""
    found: list[Statement] = []
    start, line, depth = 0, 1, 0
    equals = last = -1  # where the value begins, and where the last of it was seen
    first_line = 1
    for token in _TOKEN.finditer(text):
        kind = token.lastgroup
        line += token[0].count("\n")
        if kind == "open":
            if depth == 0 and equals < 0 and not text[start : token.start()].strip():
                return _Text(found, start)
            depth += 1
        elif kind == "close":
            depth -= 1
        elif kind == "equals" and depth == 0 and equals < 0:
            equals = token.end()
        if equals >= 0 and token.end() > equals and kind not in ("comment", "newline") and token[0].strip():
            last = token.start() + len(token[0].rstrip())
        if kind == "newline" and depth == 0:
            if equals >= 0:
                found.append(_statement(text, first_line, start, equals, last, token.end()))
            start, equals, first_line = token.end(), -1, line
    if equals >= 0 and depth == 0:
        found.append(_statement(text, first_line, start, equals, last, len(text)))
    return _Text(found, len(text))


def _statement(text: str, line: int, start: int, equals: int, last: int, end: int) -> Statement:
    name = text[start : equals - 1].strip()
    if len(name) > 1 and name[0] == name[-1] and name[0] in "\"'":
        name = name[1:-1]
    value_start = equals + len(text[equals:last]) - len(text[equals:last].lstrip())
    return Statement(name, line, start, value_start, last, end)
