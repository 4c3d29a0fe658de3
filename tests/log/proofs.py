"""Proofs as functions, so that a mutant can be put to the same test as the real code.

Each takes a `System` (or a class of them) and a directory, and raises AssertionError when a word was lost,
a line fused or a promise broken.
"""

from __future__ import annotations

import itertools
import os
import shutil
from pathlib import Path

from branchline.errors import LockTimeout, NotSaved, ReadOnly
from branchline.log import Durability, FileLog, System, TornTail, publish_file, replace_file
from log.crash import Promise, Recorder, materialise, states
from log.faults import KINDS, Faulty, Unsynced

HEADER = b'{"id":"header"}\n'


def record(name: str, size: int = 60) -> bytes:
    """One line that can be recognised, whole or in pieces."""
    start = b'{"id":"%s","text":"' % name.encode()
    return start + b"x" * max(0, size - len(start) - 3) + b'"}\n'


def lines_of(data: bytes) -> list[bytes]:
    """The lines of a file, each with its newline; the last one perhaps without."""
    return [line + b"\n" for line in data.split(b"\n")[:-1]] + [
        line for line in data.split(b"\n")[-1:] if line
    ]


def _read(path: str | os.PathLike[str]) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def require_next_append_stands_alone(path: str | os.PathLike[str], *, system: System) -> None:
    """Whatever the file looks like: two more lines can be appended, and each is a line of its own."""
    before = _read(path)
    lines = [record("next 1"), record("next 2")]
    with FileLog(path, system=system, durability="os", lock_timeout=1) as log:
        for line in lines:
            with log.exclusive() as writer:
                offset = writer.append(line)
            assert log.read(offset, len(line)) == line
    closing = b"\n" if before and not before.endswith(b"\n") else b""
    assert _read(path) == before + closing + b"".join(lines), "a line is fused or lost"


def prove_tail(directory: Path, system: System) -> int:
    """Cut a file at every byte of its last record, then append twice: nothing is fused, nothing lost."""
    whole = HEADER + record("first") + record("last", 80)
    path = directory / "s.jsonl"
    start = len(whole) - 80
    for cut in range(start, len(whole) + 1):
        path.unlink(missing_ok=True)
        path.write_bytes(whole[:cut])
        with FileLog(path, system=system, durability="os") as log:
            torns: list[TornTail | None] = []
            for name in ("a", "b"):
                with log.exclusive() as writer:
                    offset = writer.append(record(name))
                    torns.append(writer.torn)
                assert log.read(offset, 60) == record(name)
        complete = cut >= len(whole) - 1
        tail = whole[start:cut].rstrip(b"\n")
        expected = [HEADER, record("first"), *([tail + b"\n"] if tail else []), record("a"), record("b")]
        assert lines_of(path.read_bytes()) == expected
        assert torns[1] is None
        if tail and not complete:
            assert torns[0] is not None
            assert (torns[0].offset, torns[0].size) == (start, len(tail))
            assert torns[0].kept_at is not None
            assert Path(torns[0].kept_at).read_bytes() == tail
        else:
            assert torns[0] is None
    return len(whole) + 1 - start


def prove_failures(
    directory: Path,
    faulty: type[Faulty],
    *,
    lasting: bool,
    durability: Durability,
    kinds: list[str] = KINDS,
    before: bytes = HEADER + b'{"id":"torn","te',
) -> int:
    """Let call 1, 2, 3 … of a series of appends fail, in each way, until none is left to fail."""
    runs = 0
    for kind in kinds:
        for at in itertools.count(1):
            path = directory / f"{kind}-{at}".replace(" ", "-") / "s.jsonl"
            path.parent.mkdir()
            path.write_bytes(before)
            system = faulty()
            system.strike(at, kind, lasting=lasting)
            try:
                _append_through_failures(path, system, durability=durability, before=before)
            except AssertionError as problem:
                raise AssertionError(f"{kind} at call {at}: {problem}") from problem
            runs += 1
            if not system.struck:
                break
    return runs


def _append_through_failures(path: Path, system: Faulty, *, durability: Durability, before: bytes) -> None:
    try:
        log = FileLog(path, system=system, durability=durability, lock_timeout=0.05)
    except (OSError, KeyboardInterrupt):
        system.heal()
        log = FileLog(path, system=system, durability=durability, lock_timeout=0.05)
    data = [record("one"), record("two") + record("three"), record("four", 400)]
    known = path.read_bytes()
    try:
        for each in data:
            saved, offset = False, -1
            for _attempt in range(3):
                try:
                    with log.exclusive() as writer:
                        offset = writer.append(each)
                        saved = True
                except (NotSaved, ReadOnly) as problem:
                    assert not saved, "an append that had returned was reported as failed"
                    said = str(problem)
                    if "may or may not be there" not in said and "taken back" not in said:
                        assert path.read_bytes() == known, f"the file has changed in spite of: {said}"
                except KeyboardInterrupt:
                    if not saved and not system._lasting:
                        assert path.read_bytes() == known, "an interrupted append has left something"
                if saved:
                    break
                system.heal()
            assert saved, f"{each[:12]!r} could not be appended although the disk was well again"
            known = path.read_bytes()
            assert known[offset : offset + len(each)] == each
    finally:
        try:
            log.close()
        except KeyboardInterrupt:
            log.close()
    system.heal()
    tail = lines_of(before)[1:]
    expected = [HEADER, *(line + b"\n" for line in tail), *lines_of(b"".join(data))]
    assert lines_of(known) == expected, "the file holds something else than what was saved"
    require_next_append_stands_alone(path, system=system)


def prove_exclusion(directory: Path, system: System) -> None:
    """While one log holds the lock, another on the same file does not get it, and gets it afterwards."""
    path = directory / "s.jsonl"
    path.write_bytes(HEADER)
    with FileLog(path, system=system) as one, FileLog(path, system=system, lock_timeout=0) as other:
        with one.exclusive():
            try:
                with other.exclusive():
                    raise AssertionError("two writers held the lock at once")
            except LockTimeout:
                pass
        with other.exclusive() as writer:
            writer.append(record("other"))


def prove_foreign_writer(directory: Path, system: System) -> None:
    """A program that appends without locking loses nothing to us, and we nothing to it."""
    path = directory / "s.jsonl"
    path.write_bytes(HEADER)
    expected = [HEADER]
    with FileLog(path, system=system, durability="os") as log, open(path, "ab", buffering=0) as foreign:
        for n in range(5):
            foreign.write(record(f"foreign {n}"))
            with log.exclusive() as writer:
                foreign.write(record(f"late {n}"))
                offset = writer.append(record(f"ours {n}"))
            assert log.read(offset, 60) == record(f"ours {n}"), "an offset does not lead to its record"
            expected += [record(f"{who} {n}") for who in ("foreign", "late", "ours")]
    assert lines_of(path.read_bytes()) == expected


DRAFT, SESSION = "drafts/d.jsonl", "sessions/s.jsonl"


def live(recorder: Recorder, *, durability: Durability, records: int = 8) -> None:
    """One life of a session: draft, appends, publication, a torn tail, a full disk, a rewrite."""
    lines = [HEADER, record("first", 130)]
    draft, session = Path(recorder.root, DRAFT), Path(recorder.root, SESSION)
    synced = durability == "fsync"

    def promise(*paths: str, kept: tuple[tuple[str, bytes], ...] = (), synced: bool = synced) -> None:
        promised = tuple(lines) if synced else recorder_lines[-1]
        recorder_lines.append(promised)
        recorder.promise(Promise(paths, promised, kept))

    recorder_lines: list[tuple[bytes, ...]] = [()]

    def append(log: FileLog, *new: bytes) -> None:
        with log.exclusive() as writer:
            writer.append(b"".join(new))
        lines.extend(new)

    log = FileLog.create(draft, b"".join(lines), durability=durability, system=recorder)
    promise(DRAFT, synced=True)
    with log:
        for n in range(records):
            append(log, *(record(f"draft {n}.{m}", 70 + 25 * n) for m in range(1 + n % 3)))
            promise(DRAFT)
    promise(DRAFT, SESSION)
    publish_file(draft, session, system=recorder)
    promise(SESSION)

    # Another program dies while it writes; its fragment has reached the disk.
    fragment = b'{"id":"torn","text":"never fini'
    descriptor = recorder.open(str(session), os.O_WRONLY | os.O_APPEND)
    recorder.write(descriptor, fragment)
    recorder.fsync(descriptor)
    recorder.close(descriptor)

    with FileLog(session, durability=durability, system=recorder) as log:
        append(log, record("after the torn one", 150))
        lines.insert(-1, fragment + b"\n")
        kept: tuple[tuple[str, bytes], ...] = (("sessions/.branchline/torn", fragment),)
        promise(SESSION, kept=kept)
        for n in range(records):
            recorder.full = True
            try:
                append(log, record(f"too much {n}", 120))
                raise AssertionError("the disk was full")
            except NotSaved:
                recorder.full = False
            append(log, record(f"session {n}", 90 + 10 * n))
            promise(SESSION, kept=kept)

    old = session.read_bytes()
    lines.insert(1, record("new in the head", 100))
    replace_file(session, iter(lines), system=recorder)
    kept = (*kept, ("sessions/.branchline/backups", old))
    promise(SESSION, kept=kept, synced=True)
    with FileLog(session, durability=durability, system=recorder) as log:
        for n in range(records):
            append(log, record(f"last {n}", 200))
            promise(SESSION, kept=kept)


def prove_crashes(
    directory: Path, recorder: type[Recorder], *, durability: Durability, records: int = 8
) -> int:
    """Cut the power everywhere in a life: what was promised is there, and the next append stands alone."""
    world = directory / "world"
    world.mkdir()
    recording = recorder(world)
    live(recording, durability=durability, records=records)
    count = 0
    system = Unsynced()
    tried = set()
    root = str(directory / "state")
    for tree, promise in states(recording.events):
        count += 1
        _require_promise(dict(tree), promise)
        # What the next append does depends on the file and on the folders beside it; once for each is enough.
        key = tuple((path, content if path in (DRAFT, SESSION) else None) for path, content in tree)
        if key in tried:
            continue
        tried.add(key)
        materialise(tree, root)
        for path, content in tree:
            if path in (DRAFT, SESSION) and content is not None:
                require_next_append_stands_alone(os.path.join(root, path), system=system)
        shutil.rmtree(root)
    return count


def _require_promise(tree: dict[str, bytes | None], promise: Promise) -> None:
    if promise.paths:
        there = [content for path in promise.paths if (content := tree.get(path)) is not None]
        assert there, f"no file at {promise.paths}"
        # Where the draft and the session are both there they are the same file, so any of them will do.
        found = lines_of(there[-1])
        places = iter(found)
        missing = [line for line in promise.lines if line not in places]
        assert not missing, f"lost: {missing[:3]}"
    for directory, data in promise.kept:
        copies = [content for path, content in tree.items() if os.path.dirname(path) == directory]
        assert data in copies, f"{data[:40]!r} is not kept in {directory}"
