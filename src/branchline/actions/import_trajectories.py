"""Import conversations of other tools: ATIF trajectories and OpenAI's chat JSONL.

Each becomes a native session. Fields that the session format cannot hold are dropped.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import msgspec

from branchline.actions.import_ import ImportResult
from branchline.context import from_openai
from branchline.entries import (
    AssistantMessage,
    Block,
    Image,
    Message,
    SystemMessage,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from branchline.errors import NotASession, NotSupported
from branchline.log import FileLog
from branchline.log.system import opening
from branchline.session import Session
from branchline.stores import Store

__all__ = ["import_trajectories", "is_trajectory_file"]

_HEAD = 1 << 16
_MOST_VALUES = 1_000_000
"""A limit on memory: each takes more than a kilobyte during the import."""
_Path = str | os.PathLike[str]
Fields = dict[str, Any]


def is_trajectory_file(file: _Path) -> bool:
    """Return whether a file starts like an ATIF document or chat JSONL. Reads only its beginning."""
    head = _read(file, _HEAD).lstrip()
    if not head.startswith(b"{"):
        return False
    first = head.split(b"\n", 1)[0]
    return b'"ATIF-v' in head or first.replace(b" ", b"").startswith((b'{"messages":[', b'{"tools":['))


def import_trajectories(
    file: _Path, *, cwd: _Path | None = None, directory: _Path | None = None, store: Store | None = None
) -> list[ImportResult]:
    """Create a session for each conversation in a file, in a working directory (default: this one).

    Embedded trajectories of sub-agents become sessions of their own. Raises NotASession, and writes nothing,
    if the file is malformed.
    """
    found = list(_conversations(file))
    if not found:
        raise NotASession(f"cannot import {os.fspath(file)}: it has no conversation")
    results = []
    for title, messages in found:
        with Session.create(cwd, directory=directory, store=store, persist="at_once") as session:
            session.append_messages(messages)
            if title:  # last: closing removes a file whose messages could not be written
                session.set_title(title)
            results.append(
                ImportResult(
                    session=session.id,
                    path=session.file or session.key,
                    entries=len(session),
                    source=os.path.abspath(file),
                )
            )
    return results


def _conversations(file: _Path) -> Iterator[tuple[str | None, list[Message]]]:
    """Yield the title and the messages of each conversation. Raises NotASession for anything else."""
    name = os.fspath(file)
    data = _read(file)
    if data.count(b"{") + data.count(b"[") > _MOST_VALUES:
        raise NotSupported(f"cannot import {name}: it has more than {_MOST_VALUES:,} arrays and objects")
    try:
        whole = json.loads(data)
        documents = [whole]
    except RecursionError:
        raise NotASession(f"cannot import {name}: it is nested too deeply") from None
    except ValueError:
        documents = [_parsed(line, name, number) for number, line in enumerate(data.split(b"\n"), 1) if line]
    for number, document in enumerate(documents, 1):
        try:
            if "schema_version" in document:
                yield from _atif(document)
            else:
                yield None, _chat(document)
        except (AttributeError, KeyError, LookupError, TypeError, ValueError) as problem:
            raise NotASession(
                f"cannot import {name}: conversation {number} is malformed: {problem!r}"
            ) from None


def _read(file: _Path, size: int | None = None) -> bytes:
    """Read a regular file. A log, unlike ``open``, does not block on a pipe."""
    log = FileLog(file)
    try:
        with opening(log.path):
            return log.read(0, log.size() if size is None else size)
    finally:
        log.close()


def _parsed(line: bytes, name: str, number: int) -> Any:
    try:
        return json.loads(line)
    except RecursionError:
        raise NotASession(f"cannot import {name}: line {number} is nested too deeply") from None
    except ValueError as problem:
        raise NotASession(f"cannot import {name}: line {number} is not valid JSON: {problem}") from None


# -- OpenAI's chat format ---------------------------------------------------------------------------------


def _chat(line: Fields) -> list[Message]:
    messages = from_openai(
        [{key: message[key] for key in message if key != "weight"} for message in line["messages"]]
    )
    tools = tuple(tool["function"] for tool in line.get("tools") or ())
    return [SystemMessage(content="", tools_added=tools), *messages] if tools else messages


# -- ATIF -------------------------------------------------------------------------------------------------


def _atif(document: Fields) -> Iterator[tuple[str | None, list[Message]]]:
    extra = document.get("extra") or {}
    title = extra.get("title") if isinstance(extra.get("title"), str) else None
    model = document["agent"].get("model_name")
    messages: list[Message] = []
    for step in document["steps"]:
        messages += _step(step, model, begun=any(not isinstance(said, SystemMessage) for said in messages))
    yield title, messages
    for helper in document.get("subagent_trajectories") or ():
        yield from _atif(helper)


def _step(step: Fields, model: str | None, *, begun: bool) -> list[Message]:
    time = _milliseconds(step.get("timestamp"))
    blocks = _blocks(step["message"])
    source = step["source"]
    if source == "system" and not begun:
        return [SystemMessage(content=blocks, timestamp=time)]
    if source in ("system", "user"):
        return [UserMessage(content=blocks, timestamp=time)]
    if source != "agent":
        raise ValueError(f"a step of {source!r}")
    thought = step.get("reasoning_content")
    thoughts: tuple[Block, ...] = (Thinking(thinking=thought),) if thought else ()
    calls = [
        ToolCall(id=call["tool_call_id"], name=call["function_name"], arguments=call["arguments"])
        for call in step.get("tool_calls") or ()
    ]
    answer = AssistantMessage(
        content=(*thoughts, *blocks, *calls),
        model=step.get("model_name") or model,
        usage=_usage(step.get("metrics")),
        stop_reason="toolUse" if calls else "stop",
        timestamp=time,
    )
    names = {call.id: call.name for call in calls}
    return [
        answer,
        *(_result(each, names, time) for each in (step.get("observation") or {}).get("results", ())),
    ]


def _result(result: Fields, names: dict[str, str], time: int | None) -> Message:
    content = _blocks(result.get("content") or "")
    call = result.get("source_call_id")
    if call not in names:
        return UserMessage(content=content, timestamp=time)
    failed = (result.get("extra") or {}).get("is_error") is True
    return ToolResult(
        tool_call_id=call,
        tool_name=names[call],
        content=content,
        is_error=True if failed else msgspec.UNSET,
        timestamp=time,
    )


def _blocks(message: str | list[Fields]) -> tuple[Block, ...]:
    if isinstance(message, str):
        return (Text(text=message),) if message else ()
    found: list[Block] = []
    for part in message:
        source = part.get("source") or {}
        header, comma, body = str(source.get("path", "")).partition(";base64,")
        if part["type"] == "text":
            found.append(Text(text=part["text"]))
        elif part["type"] == "image" and comma and header.startswith("data:"):
            found.append(Image(data=body, mime_type=source["media_type"]))
        else:
            found.append(Text(text=f"[{source.get('media_type', part['type'])}: {source.get('path', '')}]"))
    return tuple(found)


def _usage(metrics: Fields | None) -> Usage | None:
    if not metrics:
        return None
    read, cached = metrics.get("prompt_tokens") or 0, metrics.get("cached_tokens") or 0
    output = metrics.get("completion_tokens") or 0
    fields = {"input": read - cached, "cacheRead": cached, "output": output, "totalTokens": read + output}
    cost = metrics.get("cost_usd")
    return msgspec.convert(fields | ({"cost": {"total": cost}} if cost else {}), Usage)


def _milliseconds(text: Any) -> int | None:
    if not isinstance(text, str):
        return None
    return round(datetime.fromisoformat(text).timestamp() * 1000)
