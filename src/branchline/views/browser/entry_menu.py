"""What can be done with an entry of a tree, as things to pick."""

from __future__ import annotations

from typing import NamedTuple

from branchline.formats import EntryLog

__all__ = ["MenuItem", "entry_options", "refusal"]


class MenuItem(NamedTuple):
    """A thing to pick: its name, what it is called, and what it means."""

    name: str
    words: str
    about: str = ""


def refusal(transcript: EntryLog, kind: str) -> str | None:
    """Why a session cannot hold an entry of this kind; None if it can."""
    if transcript.reading.read_only is not None:
        return f"this session is read-only: {transcript.reading.read_only}"
    reason = transcript.format.traits.unsupported.get(kind)
    return None if reason is None else f"{transcript.format.name} sessions cannot hold this: {reason}"


def entry_options(transcript: EntryLog, *, prompt: bool, model: str | None) -> list[MenuItem]:
    """The things that can be done, the likeliest first; ``model`` is the one that can write summaries."""
    items = [
        MenuItem("before", "Fork before this entry", "a new session without it"),
        MenuItem("at", "Fork at this entry", "a new session that ends with it"),
        MenuItem("read", "Read the conversation up to here", "Ctrl+R"),
        MenuItem("whole", "Read the whole entry"),
        MenuItem("copy", "Copy its text", "Ctrl+X"),
        MenuItem("export", "Export the path to here", "as Markdown"),
        MenuItem("compare", "Compare with the current branch", "side by side"),
    ]
    if refusal(transcript, "label") is None:
        items.insert(2, MenuItem("label", "Label it", "Shift+L"))
    if refusal(transcript, "branch") is None:
        given = "the prompt is copied for editing" if prompt else "the next message continues here"
        moves = [MenuItem("navigate", "Go back to here", given)]
        if refusal(transcript, "branch_summary") is None:
            by_model = "no model configured" if model is None else f"by {model}"
            moves += [
                MenuItem("summary", "Go back, with a summary", "of the abandoned branch"),
                MenuItem("written", "Go back with a generated summary", by_model),
            ]
        items[:0] = moves
    return items
