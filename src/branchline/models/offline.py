"""A model without a network or a key: it names itself and repeats the prompt.

It is for demos and tests: it streams, emits thinking blocks, calls tools, reports usage, answers summary
requests with extracts, overflows when its context window is full, and fails on request. The same request
always gets the same answer.

Lines of the last prompt that begin with ``offline:`` are instructions:

- ``offline: say TEXT`` answers with exactly that text;
- ``offline: call NAME {"argument": …}`` calls a tool (several lines: several calls at once), then reports
  the results; ``offline: rounds N`` repeats the calls N times;
- ``offline: fail KIND`` fails as ``rate_limit``, ``network``, ``malformed``, ``overflow``, ``auth`` or
  ``refused``; ``midway`` after it sends half of the answer first, a number limits how often it fails;
- ``offline: cut`` stops at the length limit in the middle of the answer;
- ``offline: slow SECONDS`` waits that long before each chunk.

In a summary request, instructions are read only from the user's focus.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Iterator
from typing import NamedTuple

from branchline.compaction.prompts import SYSTEM_PROMPT
from branchline.context import estimate_message
from branchline.entries import (
    AssistantMessage,
    Block,
    Cost,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
    blocks_text,
)
from branchline.errors import (
    AuthMissing,
    ContextOverflow,
    MalformedStream,
    ModelError,
    ModelRefused,
    NetworkFailure,
    RateLimited,
)
from branchline.models.extractive_summary import extract
from branchline.models.protocol import (
    Done,
    ModelEvent,
    ModelRequest,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
)
from branchline.models.requests import request_overhead

__all__ = ["INTRODUCTION", "OfflineModel"]

INTRODUCTION = (
    "I am the offline model of branchline: a small program, not a language model. I need no key and no "
    "network, and I understand nothing; I repeat what you say so that you can try everything else."
)

_INSTRUCTION = re.compile(r"^offline:[ \t]*(\w+)[ \t]*(.*)$", re.MULTILINE)
_FOCUSED_INSTRUCTION = re.compile(r"attention to: offline:[ \t]*(\w+)[ \t]*(.*)\Z")
_CHUNK = re.compile(r"\s*\S+\s*")
_COUNTING = re.compile(r"\b(count|how many)\b.*\bwords?\b", re.IGNORECASE | re.DOTALL)
_QUOTED = re.compile(r"[\"“«'](.+)[\"”»']", re.DOTALL)
_FAILURES: dict[str, tuple[type[ModelError], str]] = {
    "rate_limit": (RateLimited, "the offline model was told to report a rate limit"),
    "network": (NetworkFailure, "the offline model was told to drop the connection"),
    "malformed": (MalformedStream, "the offline model was told to send something that is not an answer"),
    "overflow": (ContextOverflow, "the offline model was told to report that the request is too long"),
    "auth": (AuthMissing, "the offline model was told to refuse the key (it has none)"),
    "refused": (ModelRefused, "the offline model was told to refuse this request"),
}


class _Instruction(NamedTuple):
    verb: str
    argument: str


class OfflineModel:
    """A model that answers without a network.

    ``context_window`` is the maximum number of tokens in a request; ``delay`` the seconds before each chunk;
    ``price`` the cost of a million tokens, for trying cost reports.
    """

    provider = api = "offline"

    def __init__(
        self,
        id: str = "echo",  # noqa: A002
        *,
        context_window: int = 32_000,
        delay: float = 0,
        price: float = 0,
    ) -> None:
        self.id = id
        self.context_window = context_window
        self._delay = delay
        self._price = price
        self._failures: dict[str, int] = {}

    async def aclose(self) -> None:
        """Do nothing: there are no connections."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Yield the answer word by word."""
        tokens = _tokens(request)
        if tokens > self.context_window:
            raise ContextOverflow(
                f"the request has about {tokens} tokens, but offline:{self.id} takes {self.context_window}"
            )
        instructions = _instructions(request)
        failure, midway = self._failure(_argument(instructions, "fail"), request)
        if failure is not None and not midway:
            raise failure
        slow = _argument(instructions, "slow")
        delay = self._delay if slow is None else _number(slow, 0.05)
        blocks = _answer(request, instructions)
        deltas = list(_deltas(blocks))
        reason = "toolUse" if isinstance(blocks[-1], ToolCall) else "stop"
        if failure is not None or _argument(instructions, "cut") is not None:
            deltas, reason = deltas[: max(1, len(deltas) // 2)], "length"
        for piece in deltas:
            await asyncio.sleep(delay)
            yield piece
        if failure is not None:
            raise failure
        if reason == "length":
            blocks = (Text(text="".join(piece.text for piece in deltas if isinstance(piece, TextDelta))),)
        yield Done(message=self._message(blocks, reason, tokens))

    def _message(self, blocks: tuple[Block, ...], reason: str, tokens: int) -> AssistantMessage:
        written = max(1, estimate_message(AssistantMessage(content=blocks)))
        cost = Cost(
            input=tokens * self._price / 1e6,
            output=written * self._price / 1e6,
            total=(tokens + written) * self._price / 1e6,
        )
        usage = Usage(input=tokens, output=written, total_tokens=tokens + written, cost=cost)
        return AssistantMessage(
            content=blocks,
            api=self.api,
            provider=self.provider,
            model=self.id,
            usage=usage,
            stop_reason=reason,
        )

    def _failure(self, argument: str | None, request: ModelRequest) -> tuple[ModelError | None, bool]:
        """Return the requested failure, and whether half of the answer precedes it."""
        if argument is None:
            return None, False
        kind, *rest = argument.split() or [""]
        if kind not in _FAILURES:
            raise ModelRefused(f"the offline model cannot fail as {kind!r}; it knows {', '.join(_FAILURES)}")
        times = next((int(word) for word in rest if word.isdecimal()), None)
        if times is not None:
            prompt = _prompt(request)
            count = self._failures[prompt] = self._failures.get(prompt, 0) + 1
            if count > times:
                return None, False
        error, message = _FAILURES[kind]
        return error(message), "midway" in rest


def _tokens(request: ModelRequest) -> int:
    overhead = request_overhead(request.system, request.tools)
    return sum(map(estimate_message, request.messages)) + overhead


def _is_summary(request: ModelRequest) -> bool:
    return request.system == SYSTEM_PROMPT


def _prompt(request: ModelRequest) -> str:
    """Return the text of the last user message."""
    for message in reversed(request.messages):
        if isinstance(message, UserMessage):
            return blocks_text(message.content, "\n")
    return ""


def _instructions(request: ModelRequest) -> list[_Instruction]:
    pattern = _FOCUSED_INSTRUCTION if _is_summary(request) else _INSTRUCTION
    return [_Instruction(verb, argument.strip()) for verb, argument in pattern.findall(_prompt(request))]


def _argument(instructions: list[_Instruction], verb: str) -> str | None:
    return next((instruction.argument for instruction in instructions if instruction.verb == verb), None)


def _answer(request: ModelRequest, instructions: list[_Instruction]) -> tuple[Block, ...]:
    said = _argument(instructions, "say")
    if _is_summary(request):
        return (Text(text=extract(_prompt(request)) if said is None else said),)
    thoughts: tuple[Block, ...] = ()
    if request.thinking_level != "off":
        thought = f"The level is {request.thinking_level}, but there is nothing here to think with."
        thoughts = (Thinking(thinking=thought),)
    results = _results(request)
    calls = _calls(request, instructions, len(results))
    if calls:
        return (*thoughts, Text(text=f"Calling {', '.join(call.name for call in calls)}."), *calls)
    if results:
        report = "\n".join(f"{result.tool_name} gave: {blocks_text(result.content)}" for result in results)
        return (*thoughts, Text(text=report))
    return (*thoughts, Text(text=_echo(request) if said is None else said))


def _results(request: ModelRequest) -> list[ToolResult]:
    """Return the tool results after the last prompt."""
    found: list[ToolResult] = []
    for message in reversed(request.messages):
        if isinstance(message, UserMessage):
            break
        if isinstance(message, ToolResult):
            found.append(message)
    return found[::-1]


def _calls(request: ModelRequest, instructions: list[_Instruction], done: int) -> list[ToolCall]:
    requested = [
        instruction.argument.partition(" ") for instruction in instructions if instruction.verb == "call"
    ]
    wanted = [(name, _object(text)) for name, _, text in requested]
    prompt = _prompt(request)
    if not wanted and any(tool.name == "count_words" for tool in request.tools) and _COUNTING.search(prompt):
        quoted = _QUOTED.search(prompt)
        wanted = [("count_words", {"text": prompt if quoted is None else quoted.group(1)})]
    if done >= len(wanted) * _number(_argument(instructions, "rounds"), 1):
        return []
    answers = sum(isinstance(message, AssistantMessage) for message in request.messages)
    return [
        ToolCall(id=f"call_{answers + 1}_{number}", name=name, arguments=arguments)
        for number, (name, arguments) in enumerate(wanted, 1)
    ]


def _object(text: str) -> dict[str, object]:
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return {"text": text}
    return found if isinstance(found, dict) else {"text": text}


def _echo(request: ModelRequest) -> str:
    prompt = _prompt(request)
    earlier = [message for message in request.messages if isinstance(message, AssistantMessage)]
    seen = f"I see {len(request.messages)} message{'s' if len(request.messages) != 1 else ''}."
    if earlier:
        return f"You said: {prompt}\n\n{seen}"
    hint = "Ask me to count the words of something and I will call a tool."
    return f"{INTRODUCTION}\n\nYou said: {prompt}\n\n{seen} {hint}"


def _deltas(blocks: tuple[Block, ...]) -> Iterator[TextDelta | ThinkingDelta | ToolCallDelta]:
    for number, block in enumerate(blocks):
        match block:
            case Text():
                yield from (TextDelta(block=number, text=piece) for piece in _chunks_of(block.text))
            case Thinking():
                yield from (ThinkingDelta(block=number, text=piece) for piece in _chunks_of(block.thinking))
            case ToolCall():
                yield ToolCallDelta(block=number, id=block.id, name=block.name)
                yield ToolCallDelta(block=number, arguments=json.dumps(block.arguments))
            case _:
                pass


def _chunks_of(text: str) -> list[str]:
    return _CHUNK.findall(text) or [text]


def _number(text: str | None, default: float) -> float:
    try:
        return max(0.0, float(text or default))
    except ValueError:
        return default
