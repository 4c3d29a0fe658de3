"""The real pi and the real oh-my-pi, so that their word and their speed can be asked for.

`pi_073()`, `pi_150()` and `oh_my_pi()` give a program that runs, or raise `PeerMissing` with the reason. Each is
fetched once, by package name, with the npm of this machine, into `.cache/peers` (`BRANCHLINE_PEERS` names another
place). A lock makes that safe when several test processes ask at once, and a failure is remembered for ten minutes,
so that a machine without a network does not wait again for every test.

The interop tests and the benchmark both import this module; it needs nothing but the standard library.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["Peer", "PeerMissing", "oh_my_pi", "pi_073", "pi_150"]

ROOT = Path(__file__).resolve().parents[2]
NPM_SECONDS = 300
FAILURE_SECONDS = 600


class PeerMissing(Exception):
    """The program cannot be had on this machine; the message says why."""


@dataclass(frozen=True, kw_only=True)
class Peer:
    """A pi that runs: a node (or bun), and the module that exports its `SessionManager`."""

    name: str
    node: Path
    module: Path

    def run(
        self,
        script: Path,
        *arguments: str,
        text: str = "",
        seconds: float = 120,
        environment: dict[str, str] | None = None,
    ) -> Any:
        """Call `node script module arguments…` with `text` on its input; its output is JSON."""
        done = subprocess.run(
            [self.node, script, self.module, *arguments],
            input=text,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=seconds,
            check=False,
            env={**self.environment(), **(environment or {})},
        )
        if done.returncode != 0:
            raise RuntimeError(
                f"{self.name} failed at {script.name} {' '.join(arguments)}: {done.stderr.strip()}"
            )
        return json.loads(done.stdout)

    def environment(self) -> dict[str, str]:
        """Pi's own settings and sessions stay out of reach."""
        return {
            **os.environ,
            "PI_CODING_AGENT_DIR": str(_home() / "agent"),
            "PI_OFFLINE": "1",
            "PI_TELEMETRY": "0",
        }


@cache
def pi_073() -> Peer:
    """Pi 0.73.1, the last one of its first name; runs on Node 20."""

    def fetch(place: Path) -> None:
        _pack("@mariozechner/pi-coding-agent@0.73.1", place)
        # The session manager needs uuid and nothing else; the whole program would need 180 packages.
        manifest = json.loads((place / "package" / "package.json").read_text())
        _install(f"uuid@{manifest['dependencies']['uuid']}", place)

    place = _once("pi-0.73.1", fetch)
    return Peer(
        name="pi 0.73.1", node=_node(20), module=place / "package" / "dist" / "core" / "session-manager.js"
    )


@cache
def pi_150() -> Peer:
    """Pi 1.5.0, as the bundle that its package carries; runs on Node 22."""
    place = _once("pi-1.5.0", lambda place: _pack("@earendil-works/pi-coding-agent@1.5.0", place))
    return Peer(name="pi 1.5.0", node=_node(22), module=place / "package" / "dist" / "bundle" / "index.js")


@cache
def oh_my_pi() -> Peer:
    """oh-my-pi 18.2.3, whose sources run on bun."""
    place = _once(
        "oh-my-pi-18.2.3",
        lambda place: _install("@oh-my-pi/pi-coding-agent@18.2.3", place, "bun@1.4.4"),
    )
    modules = place / "node_modules"
    module = modules / "@oh-my-pi" / "pi-coding-agent" / "src" / "session" / "session-manager.ts"
    for bun in (*modules.glob("bun/bin/bun*"), *modules.glob("@oven/bun-*/bin/bun")):
        if os.access(bun, os.X_OK) and _major(str(bun)):
            return Peer(name="oh-my-pi 18.2.3", node=bun, module=module)
    raise PeerMissing("bun is not on this machine, and the one from npm does not start")


def _node(major: int) -> Path:
    """The machine's own node if it is new enough, else the one that npm can bring."""
    found = shutil.which("node")
    if found and _major(found) >= major:
        return Path(found)
    node = (
        _once("node-22", lambda place: _install("node@22", place)) / "node_modules" / "node" / "bin" / "node"
    )
    if _major(str(node)) < major:
        raise PeerMissing(f"node {major} is not on this machine, and the one from npm does not start")
    return node


def _major(node: str) -> int:
    try:
        answer = subprocess.run(
            [node, "--version"], capture_output=True, text=True, timeout=30, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return 0
    return int(answer.strip().lstrip("v").split(".")[0])


def _pack(package: str, place: Path) -> None:
    """Put the package's program into `place/package`, without what it depends on."""
    _npm("pack", "--silent", "--pack-destination", str(place), package)
    (tarball,) = place.glob("*.tgz")
    subprocess.run(["tar", "-xzf", tarball, "-C", place, "package/dist", "package/package.json"], check=True)
    tarball.unlink()


def _install(package: str, place: Path, *others: str) -> None:
    """Put the packages and what they depend on into `place/node_modules`."""
    _npm("install", "--no-package-lock", "--no-audit", "--no-fund", "--prefix", str(place), *others, package)
    # Even without a lock file npm notes where everything came from.
    (place / "node_modules" / ".package-lock.json").unlink(missing_ok=True)


def _npm(*arguments: str) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise PeerMissing("npm is not on this machine")
    patience = ("--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=2000")
    try:
        done = subprocess.run(
            [npm, *arguments, *patience], capture_output=True, text=True, timeout=NPM_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise PeerMissing(f"npm {arguments[0]} {arguments[-1]} took more than {NPM_SECONDS} s") from None
    if done.returncode != 0:
        said = [line for line in done.stderr.splitlines() if "error" in line] or ["no reason given"]
        # An address in npm's words would end up in the note that remembers the failure.
        reason = re.sub(r"\w+://\S+", "…", said[0])
        raise PeerMissing(f"npm {arguments[0]} {arguments[-1]} failed: {reason}")


def _once(name: str, fetch: Callable[[Path], None]) -> Path:
    """Fetch into a directory beside the final one and rename it, so that a half-made peer is never seen."""
    place, failure = _home() / name, _home() / f"{name}.failed"
    with _lock():
        if place.is_dir():
            return place
        with contextlib.suppress(FileNotFoundError):
            if time.time() - failure.stat().st_mtime < FAILURE_SECONDS:
                raise PeerMissing(failure.read_text())
        draft = Path(tempfile.mkdtemp(dir=_home(), prefix=f"{name}."))
        try:
            fetch(draft)
            draft.rename(place)
        except (PeerMissing, OSError, subprocess.SubprocessError) as error:
            shutil.rmtree(draft, ignore_errors=True)
            failure.write_text(str(error))
            raise PeerMissing(str(error)) from error
        failure.unlink(missing_ok=True)
    return place


@contextlib.contextmanager
def _lock() -> Iterator[None]:
    with (_home() / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _home() -> Path:
    home = Path(os.environ.get("BRANCHLINE_PEERS") or ROOT / ".cache" / "peers").resolve()
    home.mkdir(parents=True, exist_ok=True)
    return home
