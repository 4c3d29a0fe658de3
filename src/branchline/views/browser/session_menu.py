"""The possible actions for a session of the list, the best first."""

from __future__ import annotations

from typing import Literal, NamedTuple

from branchline.views.browser.entry_menu import MenuItem

__all__ = ["ActionFacts", "BestAction", "best_action", "best_words", "missing_words", "session_options"]

BestAction = Literal["hit", "continue", "ask", "read", "nothing"]


class ActionFacts(NamedTuple):
    """The facts that decide which actions a session has."""

    agent: str
    program: str | None
    """The installed program that continues it; ``branchline`` is our own chat."""
    writable: bool
    """Whether sessions of this format can be written."""
    demo: bool = False
    has_hit: bool = False
    unreadable: bool = False
    titled: bool = False
    pinned: bool = False
    marked: int = 0
    others: bool = False
    """Whether another agent is installed for which sessions can be written."""


def best_action(facts: ActionFacts) -> BestAction:
    """Return what Enter does. ``ask`` continues in our chat after a confirmation."""
    if facts.unreadable:
        return "nothing"
    if facts.has_hit:
        return "hit"
    if facts.demo:
        return "read"
    if facts.program is not None:
        return "continue"
    return "ask" if facts.writable else "read"


def best_words(facts: ActionFacts) -> str:
    """Return what Enter does, for the hint line."""
    words: dict[BestAction, str] = {
        "hit": "open at the hit",
        "continue": "continue",
        "ask": "continue here",
        "read": "read",
        "nothing": "",
    }
    return words[best_action(facts)]


def session_options(facts: ActionFacts) -> list[MenuItem]:
    """Return the possible actions for a session, the best one first."""
    if facts.unreadable:
        return [
            MenuItem("reasons", "Why it cannot be read", "Alt+H"),
            MenuItem("remove", "Move to the trash", "Delete"),
        ]
    items = [
        MenuItem("transcript", "Read the conversation", "→"),
        MenuItem("tree", "Show its tree", "Ctrl+T"),
        MenuItem("fork", "Continue a fork here", "this session stays unchanged"),
        MenuItem("export", "Export", "as Markdown, HTML or JSON Lines"),
        MenuItem("files", "Files that it touched", "F7"),
    ]
    if facts.others:
        items.insert(3, MenuItem("hand_over", "Continue in another agent", "Alt+I, a converted copy"))
    match best_action(facts):
        case "hit":
            items.insert(0, MenuItem("open", "Open at the hit", "Enter"))
            if facts.program is not None and not facts.demo:
                items.insert(1, MenuItem("go_on", f"Continue in {facts.program}", "in its directory"))
        case "continue":
            items.insert(0, MenuItem("go_on", f"Continue in {facts.program}", "Enter, in its directory"))
        case "ask":
            items.insert(0, items.pop(2))
        case _ if facts.demo and facts.program is not None:
            items.insert(3, MenuItem("go_on", f"Continue in {facts.program}", "this is a demo session"))
        case _:
            pass
    if facts.writable:
        items.append(MenuItem("rename", "Rename" if facts.titled else "Give it a title", "F2"))
    if facts.marked == 2:
        items.append(MenuItem("compare", "Compare the two that are marked", "F6"))
    items += [
        MenuItem("copy", "Copy the command that continues it", "Alt+C"),
        MenuItem("pin", "Unpin" if facts.pinned else "Pin on top", "Alt+P"),
        MenuItem("remove", "Move to the trash", "Delete; Ctrl+Z brings it back"),
        MenuItem("reasons", "What the list leaves out, and why", "Alt+H"),
    ]
    return items


def missing_words(facts: ActionFacts) -> str:
    """Return why actions are missing; empty if none are."""
    if facts.unreadable:
        return ""
    if not facts.writable:
        return f"Titles and labels are left to {facts.agent}: branchline only reads its files."
    if facts.program is None:
        return f"{facts.agent} is not installed here, so it continues in branchline."
    return ""
