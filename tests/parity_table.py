"""Which promises of the reference systems are met: rows, what the tests that carry their ids did, and the table."""

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


class Verdict(NamedTuple):
    """Whether a row is met, and the tests that say so."""

    id: str
    promise: str
    met: bool
    passed: list[str]
    failed: list[str]
    skipped: list[str]


def promises(path: Path = ROWS) -> dict[str, dict[str, str]]:
    """The rows by system: id and promise."""
    return tomllib.loads(path.read_text(encoding="utf-8"))


def judge(rows: dict[str, str], outcomes: Iterable[Outcome]) -> list[Verdict]:
    """A row is met when a test that carries it has passed and none has failed."""
    found: dict[str, dict[str, list[str]]] = {
        row: {"passed": [], "failed": [], "skipped": []} for row in rows
    }
    for outcome in outcomes:
        for row in outcome.ids:
            tests = found.get(row, {}).get(outcome.result)
            if tests is not None and outcome.test not in tests:
                tests.append(outcome.test)
    return [
        Verdict(row, promise, bool(found[row]["passed"]) and not found[row]["failed"], **found[row])
        for row, promise in rows.items()
    ]


def lines(systems: dict[str, dict[str, str]], outcomes: Iterable[Outcome]) -> Iterator[str]:
    """The table as text, one row per promise with its tests below it."""
    known = list(outcomes)
    met = total = 0
    for system, rows in systems.items():
        verdicts = judge(rows, known)
        here = sum(verdict.met for verdict in verdicts)
        met, total = met + here, total + len(verdicts)
        yield ""
        yield f"{system} ({here} of {len(verdicts)} met)"
        for verdict in verdicts:
            yield f"  {'met    ' if verdict.met else 'not met'}  {verdict.id}  {verdict.promise}"
            yield from (f"               {test}" for test in verdict.passed)
            yield from (f"               FAILED {test}" for test in verdict.failed)
            if not verdict.passed:
                yield from (f"               skipped {test}" for test in verdict.skipped)
    yield ""
    yield f"{met} of {total} promises met"
