"""Tool permissions of a chat: the user confirms each call, unless its tool was allowed or denied by name.

A model follows what it reads, and it reads files, web pages and sessions by other authors, so a call of an
MCP tool is only a proposal. Tools that are functions of this program run without a question.
"""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Literal, get_args

from branchline.chat.frontend import Frontend, Picker
from branchline.chat.pickers import answer_picker
from branchline.entries import ToolCall
from branchline.models import Tool
from branchline.views.humanize import count
from branchline.views.spans import Span
from branchline.views.text import cut, one_line, safe

if TYPE_CHECKING:
    from branchline.chat.chat import Chat

__all__ = ["ChatPermissions", "Permission", "tools"]

Permission = Literal["allow", "ask", "deny"]

_SHOWN = 2_000
"""How many characters of the arguments a question shows at first."""
_DENIED = "The user denied this call. It was not run."
_NEVER = "The user does not allow calls of this tool. It was not run."
_NOBODY = "The user could not be asked for permission. It was not run."


class ChatPermissions:
    """The permissions of one chat.

    ``allowed`` names tools that need no question, as ``server.tool``; a name that two of the ``tools`` share
    allows neither. Answers hold until the chat goes to another session, which has its own text and its own
    author; denials of single tools stay.
    """

    def __init__(
        self,
        front: Frontend,
        session: Callable[[], str],
        tools: Iterable[Tool],
        allowed: Iterable[str] = (),
    ) -> None:
        self._front = front
        self._session = session
        names = Counter(tool.full_name for tool in tools)
        self._allowed = frozenset(name for name in allowed if names[name] <= 1)
        self._chosen: dict[tuple[str, str], Permission] = {}
        self._chosen_in = session()

    def of(self, tool: Tool) -> Permission:
        """Return what happens when the model calls a tool."""
        if self._chosen_in != (now := self._session()):
            self._chosen_in = now
            self._chosen = {key: chosen for key, chosen in self._chosen.items() if chosen == "deny"}
        chosen = self._chosen.get((tool.server, tool.name))
        if chosen is not None:
            return chosen
        return "ask" if tool.server and tool.full_name not in self._allowed else "allow"

    def set(self, tool: Tool, permission: Permission) -> None:
        """Decide about all later calls of a tool."""
        self.of(tool)  # forgets the answers of another session
        self._chosen[tool.server, tool.name] = permission

    async def refusal(self, tool: Tool, call: ToolCall, /) -> str | None:
        """Return why a call must not run; None lets it run."""
        match self.of(tool):
            case "allow":
                return None
            case "deny":
                return _NEVER
            case "ask":
                return await self._ask(tool, call)

    async def _ask(self, tool: Tool, call: ToolCall) -> str | None:
        name = one_line(tool.full_name)
        if not self._front.can_ask:
            self._front.notice(
                f"{name} was not called: no terminal to ask on; --allow-tool {shlex.quote(name)} allows it"
            )
            return _NOBODY
        arguments = _json(call)
        self._front.line(
            Span(f"The model wants to call {name} (MCP server {one_line(tool.server)}):", "warning")
        )
        self._front.text(_shortened(arguments), role="tool")
        while (answer := await self._front.pick(_question(name, long=len(arguments) > _SHOWN))) == "show":
            self._front.text(arguments, role="tool")
        match answer:
            case "once":
                return None
            case "always":
                self.set(tool, "allow")
                return None
            case "never":
                self.set(tool, "deny")
                return _NEVER
            case _:
                return _DENIED


def _question(name: str, *, long: bool) -> Picker:
    """Return the question. The cursor is on denial, so that text typed ahead allows nothing."""
    answers = {
        "deny": "Deny this call",
        "once": "Allow this call",
        "always": f"Allow {name} for the rest of this session",
        "never": f"Deny {name} for the rest of this chat",
    }
    if long:
        answers["show"] = "Show all arguments"
    return answer_picker(f"Run {name}?", answers)


def _json(call: ToolCall) -> str:
    try:
        return safe(json.dumps(call.arguments, indent=2, ensure_ascii=False))
    except (RecursionError, TypeError, ValueError):
        return safe(repr(call.arguments))


def _shortened(text: str) -> str:
    """Return the beginning and end of a long text, with a note about the omitted middle."""
    if len(text) <= _SHOWN:
        return text
    half = _SHOWN // 2
    return f"{text[:half]}\n… {count(len(text) - 2 * half, 'more character')} …\n{text[-half:]}"


# -- the command ------------------------------------------------------------------------------------------


async def tools(chat: Chat, words: str) -> None:
    """List the tools and their permissions, or change one."""
    verb, _, name = words.partition(" ")
    if words:
        permission = next((known for known in get_args(Permission) if known == verb), None)
        if permission is None or not name.strip():
            raise ValueError("write /tools, or /tools allow NAME, /tools ask NAME, /tools deny NAME")
        for tool in _named(chat.tools, name.strip()):
            chat.permissions.set(tool, permission)
    if not chat.tools:
        chat.front.notice("no tools; --mcp FILE or the setting mcp_servers adds those of MCP servers")
        return
    names = [one_line(tool.full_name) for tool in chat.tools]
    room = max(map(len, names))
    columns = chat.front.columns
    for name, tool in zip(names, chat.tools, strict=True):
        about = one_line(tool.description.partition("\n")[0])
        if columns is not None:
            about = cut(about, max(10, columns - room - 10))
        chat.front.line(
            Span(f"{name:<{room}}", "tool"), f"  {chat.permissions.of(tool):<5}", Span(f"  {about}", "dim")
        )


def _named(known: Sequence[Tool], name: str) -> list[Tool]:
    found = [tool for tool in known if name in (tool.full_name, tool.name)]
    if not found:
        raise LookupError(f"no tool named {name!r}; /tools lists them")
    return found
