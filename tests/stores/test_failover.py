"""A synchronous standby takes over from a killed primary without losing acknowledged appends."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
import time
from pathlib import Path

import psycopg
import pytest

from branchline import BranchlineError, SessionLibrary
from branchline.stores.postgres import upgrade
from stores.postgres_server import Server, start_server

WRITERS = 8


def standby_of(primary: Server) -> Server:
    """A standby that streams from a primary."""
    standby = Server(Path(tempfile.mkdtemp(prefix="pg")))
    source = f"host={primary.place} user=postgres application_name=standby"
    standby.run("pg_basebackup", "-D", str(standby.data), "-R", "-X", "stream", "-c", "fast", "-d", source)
    standby.start()
    return standby


def kill(server: Server) -> None:
    """Kill every process of a server at once, without a chance to say anything."""
    pid = int((server.data / "postmaster.pid").read_text().split("\n")[0])
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    for one in (pid, *map(int, children)):
        os.kill(one, signal.SIGKILL)


@pytest.mark.slow
def test_a_promoted_standby_has_every_acknowledged_entry_and_writers_continue():
    primary = start_server("-c wal_level=replica -c max_wal_senders=4")
    upgrade(primary.address)
    standby = standby_of(primary)
    try:
        with psycopg.connect(primary.address, autocommit=True) as owner:
            owner.execute("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
            owner.execute("SELECT pg_reload_conf()")
            while owner.execute("SELECT sync_state FROM pg_stat_replication").fetchone() != ("sync",):
                time.sleep(0.05)
        both = (
            f"postgresql://postgres@/postgres?host={primary.place},{standby.place}"
            "&target_session_attrs=read-write"
        )
        saved: list[list[str]] = [[] for _ in range(WRITERS)]
        problems: list[BaseException] = []
        enough = threading.Event()
        promoted = threading.Event()

        def work(number: int) -> None:
            with SessionLibrary(both) as library, library.get_or_create(f"s{number}") as session:
                after = 0
                while after < 20:
                    try:
                        saved[number].append(session.append_message(f"{number} {len(saved[number])}"))
                        after += promoted.is_set()
                    except BranchlineError as problem:
                        problems.append(problem)
                        time.sleep(0.1)
                    if sum(map(len, saved)) > 200:
                        enough.set()

        threads = [threading.Thread(target=work, args=(number,)) for number in range(WRITERS)]
        for thread in threads:
            thread.start()
        assert enough.wait(60)

        kill(primary)
        before = [list(one) for one in saved]
        standby.run("pg_ctl", "-D", str(standby.data), "-w", "promote")
        promoted.set()
        for thread in threads:
            thread.join(120)

        assert not any(thread.is_alive() for thread in threads)
        with SessionLibrary(standby.address) as library:
            for number in range(WRITERS):
                with library.get(f"s{number}") as session:
                    known = set(session.path()) | set(session.index.keys)
                    assert set(before[number]) <= known
                    assert set(saved[number]) <= known
                    assert session.findings == []
    finally:
        standby.stop()
        primary.stop()
