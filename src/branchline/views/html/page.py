"""The page around a session (bar, tree pane, transcript, help), shared by the viewer and the single file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from branchline.views.html.markup import EMPTY, Html, join, template

__all__ = ["bundle", "help_dialog", "session_body"]

_BODY = template(
    '<a class="skip" href="#main">Skip to the conversation</a>\n'
    '<header class="bar">{}<span class="bar-title">{}</span><span class="grow"></span>'
    '<div class="field find" role="search"><i class="i search"></i>'
    '<input type="search" id="find" placeholder="Find" aria-label="Find in the whole session"'
    ' autocomplete="off">'
    '<output id="found" for="find" aria-live="polite"></output><kbd>/</kbd>'
    '<div class="hits" id="hits" hidden></div></div>'
    '<div class="tools"><div class="menu" id="menu" popover>{}'
    '<button class="ib" id="print" type="button" title="Prepare for printing">'
    '<i class="i print"></i><span class="word">Prepare for printing</span></button>'
    '<button class="ib" data-help type="button" title="Keyboard (?)">'
    '<i class="i help"></i><span class="word">Keyboard</span></button></div>'
    '<button class="ib only-narrow" id="find-button" type="button" aria-label="Find">'
    '<i class="i search"></i></button>'
    '<button class="ib only-narrow" id="pane-button" type="button" aria-label="Tree and prompts"'
    ' aria-expanded="false"><i class="i tree"></i></button>'
    '<button class="ib" id="theme" type="button" aria-label="Theme: as the system" title="Theme (d)">'
    '<i class="i theme"></i></button>'
    '<button class="ib only-narrow" id="menu-button" type="button" popovertarget="menu" aria-label="More">'
    '<i class="i more"></i></button></div></header>\n'
    '<div class="session"><aside class="pane" aria-label="Map of the session"><div class="pane-head">'
    '<div class="seg" role="tablist" aria-label="Map"><button role="tab" id="tab-tree" type="button"'
    ' aria-selected="true" aria-controls="p-tree">Tree</button>'
    '<button role="tab" id="tab-prompts" type="button" aria-selected="false" tabindex="-1"'
    ' aria-controls="p-prompts">Prompts</button></div>'
    '<span class="grow"></span>'
    '<button class="btn quiet" id="foldall" type="button" hidden>Fold branches</button>'
    '</div><div class="scroll" id="p-tree" role="tabpanel" aria-labelledby="tab-tree">'
    '<div class="tree" id="tree" role="tree" aria-label="Branches"></div></div>'
    '<div class="scroll" id="p-prompts" role="tabpanel" aria-labelledby="tab-prompts" hidden>'
    '<nav class="tree outline" id="prompts" aria-label="Prompts"></nav></div>'
    '<div class="pane-foot"><span id="counts"></span><span id="position" class="num"></span></div></aside>\n'
    '<main class="main" id="main" tabindex="-1"><div><header class="session-head"><h1>{}</h1>'
    '<div class="facts">{}</div></header>\n<div class="path" id="path">{}</div>\n{}</div></main></div>\n{}'
    '<div class="told" id="told" hidden><span role="status"></span>'
    '<button class="btn quiet" type="button">Close</button></div>'
)
_BRAND = template(
    '<span class="brand"><i class="i brand"></i><span class="only-wide">branchline</span></span>'
)
_BRAND_LINK = template(
    '<a class="brand" href="{}" aria-label="branchline: all sessions"><i class="i brand"></i>'
    '<span class="only-wide">branchline</span></a>'
)
_FACT = template("<span>{}</span>")


def session_body(
    *,
    title: str,
    facts: Iterable[str],
    path: Html = EMPTY,
    after: Html = EMPTY,
    home: str = "",
    tools: Html = EMPTY,
    keys: Mapping[str, Mapping[str, str]] | None = None,
) -> Html:
    """Return the body of a page that shows one session.

    ``path`` has the pieces that are shown before (or without) a script, ``after`` follows the transcript,
    ``home`` is the address behind the program's name, ``tools`` are more controls of the bar, ``keys`` more
    groups of keys for the help.
    """
    return _BODY(
        _BRAND_LINK(home) if home else _BRAND(),
        title,
        tools,
        title,
        join(map(_FACT, facts)),
        path,
        after,
        help_dialog({**_KEYS, **(keys or {})}),
    )


_KEYS: dict[str, dict[str, str]] = {
    "Read": {
        "Next, previous entry": "j k",
        "Next, previous prompt": "n p",
        "Open or fold": "Enter",
        "All tool calls": "t",
        "All thinking": ".",
        "First, last entry": "g G",
    },
    "Branches": {
        "Other branch here": "← →",
        "Next, previous branch point": "] [",
        "To the tree and back": "b",
    },
    "Find": {"Search everything": "/", "Next, previous hit": "Enter ⇧Enter"},
    "Page": {
        "Copy link to the entry": "y",
        "Print the whole path": "Ctrl+P",
        "Light, dark, as the system": "d",
        "This help": "?",
    },
}
_HELP = template(
    '<dialog class="help" id="help" aria-labelledby="help-title"><header><h2 id="help-title">Keyboard</h2>'
    '<button class="ib" data-help type="button" aria-label="Close"><i class="i close"></i></button></header>'
    '<div class="cols">{}</div></dialog>'
)
_GROUP = template("<section><h3>{}</h3><dl>{}</dl></section>")
_KEY = template("<dt>{}</dt><dd>{}</dd>")
_KBD = template("<kbd>{}</kbd>")


def help_dialog(groups: Mapping[str, Mapping[str, str]]) -> Html:
    """Return the key map: for each group, descriptions and their keys, separated by spaces."""
    return _HELP(
        join(
            _GROUP(name, join(_KEY(what, join(map(_KBD, keys.split()))) for what, keys in group.items()))
            for name, group in groups.items()
        )
    )


_IMPORT = re.compile(r'^import (?:\{[^}]*\} from )?"\./([\w.-]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=async |class |const |function )", re.MULTILINE)


def bundle(modules: Mapping[str, str], entry: str) -> str:
    """Bundle modules that import each other by name into one script, for pages that may load nothing.

    Top-level names must be unique across modules.
    """
    order: list[str] = []

    def visit(name: str) -> None:
        if name not in order:
            for needed in _IMPORT.findall(modules[name]):
                visit(needed)
            order.append(name)

    visit(entry)
    texts = [_EXPORT.sub("", _IMPORT.sub("", modules[name])) for name in order]
    return '(() => {\n"use strict";\n' + "\n".join(texts) + "})();\n"
