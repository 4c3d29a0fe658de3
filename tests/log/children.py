"""What other processes do to a log while a test watches: `python children.py VERB PATH …`.

Each acknowledges on its standard output, one line at a time, what it has done.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import resource
import signal
import sys
import time

from branchline.errors import BranchlineError
from branchline.log import Durability, FileLog


def say(*words: object) -> None:
    os.write(1, (" ".join(str(word) for word in words) + "\n").encode())


def line_of(name: str, number: int, size: int = 0) -> bytes:
    return json.dumps({"name": name, "number": number, "text": "x" * size}).encode() + b"\n"


def append(path: str, durability: Durability, name: str, count: str, large: str = "0") -> None:
    """Append `count` records (0: until killed), now and then a `large` one, and say where each begins."""
    chance = random.Random(name)
    with FileLog(path, durability=durability, lock_timeout=60) as log:
        for number in range(int(count)) if int(count) else itertools.count():
            size = int(large) if int(large) and number % 5 == 4 else chance.randrange(2000)
            with log.exclusive() as writer:
                end = writer.end
                offset = writer.append(line_of(name, number, size))
            say(name, number, offset, end)


def foreign(path: str, name: str, count: str) -> None:
    """Append like a program that knows nothing of locks, one whole line per write."""
    chance = random.Random(name)
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)
    for number in range(int(count)):
        os.write(descriptor, line_of(name, number, chance.randrange(2000)))
        say(name, number)
        time.sleep(chance.random() / 1000)


def hold(path: str) -> None:
    """Take the lock and keep it until killed."""
    with FileLog(path) as log, log.exclusive():
        say("held")
        time.sleep(60)


def limited(path: str, size: str) -> None:
    """Append under a limit for the size of files, which the system enforces in the middle of a write."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(size), resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
    with FileLog(path) as log:
        before = number = 0
        for number in itertools.count():
            before = log.size()
            try:
                with log.exclusive() as writer:
                    writer.append(line_of("limited", number, 300))
            except BranchlineError as problem:
                say(type(problem).__name__, log.size() == before, number, problem)
                break
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        with log.exclusive() as writer:
            say(writer.append(line_of("limited", number, 300)) == before)


def fork(path: str) -> None:
    """Fork while the lock is held: the child must neither write with it nor release it."""
    log = FileLog(path, lock_timeout=0)
    done, tell = os.pipe()
    with log.exclusive() as writer:
        child = os.fork()
        if child == 0:
            try:
                writer.append(line_of("child", -1))
                say("the child has written with the lock of its parent")
            except RuntimeError:
                say("refused")
            writer.__exit__(None, None, None)
            say(_attempt(log))
            os.write(tell, b".")
            while _attempt(log) == "LockTimeout":
                time.sleep(0.01)
            say("child saved")
            os._exit(0)
        os.read(done, 1)
        say(_attempt(FileLog(path, lock_timeout=0)))
    os.waitpid(child, 0)
    say("parent", _attempt(log))


def _attempt(log: FileLog) -> str:
    try:
        with log.exclusive() as writer:
            writer.append(line_of("attempt", os.getpid()))
    except BranchlineError as problem:
        return type(problem).__name__
    return "saved"


def orphan(path: str) -> None:
    """Die while holding the lock, leaving a forked child behind that has inherited its descriptor."""
    log = FileLog(path)
    with log.exclusive():
        child = os.fork()
        if child == 0:
            say("child", os.getpid())
            time.sleep(60)
            os._exit(0)
        time.sleep(0.2)  # the child lives
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
