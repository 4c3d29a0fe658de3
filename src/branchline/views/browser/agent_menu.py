"""The agents that a session can be continued in, as a menu."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from branchline.views.browser.entry_menu import MenuItem

__all__ = ["InstalledAgent", "agent_menu"]


class InstalledAgent(Protocol):
    """An agent, its program, and whether the program is installed."""

    @property
    def agent(self) -> str: ...
    @property
    def program(self) -> str: ...
    @property
    def installed(self) -> bool: ...


def agent_menu(agents: Iterable[InstalledAgent]) -> list[MenuItem]:
    """Return a menu of the installed agents."""
    return [
        MenuItem(one.agent, one.agent, f"a converted copy, in {one.program}")
        for one in agents
        if one.installed
    ]
