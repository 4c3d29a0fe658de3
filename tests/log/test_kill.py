"""A killed process loses nothing that it has acknowledged."""

import random
import time

import pytest

from branchline.log import FileLog
from log.processes import child, records_in

HEADER = b'{"name":"header","number":0}\n'


def kill_one(path, *, durability: str, chance: random.Random) -> int:
    """Let a child append until it is killed; return how many records it acknowledged."""
    path.write_bytes(HEADER)
    with child("append", path, durability, "child", 0, 3_000_000) as process:
        first = process.stdout.readline()
        time.sleep(chance.random() * 0.05)
        process.kill()
        said = [first, *process.stdout.readlines()]

    acknowledged = [int(line.split()[1]) for line in said if line.endswith("\n")]
    before, torn_before = records_in(path.read_bytes())
    assert before[: 1 + len(acknowledged)] == [("header", 0), *(("child", n) for n in acknowledged)]
    assert len(before) <= len(acknowledged) + 2, "at most one record more than was acknowledged"
    assert torn_before <= 1

    with FileLog(path, lock_timeout=0) as log:
        for number in range(2):
            with log.exclusive() as writer:
                writer.append(b'{"name":"next","number":%d}\n' % number)
    after, torn_after = records_in(path.read_bytes())
    assert after == [*before, ("next", 0), ("next", 1)]
    assert torn_after == torn_before
    return len(acknowledged)


@pytest.mark.parametrize("durability", ["fsync", "os"])
def test_no_acknowledged_record_is_lost_to_kill(tmp_path, durability):
    chance = random.Random(durability)

    counts = [kill_one(tmp_path / f"{n}.jsonl", durability=durability, chance=chance) for n in range(10)]

    assert sum(counts) > 10


@pytest.mark.slow
@pytest.mark.parametrize("durability", ["fsync", "os"])
def test_no_acknowledged_record_is_lost_to_kill_in_two_hundred_rounds(tmp_path, durability):
    chance = random.Random(durability)
    path = tmp_path / "s.jsonl"
    total = 0

    for _ in range(200):
        path.unlink(missing_ok=True)
        total += kill_one(path, durability=durability, chance=chance)

    assert total > 200
