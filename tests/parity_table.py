"""Which promises of the reference systems are met: rows, what the tests that carry their ids did, and the table.

A test that proves a whole row carries `parity("IND-03")`; one that proves a part of it
`parity("IND-11", part="the recorded pointer")`, which is not enough to call the row met.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROWS = Path(__file__).with_name("parity_rows.toml")


class Outcome(NamedTuple):
    """What one test did for the rows that it carries."""

    ids: tuple[str, ...]
    test: str
    result: str
    """``passed``, ``failed`` or ``skipped``."""
    part: bool = False


class Verdict(NamedTuple):
    """Whether a row is met, and the tests that say so."""

    id: str
    promise: str
    passed: list[str]
    in_part: list[str]
    failed: list[str]
    skipped: list[str]

    @property
    def word(self) -> str:
        """A row is met when a test that proves it has passed and none has failed."""
        if self.failed or not (self.passed or self.in_part):
            return "not met"
        return "met" if self.passed else "in part"


def promises(path: Path = ROWS) -> dict[str, dict[str, str]]:
    """The rows by system: id and promise."""
    return tomllib.loads(path.read_text(encoding="utf-8"))


def judge(rows: dict[str, str], outcomes: Iterable[Outcome]) -> list[Verdict]:
    """What the tests say about each row; each test once, however often it ran."""
    found = {row: Verdict(row, promise, [], [], [], []) for row, promise in rows.items()}
    for outcome in outcomes:
        for row in outcome.ids:
            if row in found:
                name = "in_part" if outcome.part and outcome.result == "passed" else outcome.result
                tests = getattr(found[row], name)
                if outcome.test not in tests:
                    tests.append(outcome.test)
    return list(found.values())


def lines(systems: dict[str, dict[str, str]], outcomes: Iterable[Outcome]) -> Iterator[str]:
    """The table as text, one row per promise with its tests below it."""
    known = list(outcomes)
    words: list[str] = []
    for system, rows in systems.items():
        verdicts = judge(rows, known)
        here = [verdict.word for verdict in verdicts]
        words += here
        yield ""
        yield f"{system} ({here.count('met')} of {len(here)} met)"
        for verdict in verdicts:
            yield f"  {verdict.word:7}  {verdict.id}  {verdict.promise}"
            yield from (f"               {test}" for test in verdict.passed)
            yield from (f"               in part {test}" for test in verdict.in_part)
            yield from (f"               FAILED {test}" for test in verdict.failed)
            if not verdict.passed:
                yield from (f"               skipped {test}" for test in verdict.skipped)
    yield ""
    yield f"{words.count('met')} of {len(words)} promises met, {words.count('in part')} in part"
