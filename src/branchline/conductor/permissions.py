"""Which tool calls may run: the question that a conductor asks before each of them."""

from __future__ import annotations

from typing import Protocol

from branchline.entries import ToolCall
from branchline.models import Tool

__all__ = ["ALLOW_ALL", "ToolPermissions"]


class ToolPermissions(Protocol):
    """Decides about tool calls."""

    async def refusal(self, tool: Tool, call: ToolCall, /) -> str | None:
        """Return why a call must not run, in words for the model; None lets it run.

        The tool does not run if this raises.
        """
        ...


class _AllowAll:
    async def refusal(self, tool: Tool, call: ToolCall, /) -> str | None:
        del tool, call
        return None


ALLOW_ALL: ToolPermissions = _AllowAll()
"""Runs every call: the default in Python, where the tools are those that the caller passed."""
