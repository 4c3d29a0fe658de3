"""The picker of sessions in a chat: this directory or all, with renaming, deleting and undoing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import msgspec

from branchline.actions.remove import RemovedSession, remove, undo
from branchline.chat.frontend import Picker, PickerAction
from branchline.chat.pickers import session_picker
from branchline.errors import BranchlineError

if TYPE_CHECKING:
    from branchline.chat.chat import Chat

__all__ = ["SessionSwitcher"]

_QUESTION = "Continue which session?"


class SessionSwitcher:
    """What is shown, and what was deleted last."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat
        self._everywhere = False
        self._removed: list[RemovedSession] = []

    async def pick(self) -> str | None:
        """The session that the person picks; None when they leave."""
        return await self._chat.front.pick(self._picker())

    def _picker(self) -> Picker:
        rows = self._chat.services.sessions(everywhere=self._everywhere)
        scope = "all directories" if self._everywhere else "this directory"
        other = "this directory" if self._everywhere else "all directories"
        picker = session_picker(rows, f"{_QUESTION} ({scope})", current=self._chat.conductor.session.file)
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
        """Do something and show the list again; what goes wrong is said."""

        async def run(key: str | None) -> Picker | None:
            try:
                await action(key)
            except (BranchlineError, OSError, ValueError) as problem:
                self._chat.front.notice(str(problem))
            return self._picker()

        return run

    async def _toggle(self, key: str | None) -> Picker:
        del key
        self._everywhere = not self._everywhere
        return self._picker()

    async def _rename(self, key: str | None) -> None:
        if key is None:
            return
        title = await self._chat.front.ask("New title:")
        if title is None:
            return
        current = self._chat.conductor.session
        if key == current.file:
            self._chat.conductor.set_title(title)
            return
        with self._chat.services.open(key) as session:
            session.set_title(title)

    async def _delete(self, key: str | None) -> None:
        if key is None:
            return
        if key == self._chat.conductor.session.file:
            raise ValueError("you are in this session; switch to another one before you delete it")
        self._removed += remove([key])
        self._chat.front.notice(f"moved {key} to the trash; undo brings it back")

    async def _undo(self, key: str | None) -> None:
        del key
        if self._removed:
            removed = self._removed.pop()
            undo(removed)
            self._chat.front.notice(f"restored {removed.path}")
