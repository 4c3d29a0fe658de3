"""Summaries without a model: a list of the prompts, in the layout of a compaction summary."""

from __future__ import annotations

import re

__all__ = ["extract"]

_MAX_LINE = 160
_MAX_LINES = 12
_CONVERSATION = re.compile(r"<conversation>\n(.*)\n</conversation>", re.DOTALL)
_PREVIOUS = re.compile(r"<previous-summary>\n(.*)\n</previous-summary>", re.DOTALL)
_MESSAGE = re.compile(r"^\[(User|Assistant)\]: (.*)$", re.MULTILINE)
_DONE_LINE = re.compile(r"^- \[x\] (.*)$", re.MULTILINE)


def extract(prompt: str) -> str:
    """Answer a summary request with an extract. Prompts listed by an earlier extract stay in the list."""
    conversation = _first(_CONVERSATION, prompt)
    previous = _first(_PREVIOUS, prompt)
    messages = _MESSAGE.findall(conversation)
    prompts = [_line(text) for role, text in messages if role == "User"]
    listed = [*_DONE_LINE.findall(previous), *prompts]
    goal = listed[0] if listed else "(nothing was asked)"
    last = next((_line(text) for role, text in reversed(messages) if role == "Assistant"), "(no answer yet)")
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
    return text if len(text) <= _MAX_LINE else text[: _MAX_LINE - 1] + "…"


def _shortened(lines: list[str]) -> list[str]:
    """Keep the first line and the newest ones, so that repeated extracts do not grow without bound."""
    return lines if len(lines) <= _MAX_LINES else [lines[0], *lines[1 - _MAX_LINES :]]
