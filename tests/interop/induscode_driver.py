"""Runs inside the environment of the real induscode: does what it is told on its input, answers in JSON.

Only its public classes are used: the store of one transcript and the library over a directory.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

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


def seen(store: Any) -> dict[str, Any]:
    return {
        "path": [entry.id for entry in store.path_to()],
        "roles": [entry.role for entry in store.path_to()],
        "texts": [text_of(message) for message in store.messages()],
    }


def text_of(message: Any) -> str:
    content = getattr(message, "content", None)
    if content is None:
        return str(getattr(message, "summary", ""))
    if isinstance(content, str):
        return content
    return "".join(getattr(part, "text", "") for part in content)


def main() -> None:
    order = json.load(sys.stdin)
    verb = {"write": write, "look": look}[order.pop("verb")]
    json.dump(asyncio.run(verb(**order)), sys.stdout)


main()
