"""Real disks, small and mortal, in a mount namespace of their own: `unshare -m python disks.py VERB …`.

Needs root. The mounts vanish with this process. What was seen is said on standard output as JSON.
"""

from __future__ import annotations

import fcntl
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import threading
import time

from branchline.errors import LogError, NotSaved
from branchline.log import Durability, FileLog, Log, replace_file
from branchline.stores.sqlite import SqliteLog, SqliteStore

GOING_DOWN = 0x8004587D
"""FS_IOC_GOINGDOWN: the file system stops at once, as if the power had failed."""
WITHOUT_LOG_FLUSH = 2


def sh(*command: str) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def make_disk(image: str, kind: str, megabytes: int) -> None:
    with open(image, "wb") as file:
        file.truncate(megabytes << 20)
    sh(f"mkfs.{kind}", "-q", image)


def line_of(number: int, size: int) -> bytes:
    return json.dumps({"number": number, "text": "x" * size}).encode() + b"\n"


def append(log: Log, line: bytes) -> int:
    with log.exclusive() as writer:
        return writer.append(line)


def full(directory: str, kind: str) -> None:
    """Fill a small disk to the last byte: every failure leaves the files as they were, and room heals it."""
    mount = os.path.join(directory, "mount")
    os.mkdir(mount)
    if kind == "tmpfs":
        sh("mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", mount)
    else:
        make_disk(os.path.join(directory, "image"), kind, 8)
        sh("mount", "-o", "loop", os.path.join(directory, "image"), mount)
    path = os.path.join(mount, "s.jsonl")
    filler = os.path.join(mount, "filler")
    log = FileLog.create(path, line_of(-1, 10))
    with open(filler, "wb") as file:
        file.write(bytes(100_000))
        os.fsync(file.fileno())

    said: list[str] = []
    number, before = 0, b""
    while not said:
        before = _read(path)
        try:
            append(log, line_of(number, 5000))
            number += 1
        except NotSaved as problem:
            said.append(str(problem))
    assert _read(path) == before, "a failed append has left something"
    _fill(os.path.join(mount, "rest"))  # a shorter record might still have fitted; now nothing does

    with open(path, "r+b") as file:
        file.truncate(len(before) - 7)  # and now a torn tail, for whose copy there is no room either
    torn = _read(path)
    with FileLog(path) as other:
        try:
            append(other, line_of(number, 5000))
            said.append("a copy of the tail and a record fitted on a full disk")
        except NotSaved as problem:
            said.append(str(problem))
    assert _read(path) == torn, "a failed append has changed a torn tail"

    try:
        replace_file(path, before + line_of(number, 5000))
        said.append("a rewritten file fitted on a full disk")
    except NotSaved as problem:
        said.append(str(problem))
    assert _read(path) == torn, "a failed replacement has changed the file"

    new = os.path.join(mount, "new.jsonl")
    try:
        FileLog.create(new, line_of(0, 5000))
        said.append("a new file fitted on a full disk")
    except NotSaved as problem:
        said.append(str(problem))
    assert not os.path.exists(new), "a failed creation has left a file"

    os.unlink(filler)
    with FileLog(path) as other:
        offset = append(other, line_of(number, 5000))
        assert other.read(offset, 6000) == line_of(number, 5000)
    log.close()
    print(json.dumps({"saved": number, "said": said}))


def full_database(directory: str) -> None:
    """Fill a small disk under a database: a failed append leaves nothing, and room heals it."""
    mount = os.path.join(directory, "mount")
    os.mkdir(mount)
    sh("mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", mount)
    store = SqliteStore(os.path.join(mount, "s.db"))
    log = store.create("s", line_of(-1, 10))
    filler = os.path.join(mount, "filler")
    with open(filler, "wb") as file:
        file.write(bytes(200_000))
    said: list[str] = []
    lines = [line_of(-1, 10)]
    while not said:
        try:
            append(log, line_of(len(lines), 5000))
            lines.append(line_of(len(lines), 5000))
        except NotSaved as problem:
            said.append(str(problem))
    _fill(os.path.join(mount, "rest"))
    for attempt in (lambda: append(log, line_of(0, 5000)), lambda: store.create("new", line_of(0, 5000))):
        try:
            attempt()
            said.append("it fitted on a full disk")
        except NotSaved as problem:
            said.append(str(problem))
    assert log.read(0, 1 << 20) == b"".join(lines), "a failed append has left something"
    assert [found.key for found in store.scan().found] == ["s"]

    os.unlink(filler)
    append(log, line_of(0, 5000))
    assert log.read(0, 1 << 20) == b"".join([*lines, line_of(0, 5000)])
    store.close()
    print(json.dumps({"saved": len(lines), "said": said}))


def _fill(path: str) -> None:
    with open(path, "wb", buffering=0) as file:
        size = 4096
        while size:
            try:
                file.write(bytes(size))
                os.fsync(file.fileno())
            except OSError:
                size //= 2


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def create(path: str, line: bytes, durability: Durability) -> Log:
    """A new log: a file, or a session of a new database."""
    if path.endswith(".db"):
        return SqliteStore(path).create("s", line, durability=durability)
    return FileLog.create(path, line, durability=durability)


def close(log: Log) -> None:
    """Close a log so that its disk can be unmounted."""
    log.close()
    if isinstance(log, SqliteLog):
        log._store.close()


def power(directory: str, kind: str, durability: Durability, rounds: str, name: str) -> None:
    """Cut the power under a writer, many times; after each look for what it had acknowledged."""
    image, mount = os.path.join(directory, "image"), os.path.join(directory, "mount")
    os.mkdir(mount)
    make_disk(image, kind, 320 if kind == "xfs" else 64)
    chance = random.Random(kind + durability)
    result = {"acknowledged": 0, "lost": 0, "torn": 0, "rounds": int(rounds)}
    for number in range(int(rounds)):
        sh("mount", "-o", "loop", image, mount)
        path = os.path.join(mount, "sessions", str(number), name)
        acknowledged = _until_the_cut(mount, path, durability, chance)
        sh("umount", mount)
        sh("mount", "-o", "loop", image, mount)
        _look(path, acknowledged, result)
        sh("umount", mount)
    print(json.dumps(result))


def _until_the_cut(mount: str, path: str, durability: Durability, chance: random.Random) -> list[bytes]:
    lines = [line_of(0, 100)]
    log = create(path, lines[0], durability)
    sizes = [chance.choice([20, 300, 3000, 30_000]) for _ in range(1000)]

    def work() -> None:
        for number, size in enumerate(sizes, 1):
            try:
                append(log, line_of(number, size))
            except LogError:
                return
            lines.append(line_of(number, size))

    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(chance.random() * 0.05)
    descriptor = os.open(mount, os.O_RDONLY)
    # The call is not as sudden as a power cut: a sync that is under way meanwhile can return without an error,
    # although its record is lost. With real power nobody would be left to hear of it.
    acknowledged = len(lines)
    fcntl.ioctl(descriptor, GOING_DOWN, struct.pack("I", WITHOUT_LOG_FLUSH))
    os.close(descriptor)
    thread.join()
    close(log)
    return lines[:acknowledged]


def _look(path: str, acknowledged: list[bytes], result: dict[str, int]) -> None:
    log = SqliteStore(path).open("s") if path.endswith(".db") else FileLog(path)
    found = [line + b"\n" for line in log.read(0, log.size()).split(b"\n")]
    lost = [line for line in acknowledged if line not in found]
    result["acknowledged"] += len(acknowledged)
    result["lost"] += len(lost)
    assert acknowledged[0] not in lost, "a created file was lost"
    for number in (-1, -2):
        with log.exclusive() as writer:
            offset = writer.append(line_of(number, 50))
            result["torn"] += writer.torn is not None
        assert log.read(offset, 1000) == line_of(number, 50)
    close(log)
    shutil.rmtree(os.path.dirname(path))


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
