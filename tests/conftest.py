"""For all tests: `--parity-table` prints, at the end of the run, which promises of the reference systems are met."""

from __future__ import annotations

import pytest

import parity_table

_PROPERTY = "parity"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--parity-table", action="store_true", help="print which promises are met, and by which tests"
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    known = {row for rows in parity_table.promises().values() for row in rows}
    for item in items:
        ids = sorted({row for mark in item.iter_markers("parity") for row in mark.args})
        if unknown := [row for row in ids if row not in known]:
            raise pytest.UsageError(
                f"{item.nodeid} carries {', '.join(unknown)}, which is no row of parity_rows.toml"
            )
        if ids:
            # A property of the report, because that is what comes back from the processes of pytest-xdist.
            item.user_properties.append((_PROPERTY, " ".join(ids)))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if not config.getoption("--parity-table"):
        return
    outcomes = []
    for reports in terminalreporter.stats.values():
        for report in reports:
            ids = dict(getattr(report, "user_properties", ())).get(_PROPERTY, "").split()
            when = getattr(report, "when", "")
            if ids and (when == "call" or report.outcome != "passed"):
                outcomes.append(parity_table.Outcome(tuple(ids), report.nodeid.split("[")[0], report.outcome))
    terminalreporter.section("parity")
    for line in parity_table.lines(parity_table.promises(), outcomes):
        terminalreporter.write_line(line)
