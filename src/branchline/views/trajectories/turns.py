"""The turns of a path for every trajectory format: messages, and answers with the results of their calls."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Literal

import msgspec

from branchline.context.model_input import model_messages
from branchline.context.system_prompt import SystemState, replay_system
from branchline.context.tool_pairs import close_tool_calls
from branchline.entries import (
    AssistantMessage,
    BranchSummary,
    BranchSummaryMessage,
    Compaction,
    CompactionSummaryMessage,
    CustomContent,
    CustomMessage,
    Entry,
    Message,
    MessageEntry,
    ToolResult,
    UserMessage,
)

__all__ = ["Trajectory", "TrajectoryTurn", "trajectory_of"]

_Role = Literal["system", "user", "assistant", "summary"]


class TrajectoryTurn(msgspec.Struct, frozen=True, kw_only=True):
    """One message of a path. ``results`` answer the calls of an assistant message, in its order."""

    entry: str
    time: str
    role: _Role
    message: Message
    results: tuple[ToolResult, ...] = ()
    inherited: bool = False
    """Whether it comes from another session, or from another exported branch: context only."""


class Trajectory(msgspec.Struct, frozen=True, kw_only=True):
    """A path for export."""

    session: str
    leaf: str
    agent: str
    title: str | None
    system: SystemState
    turns: tuple[TrajectoryTurn, ...]

    @property
    def model(self) -> str | None:
        answers = (turn.message for turn in reversed(self.turns))
        return next(
            (said.model for said in answers if isinstance(said, AssistantMessage) and said.model), None
        )


def trajectory_of(
    entries: Iterable[Entry],
    *,
    session: str,
    agent: str,
    title: str | None = None,
    inherited: Container[str] = (),
) -> Trajectory:
    """Return the trajectory of a path. Every call has exactly one result, as models and validators need."""
    said: list[tuple[Entry, Message]] = []
    leaf = ""
    for entry in entries:
        leaf = entry.id
        match entry:
            case MessageEntry():
                said += [(entry, message) for message in model_messages([entry.message])]
            case CustomMessage():
                custom = CustomContent(custom_type=entry.custom_type, content=entry.content)
                said += [(entry, message) for message in model_messages([custom])]
            case Compaction():
                said.append((entry, CompactionSummaryMessage(summary=entry.summary)))
            case BranchSummary():
                said.append((entry, BranchSummaryMessage(summary=entry.summary)))
            case _:
                pass
    turns = _turns(said, inherited)
    prompts = [turn.message for turn in turns if turn.role == "system"]
    return Trajectory(
        session=session, leaf=leaf, agent=agent, title=title, system=replay_system(prompts), turns=turns
    )


def _turns(said: list[tuple[Entry, Message]], inherited: Container[str]) -> tuple[TrajectoryTurn, ...]:
    # Answers may be returned changed, with other call ids; a field that is unused here carries the index of
    # their entry.
    marked = [
        msgspec.structs.replace(message, response_id=str(number))
        if isinstance(message, AssistantMessage)
        else message
        for number, (_entry, message) in enumerate(said)
    ]
    places = {id(message): number for number, message in enumerate(marked)}
    turns: list[TrajectoryTurn] = []
    for message in close_tool_calls(marked):
        if isinstance(message, ToolResult):
            last = turns.pop()
            turns.append(msgspec.structs.replace(last, results=(*last.results, message)))
            continue
        answer = message if isinstance(message, AssistantMessage) else None
        number = places[id(message)] if answer is None else int(answer.response_id or 0)
        entry, original = said[number]
        if answer is not None and isinstance(original, AssistantMessage):
            message = msgspec.structs.replace(answer, response_id=original.response_id)  # noqa: PLW2901
        turns.append(
            TrajectoryTurn(
                entry=entry.id,
                time=entry.timestamp,
                role=_role(message),
                message=message,
                inherited=entry.id in inherited,
            )
        )
    return tuple(turns)


def _role(message: Message) -> _Role:
    match message:
        case UserMessage():
            return "user"
        case AssistantMessage():
            return "assistant"
        case CompactionSummaryMessage() | BranchSummaryMessage():
            return "summary"
        case _:
            return "system"
