"""Proofs as functions, so that a mutant can be put to the same test as the real code.

Each takes a `System` (or a class of them) and a directory, and raises AssertionError when a word was lost,
a line fused or a promise broken.
"""

import itertools
import os
from pathlib import Path

from log.faults import KINDS, Faulty

from branchline.errors import BranchlineError, LockTimeout, NotSaved, ReadOnly
from branchline.log import FileLog, System

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


def require_no_fused_line(data: bytes):
    for line in lines_of(data):
        assert line.count(b'"id":"') <= 1, f"two records in one line: {line!r}"


def require_next_append_stands_alone(path: str | os.PathLike[str], *, system: System):
    """Whatever the file looks like: two more lines can be appended, and each is a line of its own."""
    before = Path(path).read_bytes()
    with FileLog(path, system=system, durability="os", lock_timeout=1) as log:
        for name in ("next 1", "next 2"):
            line = record(name)
            with log.exclusive() as writer:
                offset = writer.append(line)
            assert log.read(offset, len(line)) == line
    after = Path(path).read_bytes()
    assert after.startswith(before)
    assert lines_of(after)[-2:] == [record("next 1"), record("next 2")]
    require_no_fused_line(after)


def prove_tail(directory: Path, system: System) -> int:
    """Cut a file at every byte of its last record, then append twice: nothing is fused, nothing lost."""
    whole = HEADER + record("first") + record("last", 80)
    path = directory / "s.jsonl"
    start = len(whole) - 80
    for cut in range(start, len(whole) + 1):
        path.unlink(missing_ok=True)
        path.write_bytes(whole[:cut])
        with FileLog(path, system=system, durability="os") as log:
            torns = []
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
            assert (torns[0].offset, torns[0].size) == (start, len(tail))
            assert Path(torns[0].kept_at).read_bytes() == tail
        else:
            assert torns[0] is None
    return len(whole) + 1 - start


def prove_failures(
    directory: Path,
    faulty: type[Faulty],
    *,
    lasting: bool,
    durability: str,
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


def _append_through_failures(path: Path, system: Faulty, *, durability: str, before: bytes):
    try:
        log = FileLog(path, system=system, durability=durability, lock_timeout=0.05)
    except (OSError, KeyboardInterrupt):
        system.heal()
        log = FileLog(path, system=system, durability=durability, lock_timeout=0.05)
    data = [record("one"), record("two") + record("three"), record("four", 400)]
    known = path.read_bytes()
    try:
        for each in data:
            for _attempt in range(3):
                saved = False
                try:
                    with log.exclusive() as writer:
                        offset = writer.append(each)
                        saved = True
                except (NotSaved, ReadOnly) as problem:
                    assert not saved, "an append that had returned was reported as failed"
                    if "may or may not be there" not in str(problem) and "taken back" not in str(problem):
                        assert path.read_bytes() == known, f"the file has changed in spite of: {problem}"
                except LockTimeout as problem:
                    assert "EINTR" in str(problem) or system._kind == "EINTR", problem
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
    assert lines_of(known) == [HEADER, *(line + b"\n" for line in tail), *lines_of(b"".join(data))]
    require_next_append_stands_alone(path, system=system)


def prove_exclusion(directory: Path, system: System):
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


def prove_foreign_writer(directory: Path, system: System):
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


__all__ = [
    "HEADER",
    "BranchlineError",
    "lines_of",
    "prove_exclusion",
    "prove_failures",
    "prove_foreign_writer",
    "prove_tail",
    "record",
    "require_next_append_stands_alone",
    "require_no_fused_line",
]
