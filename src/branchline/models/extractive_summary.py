"""An extract where a summary is wanted: what was asked, in the form that summaries have, without a model."""

from __future__ import annotations

import re

__all__ = ["extract"]

_LIMIT = 160
_MOST = 12
_CONVERSATION = re.compile(r"<conversation>\n(.*)\n</conversation>", re.DOTALL)
_PREVIOUS = re.compile(r"<previous-summary>\n(.*)\n</previous-summary>", re.DOTALL)
_SAID = re.compile(r"^\[(User|Assistant)\]: (.*)$", re.MULTILINE)
_OWN_LINE = re.compile(r"^- \[x\] (.*)$", re.MULTILINE)


def extract(prompt: str) -> str:
    """The extract that a request for a summary asks for; what an earlier one listed is carried on."""
    conversation = _first(_CONVERSATION, prompt)
    previous = _first(_PREVIOUS, prompt)
    said = _SAID.findall(conversation)
    asked = [_line(text) for who, text in said if who == "User"]
    listed = [*_OWN_LINE.findall(previous), *asked]
    goal = listed[0] if listed else "(nothing was asked)"
    last = next((_line(text) for who, text in reversed(said) if who == "Assistant"), "(no answer yet)")
    return "\n".join(
        [
            "## Goal",
            f"- {goal}",
            "",
            "## Progress",
            "### Done",
            *(f"- [x] {line}" for line in _shortened(listed)),
            "",
            "## Critical Context",
            f"- The last answer began: {last}",
            "- This is an extract by the offline model, which understands nothing of it.",
        ]
    )


def _first(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    return "" if found is None else found.group(1)


def _line(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LIMIT else text[: _LIMIT - 1] + "…"


def _shortened(lines: list[str]) -> list[str]:
    """The first and the newest: an extract of extracts does not grow without end."""
    return lines if len(lines) <= _MOST else [lines[0], *lines[1 - _MOST :]]
