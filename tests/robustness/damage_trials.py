"""Files that were damaged on the way: bytes changed, lines lost, repeated, torn or glued."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import NamedTuple

from robustness.field_trials import SAMPLES, trials

__all__ = ["Damaged", "damaged_files"]


class Damaged(NamedTuple):
    """A sample with some damage, and the words for it."""

    name: str
    """Of the file."""
    damage: str
    data: bytes


Damage = Callable[[list[bytes], random.Random], list[bytes]]


def _place(lines: list[bytes], chance: random.Random) -> int:
    return chance.randrange(len(lines))


def _flip(lines: list[bytes], chance: random.Random) -> list[bytes]:
    number = _place(lines, chance)
    line = bytearray(lines[number] or b" ")
    for _ in range(chance.choice([1, 1, 3])):
        line[chance.randrange(len(line))] ^= 1 << chance.randrange(8)
    return [*lines[:number], bytes(line), *lines[number + 1 :]]


def _zeros(lines: list[bytes], chance: random.Random) -> list[bytes]:
    data = bytearray(b"\n".join(lines))
    start = chance.randrange(len(data) or 1)
    data[start : start + 300] = bytes(len(data[start : start + 300]))
    return bytes(data).split(b"\n")


def _lost(lines: list[bytes], chance: random.Random) -> list[bytes]:
    number = _place(lines, chance)
    return lines[:number] + lines[number + 1 :]


def _lost_head(lines: list[bytes], chance: random.Random) -> list[bytes]:
    return lines[chance.choice([1, 1, 2, 3]) :]


def _repeated(lines: list[bytes], chance: random.Random) -> list[bytes]:
    number = _place(lines, chance)
    other = _place(lines, chance)
    return [*lines[:other], lines[number], *lines[other:]]


def _swapped(lines: list[bytes], chance: random.Random) -> list[bytes]:
    changed = list(lines)
    one, other = _place(lines, chance), _place(lines, chance)
    changed[one], changed[other] = changed[other], changed[one]
    return changed


def _torn(lines: list[bytes], chance: random.Random) -> list[bytes]:
    number = _place(lines, chance)
    cut = chance.randrange(len(lines[number]) + 1)
    return [*lines[:number], lines[number][:cut], *lines[number + 1 :]]


def _glued(lines: list[bytes], chance: random.Random) -> list[bytes]:
    number = _place(lines, chance)
    cut = chance.randrange(len(lines[number]) + 1)
    following = lines[number + 1] if number + 1 < len(lines) else b""
    return [*lines[:number], lines[number][:cut] + following, *lines[number + 2 :]]


def _garbage(lines: list[bytes], chance: random.Random) -> list[bytes]:
    number = _place(lines, chance)
    junk = chance.choice([b"{}", b"null", b"[1]", b"garbage", b'{"type":5}', b'{"type":"x"}', b"\xff\xfe{"])
    return [*lines[:number], junk, *lines[number + chance.choice([0, 1]) :]]


_DAMAGES: tuple[Damage, ...] = (
    _flip, _zeros, _lost, _lost_head, _repeated, _swapped, _torn, _glued, _garbage,
)  # fmt: skip


def damaged_files(format_name: str, seed: int, count: int) -> Iterator[Damaged]:
    """So many damaged files; every third has a value of a wrong type in one of its fields."""
    chance = random.Random(f"{format_name}:{seed}:damage")
    fields = trials(format_name, seed, count)
    samples = [(file.name, file.read_bytes()) for file in SAMPLES[format_name]]
    for number in range(count):
        if number % 3 == 0:
            trial = next(fields)
            yield Damaged(trial.sample.name, str(trial), trial.data())
            continue
        name, data = chance.choice(samples)
        lines, words = data.split(b"\n"), []
        for _ in range(chance.choice([1, 1, 2])):
            damage = chance.choice(_DAMAGES)
            lines = damage(lines, chance) or [b""]
            words.append(damage.__name__.strip("_"))
        yield Damaged(name, f"{name}: {', '.join(words)} ({number})", b"\n".join(lines))
