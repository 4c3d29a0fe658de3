"""Relations between files: forks with a common prefix, and sub-agents with the calls that started them.

Nothing here opens a file; the caller passes what was read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from branchline.context import UsageSum, usage_rows
from branchline.entries import AssistantMessage, MessageEntry, ToolCall, ToolResult, message_text
from branchline.formats.claude_code.log_index import NOT_SPENT, ClaudeCodeLogIndex, usage_owner
from branchline.formats.claude_code.rows import ASIDE, HUMAN, META
from branchline.formats.entry_log import EntryLog
from branchline.tree import ROOT

__all__ = [
    "ForkOrigin",
    "Subagent",
    "SubagentFile",
    "family_usage",
    "find_subagents",
    "inline_subagents",
    "lineage",
]

_STARTERS = frozenset({"Task", "Agent"})
_NO_TIME = "~"  # sorts after every time


class ForkOrigin(NamedTuple):
    """The fork parent of a file."""

    parent: int | None
    """The index of the file that owns the common prefix; None if no parent was found."""
    shared: frozenset[str]
    """The uuids that both files contain."""
    pointer: bool
    """Whether the file names its parent (written by ``/branch``) or only shares records with it."""


def lineage(readings: Sequence[ClaudeCodeLogIndex]) -> list[ForkOrigin]:
    """Find the fork parent of every file by the records that files share.

    The owner of shared records is a file without ``forkedFrom`` that is not a background session. Of two such
    files it is the one with records older than the shared ones, then the one that continued first. Equal
    times prove nothing, as copies keep theirs.
    """
    members = [_uuids(reading) for reading in readings]
    holders: dict[str, list[int]] = {}
    for number, uuids in enumerate(members):
        for uuid in uuids:
            holders.setdefault(uuid, []).append(number)
    overlap = [Counter[int]() for _ in readings]
    for group in holders.values():
        if len(group) > 1:
            for number in group:
                overlap[number].update(other for other in group if other != number)
    ids = {reading.header.id: number for number, reading in enumerate(readings) if reading.header}
    parents: list[int | None] = []
    pointers: list[bool] = []
    for number, reading in enumerate(readings):
        named = [ids[one] for one in reading.forked_from if ids.get(one, number) != number]
        pointers.append(bool(named))
        if named:
            parents.append(max(named, key=lambda one: overlap[number][one]))
            continue
        owners = [
            other
            for other in overlap[number]
            if _owns(readings, other, number, members[other] & members[number])
        ]
        parents.append(max(owners, key=lambda one: _claim(readings, overlap[number], one), default=None))
    _cut_cycles(parents)
    return [
        ForkOrigin(
            parent,
            frozenset() if parent is None else frozenset(members[number] & members[parent]),
            parent is not None and pointers[number],
        )
        for number, parent in enumerate(parents)
    ]


def _uuids(reading: ClaudeCodeLogIndex) -> set[str]:
    return {
        key
        for key, kind in zip(reading.tree.keys, reading.kinds, strict=True)
        if kind != ASIDE and not key.startswith("line-")
    }


def _is_copy(reading: ClaudeCodeLogIndex) -> bool:
    return bool(reading.forked_from) or reading.background


def _owns(readings: Sequence[ClaudeCodeLogIndex], one: int, other: int, shared: set[str]) -> bool:
    """Return whether the records that two files share belong to the first."""
    if _is_copy(readings[one]) != _is_copy(readings[other]):
        return _is_copy(readings[other])
    return _age(readings[one], shared, one) < _age(readings[other], shared, other)


def _age(reading: ClaudeCodeLogIndex, shared: set[str], number: int) -> tuple[bool, str, int]:
    """Return a sort key that puts the owner first: by older records, then by when the file diverged."""
    tree = reading.tree
    beginning = min((tree.times[tree.positions[uuid]] for uuid in shared), default="")
    own = [
        time
        for key, time, kind in zip(tree.keys, tree.times, reading.kinds, strict=True)
        if kind != ASIDE and time and key not in shared
    ]
    older = any(time < beginning for time in own)
    return not older, min(own, default=_NO_TIME), number


def _claim(
    readings: Sequence[ClaudeCodeLogIndex], overlap: Mapping[int, int], one: int
) -> tuple[int, bool, int]:
    return overlap[one], not _is_copy(readings[one]), -one


def _cut_cycles(parents: list[int | None]) -> None:
    for start in range(len(parents)):
        seen = {start}
        at = parents[start]
        while at is not None and at not in seen:
            seen.add(at)
            at = parents[at]
        if at == start:
            parents[start] = None


def family_usage(transcripts: Sequence[EntryLog[ClaudeCodeLogIndex]]) -> UsageSum:
    """Return the total usage of a lineage: each answer counts once, however many files hold a copy."""
    best: dict[str, tuple[int, int, int]] = {}
    for number, transcript in enumerate(transcripts):
        reading = transcript.reading
        named = set()
        for answer, spent in reading.spending.items():
            if spent == NOT_SPENT:
                continue
            position, output = usage_owner(spent), spent >> 40
            named.add(position)
            known = best.get(answer)
            if known is None or output > known[0]:
                best[answer] = (output, number, position)
        for position, role in enumerate(reading.tree.roles):  # answers without an id
            if role == "assistant" and position not in named:
                best.setdefault(reading.tree.keys[position], (0, number, position))
    wanted: dict[int, list[int]] = {}
    for _, number, position in best.values():
        wanted.setdefault(number, []).append(position)
    total = UsageSum()
    for number, positions in wanted.items():
        for row in usage_rows(transcripts[number], sorted(positions)):
            total += row.usage
    return total


# -- sub-agents -------------------------------------------------------------------------------------------


class SubagentFile(NamedTuple):
    """A sub-agent's file and its ``meta.json``."""

    transcript: EntryLog[ClaudeCodeLogIndex]
    meta: Mapping[str, Any] | None = None


class Subagent(NamedTuple):
    """A sub-agent and the call that started it; the call is None if unknown."""

    id: str
    call: str | None
    entry: str | None
    """The entry that holds the call."""
    parent: str | None
    """The agent whose file contains the call; None for the session itself."""
    found_by: str
    """How the call was found: ``meta``, ``result``, ``prompt``, or empty."""


class _Start(NamedTuple):
    """A call that may start an agent."""

    call: str
    entry: str
    owner: str | None
    position: int
    prompt: str
    agent: str | None


def find_subagents(main: EntryLog[ClaudeCodeLogIndex], files: Iterable[SubagentFile]) -> list[Subagent]:
    """Find the call that started each file's agent. Agents can start agents, so all files are searched."""
    files = list(files)
    starts = _starts(main)
    for file in files:
        starts += _starts(file.transcript)
    calls = {start.call: start for start in starts}
    by_agent = {start.agent: start for start in starts if start.agent}
    found = []
    for file in files:
        reading = file.transcript.reading
        agent = reading.agent or ""
        named = None if file.meta is None else file.meta.get("toolUseId")
        start = calls.get(named) if isinstance(named, str) else None
        how = "meta"
        if start is None:
            start, how = by_agent.get(agent), "result"
        if start is None:
            prompt = _first_prompt(file.transcript, 0)
            matching = (one for one in starts if prompt and one.prompt == prompt and one.owner != agent)
            start, how = next(matching, None), "prompt"
        found.append(_agent(agent, start, how))
    return found


def inline_subagents(main: EntryLog[ClaudeCodeLogIndex]) -> list[Subagent]:
    """Find sub-agents whose records are in the session's own file; each is named after its first record."""
    reading = main.reading
    tree = reading.tree
    roots = [place for place in sorted(reading.linker.sidechain) if tree.parents[place] == ROOT]
    starts = _starts(main) if roots else []
    found = []
    for root in roots:
        prompt = _prompt_at(main, root)
        before = [one for one in starts if one.position < root and prompt and one.prompt == prompt]
        found.append(_agent(tree.keys[root], before[-1] if before else None, "prompt"))
    return found


def _agent(agent: str, start: _Start | None, how: str) -> Subagent:
    if start is None:
        return Subagent(agent, None, None, None, "")
    return Subagent(agent, start.call, start.entry, start.owner, how)


def _starts(transcript: EntryLog[ClaudeCodeLogIndex]) -> list[_Start]:
    reading = transcript.reading
    tree, names = reading.tree, reading.tool_names
    found = []
    for position, calls in reading.linker.calls.items():
        if tree.roles[position] != "assistant" or not any(
            names.get(call) in _STARTERS for call in calls.split("\n")
        ):
            continue
        entry = transcript.entry(position)
        message = entry.message if isinstance(entry, MessageEntry) else None
        for block in message.content if isinstance(message, AssistantMessage) else ():
            if isinstance(block, ToolCall) and block.name in _STARTERS:
                prompt = block.arguments.get("prompt")
                found.append(
                    _Start(
                        block.id,
                        tree.keys[position],
                        reading.agent,
                        position,
                        prompt.strip() if isinstance(prompt, str) else "",
                        _started(transcript, reading.result_of(block.id)),
                    )
                )
    return found


def _started(transcript: EntryLog[ClaudeCodeLogIndex], result: str | None) -> str | None:
    """Return the agent that a call's result names."""
    if result is None:
        return None
    entry = transcript.entry(transcript.tree.positions[result])
    details = (
        entry.message.details
        if isinstance(entry, MessageEntry) and isinstance(entry.message, ToolResult)
        else None
    )
    agent = details.get("agentId") if isinstance(details, dict) else None
    return agent if isinstance(agent, str) else None


def _first_prompt(transcript: EntryLog[ClaudeCodeLogIndex], start: int) -> str:
    reading = transcript.reading
    for position in range(start, len(reading.kinds)):
        if META <= reading.kinds[position] <= HUMAN:
            return _prompt_at(transcript, position)
    return ""


def _prompt_at(transcript: EntryLog[ClaudeCodeLogIndex], position: int) -> str:
    entry = transcript.entry(position)
    return message_text(entry.message, "\n").strip() if isinstance(entry, MessageEntry) else ""
