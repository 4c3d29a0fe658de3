"""Runs inside the environment of the real induscode: one order per line comes in, one answer goes out.

Only its public classes are used: the store of one transcript and the library over a directory.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Coroutine
from typing import Any

from induscode.conductor.serialize import message_to_dict
from induscode.conductor.transcript_store import TranscriptStore, fs_backend
from induscode.sessions.library import SessionLibrary


async def write(directory: str, session: str, steps: list[list[Any]]) -> dict[str, Any]:
    """Append, branch and reset; entries are named by the number of the append that made them."""
    store = TranscriptStore(session, backend=fs_backend(directory))
    await store.load()
    made: list[str] = []
    for verb, *arguments in steps:
        if verb == "append":
            made.append((await store.append(arguments[0])).id)
        elif verb == "branch":
            await store.branch_at(made[arguments[0]] if isinstance(arguments[0], int) else arguments[0])
        else:
            await store.reset()
    return {"made": made, **seen(store)}


async def look(directory: str, session: str) -> dict[str, Any]:
    """What the program shows of a session that it opens."""
    library = SessionLibrary(sessions_dir=directory)
    store = await library.open(session)
    assert store is not None
    rows = await library.list(deep=True)
    return {
        **seen(store),
        "tree": [row.id for row in library.tree(store)],
        "listed": {row.id: row.messageCount for row in rows},
    }


async def said(directory: str, sessions: list[str]) -> dict[str, Any]:
    """What the program reads of many sessions: the path, and the message of every node on it."""
    found = []
    for session in sessions:
        store = TranscriptStore(session, backend=fs_backend(directory))
        await store.load()
        path = store.path_to()
        found.append(
            {"path": [node.id for node in path], "said": [message_to_dict(node.content) for node in path]}
        )
    return {"sessions": found}


def seen(store: Any) -> dict[str, Any]:
    return {
        "path": [entry.id for entry in store.path_to()],
        "roles": [entry.role for entry in store.path_to()],
        "texts": [text_of(message) for message in store.messages()],
    }


def text_of(message: Any) -> str:
    """The words of a message: an object that was read from a file, or the plain one that was appended."""
    content = part_of(message, "content")
    if content is None:
        return str(part_of(message, "summary") or "")
    if isinstance(content, str):
        return content
    return "".join(part_of(part, "text") or "" for part in content)


def part_of(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else getattr(value, name, None)


def main() -> None:
    verbs: dict[str, Callable[..., Coroutine[Any, Any, dict[str, Any]]]] = {
        "write": write,
        "look": look,
        "said": said,
    }
    for line in sys.stdin:
        order = json.loads(line)
        try:
            answer = asyncio.run(verbs[order.pop("verb")](**order))
        except Exception as problem:
            answer = {"error": f"{type(problem).__name__}: {problem}"}
        print(json.dumps(answer), flush=True)


main()
