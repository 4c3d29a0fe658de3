"""What can be done with an entry of a tree, as things to pick."""

from __future__ import annotations

from branchline.tui.screens.dialogs import Option

__all__ = ["entry_options"]


def entry_options(*, prompt: bool, model: str | None) -> list[Option]:
    """The things, the likeliest first; ``model`` is the one that can write summaries, if there is one."""
    by_model = "no model is set" if model is None else f"by {model}"
    return [
        Option(
            "navigate",
            "Go back to here",
            "its prompt is given back" if prompt else "the next message continues here",
        ),
        Option("summary", "Go back, with a summary", "of the branch left, your words"),
        Option("written", "Go back, have it summed up", by_model),
        Option("before", "Fork before this entry", "a new session without it"),
        Option("at", "Fork at this entry", "a new session that ends with it"),
        Option("label", "Label it", "Shift+L"),
        Option("read", "Read the conversation up to here", "Ctrl+R"),
        Option("whole", "Read the whole entry"),
        Option("copy", "Copy its text", "Ctrl+X"),
        Option("export", "Export the path to here", "as Markdown"),
        Option("compare", "Compare with the current branch", "side by side"),
    ]
