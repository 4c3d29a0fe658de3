"""Markdown as HTML: the text of prompts, answers and summaries.

Raw HTML in Markdown is shown as text. Links lead to the web or into the page, and images are named but never
loaded. The renderer writes through :func:`branchline.views.html.markup.escape`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from branchline.views.html.code import code_block
from branchline.views.html.markup import Html, escape, join, template

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

__all__ = ["is_plain", "prose"]

_LONGEST = 16_000
"""The most characters of a text that are shown at once; the rest is folded."""
_LONGEST_SHOWN = 1_000_000
_LONGEST_MARKDOWN = 400_000
"""The longest text that is read as Markdown, in characters; longer ones are shown verbatim."""
_SPECIAL = b"\\`*_[]<>|~!&\t\r"
_ORDINARY = bytes(set(range(256)) - set(_SPECIAL))
_LINE_START = re.compile(r"\n(?:[ #=+\-]|\d{1,9}[.)])")
_PARAGRAPHS = re.compile(r"\n{2,}")
_REMOTE = re.compile(r"(?:https?://|mailto:)\S", re.IGNORECASE)
_MISSING = template('<p class="omitted">{} more characters are not shown</p>')
_P = template("<p>{}</p>\n")
_PRE = template('<pre class="plain" tabindex="0">{}</pre>')
_FOLD = template(
    '<details class="more"><summary>{} more characters</summary><div class="fold">{}</div></details>'
)


def prose(text: str) -> Html:
    """Render Markdown as HTML. The end of a long text is folded, that of a huge one is only counted."""
    text = text.strip("\n")
    if len(text) > _LONGEST_SHOWN:
        missing = len(text) - _LONGEST_SHOWN
        return join((prose(text[:_LONGEST_SHOWN]), _MISSING(f"{missing:,}")))
    if len(text) <= _LONGEST:
        return _rendered(text)
    end = text.rfind("\n\n", _LONGEST // 2, _LONGEST)
    if end < 0 or text.count("```", 0, end) % 2:  # no place to cut without breaking a code block
        end = text.rfind("\n", _LONGEST // 2, _LONGEST)
        end = _LONGEST if end < 0 else end
        return join((_PRE(text[:end]), _FOLD(f"{len(text) - end:,}", _PRE(text[end:].lstrip("\n")))))
    rest = text[end:].lstrip("\n")
    return join((_rendered(text[:end]), _FOLD(f"{len(rest):,}", _rendered(rest))))


def is_plain(text: str) -> bool:
    """Return whether a text is short and, as Markdown, has only paragraphs."""
    return len(text) <= _LONGEST and not _has_markdown(text)


def _has_markdown(text: str) -> bool:
    """Whether anything in a text may be Markdown; other texts consist of paragraphs."""
    return (
        text.encode("utf-8", "surrogatepass").translate(None, _ORDINARY) != b""
        or _LINE_START.match("\n" + text[:16]) is not None
        or _LINE_START.search(text) is not None
        or "  \n" in text
        or "://" in text
    )


def _rendered(text: str) -> Html:
    if not _has_markdown(text):
        return join([_P(part) for part in _PARAGRAPHS.split(text) if part])
    if len(text) > _LONGEST_MARKDOWN:
        return _PRE(text)
    return Html(_markdown().render(text))


@cache
def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt  # noqa: PLC0415

    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    for name, rule in _RULES.items():
        parser.add_render_rule(name, rule)
    return parser


# Rules are methods of the renderer: the first argument is the renderer itself.


def _text(_renderer: Any, tokens: Sequence[Token], index: int, *_: Any) -> str:
    return escape(tokens[index].content)


_CODE = template("<code>{}</code>")


def _code_inline(_renderer: Any, tokens: Sequence[Token], index: int, *_: Any) -> str:
    return _CODE(tokens[index].content)


def _fence(_renderer: Any, tokens: Sequence[Token], index: int, *_: Any) -> str:
    token = tokens[index]
    words = token.info.split(maxsplit=1)
    return code_block(token.content.removesuffix("\n"), words[0] if words else "")


_LINK = template('<a class="a" href="{}" rel="noopener noreferrer nofollow" target="_blank">')
_LOCAL_LINK = template('<a class="a" href="{}">')
_OTHER_LINK = template('<a class="a" title="{}">')


def _link_open(_renderer: Any, tokens: Sequence[Token], index: int, *_: Any) -> str:
    address = str(tokens[index].attrGet("href") or "")
    if _REMOTE.match(address):
        return _LINK(address)
    return _LOCAL_LINK(address) if address.startswith("#e-") else _OTHER_LINK(address)


_IMAGE = template('<span class="remote" title="{}">image{}</span>')


def _image(_renderer: Any, tokens: Sequence[Token], index: int, *_: Any) -> str:
    name = tokens[index].content
    return _IMAGE(str(tokens[index].attrGet("src") or ""), f": {name}" if name else "")


def _heading_open(_renderer: Any, tokens: Sequence[Token], index: int, *_: Any) -> str:
    return f"<h{_level(tokens[index])}>"


def _heading_close(_renderer: Any, tokens: Sequence[Token], index: int, *_: Any) -> str:
    return f"</h{_level(tokens[index])}>\n"


def _level(token: Token) -> int:
    """Headings of messages are below those of the page: the title and the days."""
    return min(6, int(token.tag[1]) + 2)


_NO_STYLE = re.compile(r"^text-align:(left|right|center)$")


def _cell_open(_renderer: Any, tokens: Sequence[Token], index: int, *_: Any) -> str:
    """A table cell; its alignment is a class, because the page's policy forbids style attributes."""
    token = tokens[index]
    found = _NO_STYLE.match(str(token.attrGet("style") or ""))
    side = f' class="{found[1]}"' if found else ""
    return f"<{'th' if token.tag == 'th' else 'td'}{side}>"


_ITEM = template('<ol start="{}">\n')


def _ordered_open(_renderer: Any, tokens: Sequence[Token], index: int, *_: Any) -> str:
    start = tokens[index].attrGet("start")
    return _ITEM(str(start)) if start is not None else "<ol>\n"


_RULES: dict[str, Any] = {
    "text": _text,
    "code_inline": _code_inline,
    "fence": _fence,
    "code_block": lambda _renderer, tokens, index, *_: code_block(
        tokens[index].content.removesuffix("\n"), ""
    ),
    "link_open": _link_open,
    "link_close": lambda *_: "</a>",
    "image": _image,
    "heading_open": _heading_open,
    "heading_close": _heading_close,
    "th_open": _cell_open,
    "td_open": _cell_open,
    "ordered_list_open": _ordered_open,
    "html_inline": _text,
    "html_block": _text,
    "softbreak": lambda *_: "\n",
    "hardbreak": lambda *_: "<br>\n",
    "hr": lambda *_: "<hr>\n",
}
