"""The key map: one table per screen, from which bindings, the help screen, hints and docs are made.

Letters search; actions are on Enter, arrows, Ctrl, Alt and function keys. With the setting
``keys = "letters"`` the single letters of the tables act as well, except in a search, which ``/`` begins.
Ctrl with A, E, U, W, K, B, F, D, H and Y edits the search.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["SCREENS", "TREE_LETTERS", "TREE_SELECTOR", "Key", "keys_of", "letter_name", "shown_key"]


class Key(NamedTuple):
    """Keys, what they do, and in one word for the hint line (empty: not hinted at).

    ``letter`` does the same where the setting ``keys`` is ``letters`` and nothing is being typed.
    """

    keys: str
    action: str
    words: str
    hint: str = ""
    letter: str = ""


_LIST = (
    Key("up", "step(-1)", "up"),
    Key("down", "step(1)", "down"),
    Key("pageup", "page(-1)", "a page up"),
    Key("pagedown", "page(1)", "a page down"),
    Key("home", "first", "to the first row"),
    Key("end", "last", "to the last row"),
)
_TREE_MOVES = (
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
_TREE_FILTERS = (
    Key("f8", "filter(1)", "next filter", "filter"),
    Key("shift+f8", "filter(-1)", "previous filter"),
    Key("alt+d", "only('default')", "filter: default"),
    Key("alt+t", "only('no-tools')", "filter: without tool results"),
    Key("alt+u", "only('user-only')", "filter: only prompts"),
    Key("alt+l", "only('labeled-only')", "filter: only labelled entries"),
    Key("alt+a", "only('all')", "filter: everything"),
)
TREE_SELECTOR = (*_TREE_MOVES, *_TREE_FILTERS, *_LIST)
"""The keys of the tree selector in the chat, the same as in the browser."""
TREE_LETTERS = frozenset("LT")
"""Letters that act in a tree; all others are searched for."""

_SCROLL = (
    Key("up", "scroll(-1)", "a line up", letter="k"),
    Key("down", "scroll(1)", "a line down", letter="j"),
    Key("pageup", "pages(-1)", "a page up", letter="b"),
    Key("pagedown", "pages(1)", "a page down", letter="space"),
)
_EVERYWHERE = (
    Key("f12", "theme", "light or dark"),
    Key("ctrl+q,ctrl+c", "quit", "quit"),
)
_HELP = Key("f1", "help", "all keys", "keys", "question_mark")
_TYPED_HELP = Key("f1,question_mark", "help", "all keys", "keys")
"""On screens where letters are always searched for."""

BROWSER = (
    Key("enter", "open", "the best action here: open at the hit, continue, or read", "open"),
    Key("f3,ctrl+n", "hit(1)", "next hit of the search"),
    Key("ctrl+p,shift+f3", "hit(-1)", "previous hit"),
    Key("right", "transcript", "read the conversation", "read", "o"),
    Key("ctrl+t", "tree", "its tree: branches, labels, forks", "tree", "t"),
    Key("ctrl+o", "actions", "all actions that work here, best first", "actions", "x"),
    Key("alt+i", "hand_over", "continue in another agent: convert it, install it there, start it", "", "i"),
    Key("tab", "filter", "filter by agent, directory, time or shape", "filter", "a"),
    Key("ctrl+s", "sort", "sort: recent, created, threaded by forks, relevance", "sort", "s"),
    Key("ctrl+g", "group", "group by project", "group", "g"),
    Key("f2", "rename", "set the title", "rename", "r"),
    Key("f4", "statistics", "statistics: cost, tokens, models, projects, tools", "statistics", "S"),
    Key("shift+tab", "scope", "toggle this directory / all"),
    Key("insert,ctrl+space,ctrl+@", "mark", "mark for the next action", "", "space"),
    Key("delete", "remove", "move to the trash", "", "d"),
    Key("ctrl+z", "undo", "undo the last delete", "", "u"),
    Key("f5", "reload", "reload the list"),
    Key("f6", "compare", "compare the two that are marked, or the marked one with this", "", "c"),
    Key("f7", "files", "files that the session touched"),
    Key("f8", "expand", "show more of this session, or less", "", "e"),
    Key("f9", "forest", "forest: sessions and their forks", "", "f"),
    Key("alt+p", "pin", "pin on top", "", "p"),
    Key("alt+c", "copy", "copy the command that continues it", "", "y"),
    Key("alt+v", "preview", "show or hide the preview", "", "v"),
    Key("alt+r", "two_lines", "one or two lines for each session"),
    Key("alt+l", "paths", "show the files' paths", "", "l"),
    Key("alt+t", "titled", "only sessions with a title", "", "n"),
    Key("alt+h", "reasons", "hidden and unreadable sessions, and why", "", "exclamation_mark"),
    Key("", "search", "begin a search", "", "slash"),
    _HELP,
    Key("escape", "back", "clear the search, marks and filters; then quit", "quit", "q"),
)
TREE = (
    Key("enter,ctrl+o", "choose", "what to do here: go back, fork, label, graft, export, compare", "actions"),
    *_TREE_MOVES,
    Key("insert,ctrl+space,ctrl+@", "mark", "mark this entry: one end of a range to graft, squash, compare"),
    Key("f2", "name", "name a branch that begins here"),
    Key("f5", "branches", "named branches, with their ends and ages", "branches"),
    Key("f6", "compare", "compare with the marked entry, or with the current branch", "compare"),
    Key("f9", "log", "operations on this session, newest first"),
    Key("ctrl+z", "undo", "undo the last operation: move, label, name, graft, squash", "undo"),
    Key("alt+z", "redo", "redo what was undone last"),
    Key("ctrl+x", "copy", "copy the text of this entry"),
    *_TREE_FILTERS,
    Key("ctrl+r", "transcript", "read the conversation up to here", "read"),
    Key("ctrl+g", "turns", "pick a turn"),
    Key("f7", "files", "files that this branch touched"),
    Key("f4", "detail", "show or hide the whole entry"),
    Key("f3", "damage", "show findings"),
    _TYPED_HELP,
    Key("escape", "back", "clear the search and the mark; then close", "back"),
)
TRANSCRIPT = (
    Key("right", "branch(1)", "the next branch from here", "other branch"),
    Key("left", "branch(-1)", "the previous branch from here"),
    Key("enter", "open_part", "open or fold the part under the cursor; next match of a search", "unfold"),
    *_SCROLL,
    Key("home", "top", "to the beginning", "", "g"),
    Key("end", "end", "to the end, and follow new entries", "", "G"),
    Key("ctrl+down,alt+down", "prompt(1)", "to the next prompt", "next prompt", "n"),
    Key("ctrl+up,alt+up", "prompt(-1)", "to the previous prompt", "", "p"),
    Key("tab", "select(1)", "to the next foldable part"),
    Key("shift+tab", "select(-1)", "to the previous foldable part"),
    Key("f3,ctrl+n", "find(1)", "next match, also on other branches", "", "period"),
    Key("ctrl+p,shift+f3", "find(-1)", "previous match", "", "comma"),
    Key("ctrl+t", "tree", "the tree, at this place", "tree", "t"),
    Key("f6", "compare", "compare with another branch", "compare", "c"),
    Key("f7", "files", "files that this branch touched", "files"),
    Key("f8", "fold_all", "open or fold all thinking and results", "fold all", "z"),
    Key("alt+s", "switch", "pick another branch from the fork point above", "", "s"),
    Key("alt+e", "error(1)", "to the next error", "", "e"),
    Key("alt+E", "error(-1)", "to the previous error", "", "E"),
    Key("alt+l", "labelled(1)", "to the next label", "", "l"),
    Key("alt+L", "labelled(-1)", "to the previous label", "", "L"),
    Key("alt+o", "picture", "open the image under the cursor", "", "o"),
    Key("ctrl+x,alt+c", "copy", "copy the text under the cursor", "", "y"),
    Key("", "search", "begin a search", "", "slash"),
    _HELP,
    Key("escape", "back", "clear the search; then leave", "back", "q"),
)
TURNS = (
    Key("enter", "choose", "go to this turn, or fork before it", "choose"),
    Key("ctrl+o", "fork", "fork before this turn", "fork"),
    Key("ctrl+x", "copy", "copy the prompt"),
    _TYPED_HELP,
    Key("escape", "back", "clear the filter; then cancel", "back"),
)
FOREST = (
    Key("enter", "choose", "go to this session", "choose"),
    Key("ctrl+t", "tree", "its tree", "tree", "t"),
    Key("right", "transcript", "read the conversation", "read", "o"),
    Key("tab", "scope", "toggle this directory / all", "scope"),
    Key("", "search", "begin a search", "", "slash"),
    _HELP,
    Key("escape", "back", "clear the search; then leave", "back", "q"),
)
COMPARE = (
    *_SCROLL,
    Key("home", "top", "to the beginning", "", "g"),
    Key("end", "end", "to the end", "", "G"),
    Key("ctrl+down,alt+down", "turn(1)", "to the next turn", "next turn", "n"),
    Key("ctrl+up,alt+up", "turn(-1)", "to the previous turn", "", "p"),
    Key("f6", "swap", "swap sides", "swap", "w"),
    _HELP,
    Key("escape", "back", "leave", "back", "q"),
)
STATISTICS = (
    Key("tab", "scope", "toggle this directory / all", "directory"),
    Key("ctrl+s", "measure", "cost, tokens or messages", "measure", "s"),
    Key("left", "earlier", "an earlier day", "earlier"),
    Key("right", "later", "a later day", "later"),
    Key("enter", "sessions_of_day", "the sessions of this day", "sessions of this day"),
    *_SCROLL,
    Key("f5", "reload", "add up again"),
    Key("f4", "back", "the sessions", "sessions", "S"),
    _HELP,
    Key("escape", "back", "leave", "back", "q"),
)
FILES = (
    Key("enter", "choose", "go to where this file was touched last", "go there"),
    Key("right", "step_call(1)", "the next call that touched it"),
    Key("left", "step_call(-1)", "the call before"),
    Key("f8", "whole", "this branch, or the whole session", "branch / session"),
    Key("ctrl+x", "copy", "copy the path"),
    _TYPED_HELP,
    Key("escape", "back", "clear the filter; then leave", "back"),
)

SCREENS: dict[str, tuple[Key, ...]] = {
    "sessions": (*BROWSER, *_LIST),
    "tree": (*TREE, *_LIST),
    "transcript": TRANSCRIPT,
    "turns": (*TURNS, *_LIST),
    "forest": (*FOREST, *_LIST),
    "compare": COMPARE,
    "statistics": STATISTICS,
    "files": (*FILES, *_LIST),
}

_NAMES = {
    "question_mark": "?",
    "exclamation_mark": "!",
    "slash": "/",
    "period": ".",
    "comma": ",",
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
    "insert": "Ins",
}
_ALIASES = frozenset({"ctrl+@"})
"""Keys that some terminals send for another one, which is shown."""


def keys_of(screen: str) -> tuple[Key, ...]:
    """Return all keys of a screen, including the global ones."""
    return (*SCREENS[screen], *_EVERYWHERE)


def letter_name(letter: str) -> str:
    """Return the shown name of a single-letter key."""
    return _NAMES.get(letter, letter)


def shown_key(keys: str) -> str:
    """Return the shown names of keys: ``Ctrl+←``, ``Shift+L``; equal names appear once."""
    shown = []
    for key in keys.split(","):
        if not key or key in _ALIASES:
            continue
        *held, last = key.split("+")
        held.sort()  # Ctrl before Shift, however a terminal names them
        if len(last) == 1 and last.isupper():
            held, last = [*held, "shift"], last.lower()
        name = _NAMES.get(last, last.upper() if held or last[1:].isdigit() else last)
        words = "+".join([*(part.capitalize() for part in held), name])
        if words not in shown:
            shown.append(words)
    return " ".join(shown)
