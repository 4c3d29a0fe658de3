"""One bad value in a database costs one row: every command and every call gives an answer.

Each trial puts a value that does not belong there into one column of one row, or into one field of the JSON in it.
"""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from branchline import BranchlineError, Session
from branchline.formats.opencode.rows import decode_part
from formats.database_kit import DATABASES
from robustness.field_trials import PROBES, VALUES, World

COLUMN_VALUES: list[Any] = [
    None,
    0,
    -1,
    2**62,
    1e300,
    float("inf"),
    "",
    "x",
    "{",
    "[1, 2",
    "null",
    b"\x00\xff",
    b"",
    "a\x00b",
    "9" * 400,
]
SKIPPED = {"peek"}  # which reads a file of lines


@pytest.fixture(autouse=True)
def _world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "project").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    monkeypatch.setenv("BRANCHLINE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("BRANCHLINE_CONFIG", str(tmp_path / "home" / "config.toml"))
    monkeypatch.chdir(tmp_path / "project")


def cells(path: Path) -> list[tuple[str, str, int]]:
    """Every column of every row, keys of tables excluded: their loss is the loss of the row."""
    connection = sqlite3.connect(path)
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    found = []
    for table in tables:
        columns = [
            row[1]
            for row in connection.execute(f"PRAGMA table_info({table})")
            if not (row[5] and row[2] == "INTEGER")
        ]
        rows = [row for (row,) in connection.execute(f"SELECT rowid FROM {table}")]
        found += [(table, column, row) for column in columns for row in rows]
    connection.close()
    return found  # fmt: skip


def json_places(text: Any) -> list[tuple[Any, ...]]:
    """Every field of the JSON in a column; none where it is none."""
    try:
        waiting = [((), json.loads(text))]
    except (TypeError, ValueError):
        return []
    found = []
    while waiting:
        place, value = waiting.pop()
        found.append(place)
        if isinstance(value, dict):
            waiting += [((*place, key), one) for key, one in value.items()]
        elif isinstance(value, list):
            waiting += [((*place, index), one) for index, one in enumerate(value)]
    return found[1:]


def damage(path: Path, chance: random.Random) -> str:
    """Put a bad value somewhere; says where."""
    table, column, row = chance.choice(cells(path))
    connection = sqlite3.connect(path)
    (old,) = connection.execute(f'SELECT "{column}" FROM {table} WHERE rowid = ?', (row,)).fetchone()
    places = json_places(old)
    if places and chance.random() < 0.85:
        place, name = chance.choice(places), chance.choice(list(VALUES))
        root = json.loads(old)
        inside = root
        for key in place[:-1]:
            inside = inside[key]
        inside[place[-1]] = "\ue000"
        new: Any = json.dumps(root, ensure_ascii=False).replace('"\ue000"', VALUES[name])
        words = f"{table}.{column}[{row}] {place} = {name}"
    else:
        new = chance.choice(COLUMN_VALUES)
        words = f"{table}.{column}[{row}] = {new!r}"
    try:
        connection.execute(f'UPDATE {table} SET "{column}" = ? WHERE rowid = ?', (new, row))
        connection.commit()
    except sqlite3.IntegrityError:
        pass
    connection.close()
    return words


def campaign(kind: str, seed: int, count: int, each: int, where: Path) -> list[str]:
    chance = random.Random(f"{kind}:{seed}")
    other = where / "other" / "whole.db"
    other.parent.mkdir(parents=True)
    session = DATABASES[kind](other)
    problems = []
    for number in range(count):
        folder = where / f"trial-{number}"
        (folder / "out").mkdir(parents=True)
        path = folder / "sessions" / "trial.db"
        path.parent.mkdir()
        shutil.copyfile(other, path)
        words = damage(path, chance)
        for probe in chance.sample(sorted(PROBES.keys() - SKIPPED), each):
            world = World(Path(f"{path}#{session}"), Path(f"{other}#{session}"), folder / "out")
            try:
                PROBES[probe](world)
            except BranchlineError:
                pass
            except Exception as problem:
                problems.append(f"{words} | {probe}: {type(problem).__name__}: {problem}")
        shutil.rmtree(folder)
    return problems


@pytest.mark.parametrize("kind", DATABASES)
def test_a_bad_value_in_any_row_makes_no_command_and_no_call_fail(kind, tmp_path):
    assert campaign(kind, 0, 25, 2, tmp_path / "trials") == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 9))
@pytest.mark.parametrize("kind", DATABASES)
def test_thousands_of_bad_values_make_no_command_and_no_call_fail(kind, seed, tmp_path):
    assert campaign(kind, seed, 150, 3, tmp_path / "trials") == []


@pytest.mark.parametrize("files", ['{"a":' * 2_000 + "1" + "}" * 2_000, "{}", "5", '[5,{"mime":5}]'])
def test_files_of_a_tool_that_are_no_list_are_none(files):
    """Once a TypeError: a nested object was read as one file where a list of files belongs."""
    part = decode_part(
        b'{"type":"tool","state":{"status":"completed","output":NaN,"attachments":%b}}' % files.encode()
    )

    assert [file.mime for file in part.state.attachments] == ([""] if files.startswith("[") else [])


@pytest.mark.parametrize("kind", DATABASES)
def test_a_whole_database_has_no_findings_and_the_same_lists_as_opens(kind, tmp_path):
    session_id = DATABASES[kind](tmp_path / "whole.db")

    with Session.open(f"{tmp_path / 'whole.db'}#{session_id}") as session:
        report = session.check()

        assert report.status == "clean", report.findings
        assert [entry.id for entry in session.entries()] == list(session.index.keys)


@pytest.mark.parametrize("kind", DATABASES)
def test_a_table_that_is_a_view_without_an_end_is_refused(kind, tmp_path):
    """The author of a database decides what a view does: reading one may take all time and memory."""
    path = tmp_path / "hostile.db"
    session_id = DATABASES[kind](path)
    connection = sqlite3.connect(path)
    tables = [
        name
        for (name,) in connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
        )
    ]
    for table in tables:
        columns = [row[1] for row in connection.execute(f'PRAGMA table_info("{table}")')]
        endless = ", ".join(f'{json.dumps("x")} AS "{column}"' for column in columns).replace('"x"', "'x'")
        connection.execute(f'DROP TABLE "{table}"')
        connection.execute(
            f'CREATE VIEW "{table}" AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)'
            f" SELECT {endless} FROM n"
        )
    connection.commit()
    connection.close()

    with pytest.raises(BranchlineError, match="cannot read"):
        Session.open(f"{path}#{session_id}").close()
