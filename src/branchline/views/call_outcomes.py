"""The outcome of a tool call in a few words, for every screen and page.

It is ``+7 -1`` for a change, ``1 failed, 5 passed`` for a run of tests, ``12 lines`` for other output. A
failed call never looks like a success: of a failed run it says what failed, not what passed before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from branchline.views.humanize import count
from branchline.views.text import without_escapes
from branchline.views.tool_views import ToolSection, tool_kind

__all__ = ["CallOutcome", "call_outcome", "changed_lines", "line_count"]

_DURATION = re.compile(r"(?:\d+[hm] )?[\d.,]+[hms]")
_TAIL, _END = 4_000, 400
"""Characters at the end of an output in which a summary of tests is looked for, with and without escapes."""
_TESTS = re.compile(r"\b\d+ (?:passed|failed|errors?|failures?|skipped)\b(?:[,;] \d+ [a-z]+){0,5}")
_PART = re.compile(r"(\d+) ([a-z]+)")
_MOST_PARTS = 4
_BAD = ("failed", "failure", "failures", "error", "errors")


class CallOutcome(NamedTuple):
    """The words, and the duration if it is known."""

    words: tuple[str, ...]
    duration: str


def call_outcome(
    tool: str,
    sections: Iterable[ToolSection],
    text: str,
    facts: Iterable[str],
    *,
    failed: bool = False,
    minus: str = "-",
) -> CallOutcome:
    """Return the outcome of a call from its sections and from the text and the facts of its result."""
    facts = list(facts)
    duration = next((fact for fact in facts if _DURATION.fullmatch(fact)), "")
    words = [fact for fact in facts if fact != duration]
    kind = tool_kind(tool)
    tests, is_bad = _tests(text) if kind == "shell" else ("", False)
    if failed:
        if is_bad:
            words.append(tests)
        elif not any(fact.startswith("exit code") for fact in words):
            words.append("failed")
        return CallOutcome(tuple(words), duration)
    added, removed = changed_lines(tool, sections)
    if added or removed:
        changes = (f"+{added:,}" if added else "", f"{minus}{removed:,}" if removed else "")
        words.append(" ".join(filter(None, changes)))
    elif tests:
        words.append(tests)
    elif kind not in ("edit", "write") and (lines := line_count(text)):
        words.append(count(lines, "line"))
    return CallOutcome(tuple(words), duration)


def changed_lines(tool: str, sections: Iterable[ToolSection]) -> tuple[int, int]:
    """Return how many lines a call adds to files and removes from them."""
    added = removed = 0
    is_change = tool_kind(tool) in ("edit", "write")
    for section in sections:
        if section.kind == "diff":
            lines = section.text.split("\n")
            if lines[-1] in ("+", "-"):  # the end of the last line, not another one
                lines.pop()
            added += sum(line.startswith("+") and not line.startswith("+++ ") for line in lines)
            removed += sum(line.startswith("-") and not line.startswith("--- ") for line in lines)
        elif is_change and section.kind == "code" and not section.title:
            added += line_count(section.text)
    return added, removed


def line_count(text: str) -> int:
    """Return the number of lines of a text; 0 if it is blank."""
    if not text or text.isspace():
        return 0
    return text.count("\n") + (not text.endswith("\n"))


def _tests(text: str) -> tuple[str, bool]:
    """The summary of a test run at the end of an output, and whether something failed in it."""
    end = without_escapes(text[-_TAIL:])[-_END:]
    if not ("passed" in end or "failed" in end or "failure" in end):
        return "", False
    runs = [_parts(found) for found in _TESTS.findall(end)]
    bad = [run for run in runs if any(word in _BAD for _, word in run)]
    chosen = next(reversed(bad or [run for run in runs if run]), ())
    return ", ".join(f"{number} {word}" for number, word in chosen[:_MOST_PARTS]), bool(bad)


def _parts(summary: str) -> Sequence[tuple[str, str]]:
    """The numbers of a summary that are not zero."""
    return [(number, word) for number, word in _PART.findall(summary) if number.strip("0")]
