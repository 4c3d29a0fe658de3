"""A live conversation: one session, a model, tools and plugins, and the user's actions.

    async with Conductor(session, model) as conductor:
        async for event in conductor.send("Why does the build fail?"):
            ...

Only one action runs at a time. While it runs, ``steer`` and ``abort`` work; every other method that changes
the conversation raises. Appends are synchronous: they block for as long as the disk takes.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Self, TypeVar

from branchline.actions.graft import squash_request
from branchline.compaction import Summary, SummaryRequest
from branchline.conductor.events import Event, MessageAppended, TurnEnded
from branchline.conductor.run import Run, stream_events, summary_text
from branchline.conductor.state import ConversationState
from branchline.conductor.turn_runner import TurnRunner, user_message, write_summary
from branchline.entries import AssistantMessage, Content, Message
from branchline.errors import FlowError, InvalidArgument, ModelError
from branchline.flows import (
    Chooser,
    CompactResult,
    Flow,
    ForkResult,
    NavigateResult,
    PluginCommand,
    SwitchResult,
    arun,
    branch_to_new_session,
    chat_commands,
    compact,
    fork,
    navigate,
    rewind_failed,
    run_chat_command,
    shut_down,
    start,
    switch,
)
from branchline.flows.editable_prompt import editable_prompt
from branchline.models import (
    THINKING_LEVELS,
    Model,
    model_by_name,
)
from branchline.session import ForkAt, ForkScope, Session

__all__ = ["Conductor", "OnProgress"]

T = TypeVar("T")
OnProgress = Callable[[str], object]
"""Called with each chunk of a summary as it is generated."""


class Conductor(ConversationState):
    """Owns one live session. Close it with ``async with`` or :meth:`aclose`, which also closes the session.

    ``model`` defaults to the one recorded on the path, constructed by ``find_model``. If none is recorded, or
    it is unavailable (``model_problem`` is the reason), the conversation has no model until
    :meth:`set_model`.

    ``permissions`` decides about every tool call before it runs; the default allows all calls, including MCP
    tools.
    """

    _run: Run | None = None
    _closed = False

    @property
    def running(self) -> bool:
        """Whether an action is running that :meth:`abort` would stop."""
        return self._run is not None

    # -- talking --------------------------------------------------------------------------------------

    def send(self, prompt: Content) -> AsyncGenerator[Event, None]:
        """Send a prompt and yield the events of the answer, ending with TurnEnded.

        The prompt is on disk before the request is sent. A model failure is reported by TurnEnded, after the
        partial answer was appended; errors of the session itself are raised. Closing the iterator aborts the
        turn.
        """
        message = user_message(prompt)

        async def work(run: Run) -> None:
            turn = TurnRunner(self, run)
            self._session.refresh_log()
            await turn.report_foreign_appends()
            self._record_choices()
            await turn.append(message)
            await turn.answer()

        return self._events(work)

    def retry(self) -> AsyncGenerator[Event, None]:
        """Request another answer to the end of the path.

        If the path ends with an answer, failed or not, the new answer becomes its sibling. In a format
        without branches the conversation continues in a fork that ends before the answer. Raises ValueError
        if there are no messages yet.
        """

        async def work(run: Run) -> None:
            session = self._session
            session.refresh_log()
            if session.leaf is None or not self.context().messages:
                raise InvalidArgument("nothing to retry: no messages yet")
            if session.index.roles[session.index.position(session.leaf)] == "assistant":
                await self._leave_answer(run)
            turn = TurnRunner(self, run)
            await turn.report_foreign_appends()
            self._record_choices()
            await turn.answer()

        return self._events(work)

    async def ask(self, prompt: Content) -> AssistantMessage:
        """Send a prompt and return the answer. Raises ModelError, and the errors that :meth:`send` raises."""
        answer: AssistantMessage | None = None
        async for event in self.send(prompt):
            if isinstance(event, MessageAppended) and isinstance(event.message, AssistantMessage):
                answer = event.message
            elif isinstance(event, TurnEnded) and event.error is not None:
                raise event.error
        if answer is None:
            raise ModelError("the turn was aborted before the request was sent")
        return answer

    def steer(self, text: str) -> None:
        """Send a message to the running turn; it follows the current tool calls, or else the answer.

        Messages that arrive too late are returned by TurnEnded. Raises RuntimeError if nothing is running.
        """
        if self._run is None or self._run.ended:
            raise RuntimeError("no turn is running; use send() instead")
        self._run.steering.append(text)

    def abort(self, reason: str = "aborted") -> bool:
        """Abort the running action, from any thread; return whether there was one. Partial output is kept."""
        run = self._run
        if run is None:
            return False
        run.abort.set(reason)
        return True

    def append_message(self, message: Message | dict[str, Any]) -> str:
        """Append a message without a request, for example a command that the user ran."""
        self._require_idle("append")
        return self._session.append_message(message)

    # -- choosing -------------------------------------------------------------------------------------

    def set_model(self, model: Model | str) -> None:
        """Switch to another model and record it in the session."""
        self._require_idle("change the model")
        self._take_model(model_by_name(model) if isinstance(model, str) else model)
        self._record_choices()

    def set_thinking(self, level: str) -> None:
        """Set the thinking level and record it in the session."""
        self._require_idle("change the thinking level")
        if level not in THINKING_LEVELS:
            raise InvalidArgument(
                f"{level!r} is not a thinking level; choose from {', '.join(THINKING_LEVELS)}"
            )
        self._thinking = level
        self._record_choices()

    def set_title(self, name: str) -> None:
        """Set the title of the session; an empty one removes it."""
        self._session.set_title(name)

    def label(self, entry: str, label: str | None) -> None:
        """Label an entry; None removes the label."""
        self._session.append_label(entry, label)

    # -- moving ---------------------------------------------------------------------------------------

    def branch(self, entry: str) -> None:
        """Move the leaf to an entry of this session, without hooks and without a summary."""
        self._require_idle("branch")
        self._session.branch(entry)
        self._follow_path()

    def apply(self, verb: str, work: Callable[[Session], T]) -> T:
        """Change the session while nothing is running, for example by a graft, and adopt its model."""
        self._require_idle(verb)
        done = work(self._session)
        self._follow_path()
        return done

    async def summarize(
        self, first: str, last: str, *, focus: str | None = None, on_progress: OnProgress | None = None
    ) -> str:
        """Summarize a part of the path with the model; nothing is appended.

        Raises ValueError if an entry is not on the path or the part has no text, FlowError or ModelError if
        there is no summary.
        """
        request = squash_request(self._session, first, last, focus=focus)

        with self._busy("summarize") as run:
            work = write_summary(self.required_model(), request, self.policy, _awaitable(on_progress))
            return await summary_text(run.abort, work)

    def reset(self) -> None:
        """Move before the first entry: the next prompt starts a new root in the same session."""
        self._require_idle("reset")
        self._session.reset()

    async def navigate(
        self,
        entry: str,
        *,
        summarize: bool | None = False,
        instructions: str | None = None,
        replace_instructions: bool = False,
        label: str | None = None,
        choose: Chooser | None = None,
        on_progress: OnProgress | None = None,
    ) -> NavigateResult:
        """Go to an entry; see :func:`branchline.flows.navigate`.

        ``summarize=None`` asks the user through ``choose``. If a requested summary fails, the leaf does not
        move. In a format without branches the conversation continues in a fork that ends at the entry,
        without a summary.
        """
        if not self.can_branch and not summarize:
            return await self._navigate_by_fork(entry, label)
        with self._busy("navigate") as run:
            done = await self._arun(
                navigate(
                    self._session,
                    entry,
                    summarize=summarize,
                    custom_instructions=instructions,
                    replace_instructions=replace_instructions,
                    label=label,
                    window=self.context_window,
                    abort=run.abort,
                ),
                choose=choose,
                on_progress=on_progress,
            )
        self._follow_path()
        return done

    async def compact(
        self,
        focus: str | None = None,
        *,
        keep_recent_tokens: int | None = None,
        on_progress: OnProgress | None = None,
    ) -> CompactResult:
        """Compact the context now; see :func:`branchline.flows.compact`.

        In a format that compacts into a fork the conversation continues there.
        """
        keep = self.policy.keep(self.context_window) if keep_recent_tokens is None else keep_recent_tokens
        with self._busy("compact") as run:
            flow = compact(
                self._session,
                custom_instructions=focus,
                keep_recent_tokens=keep,
                window=self.context_window,
                abort=run.abort,
            )
            done = await self._arun(flow, on_progress=on_progress)
        if isinstance(done.session, Session):
            self.go_on_in(done.session)
        return done

    # -- other sessions -------------------------------------------------------------------------------

    async def fork(
        self,
        entry: str | None = None,
        *,
        position: ForkAt = "at",
        scope: ForkScope = "path",
        cwd: str | os.PathLike[str] | None = None,
        to: str | None = None,
    ) -> ForkResult[Session]:
        """Copy the path to an entry into a new, linked session in the format ``to``, and continue there."""
        with self._busy("fork") as run:
            flow = fork(
                self._session,
                entry,
                position=position,
                scope=scope,
                cwd=cwd,
                to=to,
                switch=True,
                abort=run.abort,
            )
            done = await self._arun(flow)
        self._switch_to(done.session)
        return done

    async def branch_to_new_session(self, entry: str) -> ForkResult[Session]:
        """Continue a prompt in a new session with the path before it; the result has its text."""
        with self._busy("branch") as run:
            done = await self._arun(branch_to_new_session(self._session, entry, abort=run.abort))
        self._switch_to(done.session)
        return done

    async def new_session(self) -> SwitchResult[Session]:
        """Start a new session in the same place, with the same model."""
        with self._busy("start a new session") as run:
            flow = switch(self._session, self._session.new_session, reason="new", abort=run.abort)
            done = await self._arun(flow)
        if done.status == "done":
            model, thinking = self._model, self._thinking
            self._switch_to(done.session)
            self._model, self._thinking = model, thinking
        return done

    async def resume(self, source: str | os.PathLike[str] | Callable[[], Session]) -> SwitchResult[Session]:
        """Continue in another session, with the model and thinking level of its path.

        ``source`` is its file, or a function that opens it, for example from a library or a draft.
        """
        opening = source if callable(source) else lambda: Session.open(source)
        with self._busy("resume another session") as run:
            flow = switch(
                self._session,
                opening,
                reason="resume",
                target=None if callable(source) else os.fspath(source),
                abort=run.abort,
            )
            done = await self._arun(flow)
        if done.status == "done":
            self._switch_to(done.session)
        return done

    def poll(self) -> int:
        """Read entries that other writers have appended; return how many there are."""
        self._require_idle("look")
        before = self._session.foreign_appends
        self._session.refresh_log()
        self._reported_appends = self._session.foreign_appends
        return self._reported_appends - before

    # -- commands of plugins --------------------------------------------------------------------------

    async def plugin_commands(self, taken: Collection[str]) -> list[PluginCommand]:
        """Return the commands that plugins add to a chat; ``taken`` are the existing names."""
        return await self._arun(chat_commands(self._session, taken))

    async def run_plugin_command(self, command: PluginCommand, arguments: str) -> str | None:
        """Run a plugin command and return its text for the user. Raises FlowError if it fails."""
        with self._busy(f"run /{command.command.name}"):
            text = await self._arun(run_chat_command(self._session, command, arguments))
        self._follow_path()
        return text

    # -- beginning and ending -------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        await self._arun(start(self._session))
        return self

    async def __aexit__(self, *_exception: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Abort the running action, notify plugins, and close models and session. May be called twice."""
        if self._closed:
            return
        self._closed = True
        if (run := self._run) is not None:
            await run.stop()
            if run.task is None:  # an action with a task has ended with it
                await run.over.wait()
        try:
            await self._arun(shut_down(self._session))
        finally:
            self._leave()
            for model in self._models:
                await model.aclose()
            self._models.clear()

    # -- inside ---------------------------------------------------------------------------------------

    async def _leave_answer(self, run: Run) -> None:
        """Move before the answer at the end of the path; in a format without branches, by a fork."""
        session = self._session
        if self.can_branch:
            await self._arun(rewind_failed(session))
            return
        done = await self._arun(fork(session, session.leaf, position="before", switch=True, abort=run.abort))
        if done.session is None:
            raise FlowError(f"cannot retry in session {session.id}: {done.reason or done.status}")
        self.go_on_in(done.session)
        run.reported_appends = self._reported_appends

    async def _navigate_by_fork(self, entry: str, label: str | None) -> NavigateResult:
        """Go to an entry by a fork that ends there, or before it if it is a prompt."""
        session = self._session
        session.refresh_log()
        old = session.leaf
        prompt_text = editable_prompt(session.entry(entry))
        if entry == old and prompt_text is None:
            return NavigateResult(status="unchanged", old_leaf=old, new_leaf=old)
        done = await self.fork(entry, position="at" if prompt_text is None else "before")
        leaf = self._session.leaf
        if done.status == "done" and label is not None and leaf is not None:
            self._session.append_label(leaf, label)
        return NavigateResult(
            status=done.status,
            old_leaf=old,
            new_leaf=old if done.session is None else leaf,
            text=done.text,
            images=done.images,
            reason=done.reason,
        )

    async def _events(self, work: Callable[[Run], Coroutine[Any, Any, None]]) -> AsyncGenerator[Event, None]:
        with self._busy("talk") as run:
            self.required_model()
            run.reported_appends = self._reported_appends
            events = stream_events(run, lambda: work(run))
            try:
                async for event in events:
                    yield event
            finally:
                await events.aclose()
                self._reported_appends = run.reported_appends

    @contextmanager
    def _busy(self, verb: str) -> Iterator[Run]:
        self._require_idle(verb)
        run = self._run = Run()
        try:
            yield run
        finally:
            self._run = None
            run.over.set()

    def _require_idle(self, verb: str) -> None:
        if self._run is not None:
            raise RuntimeError(f"cannot {verb} while the conversation is running; abort it first")

    async def _arun(
        self, flow: Flow[T], *, choose: Chooser | None = None, on_progress: OnProgress | None = None
    ) -> T:
        summarizer: Callable[[SummaryRequest], Awaitable[Summary]] | None = None
        if (model := self._model) is not None:

            async def summarizer(request: SummaryRequest) -> Summary:
                return await write_summary(model, request, self.policy, _awaitable(on_progress))

        return await arun(flow, hooks=self.hooks, summarizer=summarizer, choose=choose)


def _awaitable(on_progress: OnProgress | None) -> Callable[[str], Awaitable[None]]:
    async def report(text: str) -> None:
        if on_progress is not None:
            on_progress(text)

    return report
