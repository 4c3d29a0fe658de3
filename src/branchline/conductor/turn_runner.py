"""One turn: request an answer, run its tool calls, and repeat until an answer has none.

Every message is appended before it is reported. An interrupted answer is appended as far as it arrived, with
the reason.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing

import msgspec

from branchline.compaction import Summary, SummaryRequest, compaction_due
from branchline.compaction.summary import summary_of
from branchline.conductor.events import (
    CompactionFailed,
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
from branchline.conductor.policy import Policy
from branchline.conductor.run import Run
from branchline.conductor.state import ConversationState, reference_to
from branchline.context import usage_sum
from branchline.entries import (
    AssistantMessage,
    Content,
    Message,
    MessageEntry,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
    as_blocks,
    message_text,
    tool_calls,
)
from branchline.errors import ContextOverflow, FlowError, MalformedStream, ModelError, NotSupported
from branchline.flows import (
    Aborted,
    Attempt,
    AttemptResult,
    CompactResult,
    arun,
    compact,
    rewind_failed,
    turn,
)
from branchline.flows.driver import interruptible
from branchline.flows.hook_events import CompactionReason
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

__all__ = ["ABORTED", "TurnRunner", "user_message", "write_summary"]

ABORTED = "Aborted."
_TOOL_ABORTED = "Aborted before it finished."


class _Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one request: the appended answer, and the error if it failed."""

    entry: str | None
    message: AssistantMessage
    error: ModelError | None = None

    @property
    def aborted(self) -> bool:
        return self.error is None and self.message.stop_reason == "aborted"


class TurnRunner:
    def __init__(self, host: ConversationState, run: Run) -> None:
        self._host = host
        self._run = run
        self._outcome: _Outcome | None = None
        self._empty_failure: AssistantMessage | None = None  # a failed attempt without any output

    async def append(self, message: Message) -> str:
        """Append a message and report it."""
        entry = self._host.session.append_message(message)
        await self._emit_message(entry, message)
        return entry

    async def _emit_message(self, entry: str, message: Message) -> None:
        """Report a message as the session has stored it."""
        record = self._host.session.entry(entry)
        await self.report_foreign_appends()
        stored = record.message if isinstance(record, MessageEntry) else message
        await self._run.emit(MessageAppended(entry=entry, message=stored))

    async def report_foreign_appends(self) -> None:
        """Report entries that another writer appended to the session."""
        session, run = self._host.session, self._run
        if (count := session.foreign_appends - run.reported_appends) > 0:
            run.reported_appends += count
            await run.emit(ForeignAppend(entries=count))

    async def answer(self) -> None:
        """Request answers and run their tool calls until the turn ends."""
        rounds = 0
        while True:
            outcome = await self._request()
            if outcome is None or outcome.aborted or outcome.error is not None:
                await self._end("aborted" if self._run.abort.aborted else "error", outcome)
                return
            calls = tool_calls(outcome.message.content)
            rounds += bool(calls)
            if calls and not await self._call(calls):
                await self._end("aborted", outcome)
                return
            if calls and rounds >= self._host.policy.max_rounds:
                await self._end("rounds", outcome)
                return
            if not await self._steered() and not calls:
                await self._end("length" if outcome.message.stop_reason == "length" else "stop", outcome)
                return

    # -- requests -------------------------------------------------------------------------------------

    async def _request(self) -> _Outcome | None:
        """Request one answer, compacting first if due; an overflow gets one compaction and one retry."""
        host, run = self._host, self._run
        await self._compact_if_due()
        if run.abort.aborted:
            return None
        model = host.required_model()
        self._outcome = None
        flow = turn(
            host.session,
            keep_recent_tokens=host.policy.keep(model.context_window),
            window=host.policy.context_window or model.context_window,
            abort=run.abort,
        )
        try:
            done = await arun(flow, hooks=host.hooks, summarizer=self._summarize, attempt=self._attempt)
        except (FlowError, NotSupported) as problem:
            # The context is too long and cannot be compacted.
            await run.emit(CompactionFailed(reason="overflow", message=str(problem)))
            return self._outcome
        if done.compacted is not None and done.attempts == 1:
            await self._report_compaction("overflow", done.compacted)
        return self._outcome

    async def _attempt(self, step: Attempt) -> AttemptResult:
        """Send a request and retry after transient errors.

        Failures without output leave a single record, however often they are repeated.
        """
        if step.compacted is not None:
            await self._report_compaction("overflow", step.compacted)
        number = 1
        while True:
            outcome = self._outcome = await self._ask()
            error = outcome.error
            if error is None:
                return AttemptResult()
            delay = self._host.policy.delay(error, number)
            if delay is None or not await self._wait(error, number, delay):
                break
            if outcome.entry is not None:
                await arun(rewind_failed(self._host.session, outcome.entry))
            else:
                self._empty_failure = outcome.message
            number += 1
        self._empty_failure = None
        if outcome.entry is None and self._host.can_branch:
            outcome = self._outcome = _Outcome(
                entry=await self.append(outcome.message), message=outcome.message, error=error
            )
        overflow = isinstance(error, ContextOverflow) and step.number == 1
        if overflow:
            await self._run.emit(CompactionStarted(reason="overflow"))
        return AttemptResult(overflow=overflow, failed=outcome.entry, message=str(error))

    async def _record_empty_failure(self) -> None:
        """Append the record of failed attempts without output as a sibling of the coming answer."""
        failure, self._empty_failure = self._empty_failure, None
        if failure is not None and self._host.can_branch:
            entry = self._host.session.append_message(failure)
            await arun(rewind_failed(self._host.session, entry))

    async def _wait(self, error: ModelError, number: int, delay: float) -> bool:
        """Wait before the next attempt; False if aborted."""
        attempts = self._host.policy.retries + 1
        await self._run.emit(RetryScheduled(error=error, attempt=number, attempts=attempts, delay=delay))
        try:
            await interruptible(self._run.abort, asyncio.sleep(delay))
        except Aborted:
            return False
        return True

    async def _ask(self) -> _Outcome:
        """Send one request and append its answer."""
        host = self._host
        model = host.required_model()
        request = request_for(
            host.context(),
            system=host.policy.system_prompt,
            tools=host.tools,
            thinking_level=host.thinking,
            max_tokens=host.policy.max_tokens,
        )
        answer = PartialAnswer()
        error: ModelError | None = None
        reason, detail = "", ""
        try:
            await interruptible(self._run.abort, self._listen(model, request, answer))
            if answer.message is None:
                raise MalformedStream(f"{model_name(model)} ended its answer unexpectedly")  # noqa: TRY301
        except Aborted:
            reason, detail = "aborted", ABORTED
        except ModelError as problem:
            error = problem
            reason, detail = "error", str(problem)
        except BaseException as problem:
            # Cancellation or a bug: save the partial output before it propagates.
            reason = "error" if isinstance(problem, Exception) else "aborted"
            detail = str(problem) or type(problem).__name__
            host.session.append_message(
                answer.message or answer.interrupted(model, stop_reason=reason, error_message=detail)
            )
            raise
        message = answer.message or answer.interrupted(model, stop_reason=reason, error_message=detail)
        error = None if answer.message is not None else error
        if message.usage is not None:
            self._run.spent += usage_sum(message.usage)
        if request.thinking_level != "off":
            message = msgspec.structs.replace(message, thinking_level=request.thinking_level)
        if error is not None and (answer.is_empty or not self._host.can_branch):
            return _Outcome(entry=None, message=message, error=error)
        await self._record_empty_failure()
        return _Outcome(entry=await self.append(message), message=message, error=error)

    async def _listen(self, model: Model, request: ModelRequest, answer: PartialAnswer) -> None:
        async with aclosing(model.stream(request)) as events:
            async for event in events:
                answer.take(event)
                if not isinstance(event, Done):
                    await self._run.emit(event)

    # -- tools and steering ---------------------------------------------------------------------------

    async def _call(self, calls: Sequence[ToolCall]) -> bool:
        """Run the tool calls one after the other; False if aborted.

        After an abort, calls that have not started have no result; the context tells the model so. A format
        with one row for all results of an answer gets them together, at the end.
        """
        together = len(calls) > 1 and "result" in self._host.session.transcript.format.traits.unsupported
        tools = {tool.name: tool for tool in self._host.tools}
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
                self._host.session.append_messages(waiting)
                raise
            if together:
                waiting.append(result)
            else:
                await self.append(result)
        if together:
            waiting += [_failed_result(one, _TOOL_ABORTED) for one in calls[len(waiting) :]]
            for entry, kept in zip(self._host.session.append_messages(waiting), waiting, strict=True):
                await self._emit_message(entry, kept)
        return not self._run.abort.aborted

    async def _result(self, tool: Tool | None, call: ToolCall) -> ToolResult:
        """Run a call if it is permitted; return the result or the refusal."""
        if tool is not None:
            await self._run.wait_until_handled()  # show the answer before asking for permission
            refusal = await self._host.permissions.refusal(tool, call)
            if refusal is not None:
                return _failed_result(call, refusal)
        await self._run.emit(ToolStarted(call=call))
        return await call_tool(tool, call)

    async def _steered(self) -> bool:
        """Append pending steering messages; return whether there were any."""
        steering = self._run.steering
        if not steering:
            return False
        while steering:
            message = user_message(steering[0])
            entry = self._host.session.append_message(message)
            steering.popleft()  # only after it is saved: unsent messages are returned at the end
            await self._emit_message(entry, message)
        return True

    # -- compaction -----------------------------------------------------------------------------------

    async def _compact_if_due(self) -> None:
        """Compact if due. If that fails, the request is sent uncompacted."""
        host, run = self._host, self._run
        budget = host.policy.budget(host.required_model().context_window)
        if budget is None or not host.policy.auto_compact or run.cannot_compact:
            return
        model, overhead = reference_to(host.required_model()), host.request_overhead
        if not compaction_due(host.context(), budget.window, budget.reserve, model=model, overhead=overhead):
            return
        await run.emit(CompactionStarted(reason="threshold"))
        flow = compact(
            host.session,
            reason="threshold",
            keep_recent_tokens=budget.keep,
            window=budget.window,
            abort=run.abort,
        )
        try:
            done = await arun(flow, hooks=host.hooks, summarizer=self._summarize)
        except (FlowError, NotSupported) as problem:
            run.cannot_compact = True
            await run.emit(CompactionFailed(reason="threshold", message=str(problem)))
            return
        run.cannot_compact = done.status != "done"
        await self._report_compaction("threshold", done)

    async def _report_compaction(self, reason: CompactionReason, done: CompactResult) -> None:
        """Report a compaction; if it made a fork, the turn continues there."""
        if done.entry is None:
            await self._run.emit(CompactionFailed(reason=reason, message=done.reason or done.status))
            return
        if done.usage is not None:
            self._run.spent += usage_sum(done.usage)
        if forked := done.session is not None:
            assert isinstance(done.session, Session)
            self._host.go_on_in(done.session)
            self._run.reported_appends = done.session.foreign_appends
        made = self._host.session.entry(done.entry)
        await self._run.emit(
            ContextCompacted(
                entry=done.entry,
                session=self._host.session.id if forked else None,
                reason=reason,
                summary=message_text(made.message) if isinstance(made, MessageEntry) else done.summary or "",
                tokens_before=None if forked else done.tokens_before,
            )
        )

    async def _summarize(self, request: SummaryRequest) -> Summary:
        async def on_delta(text: str) -> None:
            await self._run.emit(SummaryDelta(text=text))

        return await write_summary(self._host.required_model(), request, self._host.policy, on_delta)

    async def _end(self, reason: TurnEndReason, outcome: _Outcome | None) -> None:
        await self.report_foreign_appends()
        unsent = tuple(self._run.steering)
        self._run.steering.clear()
        self._run.ended = True
        await self._run.emit(
            TurnEnded(
                reason=reason,
                entry=None if outcome is None else outcome.entry,
                error=None if outcome is None else outcome.error,
                usage=self._run.spent,
                unsent=unsent,
            )
        )


def user_message(content: Content) -> UserMessage:
    """Return a user message whose content is blocks."""
    return UserMessage(content=as_blocks(content))


async def write_summary(
    model: Model, request: SummaryRequest, policy: Policy, on_delta: Callable[[str], Awaitable[None]]
) -> Summary:
    """Request a summary from the model. Retries after transient errors; other errors propagate."""
    number = 1
    while True:
        answer = PartialAnswer()
        try:
            async with aclosing(model.stream(summary_model_request(request))) as events:
                async for event in events:
                    answer.take(event)
                    if isinstance(event, TextDelta):
                        await on_delta(event.text)
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


def _failed_result(call: ToolCall, detail: str) -> ToolResult:
    return ToolResult(tool_call_id=call.id, tool_name=call.name, content=(Text(text=detail),), is_error=True)
