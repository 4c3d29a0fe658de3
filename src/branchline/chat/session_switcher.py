"""The session picker of a chat: this directory or all, with rename, delete and undo."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from branchline.actions.remove import RemovedSession, remove, undo
from branchline.chat.frontend import Frontend, Picker, PickerAction
from branchline.chat.pickers import session_picker
from branchline.chat.services import Services
from branchline.conductor import Conductor
from branchline.errors import BranchlineError

__all__ = ["SessionSwitcher"]

_QUESTION = "Continue which session?"


class SessionSwitcher:
    """State of the session picker. ``conductor`` runs the session of this chat, if it has one."""

    def __init__(self, front: Frontend, services: Services, conductor: Conductor | None = None) -> None:
        self._front = front
        self._services = services
        self._conductor = conductor
        self._everywhere = not services.sessions()
        self._removed: list[RemovedSession] = []

    async def pick(self) -> str | None:
        """Return the picked session; None if the user cancels."""
        return await self._front.pick(self._picker())

    @property
    def _current(self) -> str | None:
        return None if self._conductor is None else self._conductor.session.file

    def _picker(self) -> Picker:
        rows = self._services.sessions(everywhere=self._everywhere)
        scope = "all directories" if self._everywhere else "this directory"
        other = "this directory" if self._everywhere else "all directories"
        picker = session_picker(rows, f"{_QUESTION} ({scope})", current=self._current)
        actions = (
            PickerAction(name="scope", key="tab", help=f"Tab: {other}", run=self._toggle),
            PickerAction(name="rename", key="c-r", help="Ctrl-R: rename", run=self._safely(self._rename)),
            PickerAction(name="delete", key="c-x", help="Ctrl-X: delete", run=self._safely(self._delete)),
            PickerAction(name="undo", key="c-z", help="Ctrl-Z: undo", run=self._safely(self._undo)),
        )
        return msgspec.structs.replace(picker, actions=actions if self._removed else actions[:-1])

    def _safely(
        self, action: Callable[[str | None], Awaitable[None]]
    ) -> Callable[[str | None], Awaitable[Picker | None]]:
        """Run an action and show the list again; errors are reported."""

        async def run(key: str | None) -> Picker | None:
            try:
                await action(key)
            except (BranchlineError, OSError, ValueError) as problem:
                self._front.notice(str(problem))
            return self._picker()

        return run

    async def _toggle(self, key: str | None) -> Picker:
        del key
        self._everywhere = not self._everywhere
        return self._picker()

    async def _rename(self, key: str | None) -> None:
        if key is None:
            return
        title = await self._front.ask("New title:")
        if title is None:
            return
        if self._conductor is not None and key == self._current:
            self._conductor.set_title(title)
            return
        with self._services.open(key) as session:
            session.set_title(title)

    async def _delete(self, key: str | None) -> None:
        if key is None:
            return
        if key == self._current:
            raise ValueError("you are in this session; switch to another one before you delete it")
        self._removed += remove([key])
        self._front.notice(f"moved {key} to the trash; undo brings it back")

    async def _undo(self, key: str | None) -> None:
        del key
        if self._removed:
            removed = self._removed.pop()
            undo(removed)
            self._front.notice(f"restored {removed.path}")
