"""The agents that a session can be continued in, as a menu."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from branchline.views.browser.entry_menu import MenuItem

__all__ = ["InstalledAgent", "agent_menu"]


class InstalledAgent(Protocol):
    """An agent, the program that it is started with, and whether that is here."""

    @property
    def agent(self) -> str: ...
    @property
    def program(self) -> str: ...
    @property
    def installed(self) -> bool: ...


def agent_menu(agents: Iterable[InstalledAgent]) -> list[MenuItem]:
    """A menu of the agents that are installed."""
    return [
        MenuItem(one.agent, one.agent, f"a converted copy, in {one.program}")
        for one in agents
        if one.installed
    ]
