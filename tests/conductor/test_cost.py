"""The session adds little to the cost of a turn, independent of its length."""

import asyncio
import time

from branchline import Session
from branchline.conductor import Conductor
from branchline.entries import AssistantMessage, Text, ToolCall, ToolResult, Usage
from branchline.models import OfflineModel, request_for

LONG, SHORT = 50_000, 500
MILLISECONDS = 5.0


def lines(count: int) -> bytes:
    """A session of so many entries in one path, made quickly."""
    import json

    made = [json.dumps({"type": "session", "version": 3, "id": "long", "timestamp": "", "cwd": "/project"})]
    parent = None
    for number in range(count):
        key = f"{number:016x}"
        message = {"role": "user", "content": f"prompt {number}"}
        if number % 2:
            message = {
                "role": "assistant",
                "content": [{"type": "text", "text": "answer " * 10}],
                "provider": "offline",
                "model": "echo",
                "usage": {"input": 10, "output": 10, "totalTokens": 20},
                "stopReason": "stop",
            }
        entry = {"type": "message", "id": key, "parentId": parent, "timestamp": "2026-01-01T00:00:00.000Z"}
        made.append(json.dumps({**entry, "message": message}))
        parent = key
    return ("\n".join(made) + "\n").encode()


def turn(talking: Conductor, number: int) -> None:
    """A prompt, an answer with three calls, three results, and the next request."""
    session = talking.session
    session.append_message(f"prompt {number}")
    calls = tuple(ToolCall(id=f"call_{number}_{n}", name="read", arguments={"path": "x"}) for n in range(3))
    session.append_message(
        AssistantMessage(
            content=(Text(text="Reading."), *calls),
            provider="offline",
            model="echo",
            usage=Usage(input=10, output=10, total_tokens=20),
            stop_reason="toolUse",
        )
    )
    for call in calls:
        result = ToolResult(tool_call_id=call.id, tool_name="read", content=(Text(text="y" * 500),))
        session.append_message(result)
    request_for(talking.context())
    assert talking.usage.all.total.total_tokens > 0


def measured(tmp_path, count: int) -> float:
    """The milliseconds of processor time that one turn takes after a compaction, at best of many."""
    file = tmp_path / f"{count}.jsonl"
    file.write_bytes(lines(count))
    session = Session.open(file, durability="os")
    session.append_compaction("all of it", session.path()[-10], 1000)
    talking = Conductor(session, OfflineModel())
    turn(talking, 0)
    best = float("inf")
    for number in range(1, 12):
        begun = time.process_time()
        turn(talking, number)
        best = min(best, time.process_time() - begun)
    asyncio.run(talking.aclose())
    return best * 1000


def test_a_turn_of_a_session_with_fifty_thousand_entries_takes_less_than_five_milliseconds(tmp_path):
    long, short = measured(tmp_path, LONG), measured(tmp_path, SHORT)

    assert long < MILLISECONDS
    assert long < short * 2 + 0.5, f"{long:.2f} ms in a long session, {short:.2f} ms in a short one"
