"""Cells of the table of programs that no test of a single program checks: live follow and cost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from branchline import AssistantMessage, Session
from branchline.actions.format_support import supported_formats
from branchline.entries import MessageEntry, UsageEntry
from branchline.formats import EntryLog
from formats.conversion_kit import read, samples
from formats.database_kit import DATABASES
from support import CORPUS

TABLE = {row.name: row for row in supported_formats()}
ZERO = {"operator"}
"""Programs with a field for the cost that they leave at zero; what is converted for them has a cost there."""
LINES = [name for name, row in TABLE.items() if "lines" in row.read]
DOCUMENTS = {
    "cline": "data/sessions/1772600000000_ab1cd/1772600000000_ab1cd.messages.json",
    "vibe": "logs/session/unified/7b1de000-5555-4a6b-9c3d-000000000005/CURRENT",
}


def logs_of(program: str, tmp_path: Path) -> Iterator[EntryLog]:
    """Sessions of a program, however it stores them."""
    if program in DATABASES:
        place = tmp_path / "sessions.db"
        addresses = [f"{place}#{DATABASES[program](place)}"]
    elif program in DOCUMENTS:
        addresses = [str(CORPUS / program / DOCUMENTS[program])]
    else:
        yield from (read(path.read_bytes(), name=str(path)) for path in samples(program))
        return
    for address in addresses:
        with Session.open(address) as session:
            yield session.transcript


def recorded_cost(log: EntryLog) -> float:
    total = 0.0
    for entry in log.iter_entries(range(len(log.tree))):
        usage = entry.usage if isinstance(entry, UsageEntry) else None
        if isinstance(entry, MessageEntry) and isinstance(entry.message, AssistantMessage):
            usage = entry.message.usage
        total += 0 if usage is None or usage.cost is None else usage.cost.total or 0
    return total


@pytest.mark.parametrize("program", [name for name in TABLE if name not in ZERO])
def test_programs_record_what_answers_cost_where_the_table_says_so(program, tmp_path):
    recorded = sum(map(recorded_cost, logs_of(program, tmp_path)))

    assert (recorded > 0) == (TABLE[program].cost == "recorded")


@pytest.mark.parametrize("program", LINES)
def test_lines_that_a_program_adds_are_there_after_a_refresh(program, tmp_path):
    sample = max(samples(program), key=lambda path: path.stat().st_size)
    lines = sample.read_bytes().splitlines(keepends=True)
    place = tmp_path / sample.relative_to(CORPUS)
    place.parent.mkdir(parents=True)
    place.write_bytes(b"".join(lines[: len(lines) // 2]))

    with Session.open(place) as session, Session.open(sample) as whole:
        before = len(session.entries())
        with place.open("ab") as file:
            file.writelines(lines[len(lines) // 2 :])
        session.refresh()

        assert before < len(session.entries())
        assert session.index.keys == whole.index.keys
    assert TABLE[program].followed == "yes"
