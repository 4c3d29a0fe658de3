"""The tasks of the benchmark, their data and their goals.

A goal is a share of pi 1.5.0's number for the same task in the same run or, for other agents' files, of
branchline's number for native files. Tasks without a goal are informative. Peak memory with a goal gets a
separate row.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from bench import foreign, generate

APPENDED = 2_000
GROWTH = (1_000, 100_000)


@dataclass(frozen=True, kw_only=True)
class Work:
    """One row of the table; `prepare` receives an empty directory and returns the worker's arguments."""

    group: str
    name: str
    work: str
    prepare: Callable[[Path], list[str]]
    share: float | None = None
    memory_share: float | None = None
    entries: int = 1
    megabytes: int | None = None


def works(*, full: bool) -> list[Work]:
    large = 105
    lines = [
        Work(
            group="open",
            name="open: leaf, path, outline",
            work="open",
            prepare=lambda _: [str(generate.linear(large))],
            share=1 / 6,
            memory_share=1 / 3,
        ),
        Work(
            group="open",
            name="open a branchy session",
            work="open",
            prepare=lambda _: [str(generate.branchy(large))],
            share=1 / 5.5,
        ),
        Work(
            group="warm",
            name="open again + path, linear",
            work="warm",
            prepare=lambda _: [str(generate.linear(large))],
            share=1 / 100,
        ),
        Work(
            group="warm",
            name="open again + path, branchy",
            work="warm",
            prepare=lambda _: [str(generate.branchy(large))],
            share=1 / 100,
        ),
        Work(
            group="context",
            name="open + context, no compaction",
            work="context",
            prepare=lambda _: [str(generate.linear(large))],
            share=1 / 3,
        ),
        Work(
            group="compaction",
            name="open + context, compacted",
            work="context",
            prepare=lambda _: [str(generate.compacted(large))],
            share=1 / 6,
            memory_share=1 / 3,
        ),
        Work(
            group="list",
            name="list 2,000 sessions, deep",
            work="list-deep",
            prepare=lambda _: [str(generate.library(2_000, 125))],
            share=1 / 4,
        ),
        Work(
            group="list",
            name="list 2,000 sessions again, deep",
            work="list-again",
            prepare=lambda _: [str(generate.library(2_000, 125))],
            share=1 / 60,
        ),
        Work(
            group="list",
            name="list 2,000 sessions, shallow",
            work="list-shallow",
            prepare=lambda _: [str(generate.library(2_000, 125))],
            share=1 / 50,
        ),
        _append("append, durability os", "os", share=1.2),
        _append("append, durability fsync", "fsync"),
    ]
    sizes = (10, 100, 1_000) if full else (10, 100)
    return lines + [_open(megabytes) for megabytes in sizes] + [_append_to(count) for count in GROWTH]


NATIVE = "native"


@dataclass(frozen=True, kw_only=True)
class Foreign:
    """One task on the same conversations in each agent's format; `shares` are relative to native files."""

    name: str
    work: str
    data: Callable[[str], Path]
    shares: Mapping[str, float]
    formats: tuple[str, ...] = foreign.OPENED
    per_byte: bool = False


def foreign_works() -> list[Foreign]:
    return [
        Foreign(
            name="open",
            work="open",
            data=lambda name: generate.linear(105) if name == NATIVE else foreign.linear(name, 105),
            shares={"zot": 1.5, "piglet": 1.5},
        ),
        Foreign(
            name="list 2,000, deep",
            work="list-deep",
            data=lambda name: (
                generate.library(2_000, 125) if name == NATIVE else foreign.library(name, 2_000, 125)
            ),
            shares=dict.fromkeys(foreign.OPENED, 2.0),
        ),
        Foreign(
            name="open, per byte",
            work="open",
            data=lambda name: generate.linear(30) if name == NATIVE else foreign.linear(name, 30),
            shares=dict.fromkeys(foreign.PER_BYTE, 2.0),
            formats=foreign.PER_BYTE,
            per_byte=True,
        ),
        Foreign(
            name="list 2,000, deep, per byte",
            work="list-deep",
            data=lambda name: (
                generate.library(2_000, 125) if name == NATIVE else foreign.library(name, 2_000, 125)
            ),
            shares=dict.fromkeys(foreign.PER_BYTE, 2.5),
            formats=foreign.PER_BYTE,
            per_byte=True,
        ),
    ]


def growth_name(count: int) -> str:
    return f"append to {count:,} entries"


def _append(name: str, durability: str, share: float | None = None) -> Work:
    return Work(
        group="append",
        name=name,
        work="append",
        prepare=lambda home: [str(home), str(generate.messages(APPENDED)), durability],
        share=share,
        entries=APPENDED,
    )


def _append_to(count: int) -> Work:
    def prepare(home: Path) -> list[str]:
        copy = shutil.copy(generate.small_entries(count), home / "session.jsonl")
        return [str(copy), str(generate.messages(APPENDED))]

    return Work(group="growth", name=growth_name(count), work="append-to", prepare=prepare, entries=APPENDED)


def _open(megabytes: int) -> Work:
    return Work(
        group="scaling",
        name=f"open {megabytes:,} MB",
        work="open",
        prepare=lambda _: [str(generate.linear(megabytes))],
        megabytes=megabytes,
    )
