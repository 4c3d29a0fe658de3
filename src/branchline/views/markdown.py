"""A path as a Markdown document: one heading per speaker, tool calls folded.

Messages are Markdown and stay so, but open fences are closed and HTML is escaped, so that one message cannot
swallow the next. Everything else (results, arguments, commands) is in fences that are longer than any fence
inside.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from branchline.views.cards import Card, Picture
from branchline.views.humanize import format_size

__all__ = ["fenced", "markdown", "prose"]

_TICKS = re.compile("`{3,}")
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})(.*)$")
_DEEP_FENCE = re.compile(r"\s*(?:[-*+>]|\d+[.)])?\s*(?:`{3,}|~{3,})")
_LIST = re.compile(r"^ {0,3}(?:[-*+]|\d{1,9}[.)])\s", re.MULTILINE)
_CODE_OR_TAG = re.compile(r"(?P<code>(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`))|(?P<tag><(?=[A-Za-z/!?]))")
_MARKS = str.maketrans({mark: "\\" + mark for mark in "\\`*_[]<>#"})
_QUOTED = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_LINE_BREAKS = re.compile(r"[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+")


def markdown(cards: Iterable[Card], *, title: str = "", facts: Iterable[str] = ()) -> str:
    """Return the document. ``facts`` are list items below the title."""
    parts = [f"# {_inline(title)}"] if title else []
    if points := [f"- {_inline(fact)}" for fact in facts]:
        parts.append("\n".join(points))
    speaker = None
    for card in cards:
        heading = _heading(card)
        if heading is not None and (heading != speaker or card.kind == "user"):
            parts.append(f"## {heading}")
        speaker = speaker if heading is None else heading
        parts += _parts(card)
    return "\n\n".join(parts) + "\n" if parts else ""


def fenced(text: str, language: str = "") -> str:
    """Return the text in a fence that is longer than any fence inside."""
    longest = max(map(len, _TICKS.findall(text)), default=2)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}{'' if text.endswith(chr(10)) else chr(10)}{fence}"


def prose(text: str) -> str:
    """Return Markdown with HTML outside of code escaped and an open fence closed."""
    fence, deep, lines = "", False, []
    for line in text.split("\n"):
        found = _FENCE.match(line)
        if fence:
            closing = found is not None and found[1].startswith(fence) and not found[2].strip()
            fence = "" if closing else fence
            lines.append(line)
        elif found is not None:
            fence, deep = found[1], False
            lines.append(line)
        elif _DEEP_FENCE.match(line):
            deep = not deep
            lines.append(line)
        else:
            lines.append(line if deep else _CODE_OR_TAG.sub(_shown, line))
    if not fence:
        return "\n".join(lines).strip("\n")
    if _LIST.search(text):
        return fenced(text)  # the fence may have ended with its list; closing it could open another one
    return "\n".join([*lines, fence]).strip("\n")


def _heading(card: Card) -> str | None:
    """The heading of a card; None for cards without a speaker."""
    match card.kind:
        case "assistant" | "thinking" | "tool":
            return "Assistant"
        case "bash":
            return "Command"
        case "setting" | "note":
            return None
        case _:
            return _inline(card.title) or "Entry"


def _parts(card: Card) -> list[str]:
    parts = []
    if card.label:
        parts.append(f"**Label:** {_inline(card.label)}")
    if card.meta and card.kind != "tool":
        parts.append(f"*{_inline(' · '.join(card.meta))}*")
    match card.kind:
        case "user" | "assistant" | "custom" | "system" | "compaction" | "branch":
            if card.kind == "assistant" and card.title != "Assistant":
                parts.append(f"**{_inline(card.title)}**")
            if card.body.strip():
                parts.append(prose(card.body))
        case "thinking":
            parts.append(_folded("Thinking", [fenced(card.body, "text")]))
        case "tool":
            parts.append(_folded(card.title, _tool(card)))
        case "bash":
            parts.append(fenced(card.title, "sh"))
            if card.body.strip():
                parts.append(fenced(card.body))
        case "setting" | "note":
            parts.append(f"*{_inline(card.title)}*")
            if card.body.strip():
                parts.append(prose(card.body))
        case "damage" | "unknown":
            if card.body.strip():
                parts.append(fenced(card.body))
    if card.kind != "tool":
        parts += map(_picture, card.pictures)
    return parts


def _tool(card: Card) -> list[str]:
    parts = []
    for section in card.sections():
        parts += [f"{_inline(section.title)}:"] if section.title else []
        parts.append(fenced(section.text, section.language))
    if remarks := " · ".join(card.status):
        parts.append(f"*{_inline(remarks)}*")
    if card.body.strip():
        parts.append(fenced(card.body))
    return [*parts, *map(_picture, card.pictures)]


def _folded(summary: str, parts: list[str]) -> str:
    line = _LINE_BREAKS.sub(" ", summary).translate(_QUOTED)
    return "\n\n".join([f"<details>\n<summary>{line}</summary>", *parts, "</details>"])


def _picture(picture: Picture) -> str:
    return f"*\\[{_inline(picture.mime_type)}, {format_size(picture.size)}\\]*"


def _inline(text: str) -> str:
    """Escape plain text for the middle of a line."""
    return _LINE_BREAKS.sub(" ", text).strip().translate(_MARKS)


def _shown(found: re.Match[str]) -> str:
    return found[0] if found["tag"] is None else "\\<"
