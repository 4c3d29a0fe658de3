"""Permissions of tool calls: a conductor checks every call before it runs."""

from __future__ import annotations

from typing import Protocol

from branchline.entries import ToolCall
from branchline.models import Tool

__all__ = ["ALLOW_ALL", "ToolPermissions"]


class ToolPermissions(Protocol):
    """Decides about tool calls."""

    async def refusal(self, tool: Tool, call: ToolCall, /) -> str | None:
        """Return why a call must not run, as a text for the model; None allows it.

        The tool does not run if this raises.
        """
        ...


class _AllowAll:
    async def refusal(self, tool: Tool, call: ToolCall, /) -> str | None:
        del tool, call
        return None


ALLOW_ALL: ToolPermissions = _AllowAll()
"""Allows every call: the default in Python, where the caller chooses the tools."""
