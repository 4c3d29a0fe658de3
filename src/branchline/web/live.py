"""Live updates by server-sent events: entries that another program appends reach the open pages.

One stream serves all open pages of a browser. It is asked for with the number of bytes that are known of the
log of each session, and an event says how many are known then. After a lost connection the stream is asked
for again with those numbers, and the missed entries come first.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
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
    viewed: ViewedLibrary, known: Mapping[str, int], stop: asyncio.Event
) -> AsyncIterator[bytes]:
    """Yield events for pages that know so many bytes of the logs of these sessions, until ``stop`` is set."""
    events: asyncio.Queue[bytes] = asyncio.Queue(1)
    changed = {name: asyncio.Event() for name in known}
    ended = asyncio.ensure_future(stop.wait())
    working: list[asyncio.Future[Any]] = [
        asyncio.ensure_future(_watch(viewed, changed)),
        *(asyncio.ensure_future(_tell(viewed, name, known[name], changed[name], events)) for name in known),
    ]
    upcoming = asyncio.ensure_future(events.get())
    try:
        yield b": connected\n\n"
        while not stop.is_set():
            await asyncio.wait({upcoming, ended}, timeout=_PING_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if upcoming.done():
                yield upcoming.result()
                upcoming = asyncio.ensure_future(events.get())
            else:
                yield b": still here\n\n"
    finally:
        for task in (ended, upcoming, *working):
            task.cancel()


async def _tell(
    viewed: ViewedLibrary,
    id: str,  # noqa: A002
    known: int,
    changed: asyncio.Event,
    events: asyncio.Queue[bytes],
) -> None:
    """Put an event for each change of one session; it may be gone, and come back."""
    told = ""
    while True:
        await changed.wait()
        changed.clear()
        try:
            news, known = await run_in_threadpool(_news, viewed, id, -1 if told else known)
        except (BranchlineError, OSError, ValueError) as problem:
            sentence = viewed.sentence(str(problem))
            if sentence != told:
                await events.put(_event("gone", {"session": id, "problem": sentence}))
            told = sentence
            continue
        told = ""
        if news is not None:
            await events.put(_event("entries", news))


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
            "session": id,
            "offset": session.offset,
            "generation": session.generation,
            "skeleton": msgspec.to_builtins(skeleton, str_keys=True),
            "changed": changed,
            "pieces": [(row, str(piece)) for row, piece in zip(rows, session.pieces(rows), strict=True)],
        }
        return news, session.offset


def _event(name: str, data: dict[str, Any]) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), json_codec.dumps(data, surrogates="replace"))


async def _watch(viewed: ViewedLibrary, changed: Mapping[str, asyncio.Event]) -> None:
    """Set the events of sessions that may have changed: of all first, when watching has begun."""
    files: dict[str, str] = {}
    polls = []
    for name in changed:
        try:
            path = (await run_in_threadpool(viewed.row, name)).path or ""
        except BranchlineError:
            continue  # the first look at it says so
        file = await run_in_threadpool(watched_file, path)
        if file is not None:
            files[name] = file
        else:  # on a database server
            stamp = await run_in_threadpool(_stamp, path)
            polls.append(_poll(path, stamp, changed[name], _SERVER_SECONDS))
    stamps = {name: await run_in_threadpool(_stamp, path) for name, path in files.items()}
    polling = [asyncio.ensure_future(poll) for poll in polls]
    watching = asyncio.ensure_future(_notice(files, changed))
    try:
        await asyncio.sleep(0)  # the watch is set up in the first step
        for event in changed.values():
            event.set()
        try:
            await watching
        except (ImportError, OSError, RuntimeError):  # notifications are unavailable
            polling += [
                asyncio.ensure_future(_poll(path, stamps[name], changed[name], _FILE_SECONDS))
                for name, path in files.items()
            ]
        await asyncio.gather(*polling)
    finally:
        for task in (watching, *polling):
            task.cancel()


async def _poll(path: str, stamp: FileStamp | None, changed: asyncio.Event, seconds: float) -> None:
    while True:
        await asyncio.sleep(seconds)
        if (now := await run_in_threadpool(_stamp, path)) != stamp:
            stamp = now
            changed.set()


async def _notice(files: Mapping[str, str], changed: Mapping[str, asyncio.Event]) -> None:
    """Set the events of files that the system reports as changed: one thread waits for all of them."""
    if not files:
        return
    from watchfiles import awatch  # noqa: PLC0415  only needed to follow

    directories = {os.path.dirname(file) for file in files.values()}
    watching = awatch(
        *directories,
        watch_filter=lambda _kind, path: os.path.realpath(path).startswith(tuple(files.values())),
        recursive=False,
        debounce=_STEP_MS,
        step=_STEP_MS,
        rust_timeout=int(_PING_SECONDS * 1000),
    )
    async for found in watching:
        paths = [os.path.realpath(path) for _kind, path in found]  # noqa: ASYNC240  of links, rarely
        for name, file in files.items():
            if any(path.startswith(file) for path in paths):
                changed[name].set()


def _stamp(path: str) -> FileStamp | None:
    try:
        stored = stored_at(path)
    except (BranchlineError, OSError):
        return None
    return None if stored is None else stored.stamp
