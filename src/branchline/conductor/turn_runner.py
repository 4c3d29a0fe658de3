"""One turn: the model is asked, its tools are called, and it is asked again until it has answered.

Everything that is said is appended before it is said to be there. An answer that breaks off, for whatever
reason, is appended as far as it came, with the reason.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Protocol

import msgspec

from branchline.compaction import Summary, SummaryRequest, compaction_due
from branchline.compaction.summary import summary_of
from branchline.conductor.events import (
    CompactionFailed,
    CompactionReason,
    CompactionStarted,
    ContextCompacted,
    ForeignAppend,
    MessageAppended,
    RetryScheduled,
    SummaryDelta,
    ToolStarted,
    TurnEnded,
    TurnEndReason,
)
from branchline.conductor.permissions import ToolPermissions
from branchline.conductor.policy import Policy
from branchline.conductor.run import Run, interruptible
from branchline.context import Context, ModelRef, usage_sum
from branchline.entries import (
    AssistantMessage,
    Compaction,
    Content,
    Message,
    MessageEntry,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
    message_text,
)
from branchline.errors import ContextOverflow, FlowError, MalformedStream, ModelError, NotSupported
from branchline.flows import (
    Aborted,
    Attempt,
    AttemptResult,
    CompactResult,
    Hooks,
    LiveSession,
    arun,
    compact,
    rewind_failed,
    turn,
)
from branchline.models import (
    Done,
    Model,
    ModelRequest,
    PartialAnswer,
    TextDelta,
    Tool,
    call_tool,
    model_name,
    request_for,
    summary_model_request,
)
from branchline.session import Session

__all__ = ["ABORTED", "TurnHost", "TurnRunner", "user_message", "write_summary"]

ABORTED = "Aborted."
_TOOL_ABORTED = "Aborted before it finished."


class TurnHost(Protocol):
    """What a turn needs of the conversation that it belongs to."""

    @property
    def session(self) -> Session: ...
    @property
    def tools(self) -> Sequence[Tool]: ...
    @property
    def hooks(self) -> Hooks: ...
    @property
    def policy(self) -> Policy: ...
    @property
    def permissions(self) -> ToolPermissions: ...
    @property
    def thinking(self) -> str: ...
    @property
    def request_overhead(self) -> int: ...
    def context(self) -> Context: ...
    def required_model(self) -> Model: ...
    def go_on_in(self, session: Session) -> None: ...


class _Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one request: the answer as it was appended, and why it failed, if it did."""

    entry: str | None
    message: AssistantMessage
    error: ModelError | None = None

    @property
    def aborted(self) -> bool:
        return self.error is None and self.message.stop_reason == "aborted"


class TurnRunner:
    """Answers what the path ends with."""

    def __init__(self, stage: TurnHost, run: Run) -> None:
        self._stage = stage
        self._run = run
        self._outcome: _Outcome | None = None
        self._silent: AssistantMessage | None = None  # an attempt that failed without a word
        self._forked: str | None = None  # the session that a compaction made, if it is one of its own

    async def say(self, message: Message) -> str:
        """Append a message and say that it is there."""
        entry = self._stage.session.append_message(message)
        await self._show(entry, message)
        return entry

    async def _show(self, entry: str, message: Message) -> None:
        """Say that a message is there, as it can be read from the session now."""
        record = self._stage.session.entry(entry)
        await self.report_foreign_appends()
        stored = record.message if isinstance(record, MessageEntry) else message
        await self._run.emit(MessageAppended(entry=entry, message=stored))

    async def report_foreign_appends(self) -> None:
        """Report entries that another writer appended to the session."""
        session, run = self._stage.session, self._run
        if (count := session.foreign_appends - run.others_told) > 0:
            run.others_told += count
            await run.emit(ForeignAppend(entries=count))

    async def answer(self) -> None:
        """Ask the model until it has answered, calling its tools in between."""
        rounds = 0
        while True:
            outcome = await self._request()
            if outcome is None or outcome.aborted or outcome.error is not None:
                await self._end("aborted" if self._run.abort.aborted else "error", outcome)
                return
            calls = [block for block in outcome.message.content if isinstance(block, ToolCall)]
            rounds += bool(calls)
            if calls and not await self._call(calls):
                await self._end("aborted", outcome)
                return
            if calls and rounds >= self._stage.policy.max_rounds:
                await self._end("rounds", outcome)
                return
            if not await self._steered() and not calls:
                await self._end("length" if outcome.message.stop_reason == "length" else "stop", outcome)
                return

    # -- asking the model -----------------------------------------------------------------------------

    async def _request(self) -> _Outcome | None:
        """One answer, after compaction if that is due; an overflow gets one compaction and one retry."""
        stage, run = self._stage, self._run
        await self._make_room()
        if run.abort.aborted:
            return None
        model = stage.required_model()
        self._outcome = None
        flow = turn(
            stage.session,
            keep_recent_tokens=stage.policy.keep(model.context_window),
            window=stage.policy.context_window or model.context_window,
            abort=run.abort,
        )
        try:
            done = await arun(flow, hooks=stage.hooks, summarizer=self._summarize, attempt=self._attempt)
        except (FlowError, NotSupported) as problem:
            # The context is too long, and cannot be summed up either.
            await run.emit(CompactionFailed(reason="overflow", message=str(problem)))
            return self._outcome
        if done.compacted is not None and done.compacted.session is not None:
            self._count(done.compacted)
        if done.compacted is not None and done.attempts == 1:
            await self._report_compaction("overflow", done.compacted)
        return self._outcome

    async def _attempt(self, step: Attempt) -> AttemptResult:
        """Ask, and ask again after failures that pass; how it ended in the end.

        Failures without a word leave one record however often they are repeated.
        """
        if step.session is not self._stage.session:
            self._go_on_in(step.session)
        if step.number > 1:
            await self._tell_of_compaction("overflow")
        number = 1
        while True:
            outcome = self._outcome = await self._ask()
            error = outcome.error
            if error is None:
                return AttemptResult()
            delay = self._stage.policy.delay(error, number)
            if delay is None or not await self._wait(error, number, delay):
                break
            if outcome.entry is not None:
                await arun(rewind_failed(self._stage.session, outcome.entry))
            else:
                self._silent = outcome.message
            number += 1
        self._silent = None
        if outcome.entry is None and self._keeps_attempts:
            outcome = self._outcome = _Outcome(
                entry=await self.say(outcome.message), message=outcome.message, error=error
            )
        overflow = isinstance(error, ContextOverflow) and step.number == 1
        if overflow:
            await self._run.emit(CompactionStarted(reason="overflow"))
        return AttemptResult(overflow=overflow, failed=outcome.entry, message=str(error))

    @property
    def _keeps_attempts(self) -> bool:
        """Whether the format has a place for answers that failed: a branch of their own."""
        return "branch" not in self._stage.session.transcript.format.traits.unsupported

    async def _record_silent(self) -> None:
        """Put the record of attempts that failed without a word beside the answer that came at last."""
        silent, self._silent = self._silent, None
        if silent is not None and self._keeps_attempts:
            entry = self._stage.session.append_message(silent)
            await arun(rewind_failed(self._stage.session, entry))

    async def _wait(self, error: ModelError, number: int, delay: float) -> bool:
        """Wait before the next attempt; False when that was aborted."""
        attempts = self._stage.policy.retries + 1
        await self._run.emit(RetryScheduled(error=error, attempt=number, attempts=attempts, delay=delay))
        try:
            await interruptible(self._run.abort, asyncio.sleep(delay))
        except Aborted:
            return False
        return True

    async def _ask(self) -> _Outcome:
        """Send one request and append what came of it."""
        stage = self._stage
        model = stage.required_model()
        request = request_for(
            stage.context(),
            system=stage.policy.system_prompt,
            tools=stage.tools,
            thinking_level=stage.thinking,
            max_tokens=stage.policy.max_tokens,
        )
        answer = PartialAnswer()
        error: ModelError | None = None
        reason, words = "", ""
        try:
            await interruptible(self._run.abort, self._listen(model, request, answer))
            if answer.message is None:
                raise MalformedStream(f"{model_name(model)} ended its answer unexpectedly")  # noqa: TRY301
        except Aborted:
            reason, words = "aborted", ABORTED
        except ModelError as problem:
            error = problem
            reason, words = "error", str(problem)
        except BaseException as problem:
            # The program ends, or something is wrong with it. What was shown is put away first.
            reason = "error" if isinstance(problem, Exception) else "aborted"
            words = str(problem) or type(problem).__name__
            stage.session.append_message(
                answer.message or answer.interrupted(model, stop_reason=reason, error_message=words)
            )
            raise
        message = answer.message or answer.interrupted(model, stop_reason=reason, error_message=words)
        error = None if answer.message is not None else error
        if message.usage is not None:
            self._run.spent += usage_sum(message.usage)
        if request.thinking_level != "off":
            message = msgspec.structs.replace(message, thinking_level=request.thinking_level)
        if error is not None and (answer.is_empty or not self._keeps_attempts):
            return _Outcome(entry=None, message=message, error=error)
        await self._record_silent()
        return _Outcome(entry=await self.say(message), message=message, error=error)

    async def _listen(self, model: Model, request: ModelRequest, answer: PartialAnswer) -> None:
        async with aclosing(model.stream(request)) as events:
            async for event in events:
                answer.take(event)
                if not isinstance(event, Done):
                    await self._run.emit(event)

    # -- tools and steering ---------------------------------------------------------------------------

    async def _call(self, calls: Sequence[ToolCall]) -> bool:
        """Do what the model asked for, one after the other; False when that was aborted.

        Calls that were not begun then have no result; the context says so to the model. A format that has one
        row for all results of an answer gets them together, at the end.
        """
        together = len(calls) > 1 and "result" in self._stage.session.transcript.format.traits.unsupported
        tools = {tool.name: tool for tool in self._stage.tools}
        waiting: list[ToolResult] = []
        for number, call in enumerate(calls):
            if self._run.abort.aborted:
                break
            try:
                result = await interruptible(self._run.abort, self._result(tools.get(call.name), call))
            except Aborted:
                result = _failed_result(call, _TOOL_ABORTED)
            except BaseException:
                unfinished = calls[number:] if together else [call]
                waiting += [_failed_result(one, _TOOL_ABORTED) for one in unfinished]
                self._stage.session.append_messages(waiting)
                raise
            if together:
                waiting.append(result)
            else:
                await self.say(result)
        if together:
            waiting += [_failed_result(one, _TOOL_ABORTED) for one in calls[len(waiting) :]]
            for entry, kept in zip(self._stage.session.append_messages(waiting), waiting, strict=True):
                await self._show(entry, kept)
        return not self._run.abort.aborted

    async def _result(self, tool: Tool | None, call: ToolCall) -> ToolResult:
        """Run a call if it is permitted; return the result for the model either way."""
        if tool is not None:
            await self._run.caught_up()  # the user has seen the answer before being asked
            refusal = await self._stage.permissions.refusal(tool, call)
            if refusal is not None:
                return _failed_result(call, refusal)
        await self._run.emit(ToolStarted(call=call))
        return await call_tool(tool, call)

    async def _steered(self) -> bool:
        """Say what was steered meanwhile; whether there was anything."""
        steering = self._run.steering
        if not steering:
            return False
        while steering:
            message = user_message(steering[0])
            entry = self._stage.session.append_message(message)
            steering.popleft()  # once it is saved: the rest is returned at the end
            await self._show(entry, message)
        return True

    # -- compaction -----------------------------------------------------------------------------------

    async def _make_room(self) -> None:
        """Compact if that is due. If it cannot be done the request is sent as it is."""
        stage, run = self._stage, self._run
        room = stage.policy.room(stage.required_model().context_window)
        if room is None or not stage.policy.auto_compact or run.cannot_compact:
            return
        model = ModelRef(provider=stage.required_model().provider, id=stage.required_model().id)
        overhead = stage.request_overhead
        if not compaction_due(stage.context(), room.window, room.reserve, model=model, overhead=overhead):
            return
        await run.emit(CompactionStarted(reason="threshold"))
        flow = compact(
            stage.session,
            reason="threshold",
            keep_recent_tokens=room.keep,
            window=room.window,
            abort=run.abort,
        )
        try:
            done = await arun(flow, hooks=stage.hooks, summarizer=self._summarize)
        except (FlowError, NotSupported) as problem:
            run.cannot_compact = True
            await run.emit(CompactionFailed(reason="threshold", message=str(problem)))
            return
        run.cannot_compact = done.status != "done"
        if done.session is not None:
            self._go_on_in(done.session)
            self._count(done)
        await self._report_compaction("threshold", done)

    async def _report_compaction(self, reason: CompactionReason, done: CompactResult) -> None:
        """Emit how a compaction ended that no further attempt reports."""
        if done.status == "done":
            await self._tell_of_compaction(reason)
        else:
            await self._run.emit(CompactionFailed(reason=reason, message=done.reason or done.status))

    def _go_on_in(self, fork: LiveSession) -> None:
        """Let the turn continue in the fork that a compaction made."""
        assert isinstance(fork, Session)
        self._stage.go_on_in(fork)
        self._run.others_told = fork.foreign_appends
        self._forked = fork.id

    async def _tell_of_compaction(self, reason: CompactionReason) -> None:
        """Report the compaction just written. A plugin may have appended entries after it."""
        session = self._stage.session
        if self._forked == session.id:
            await self._tell_of_fork(session, reason)
            return
        assert session.leaf is not None
        tree, position = session.index, session.index.position(session.leaf)
        while tree.types[position] != Compaction.type:
            position = tree.parents[position]
        made = session.entry(tree.keys[position])
        assert isinstance(made, Compaction)
        if made.usage is not None:
            self._run.spent += usage_sum(made.usage)
        await self._run.emit(
            ContextCompacted(
                entry=made.id, reason=reason, summary=made.summary, tokens_before=made.tokens_before
            )
        )

    def _count(self, compacted: CompactResult) -> None:
        """Add what a summary cost that is no entry of its own."""
        if compacted.usage is not None:
            self._run.spent += usage_sum(compacted.usage)

    async def _tell_of_fork(self, session: Session, reason: CompactionReason) -> None:
        entry = session.index.keys[session.index.types.index("message")]
        made = session.entry(entry)
        assert isinstance(made, MessageEntry)
        await self._run.emit(
            ContextCompacted(
                entry=entry, session=session.id, reason=reason, summary=message_text(made.message)
            )
        )

    async def _summarize(self, request: SummaryRequest) -> Summary:
        async def told(text: str) -> None:
            await self._run.emit(SummaryDelta(text=text))

        return await write_summary(self._stage.required_model(), request, self._stage.policy, told)

    async def _end(self, ending: TurnEndReason, outcome: _Outcome | None) -> None:
        await self.report_foreign_appends()
        unsent = tuple(self._run.steering)
        self._run.steering.clear()
        self._run.over = True
        await self._run.emit(
            TurnEnded(
                reason=ending,
                entry=None if outcome is None else outcome.entry,
                error=None if outcome is None else outcome.error,
                usage=self._run.spent,
                unsent=unsent,
            )
        )


def user_message(content: Content) -> UserMessage:
    """The user's message as stored: always as blocks."""
    return UserMessage(content=(Text(text=content),) if isinstance(content, str) else content)


async def write_summary(
    model: Model, request: SummaryRequest, policy: Policy, told: Callable[[str], Awaitable[None]]
) -> Summary:
    """A summary by the model. Failures that pass are waited for; others come out as they are."""
    number = 1
    while True:
        answer = PartialAnswer()
        try:
            async with aclosing(model.stream(summary_model_request(request))) as events:
                async for event in events:
                    answer.take(event)
                    if isinstance(event, TextDelta):
                        await told(event.text)
        except ModelError as problem:
            delay = policy.delay(problem, number)
            if delay is None:
                raise
            await asyncio.sleep(delay)
            number += 1
            continue
        if answer.message is None:
            raise MalformedStream(f"{model_name(model)} ended its summary unexpectedly")
        return summary_of(answer.message)


def _failed_result(call: ToolCall, words: str) -> ToolResult:
    return ToolResult(tool_call_id=call.id, tool_name=call.name, content=(Text(text=words),), is_error=True)
