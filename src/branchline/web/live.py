"""Live updates by server-sent events: entries that another program appends reach the open page.

The id of an event is the number of bytes of the log that were known when it was sent. After a lost connection
the browser sends it back in ``Last-Event-ID`` and receives the missed entries.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import msgspec
from starlette.concurrency import run_in_threadpool

from branchline.entries import json_codec
from branchline.errors import BranchlineError
from branchline.stores import FileStamp, stored_at
from branchline.web.viewed import ViewedLibrary, watched_file

__all__ = ["follow"]

_FILE_SECONDS = 1.0
_SERVER_SECONDS = 0.2
_STEP_MS = 60
"""Polling interval of watchfiles: a shorter one costs more CPU while idle."""
_PING_SECONDS = 25.0
_MOST_PIECES = 20
"""Maximum number of rows with HTML in an event. If there are more, the page requests the visible ones."""


async def follow(
    viewed: ViewedLibrary,
    id: str,  # noqa: A002
    known: int,
    stop: asyncio.Event,
) -> AsyncIterator[bytes]:
    """Yield events for a page that knows ``known`` bytes of the session's log, until ``stop`` is set."""
    path = (await run_in_threadpool(viewed.row, id)).path or ""
    yield b"retry: 500\n\n"
    async for changed in _changes(path, stop):
        if not changed:
            yield b": still here\n\n"
            continue
        try:
            event, known = await run_in_threadpool(_news, viewed, id, known)
        except (BranchlineError, OSError, ValueError) as problem:
            yield _event("gone", {"problem": str(problem)}, known)
            return
        if event is not None:
            yield _event("entries", event, known)


def _news(viewed: ViewedLibrary, id: str, known: int) -> tuple[dict[str, Any] | None, int]:  # noqa: A002
    """Return the entries after ``known`` bytes of the log, and how many bytes are known now."""
    with viewed.using(id) as session:
        before = session.generation
        session.refresh()
        if session.offset == known and session.generation == before:
            return None, known
        first = session.position_after(known) if session.generation == before else 0
        skeleton = session.skeleton(first)
        changed = session.rows_changed_since(first)
        rows = [*changed, *range(first, first + len(skeleton.ids))]
        if len(rows) > _MOST_PIECES:
            rows = []
        news = {
            "generation": session.generation,
            "skeleton": msgspec.to_builtins(skeleton, str_keys=True),
            "changed": changed,
            "pieces": [(row, str(piece)) for row, piece in zip(rows, session.pieces(rows), strict=True)],
        }
        return news, session.offset


def _event(name: str, data: dict[str, Any], known: int) -> bytes:
    text = json_codec.dumps(data, surrogates="replace")
    return b"event: %s\nid: %d\ndata: %s\n\n" % (name.encode(), known, text)


async def _changes(path: str, stop: asyncio.Event) -> AsyncIterator[bool]:
    """Yield True first and whenever the session may have changed, and False to keep the connection open.

    Watching starts before the first True, so that no change is missed.
    """
    stamp = await run_in_threadpool(_stamp, path)
    file = await run_in_threadpool(watched_file, path)
    if file is None:  # on a database server
        yield True
        async for polled in _polls(path, stamp, _SERVER_SECONDS, stop):
            yield polled
        return
    watching = _notifications(file, stop)
    upcoming = asyncio.ensure_future(anext(watching, None))
    try:
        await asyncio.sleep(0)  # the watch is set up in the first step
        yield True
        while (changed := await upcoming) is not None:
            upcoming = asyncio.ensure_future(anext(watching, None))
            yield changed
    except (ImportError, OSError, RuntimeError):  # notifications are unavailable
        async for polled in _polls(path, stamp, _FILE_SECONDS, stop):
            yield polled
    finally:
        upcoming.cancel()


async def _polls(
    path: str, stamp: FileStamp | None, seconds: float, stop: asyncio.Event
) -> AsyncIterator[bool]:
    quiet = 0.0
    while not stop.is_set():
        await asyncio.sleep(seconds)
        quiet += seconds
        if (now := await run_in_threadpool(_stamp, path)) != stamp:
            stamp, quiet = now, 0.0
            yield True
        elif quiet >= _PING_SECONDS:
            quiet = 0.0
            yield False


async def _notifications(path: str, stop: asyncio.Event) -> AsyncGenerator[bool, None]:
    from watchfiles import awatch  # noqa: PLC0415  only needed to follow

    watching = awatch(
        os.path.dirname(path),
        watch_filter=lambda _kind, name: os.path.realpath(name).startswith(path),
        recursive=False,
        debounce=_STEP_MS,
        step=_STEP_MS,
        rust_timeout=int(_PING_SECONDS * 1000),
        yield_on_timeout=True,
        stop_event=stop,
    )
    async for changes in watching:
        yield bool(changes)


def _stamp(path: str) -> FileStamp | None:
    try:
        stored = stored_at(path)
    except (BranchlineError, OSError):
        return None
    return None if stored is None else stored.stamp
