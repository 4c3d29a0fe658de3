"""The session that a hook is called for, and the operations that a plugin may use on it.

The context of a ``before`` hook can read but refuses to write, so that a cancelled flow leaves no trace.
``entry_appended`` may write only side records, so that the leaf does not move while an append returns. In
every other hook a plugin can do what a user can, with the same methods and flows.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from branchline.entries import Content
from branchline.errors import FlowError
from branchline.flows.session_protocol import ForkAt, ForkScope, LiveSession, ReadableSession

if TYPE_CHECKING:
    from branchline.flows.fork import ForkResult
    from branchline.flows.navigate import NavigateResult
    from branchline.flows.steps import Flow

__all__ = ["HookContext", "HookPermission", "Runner"]

T = TypeVar("T")
HookPermission = Literal["look", "note", "act"]
"""What a plugin may do: read only, also write side records, or everything."""


class Runner(Protocol):
    """Runs a flow with the functions of the flow that called the hook."""

    def run(self, flow: Flow[T], /) -> T: ...
    def arun(self, flow: Flow[T], /) -> Awaitable[T]: ...


class HookContext:
    """The session of a hook, and the operations that a plugin may use on it."""

    def __init__(self, session: LiveSession, runner: Runner | None, *, leave: HookPermission) -> None:
        self._session = session
        self._runner = runner
        self._leave: HookPermission = leave

    @property
    def session(self) -> ReadableSession:
        """The session, read-only: its tree, path and entries."""
        return self._session

    def append_custom(self, custom_type: str, data: Any = None) -> str:
        """Append data that the model does not see."""
        return self._require_annotate().append_custom(custom_type, data)

    def append_message(
        self, custom_type: str, content: Content | list[Any], *, display: bool = True, details: Any = None
    ) -> str:
        """Append a message to the conversation; the model sees it as a user message."""
        return self._require_act().append_custom_message(
            custom_type, content, display=display, details=details
        )

    def label(self, entry: str, label: str | None) -> str:
        """Label an entry; None removes the label."""
        return self._require_annotate().append_label(entry, label)

    def move_to(self, entry: str) -> None:
        """Move the leaf, without hooks and without a summary."""
        self._require_act().branch(entry)

    def navigate(self, entry: str, *, summarize: bool = False) -> NavigateResult:
        """Go to an entry as the user would: calls other plugins, and may summarize the abandoned branch."""
        return self._run(self._navigation(entry, summarize=summarize))

    async def anavigate(self, entry: str, *, summarize: bool = False) -> NavigateResult:
        """:meth:`navigate` for a plugin that awaits."""
        return await self._arun(self._navigation(entry, summarize=summarize))

    def branch(self, entry: str) -> ForkResult[LiveSession]:
        """Continue a prompt in a new session, as the user would: copies the path before it."""
        return self._run(self._branching(entry))

    async def abranch(self, entry: str) -> ForkResult[LiveSession]:
        """:meth:`branch` for a plugin that awaits."""
        return await self._arun(self._branching(entry))

    def fork(
        self, entry: str | None = None, *, position: ForkAt = "at", scope: ForkScope = "path"
    ) -> ForkResult[LiveSession]:
        """Copy a path into a new session, as the user would."""
        return self._run(self._forking(entry, position, scope))

    async def afork(
        self, entry: str | None = None, *, position: ForkAt = "at", scope: ForkScope = "path"
    ) -> ForkResult[LiveSession]:
        """:meth:`fork` for a plugin that awaits."""
        return await self._arun(self._forking(entry, position, scope))

    def _navigation(self, entry: str, *, summarize: bool) -> Flow[NavigateResult]:
        from branchline.flows.navigate import navigate  # noqa: PLC0415

        return navigate(self._require_act(), entry, summarize=summarize)

    def _branching(self, entry: str) -> Flow[ForkResult[LiveSession]]:
        from branchline.flows.fork import branch_to_new_session  # noqa: PLC0415

        return branch_to_new_session(self._require_act(), entry)

    def _forking(
        self, entry: str | None, position: ForkAt, scope: ForkScope
    ) -> Flow[ForkResult[LiveSession]]:
        from branchline.flows.fork import fork  # noqa: PLC0415

        return fork(self._require_act(), entry, position=position, scope=scope)

    def _run(self, flow: Flow[T]) -> T:
        assert self._runner is not None  # only a context without permission to act has none
        return self._runner.run(flow)

    def _arun(self, flow: Flow[T]) -> Awaitable[T]:
        assert self._runner is not None
        return self._runner.arun(flow)

    def _require_annotate(self) -> LiveSession:
        if self._leave == "look":
            raise FlowError(
                "a plugin cannot change the session before the operation; "
                "do it in the hook that is called afterwards"
            )
        return self._session

    def _require_act(self) -> LiveSession:
        if self._leave == "note":
            raise FlowError(
                "a plugin cannot move or continue the conversation while an append returns; "
                "entry_appended may write only labels and data"
            )
        return self._require_annotate()
