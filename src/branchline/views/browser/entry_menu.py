"""What can be done with an entry of a tree, as things to pick."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["MenuItem", "entry_options"]


class MenuItem(NamedTuple):
    """A thing to pick: its name, what it is called, and what it means."""

    name: str
    words: str
    about: str = ""


def entry_options(*, prompt: bool, model: str | None) -> list[MenuItem]:
    """The things, the likeliest first; ``model`` is the one that can write summaries, if there is one."""
    by_model = "no model configured" if model is None else f"by {model}"
    return [
        MenuItem(
            "navigate",
            "Go back to here",
            "the prompt is copied for editing" if prompt else "the next message continues here",
        ),
        MenuItem("summary", "Go back, with a summary", "of the abandoned branch"),
        MenuItem("written", "Go back with a generated summary", by_model),
        MenuItem("before", "Fork before this entry", "a new session without it"),
        MenuItem("at", "Fork at this entry", "a new session that ends with it"),
        MenuItem("label", "Label it", "Shift+L"),
        MenuItem("read", "Read the conversation up to here", "Ctrl+R"),
        MenuItem("whole", "Read the whole entry"),
        MenuItem("copy", "Copy its text", "Ctrl+X"),
        MenuItem("export", "Export the path to here", "as Markdown"),
        MenuItem("compare", "Compare with the current branch", "side by side"),
    ]
