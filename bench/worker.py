"""One task with branchline, measured in a separate process.

`python -m bench.worker TASK ARGUMENT…` prints one line of JSON: CPU and wall time of the task without imports
and setup, the peak memory of the process, and a result on which all programs must agree. `worker.mjs` runs
the same tasks with pi.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from bench.generate import CWD
from branchline import Session
from branchline.log import Durability

Work = tuple[Callable[[], Any], Callable[[Any], int]]


def open_(path: str, small: str = "") -> Work:
    """Open a session, including leaf, path, outline, and the rows of one screen around the leaf.

    A ``small`` session of the same format loads the modules that it needs, which do not count.
    """
    os.environ["BRANCHLINE_CACHE"] = "0"
    if small:
        Session.open(small).close()

    def act() -> Any:
        session = Session.open(path)
        outline = session.outline()
        return session, session.leaf, session.path(), len(outline), outline[-50:]

    return act, lambda opened: len(opened[0].context().messages)


def context(path: str) -> Work:
    """Open a session and build its model context, as typed records."""
    os.environ["BRANCHLINE_CACHE"] = "0"
    return lambda: Session.open(path).context().messages, len


def warm(path: str) -> Work:
    """Open a session that was opened before, including its path."""
    Session.open(path).close()

    def act() -> Any:
        session = Session.open(path)
        return session, session.path()

    return act, lambda opened: len(opened[0].context().messages)


def list_deep(directory: str, agent: str = "") -> Work:
    """List a directory of session files, or all sessions of an agent below a home directory."""
    from branchline import SessionLibrary

    def act() -> Any:
        if not agent:
            return SessionLibrary(directory).list(deep=True)
        ours = {"BRANCHLINE_HOME": os.path.expanduser("~/.branchline")}
        return SessionLibrary.everywhere(home=directory, environment=ours, agents=[agent]).list(deep=True)

    return act, lambda rows: sum(row.total_messages for row in rows)


def list_again(directory: str) -> Work:
    """List a directory of session files that was listed before."""
    from branchline import SessionLibrary

    def act() -> Any:
        return SessionLibrary(directory).list(deep=True)

    act()
    return act, lambda rows: sum(row.total_messages for row in rows)


def list_shallow(directory: str) -> Work:
    from branchline import SessionLibrary

    return lambda: SessionLibrary(directory).list(deep=False), len


def append(directory: str, messages: str, durability: Durability) -> Work:
    """Append to a new session that already has its file."""
    session = Session.create(CWD, directory=directory, durability=durability, persist="at_once")
    return _append(session, messages)


def append_to(path: str, messages: str) -> Work:
    """Append to a long session."""
    return _append(Session.open(path, durability="os"), messages)


def _append(session: Session, path: str) -> Work:
    messages = msgspec.json.decode(Path(path).read_bytes())
    for message in messages[:2]:
        session.append_message(message)

    def act() -> None:
        for message in messages:
            session.append_message(message)

    return act, lambda _: len(messages)


def turns(path: str, count: str) -> Work:
    """Run turns in a long compacted session: prompt, answer, three results, and the next request."""
    from branchline.conductor import Conductor
    from branchline.entries import AssistantMessage, Text, ToolCall, ToolResult, Usage
    from branchline.models import OfflineModel, request_for

    session = Session.open(path, durability="os")
    session.append_compaction("everything before", session.path()[-10], 1000)
    talking = Conductor(session, OfflineModel())
    usage = Usage(input=10, output=10, total_tokens=20)

    def turn(number: int) -> None:
        session.append_message(f"prompt {number}")
        calls = [
            ToolCall(id=f"call_{number}_{one}", name="read", arguments={"path": "x"}) for one in range(3)
        ]
        session.append_message(
            AssistantMessage(
                content=(Text(text="Reading."), *calls),
                provider="offline",
                model="echo",
                usage=usage,
                stop_reason="toolUse",
            )
        )
        for call in calls:
            result = ToolResult(tool_call_id=call.id, tool_name="read", content=(Text(text="y" * 500),))
            session.append_message(result)
        request_for(talking.context())

    turn(0)

    def act() -> None:
        for number in range(1, int(count) + 1):
            turn(number)

    return act, lambda _: int(count)


WORKS: dict[str, Callable[..., Work]] = {
    "open": open_,
    "context": context,
    "warm": warm,
    "list-again": list_again,
    "list-deep": list_deep,
    "list-shallow": list_shallow,
    "append": append,
    "append-to": append_to,
    "turns": turns,
}


def main(work: str, *arguments: str) -> None:
    act, answer = WORKS[work](*arguments)
    wall, processor = time.perf_counter(), _processor_time()
    result = act()
    sample = {"wall": time.perf_counter() - wall, "cpu": _processor_time() - processor, "peak": _peak()}
    print(json.dumps({**sample, "answer": answer(result)}))


def _processor_time() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def _peak() -> int:
    """Return the peak memory in bytes. Prefers /proc: ru_maxrss also counts the parent process."""
    if os.path.exists("/proc/self/status"):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


if __name__ == "__main__":
    main(*sys.argv[1:])
