"""The system prompt and the tools in force: the sum of the patches that system messages carry."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from branchline.entries import Message, SystemMessage, blocks_text

__all__ = ["SystemState", "replay_system"]


class SystemState(msgspec.Struct, frozen=True, kw_only=True):
    """``prompt`` is the free text; ``sections`` are its named parts, in the order in which they appeared."""

    prompt: str = ""
    sections: dict[str, str] = {}
    tools: tuple[dict[str, Any], ...] = ()

    @property
    def text(self) -> str:
        """The whole system prompt: the named parts, then the free text, with blank lines between."""
        return "\n\n".join(part for part in (*self.sections.values(), self.prompt) if part)


def replay_system(messages: Iterable[Message]) -> SystemState:
    """Apply the patches in order. A section set to null goes away; a tool replaces its namesake."""
    texts: list[str] = []
    sections: dict[str, str] = {}
    tools: dict[str, dict[str, Any]] = {}
    for message in messages:
        if not isinstance(message, SystemMessage):
            continue
        if text := blocks_text(message.content):
            texts.append(text)
        for name, section in (message.sections or {}).items():
            if section is None:
                sections.pop(name, None)
            else:
                sections[name] = section
        for tool in message.tools_removed or ():
            tools.pop(_name(tool), None)
        for tool in message.tools_added or ():
            tools[_name(tool)] = tool
    return SystemState(prompt="\n\n".join(texts), sections=sections, tools=tuple(tools.values()))


def _name(tool: dict[str, Any]) -> str:
    return str(tool.get("name", ""))
