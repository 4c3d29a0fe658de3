"""What OpenAI's APIs refuse in a request, so that a test sees it before a user does.

Each function returns the problems of one request as sentences; an accepted request has none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

__all__ = ["chat_problems", "responses_problems"]

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ID = re.compile(r"[A-Za-z0-9_-]+")


def chat_problems(messages: list[dict[str, Any]]) -> list[str]:
    """Return what OpenAI's chat API refuses: calls without results after them, and results without calls."""
    found: list[str] = []
    waiting: set[str] = set()
    known: set[str] = set()
    for number, message in enumerate(messages):
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                found.append(f"message {number} has a result of no call")
            waiting.discard(message["tool_call_id"])
            continue
        found += [f"message {number} follows calls without results"] if waiting else []
        calls = message.get("tool_calls") or ()
        found += _bad_calls(((call["id"], call["function"]["name"]) for call in calls), known)
        waiting = {call["id"] for call in calls}
    return found


def responses_problems(items: list[dict[str, Any]]) -> list[str]:
    """Return what OpenAI's Responses API refuses: calls and outputs that are not pairs."""
    calls = [(item["call_id"], item["name"]) for item in items if item["type"] == "function_call"]
    outputs = [item["call_id"] for item in items if item["type"] == "function_call_output"]
    found = _bad_calls(calls, set())
    if sorted(outputs) != sorted(call for call, _ in calls):
        found.append(f"the outputs {outputs} do not match the calls {calls}")
    return found


def _bad_calls(calls: Iterable[tuple[str, str]], known: set[str]) -> list[str]:
    """Return problems with ids and names of calls; adds the ids to those that are known."""
    found: list[str] = []
    for call, name in calls:
        found += [f"the id {call!r} is used twice"] if call in known else []
        found += [f"{call!r} is not an id"] if not _ID.fullmatch(call) else []
        found += [f"{name!r} is not a name of a tool"] if not _NAME.fullmatch(name) else []
        known.add(call)
    return found
