"""The keys of the tree selector, the same in the browser and in the chat."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["LIST_KEYS", "TREE_FILTER_KEYS", "TREE_LETTERS", "TREE_MOVE_KEYS", "Key"]


class Key(NamedTuple):
    """Keys, what they do, and in one word for the hint line (empty: not hinted at).

    ``letter`` does the same where the setting ``keys`` is ``letters`` and nothing is being typed.
    """

    keys: str
    action: str
    words: str
    hint: str = ""
    letter: str = ""


LIST_KEYS = (
    Key("up", "step(-1)", "up"),
    Key("down", "step(1)", "down"),
    Key("pageup", "page(-1)", "a page up"),
    Key("pagedown", "page(1)", "a page down"),
    Key("home", "first", "to the first row"),
    Key("end", "last", "to the last row"),
)
TREE_MOVE_KEYS = (
    Key("ctrl+left,alt+left", "fold", "fold, or go to the start of the branch", "fold"),
    Key("ctrl+right,alt+right", "unfold", "unfold, or go to the next branch"),
    Key("left", "page(-1)", "a page up"),
    Key("right", "page(1)", "a page down"),
    Key("alt+up,shift+up", "turn(-1)", "to the previous prompt"),
    Key("alt+down,shift+down", "turn(1)", "to the next prompt"),
    Key("tab", "branch(1)", "to the next end of a branch", "next branch"),
    Key("shift+tab", "branch(-1)", "to the previous end of a branch"),
    Key("L,shift+l,ctrl+l", "label", "label this entry; empty removes the label", "label"),
    Key("T,shift+t", "times", "show when labels were set"),
)
TREE_FILTER_KEYS = (
    Key("f8", "filter(1)", "next filter", "filter"),
    Key("shift+f8", "filter(-1)", "previous filter"),
    Key("alt+d", "only('default')", "filter: default"),
    Key("alt+t", "only('no-tools')", "filter: without tool results"),
    Key("alt+u", "only('user-only')", "filter: only prompts"),
    Key("alt+l", "only('labeled-only')", "filter: only labelled entries"),
    Key("alt+a", "only('all')", "filter: everything"),
)
TREE_LETTERS = frozenset("LT")
"""Letters that act; all others are searched for."""
