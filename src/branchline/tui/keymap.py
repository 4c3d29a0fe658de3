"""The key map: one table per screen, from which bindings, the help screen, hints and docs are made.

Single letters act in lists that are not being searched; the same with Ctrl also while typing. Lists in which
every letter searches (tree, turns) have Ctrl and Shift only.
"""

from __future__ import annotations

from branchline.views.browser.tree_keys import TREE_FILTER_KEYS, TREE_MOVE_KEYS, Key

__all__ = ["SCREENS", "Key", "keys_of", "shown_key"]


_MOVE = (
    Key("up", "step(-1)", "up"),
    Key("down", "step(1)", "down"),
    Key("pageup", "page(-1)", "a page up"),
    Key("pagedown", "page(1)", "a page down"),
    Key("home", "first", "to the first row"),
    Key("end", "last", "to the last row"),
)
_EVERYWHERE = (
    Key("f2", "theme", "light or dark"),
    Key("ctrl+q,ctrl+c", "quit", "quit"),
)

BROWSER = (
    Key("enter", "go_on", "continue in the agent that owns the session", "continue"),
    Key("i", "hand_over", "continue in another agent: convert it, install it there, start it"),
    Key("right,o", "transcript", "read the conversation", "read"),
    Key("t", "tree", "its tree: branches, labels, forks", "tree"),
    Key(
        "slash",
        "search",
        'search (words, "phrase", re:, agent: cwd: model: role: tool: after: before: label:)',
        "search",
    ),
    Key("tab", "scope", "toggle this directory / all", "scope"),
    Key("s,ctrl+s", "sort", "sort: recent, threaded by forks, relevance", "sort"),
    Key("a,ctrl+a", "agents", "filter by agent"),
    Key("n,ctrl+n", "named", "only sessions with a title"),
    Key("l,ctrl+p", "paths", "show the files' paths"),
    Key("v", "preview", "show or hide the preview"),
    Key("space", "mark", "select for the next action"),
    Key("r,ctrl+r", "rename", "set the title", "rename"),
    Key("p", "pin", "pin on top"),
    Key("d,ctrl+d,delete", "remove", "move to the trash", "delete"),
    Key("u,ctrl+z", "undo", "undo the last delete", "undo"),
    Key("c", "compare", "compare with another session (mark two, or the marked one with this)"),
    Key("f", "forest", "forest: sessions and their forks", "forest"),
    Key("y", "copy", "copy the command that continues it"),
    Key("exclamation_mark", "reasons", "hidden and unreadable sessions, and why"),
    Key("f5", "reload", "reload the list"),
    Key("question_mark,f1", "help", "all keys", "keys"),
    Key("escape", "back", "clear search and marks; then quit"),
    Key("q", "leave", "quit", "quit"),
)
TREE = (
    Key("enter", "choose", "what to do here: go back, fork, label, copy, export, compare", "go / fork / …"),
    *TREE_MOVE_KEYS,
    Key("ctrl+x", "copy", "copy the text of this entry"),
    *TREE_FILTER_KEYS,
    Key("ctrl+r", "transcript", "read the conversation up to here", "read"),
    Key("ctrl+g", "turns", "pick a turn"),
    Key("ctrl+e", "detail", "show or hide the whole entry"),
    Key("f3", "damage", "show findings"),
    Key("f1,question_mark", "help", "all keys", "keys"),
    Key("escape", "back", "clear the search; then close", "back"),
)
TRANSCRIPT = (
    Key("up,k", "scroll(-1)", "a line up"),
    Key("down,j", "scroll(1)", "a line down"),
    Key("pageup,b", "pages(-1)", "a page up"),
    Key("pagedown,space", "pages(1)", "a page down"),
    Key("home,g", "top", "to the beginning"),
    Key("end,G", "end", "to the end, and follow what is appended", "end / follow"),
    Key("n,right_square_bracket", "prompt(1)", "to the next prompt", "next prompt"),
    Key("p,left_square_bracket", "prompt(-1)", "to the previous prompt"),
    Key("e", "error(1)", "to the next error", "error"),
    Key("E", "error(-1)", "to the previous error"),
    Key("l", "labelled(1)", "to the next label"),
    Key("L", "labelled(-1)", "to the previous label"),
    Key("tab", "select(1)", "to the next foldable part"),
    Key("shift+tab", "select(-1)", "to the previous foldable part"),
    Key("enter", "open_part", "open or fold the part under the cursor", "open"),
    Key("z", "fold_all", "open or fold all thinking and results", "fold all"),
    Key("slash", "search", "find words", "find"),
    Key("period", "find(1)", "next match"),
    Key("comma", "find(-1)", "previous match"),
    Key("s", "switch", "switch to another branch from the fork point above", "branches"),
    Key("o", "picture", "open the image under the cursor"),
    Key("t", "tree", "the tree, at this place", "tree"),
    Key("c", "compare", "compare with another branch"),
    Key("y", "copy", "copy the text under the cursor"),
    Key("question_mark,f1", "help", "all keys", "keys"),
    Key("escape,q", "back", "leave", "back"),
)
TURNS = (
    Key("enter", "choose", "go to this turn, or fork before it", "choose"),
    Key("ctrl+f", "fork", "fork before this turn", "fork"),
    Key("ctrl+y", "copy", "copy the prompt"),
    Key("f1,question_mark", "help", "all keys", "keys"),
    Key("escape", "back", "clear the filter; then cancel", "back"),
)
FOREST = (
    Key("enter", "choose", "go to this session", "choose"),
    Key("t", "tree", "its tree", "tree"),
    Key("right,o", "transcript", "read the conversation", "read"),
    Key("slash", "search", "search", "search"),
    Key("tab", "scope", "toggle this directory / all", "scope"),
    Key("question_mark,f1", "help", "all keys", "keys"),
    Key("escape,q", "back", "leave", "back"),
)
COMPARE = (
    Key("up,k", "scroll(-1)", "a line up"),
    Key("down,j", "scroll(1)", "a line down"),
    Key("pageup,b", "pages(-1)", "a page up"),
    Key("pagedown,space", "pages(1)", "a page down"),
    Key("home,g", "top", "to the beginning"),
    Key("end,G", "end", "to the end"),
    Key("n,right_square_bracket", "turn(1)", "to the next turn", "next turn"),
    Key("p,left_square_bracket", "turn(-1)", "to the previous turn"),
    Key("w", "swap", "swap sides", "swap"),
    Key("question_mark,f1", "help", "all keys", "keys"),
    Key("escape,q", "back", "leave", "back"),
)

SCREENS: dict[str, tuple[Key, ...]] = {
    "sessions": (*BROWSER, *_MOVE),
    "tree": (*TREE, *_MOVE),
    "transcript": TRANSCRIPT,
    "turns": (*TURNS, *_MOVE),
    "forest": (*FOREST, *_MOVE),
    "compare": COMPARE,
}

_NAMES = {
    "question_mark": "?",
    "exclamation_mark": "!",
    "slash": "/",
    "period": ".",
    "comma": ",",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "escape": "Esc",
    "enter": "Enter",
    "space": "Space",
    "tab": "Tab",
    "home": "Home",
    "end": "End",
    "delete": "Del",
}


def keys_of(screen: str) -> tuple[Key, ...]:
    """All keys of a screen, those of every screen included."""
    return (*SCREENS[screen], *_EVERYWHERE)


def shown_key(keys: str) -> str:
    """Keys as a person reads them: ``Ctrl+←``, ``Shift+L``; the ways to say one thing are shown once."""
    shown = []
    for key in keys.split(","):
        *held, last = key.split("+")
        held.sort()  # Ctrl before Shift, however a terminal names them
        if len(last) == 1 and last.isupper():
            held, last = ["shift"], last.lower()
        name = _NAMES.get(last, last.upper() if held or last[1:].isdigit() else last)
        words = "+".join([*(part.capitalize() for part in held), name])
        if words not in shown:
            shown.append(words)
    return " ".join(shown)
