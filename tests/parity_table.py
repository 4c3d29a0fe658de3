"""The promises of the reference systems: the rows, the tests that carry their ids, and what those tests did.

``parity_rows.toml`` is the one file that holds the rows, word for word. A test that proves a whole row carries
`parity("IND-03")`; one that proves a part of it `parity("IND-11", part="the recorded pointer")`, which is not
enough to call the row met. ``scripts/parity.py`` writes the names of these tests into the file, and the page
``docs/parity.md`` from it.
"""

from __future__ import annotations

import ast
import json
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROWS = Path(__file__).with_name("parity_rows.toml")
_TESTS = ROWS.parent

_PAGE = """# Parity

Five systems keep agent conversations in a way that people rely on. Each row is a promise that one of them makes to its
users (names in *italics* are its own), with the call or the command that keeps it in branchline and the tests that
prove it. `make parity` runs exactly these tests and prints which rows are met. Where branchline deliberately does
something else, [Differences](differences.md) says what and why; [Coming from another system](coming-from/index.md) has
a guide for each of the five.

This page is written by `scripts/parity.py` from `tests/parity_rows.toml`.
"""


class Outcome(NamedTuple):
    """What one test did for the rows that it carries."""

    ids: tuple[str, ...]
    test: str
    result: str
    """``passed``, ``failed`` or ``skipped``."""
    part: bool = False


class Row(NamedTuple):
    """One promise: who makes it, its words, what keeps it here, and the tests that prove it."""

    id: str
    source: str
    promise: str
    here: str
    tests: tuple[str, ...]


class Verdict(NamedTuple):
    """Whether a row is met, and the tests that say so."""

    row: Row
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


def rows(path: Path = ROWS) -> list[Row]:
    """All rows, in the order of the file."""
    found = tomllib.loads(path.read_text(encoding="utf-8"))
    return [
        Row(row_id, row["source"], row["promise"], row["here"], tuple(row["tests"]))
        for row_id, row in found.items()
    ]


def marked_tests(directory: Path = _TESTS) -> dict[str, list[str]]:
    """For each row the tests that carry its id, as pytest names them, in the order of the files."""
    found: dict[str, list[str]] = {}
    for path in sorted(directory.rglob("test_*.py")):
        source = path.read_text(encoding="utf-8")
        if "mark.parity" not in source:
            continue
        name = path.relative_to(directory.parent).as_posix()
        for node in ast.parse(source).body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                for row in _marks(node):
                    found.setdefault(row, []).append(f"{name}::{node.name}")
    return found


def _marks(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.parity":
            yield from (
                argument.value
                for argument in decorator.args
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
            )


def rows_text(found: Iterable[Row]) -> str:
    """The content of the file that holds these rows."""
    parts = [
        "# What five systems promise to their users, word for word. `tests` are those that carry the id of the row,",
        "# `@pytest.mark.parity(…)`; `python scripts/parity.py` writes them, and docs/parity.md.",
    ]
    for row in found:
        parts += ["", f"[{row.id}]"]
        parts += [
            f"{name} = {json.dumps(getattr(row, name), ensure_ascii=False)}"
            for name in ("source", "promise", "here")
        ]
        parts += ["tests = [", *(f"  {json.dumps(test)}," for test in row.tests), "]"]
    return "\n".join(parts) + "\n"


def page_text(found: Iterable[Row]) -> str:
    """The page that shows these rows."""
    parts = [_PAGE]
    source = ""
    for row in found:
        if row.source != source:
            source = row.source
            parts += [f"## {source}\n", "| id | promise | here | proven by |", "|---|---|---|---|"]
        parts.append(f"| {row.id} | {row.promise} | {row.here} | {_tests_cell(row.tests)} |")
        parts += [""] * (row.id == _last_of(source, found))
    return "\n".join(parts).rstrip("\n") + "\n"


def _last_of(source: str, found: Iterable[Row]) -> str:
    return [row.id for row in found if row.source == source][-1]


def _tests_cell(tests: tuple[str, ...]) -> str:
    files = dict.fromkeys(test.partition("::")[0] for test in tests)
    count = "1 test" if len(tests) == 1 else f"{len(tests)} tests"
    return f"{count}: {', '.join(f'`{file}`' for file in files)}" if tests else "none"


def judge(found: Iterable[Row], outcomes: Iterable[Outcome]) -> list[Verdict]:
    """What the tests say about each row; each test once, however often it ran."""
    verdicts = {row.id: Verdict(row, [], [], [], []) for row in found}
    for outcome in outcomes:
        for row_id in outcome.ids:
            if row_id in verdicts:
                name = "in_part" if outcome.part and outcome.result == "passed" else outcome.result
                tests = getattr(verdicts[row_id], name)
                if outcome.test not in tests:
                    tests.append(outcome.test)
    return list(verdicts.values())


def lines(found: Iterable[Row], outcomes: Iterable[Outcome]) -> Iterator[str]:
    """The table as text, one row per promise with its tests below it."""
    verdicts = judge(found, outcomes)
    for source in dict.fromkeys(verdict.row.source for verdict in verdicts):
        here = [verdict for verdict in verdicts if verdict.row.source == source]
        yield ""
        yield f"{source} ({sum(verdict.word == 'met' for verdict in here)} of {len(here)} met)"
        for verdict in here:
            yield f"  {verdict.word:7}  {verdict.row.id}  {verdict.row.promise}"
            yield from (f"               {test}" for test in verdict.passed)
            yield from (f"               in part {test}" for test in verdict.in_part)
            yield from (f"               FAILED {test}" for test in verdict.failed)
            if not verdict.passed:
                yield from (f"               skipped {test}" for test in verdict.skipped)
    words = [verdict.word for verdict in verdicts]
    yield ""
    yield f"{words.count('met')} of {len(words)} promises met, {words.count('in part')} in part"
