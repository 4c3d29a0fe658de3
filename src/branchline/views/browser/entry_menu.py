"""The actions for an entry of the tree, as a menu."""

from __future__ import annotations

from typing import Literal, NamedTuple

from branchline.formats import EntryLog

__all__ = ["EntryFacts", "MenuItem", "entry_options", "refusal"]


class MenuItem(NamedTuple):
    """A menu item: its name, its text and a short explanation."""

    name: str
    words: str
    about: str = ""


def refusal(transcript: EntryLog, kind: str) -> str | None:
    """Return why a session cannot hold an entry of this kind; None if it can."""
    if transcript.reading.read_only is not None:
        return f"this session is read-only: {transcript.reading.read_only}"
    reason = transcript.format.traits.unsupported.get(kind)
    return None if reason is None else f"{transcript.format.name} sessions cannot hold this: {reason}"


class EntryFacts(NamedTuple):
    """The facts that decide which actions an entry has."""

    prompt: bool = False
    model: str | None = None
    """The model that can write summaries."""
    marked: Literal["nothing", "this", "other"] = "nothing"
    """Which entry is marked."""
    range_: bool = False
    """Whether the marked entry and this one are on one path."""
    on_path: bool = False
    """Whether that path is the current one."""


def entry_options(transcript: EntryLog, facts: EntryFacts) -> list[MenuItem]:
    """Return the possible actions, the most likely first."""
    compared = "the marked entry" if facts.marked == "other" else "the current branch"
    items = [
        MenuItem("before", "Fork before this entry", "a new session without it"),
        MenuItem("at", "Fork at this entry", "a new session that ends with it"),
        MenuItem("read", "Read the conversation up to here", "Ctrl+R"),
        MenuItem("whole", "Read the whole entry"),
        MenuItem("copy", "Copy its text", "Ctrl+X"),
        MenuItem("export", "Export the path to here", "as Markdown"),
        MenuItem("compare", f"Compare with {compared}", "F6, side by side"),
    ]
    if refusal(transcript, "label") is None:
        items.insert(2, MenuItem("label", "Label it", "Shift+L"))
    if refusal(transcript, "branch") is None:
        given = "copies the prompt for editing" if facts.prompt else "the next message continues here"
        moves = [MenuItem("navigate", "Go back to here", given)]
        if refusal(transcript, "branch_summary") is None:
            by_model = "no model configured" if facts.model is None else f"by {facts.model}"
            moves += [
                MenuItem("summary", "Go back, with a summary", "of the abandoned branch"),
                MenuItem("written", "Go back with a generated summary", by_model),
            ]
        items[:0] = moves
    return items + _operations(transcript, facts)


def _operations(transcript: EntryLog, facts: EntryFacts) -> list[MenuItem]:
    """The actions that change the tree; none if the session cannot record them."""
    if any(refusal(transcript, kind) is not None for kind in ("branch", "custom")):
        return []
    items = [
        MenuItem("name", "Name a branch that begins here", "F2"),
        MenuItem("mark", "Unmark it" if facts.marked == "this" else "Mark it", "Ins, one end of a range"),
    ]
    if facts.marked == "other":
        items.append(MenuItem("graft_marked", "Graft the marked turn here", "a copy behind this entry"))
    else:
        items.append(MenuItem("graft", "Graft this turn onto the current branch", "a copy behind the leaf"))
    if facts.range_:
        items.append(MenuItem("graft_range", "Graft from the mark to here onto the current branch", "a copy"))
    if facts.range_ and facts.on_path and refusal(transcript, "branch_summary") is None:
        by_model = "no model configured" if facts.model is None else f"by {facts.model}"
        items += [
            MenuItem("squash", "Squash from the mark to here", "your summary instead, on a new branch"),
            MenuItem("squash_written", "Squash with a generated summary", by_model),
        ]
    return [
        *items,
        MenuItem("graft_from", "Graft a turn of another session here", "a copy behind this entry"),
        MenuItem("branches", "Named branches", "F5"),
        MenuItem("log", "Operations on this session", "F9"),
        MenuItem("undo", "Undo the last operation", "Ctrl+Z"),
        MenuItem("redo", "Redo what was undone", "Alt+Z"),
    ]
