"""The current system prompt and tools: the result of applying the patches in system messages."""

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
        """The complete system prompt: the named parts, then the free text, separated by blank lines."""
        return "\n\n".join(part for part in (*self.sections.values(), self.prompt) if part)


def replay_system(messages: Iterable[Message]) -> SystemState:
    """Apply the patches in order. A section set to null is removed; a tool replaces one of the same name."""
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
