"""Comparison of stores: `python -m bench.stores [files sqlite postgres]`.

Measures appends with 1, 8 and 64 writers on separate sessions, opening a long session, reading its last
entries, and finding one session among 100,000. CPU is that of this process. BRANCHLINE_TEST_POSTGRES names a
server; without it one is started.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from branchline import Session, SessionLibrary
from branchline.stores import Store, close_store, open_store

TEXT = "x" * 1700
ENTRIES = 62_000
MANY = 100_000
ITEMS = 4_240


@contextmanager
def measured(rows: list[tuple[str, str]], name: str, count: int = 1) -> Iterator[None]:
    cpu, wall = time.process_time(), time.perf_counter()
    yield
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    rows.append((name, f"{cpu / count * 1000:10.2f} ms CPU {wall / count * 1000:10.2f} ms"))


def best(rows: list[tuple[str, str]], name: str, action: Callable[[], Any], times: int = 3) -> None:
    found = []
    for _ in range(times):
        cpu, wall = time.process_time(), time.perf_counter()
        action()
        found.append((time.process_time() - cpu, time.perf_counter() - wall))
    cpu, wall = (min(times) for times in zip(*found, strict=True))
    rows.append((name, f"{cpu * 1000:10.2f} ms CPU {wall * 1000:10.2f} ms"))


def writers(store: Store, count: int, each: int) -> str:
    """Measure the appends per second of ``count`` threads, each with its own session."""
    library = SessionLibrary(store)
    sessions = [library.get_or_create(f"w{count}-{number}") for number in range(count)]
    times: list[float] = []
    barrier = threading.Barrier(count + 1)

    def work(session: Session) -> None:
        own = []
        barrier.wait()
        for _ in range(each):
            start = time.perf_counter()
            session.append_message(TEXT)
            own.append(time.perf_counter() - start)
        times.extend(own)

    threads = [threading.Thread(target=work, args=(session,)) for session in sessions]
    for thread in threads:
        thread.start()
    barrier.wait()
    cpu, start = time.process_time(), time.perf_counter()
    for thread in threads:
        thread.join()
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    for session in sessions:
        session.close()
    times.sort()
    p50, p99 = statistics.median(times), times[int(len(times) * 0.99)]
    total = count * each
    figures = f"{total / wall:8.0f}/s  p50 {p50 * 1000:6.2f}  p99 {p99 * 1000:7.2f} ms"
    return f"{figures}  CPU {cpu / total * 1000:5.2f} ms"


def long_session(entries: int, size: int) -> list[bytes]:
    """Return the lines of a session with one long path."""
    pieces = [
        b'{"type":"session","version":3,"id":"long","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p"}\n'
    ]
    parent = "null"
    for number in range(entries):
        role = "assistant" if number % 2 else "user"
        pieces.append(
            b'{"type":"message","id":"%016x","parentId":%s,"timestamp":"2026-01-01T00:00:00.000Z",'
            b'"message":{"role":"%s","content":[{"type":"text","text":"%s"}],"timestamp":1767225600000}}\n'
            % (number, parent.encode(), role.encode(), b"y" * size)
        )
        parent = f'"{number:016x}"'
    return pieces


def fill(store: Store, where: str) -> None:
    """Create many small sessions by direct inserts; the interface would take minutes."""
    if where.startswith("postgresql:"):
        import psycopg

        tenant, name = store.server.tenant, store.server.store  # type: ignore[attr-defined]
        with psycopg.connect(store.server.dsn, autocommit=True) as other:  # type: ignore[attr-defined]
            other.execute(
                "INSERT INTO branchline.session "
                "(tenant, id, store, key, state, size, torn, created, modified, touched) "
                "SELECT %s, gen_random_uuid(), %s, 's' || n, 0, 100, false, n, 1700000000000 + n * 1000,"
                " (1700000000000 + n * 1000) / 10000 FROM generate_series(1, %s) AS n",
                (tenant, name, MANY),
            )
            other.execute("ANALYZE branchline.session")
    elif where.endswith(".db"):
        with store.writing("fill") as connection:  # type: ignore[attr-defined]
            connection.executemany(
                "INSERT INTO session (key, state, size, torn, modified) VALUES (?, 0, 100, 0, ?)",
                ((f"s{number}", 1_700_000_000_000 + number * 1000) for number in range(MANY)),
            )


def run(kind: str, where: str) -> None:
    rows: list[tuple[str, str]] = []
    store = open_store(where)
    for count, each in ((1, 400), (8, 100), (64, 20)):
        rows.append((f"{count} writers", writers(store, count, each)))
    pieces = long_session(ENTRIES, 700)
    with measured(rows, f"import {ENTRIES:,} entries"):
        store.load("long", iter(pieces))  # type: ignore[attr-defined]
    os.environ["BRANCHLINE_CACHE"] = "0"
    with measured(rows, "open it for the first time"):
        Session.from_store(store, "long").close()
    os.environ.pop("BRANCHLINE_CACHE")
    time.sleep(3)  # a recently changed file is read again
    Session.from_store(store, "long").close()
    best(rows, "open it again", lambda: Session.from_store(store, "long").close())
    with Session.from_store(store, "long") as session:
        best(rows, "last 50 entries", lambda: session.entries(session.path(limit=50)))
        best(rows, "200 entries anywhere", lambda: session.raws(session.path()[:: ENTRIES // 200]))
    store.load("items", iter(long_session(ITEMS, 700)))  # type: ignore[attr-defined]
    with Session.from_store(store, "items") as session:
        best(rows, f"all {ITEMS:,} entries", lambda: session.entries(session.path()))
    if kind != "files":
        fill(store, where)
        library = SessionLibrary(store)
        best(rows, f"newest 50 of {MANY:,}", lambda: store.scan(limit=50))
        best(rows, f"all {MANY:,}", store.scan)
        best(rows, f"unknown among {MANY:,}", lambda: library.get_or_create(uuid.uuid4().hex).close())
        best(rows, f"known among {MANY:,}", lambda: store.stat("s50000"))
    close_store(store)
    print(f"\n{kind}")
    for name, figures in rows:
        print(f"  {name:32} {figures}")


def main(kinds: list[str]) -> None:
    with tempfile.TemporaryDirectory() as place:
        os.environ["BRANCHLINE_HOME"] = f"{place}/home"
        for kind in kinds or ["files", "sqlite", "postgres"]:
            if kind == "postgres":
                from branchline.stores.postgres import upgrade
                from stores.postgres_server import start_server, with_options

                address = os.environ.get("BRANCHLINE_TEST_POSTGRES") or start_server("").address
                upgrade(address)
                run(kind, with_options(address, store=uuid.uuid4().hex))
            else:
                run(kind, f"{place}/sessions{'.db' if kind == 'sqlite' else ''}")


if __name__ == "__main__":
    main(sys.argv[1:])
