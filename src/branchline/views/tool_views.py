"""Tool calls for display: one line per call, and sections for an opened call.

A table has the tools of known agents by what they do (run a command, edit a file …). Every other tool,
including those of MCP servers, is shown as ``name key=value …``. Arguments come from session files and may
have any type and size. The length of a line is limited. The sections list arguments that a renderer does not
expect, so an opened call shows all of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from itertools import groupby
from typing import Any, Literal, NamedTuple, TypeVar

import msgspec

from branchline.context.javascript import number_text, stringify, utf16_cut, utf16_length
from branchline.views.spans import StyleRole
from branchline.views.text_difference import text_difference
from branchline.views.tool_calls import Call, short_path, single_line

__all__ = [
    "ToolKind",
    "ToolSection",
    "call_files",
    "call_line",
    "call_sections",
    "call_text",
    "diff_runs",
    "is_shell",
    "json_text",
    "tool_kind",
]

_Value = TypeVar("_Value")

_LONGEST_LINE = 200
_LONGEST_COMMAND = 50
"""UTF-16 units of a command in a row of the tree, as in pi."""
_LONGEST_VALUE = 60
_MOST_PAIRS = 8
_MOST_ITEMS = 4
_LOOKED_AT = 2_000
"""Characters of an argument that are used for a line."""

_DIFF_ROLES: dict[str, StyleRole] = {"+": "added", "-": "removed", "@": "heading", "*": "heading"}

SectionKind = Literal["text", "code", "diff"]
ToolKind = Literal["shell", "read", "write", "edit", "search", "agent", "plan", "web", "ask", "other"]
"""What a tool does, by its name."""


class ToolSection(msgspec.Struct, frozen=True, kw_only=True):
    """A part of an opened call. ``title`` names the argument, if it is not obvious."""

    kind: SectionKind
    text: str
    title: str = ""
    language: str = ""


# -- the calls --------------------------------------------------------------------------------------------


def call_line(call: Call, home: str = "") -> str:
    """Return a call on one line: ``Bash: make test``, ``Edit: main.py``, ``search query=login limit=5``."""
    return _first(_line(call, home), _LONGEST_LINE)


def call_text(call: Call, home: str = "") -> str:
    """Return a call for the tree, in brackets: ``[read: src/main.py:1-40]``, ``[bash: make test]``."""
    return f"[{_first(_line(call, home, command=_LONGEST_COMMAND), _LONGEST_LINE)}]"


def call_sections(call: Call, home: str = "") -> list[ToolSection]:
    """Return the sections of an opened call before its result; with its line they have every argument."""
    tool = _tool(call.name)
    arguments = _Arguments(call.arguments)
    sections: list[ToolSection] = []
    if tool is not None:
        subject = tool.subject(arguments, home)
        sections = list(tool.body(arguments))
        if tool is not _SHELL and len(subject) + len(call.name) >= _LONGEST_LINE:
            sections.insert(0, ToolSection(kind="text", text=subject))
    if rest := arguments.rest():
        sections += _pairs(rest)
    return sections


def is_shell(name: str) -> bool:
    """Return whether a tool of this name runs commands."""
    return _tool(name) is _SHELL


def call_files(call: Call) -> list[str]:
    """Return the files that a call reads or changes."""
    tool = _tool(call.name)
    arguments = _Arguments(call.arguments, most=_LOOKED_AT)
    if tool is _TOOLS["applypatch"] and not arguments.text(*_PATHS):
        patch = _Arguments(call.arguments).text("input", "patch", "diff", "patchText")
        found = [*_PATCHED.findall(patch), *_UNIFIED.findall(patch)]
        return list(dict.fromkeys(file.strip() for file in found))
    if tool is None or tool.kind not in ("read", "write", "edit"):
        return []
    several = arguments.take(list, "paths", "files") or []
    one = arguments.text(*_PATHS)
    return [one] if one else [path for path in several if isinstance(path, str)]


def tool_kind(name: str) -> ToolKind:
    """Return what a tool of this name does."""
    tool = _tool(name)
    return "other" if tool is None else tool.kind


def diff_runs(text: str) -> Iterator[tuple[str, StyleRole]]:
    """Yield the lines of a diff, grouped by role."""
    for role, lines in groupby(text.split("\n"), _diff_role):
        yield "\n".join(lines), role


def _diff_role(line: str) -> StyleRole:
    return _DIFF_ROLES.get(line[:1], "dim")


def _line(call: Call, home: str, *, command: int = _LONGEST_LINE) -> str:
    tool = _tool(call.name)
    arguments = _Arguments(call.arguments, most=_LOOKED_AT)
    name = _shown_name(call.name)
    if tool is None:
        return " ".join((name, *_words(arguments.rest())))
    subject = single_line(tool.subject(arguments, home))
    return f"{name}: {_first(subject, command) if tool is _SHELL else subject}"


@lru_cache(maxsize=1024)
def _tool(name: str) -> _Tool | None:
    server, _, inner = name.rpartition("__")
    if server.startswith("mcp"):
        return None  # servers may use any tool names
    return _TOOLS.get((inner or name).lower().replace("_", "").replace("-", ""))


@lru_cache(maxsize=1024)
def _shown_name(name: str) -> str:
    """``github/create_issue`` for ``mcp__github__create_issue``."""
    if name.startswith("mcp__") and (parts := name.split("__", 2))[1:] and all(parts):
        return "/".join(parts[1:])
    return single_line(name[:_LONGEST_LINE]) or "tool"


# -- arguments --------------------------------------------------------------------------------------------


class _Arguments:
    """The arguments of a call, tracking which ones a renderer used."""

    __slots__ = ("_given", "_most", "_used")

    def __init__(self, given: dict[str, Any], most: int | None = None) -> None:
        self._given = given
        self._most = most
        self._used: set[str] = set()

    def take(self, kind: type[_Value], *names: str) -> _Value | None:
        """Return the first of these arguments with this type, or None."""
        for name in names:
            value = self._given.get(name)
            if isinstance(value, kind):
                self._used.add(name)
                return value
        return None

    def number(self, *names: str) -> int | float | None:
        for name in names:
            value = self._given.get(name)
            if isinstance(value, int | float) and not isinstance(value, bool):
                self._used.add(name)
                return value
        return None

    def text(self, *names: str) -> str:
        """Return the first of these arguments as text: JSON for other types, empty if it is missing."""
        for name in names:
            value = self._given.get(name)
            if value is None:
                continue
            self._used.add(name)
            if isinstance(value, str):
                return value[: self._most]
            if value is False:
                return ""
            return _brief(value) if self._most is not None else json_text(value)
        return ""

    def rest(self) -> dict[str, Any]:
        """Return the arguments that were not used."""
        if len(self._used) == len(self._given):
            return {}
        return {name: value for name, value in self._given.items() if name not in self._used}


def _brief(value: Any) -> str:
    """Any value, in a few characters; a long list or object by its size."""
    match value:
        case str():
            return single_line(value[:_LOOKED_AT])
        case list() | tuple():
            simple = len(value) <= _MOST_ITEMS and not any(isinstance(item, list | dict) for item in value)
            if simple:
                items = [stringify(item[:_LOOKED_AT] if isinstance(item, str) else item) for item in value]
                return f"[{','.join(items)}]"
            return f"[{len(value):,} items]"
        case dict():
            return f"{{{len(value):,} keys}}" if len(value) != 1 else "{1 key}"
        case _:
            return _plain(value)


def _plain(value: Any) -> str:
    try:
        return stringify(value)
    except TypeError:  # no value of JSON; only a plugin's own reader makes one
        return repr(value)


def _words(arguments: dict[str, Any]) -> Iterator[str]:
    """``key=value`` for the first arguments, each bounded."""
    for number, (name, value) in enumerate(arguments.items()):
        if number == _MOST_PAIRS:
            yield f"… {len(arguments) - number:,} more"
            return
        text = _first(_brief(value), _LONGEST_VALUE)
        if isinstance(value, str) and (not text or " " in text or '"' in text):
            text = stringify(text)
        yield f"{single_line(str(name)[:_LONGEST_VALUE])}={text}"


def _pairs(arguments: dict[str, Any]) -> Iterator[ToolSection]:
    """The arguments one below the other; long texts and nested values have sections of their own."""
    short: list[str] = []
    long: list[ToolSection] = []
    for name, value in arguments.items():
        if isinstance(value, dict | list | tuple) and value:
            long.append(ToolSection(kind="code", title=name, text=json_text(value), language="json"))
        elif isinstance(value, str) and ("\n" in value or len(value) > _LONGEST_LINE):
            long.append(ToolSection(kind="text", title=name, text=value))
        else:
            short.append(f"{name}: {value if isinstance(value, str) else _plain(value)}")
    if short:
        yield ToolSection(kind="text", text="\n".join(short))
    yield from long


def json_text(value: Any) -> str:
    """Any JSON value, indented where that is possible; what JSON has no word for is null."""
    text = _plain(value)
    try:
        return msgspec.json.format(text, indent=2)
    except (RecursionError, msgspec.MsgspecError):  # half a surrogate pair is no JSON for it
        return text


def _first(text: str, length: int) -> str:
    return text if utf16_length(text) <= length else utf16_cut(text, length) + "..."


# -- what tools do ----------------------------------------------------------------------------------------

_PATHS = ("path", "file_path", "filePath", "notebook_path", "filename", "absolute_path", "target_file")
_SHELL_WORDS = 3
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
_UNIFIED = re.compile(r"^\+\+\+ (?:b/)?(.+)$", re.MULTILINE)


_Body = Callable[[_Arguments], Iterator[ToolSection]]


class _Tool(NamedTuple):
    """How a kind of tool is shown: its line, and the sections of an opened call."""

    subject: Callable[[_Arguments, str], str]
    body: _Body
    kind: ToolKind = "other"


def _nothing(_arguments: _Arguments) -> Iterator[ToolSection]:
    return iter(())


def _path(arguments: _Arguments, home: str) -> str:
    return short_path(arguments.text(*_PATHS), home)


def _command(arguments: _Arguments, _home: str = "") -> str:
    """A command line; of ``["bash", "-lc", "make"]``, what the shell runs."""
    words = arguments.take(list, "command", "cmd")
    if words and all(isinstance(word, str) for word in words):
        if len(words) == _SHELL_WORDS and words[1] in ("-c", "-lc", "/c", "-Command"):
            return str(words[2])
        return " ".join(words)
    return arguments.text("command", "cmd", "script", "commands")


def _command_body(arguments: _Arguments) -> Iterator[ToolSection]:
    if command := _command(arguments):
        yield ToolSection(kind="code", text=command, language="sh")


def _read(arguments: _Arguments, home: str) -> str:
    """A path and ``:start-end`` of a call that reads a part of a file."""
    path = _path(arguments, home) or _several(arguments, "paths", "files")
    if (start := arguments.number("start_line", "startLine")) is not None:
        end = arguments.number("end_line", "endLine")
        return f"{path}:{number_text(start)}" + ("" if end is None else f"-{number_text(end)}")
    offset, limit = arguments.number("offset"), arguments.number("limit")
    if offset is None and limit is None:
        return path
    start = 1 if offset is None else offset
    return f"{path}:{number_text(start)}" + ("" if limit is None else f"-{number_text(start + limit - 1)}")


def _several(arguments: _Arguments, *names: str) -> str:
    """A list of a few texts."""
    value = arguments.take(list, *names)
    if not value or len(value) > _MOST_ITEMS or not all(isinstance(item, str) for item in value):
        return arguments.text(*names) if value is None else _brief(value)
    return ", ".join(value)


def _body(*names: str, kind: SectionKind = "text", language: str = "") -> _Body:
    """The first of these arguments as a section."""

    def sections(arguments: _Arguments) -> Iterator[ToolSection]:
        if text := arguments.text(*names):
            yield ToolSection(kind=kind, text=text, language=language)

    return sections


_content = _body("content", "file_text", "contents", "new_source", "code", kind="code")
_patch = _body("input", "patch", "diff", "patchText", kind="diff", language="diff")
_OLD = ("old_string", "oldText", "old_str", "oldString", "old", "search", "old_text")
_NEW = ("new_string", "newText", "new_str", "newString", "new", "replace", "new_text")


def _edits(arguments: _Arguments) -> Iterator[ToolSection]:
    """What an edit replaces, as a difference of lines."""
    old, new = arguments.take(str, *_OLD), arguments.take(str, *_NEW)
    if old is not None or new is not None:
        yield _difference(old, new)
    for edit in arguments.take(list, "edits") or ():
        if not isinstance(edit, dict):
            yield ToolSection(kind="text", text=edit if isinstance(edit, str) else json_text(edit))
            continue
        inner = _Arguments(edit)
        before, after = inner.take(str, *_OLD), inner.take(str, *_NEW)
        if before is not None or after is not None:
            yield _difference(before, after)
        yield from _pairs(inner.rest())
    if patch := arguments.text("input", "patch", "diff"):
        yield ToolSection(kind="diff", text=patch, language="diff")
    yield from _content(arguments)


def _difference(old: str | None, new: str | None) -> ToolSection:
    lines = map("".join, text_difference(old or "", new or ""))
    return ToolSection(kind="diff", text="\n".join(lines), language="diff")


def _patched(arguments: _Arguments, home: str) -> str:
    """The files that a patch changes."""
    if path := _path(arguments, home):
        return path
    patch = arguments.text("input", "patch", "diff", "patchText")
    files = list(dict.fromkeys(_PATCHED.findall(patch) or _UNIFIED.findall(patch)))
    more = f" and {len(files) - _MOST_ITEMS} more" if len(files) > _MOST_ITEMS else ""
    return ", ".join(short_path(file.strip(), home) for file in files[:_MOST_ITEMS]) + more


def _search_in(arguments: _Arguments, home: str, marks: str = "") -> str:
    pattern = arguments.text("pattern", "query", "regex", "glob_pattern", "pat")
    where = short_path(arguments.text("path", "file_path", "dir_path", "directory", "target_directory"), home)
    return f"{marks}{pattern}{marks} in {where or '.'}"


def _directory(arguments: _Arguments, home: str) -> str:
    return short_path(arguments.text("path", "dir_path", "directory", "relative_workspace_path"), home) or "."


def _agent(arguments: _Arguments, _home: str) -> str:
    kind = arguments.text("subagent_type", "agent_type", "agent", "agentType")
    about = arguments.text("description", "title", "name", "task_name")
    if not about:
        about = single_line(_Arguments(dict(arguments.rest()), _LOOKED_AT).text(*_PROMPTS))
    return ": ".join(filter(None, (kind, about)))


_PROMPTS = ("prompt", "message", "task", "instructions", "assignment", "input")


_ITEM_TEXTS = ("content", "step", "text", "title", "task", "description", "subject")
_DONE = frozenset({"completed", "done", "complete"})
_DOING = frozenset({"in_progress", "active", "doing"})


def _items(arguments: _Arguments) -> list[Any]:
    return arguments.take(list, "todos", "plan", "items", "tasks", "ops") or []


def _todo(arguments: _Arguments, _home: str) -> str:
    items = [item for item in _items(arguments) if isinstance(item, dict)]
    if not items:
        return arguments.text("op", "action", "subject", "taskId", "title")
    done = sum(item.get("status") in _DONE for item in items if isinstance(item.get("status"), str))
    doing = next((item for item in items if item.get("status") in ("in_progress", "active", "doing")), None)
    now = "" if doing is None else single_line(_Arguments(doing, _LOOKED_AT).text(*_ITEM_TEXTS))
    return f"{done} of {len(items)} done" + (f", now {now}" if now else "")


def _todo_list(arguments: _Arguments) -> Iterator[ToolSection]:
    lines = []
    for item in _items(arguments):
        if not isinstance(item, dict):
            lines.append(f"[ ] {_brief(item)}")
            continue
        status = item.get("status")
        known = status if isinstance(status, str) else ""
        mark = "x" if known in _DONE else ">" if known in _DOING else " "
        text = single_line(_Arguments(item).text(*_ITEM_TEXTS)) or _plain(item)
        lines.append(f"[{mark}] {text}")
    if lines:
        yield ToolSection(kind="text", text="\n".join(lines))


def _subject(*names: str) -> Callable[[_Arguments, str], str]:
    """A line that is the first of these arguments."""
    return lambda arguments, _home: arguments.text(*names)


def _question(arguments: _Arguments, _home: str) -> str:
    match arguments.take(list, "questions"):
        case [{"question": str(question)}, *others]:
            return question[:_LOOKED_AT] + (f" and {len(others)} more" if others else "")
    return arguments.text("question", "prompt", "message")


def _questions(arguments: _Arguments) -> Iterator[ToolSection]:
    if value := arguments.take(list, "questions"):
        yield ToolSection(kind="code", text=json_text(value), language="json")


def _web_search(arguments: _Arguments, _home: str) -> str:
    return _several(arguments, "query", "search_term", "queries", "q") or arguments.text("url", "action")


_SHELL = _Tool(_command, _command_body, "shell")
_EDIT = _Tool(_path, _edits, "edit")
_TOOLS: dict[str, _Tool] = {
    alias: tool
    for names, tool in (
        ("bash shell execcommand shellcommand localshell container.exec powershell ssh", _SHELL),
        ("runshellcommand executecommand runcommand runterminalcmd terminal", _SHELL),
        ("writestdin sendinput", _Tool(_subject("chars", "input", "message", "items"), _nothing)),
        (
            "bashoutput killshell killbash taskoutput taskstop",
            _Tool(_subject("bash_id", "shell_id", "task_id"), _nothing),
        ),
        ("read readfile view viewimage readmanyfiles notebookread cat open", _Tool(_read, _nothing, "read")),
        ("write writefile writetofile create createfile", _Tool(_path, _content, "write")),
        ("edit multiedit editfile notebookedit replace replaceinfile searchreplace", _EDIT),
        ("strreplace strreplacefile strreplaceeditor texteditor", _EDIT),
        ("applypatch patch applydiff", _Tool(_patched, _patch, "edit")),
        (
            "grep searchfilecontent searchfiles codebasesearch astgrep",
            _Tool(partial(_search_in, marks="/"), _nothing, "search"),
        ),
        ("find glob filesearch globfilesearch", _Tool(_search_in, _nothing, "search")),
        ("ls list listdirectory listdir listfiles", _Tool(_directory, _nothing, "search")),
        ("task agent spawnagent delegate subagent", _Tool(_agent, _body(*_PROMPTS), "agent")),
        (
            "todowrite todo updateplan settodolist writetodos taskcreate taskupdate tasklist taskget",
            _Tool(_todo, _todo_list, "plan"),
        ),
        ("exitplanmode", _Tool(_subject("title"), _body("plan"), "plan")),
        ("webfetch fetch fetchurl", _Tool(_subject("url", "urls"), _body("prompt"), "web")),
        ("websearch searchweb googlewebsearch", _Tool(_web_search, _nothing, "web")),
        ("askuserquestion ask requestuserinput askfollowupquestion", _Tool(_question, _questions, "ask")),
        ("skill slashcommand", _Tool(_subject("skill", "command", "name"), _body("args"))),
        ("python eval jsrepl calc", _Tool(_subject("description", "title"), _content)),
    )
    for alias in names.split()
}
"""What each known tool does, by its name in lower case without ``_`` and ``-``."""
