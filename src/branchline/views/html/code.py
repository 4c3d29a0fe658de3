"""Code, command output and diffs as HTML: Pygments' short classes, and one element per changed line."""

from __future__ import annotations

import re
from functools import cache
from itertools import groupby
from typing import Any

from branchline.views.html.markup import EMPTY, Html, escape, join, template
from branchline.views.text import ESCAPES

__all__ = ["code_block", "difference", "highlighted", "output"]

_LONGEST = 6_000
"""The longest block that is highlighted, in characters; every coloured word is a node of the page."""
_MOST_LINES = 400
"""The most lines of a diff that become elements."""
_NAME = re.compile(r"[A-Za-z0-9_+#.-]{1,32}")
_BLOCK = template('<pre class="code" tabindex="0"><code>{}</code></pre>\n')
_SPAN = template('<span class="{}">{}</span>')
_LINE = template('<span class="ln{}">{}</span>')
_PLAIN_LANGUAGES = frozenset({"", "text", "txt", "plain", "plaintext", "console", "output"})


def code_block(text: str, language: str) -> Html:
    return _BLOCK(difference(text) if language == "diff" else highlighted(text, language))


def highlighted(text: str, language: str) -> Html:
    """Highlight code with a class for each kind of token; long code and unknown languages stay plain."""
    if len(text) > _LONGEST or language.lower() in _PLAIN_LANGUAGES or not _NAME.fullmatch(language):
        return escape(text)
    lexer = _lexer(language.lower())
    if lexer is None:
        return escape(text)
    return join(_SPAN(name, value) if name else escape(value) for name, value in _tokens(lexer, text))


def _tokens(lexer: Any, text: str) -> list[tuple[str, str]]:
    from pygments.token import STANDARD_TYPES  # type: ignore[import-untyped]  # noqa: PLC0415

    def short(item: tuple[Any, str]) -> str:
        kind = item[0]
        while kind not in STANDARD_TYPES:
            kind = kind.parent
        name = STANDARD_TYPES[kind]
        return name if name[:1] in _COLOURED else ""

    found = groupby(lexer.get_tokens(text), short)
    tokens = [(name, "".join(value for _, value in items)) for name, items in found]
    if tokens and not text.endswith("\n"):  # lexers add a newline
        tokens[-1] = (tokens[-1][0], tokens[-1][1].removesuffix("\n"))
    return tokens


_COLOURED = frozenset("kscmgbno")
"""The first letters of the classes in the style sheet: keywords, strings, comments, numbers, names."""


@cache
def _lexer(language: str) -> Any:
    from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]  # noqa: PLC0415
    from pygments.util import ClassNotFound  # type: ignore[import-untyped]  # noqa: PLC0415

    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


_MARKS = {"+": " add", "-": " del", "@": " at", "*": " at"}


def difference(text: str) -> Html:
    """Mark the added and removed lines of a diff. The style sheet draws the signs."""
    lines = text.split("\n")
    if len(lines) > _MOST_LINES:
        return escape(text)
    return join(map(_difference_line, lines))


def _difference_line(line: str) -> Html:
    name = _MARKS.get(line[:1], "")
    return _LINE(Html(name), line[1:] if name in (" add", " del") or line[:1] == " " else line)


_ANSI = re.compile(ESCAPES)
_COLOURS = {"1": "b", "31": "r", "91": "r", "32": "g", "92": "g"}


def output(text: str) -> Html:
    """Render the output of a command: red, green and bold are kept, other escape sequences are dropped."""
    if "\x1b" not in text:
        return escape(text)
    parts: list[Html] = []
    end, name = 0, ""
    for found in _ANSI.finditer(text):
        parts.append(_coloured(text[end : found.start()], name))
        end = found.end()
        if found[1] is not None:
            name = next((_COLOURS[code] for code in found[1].split(";") if code in _COLOURS), "")
    return join([*parts, _coloured(text[end:], name)])


def _coloured(text: str, name: str) -> Html:
    if not text:
        return EMPTY
    return _SPAN(f"ansi-{name}", text) if name else escape(text)
