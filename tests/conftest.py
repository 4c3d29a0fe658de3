"""For all tests: what hypothesis tries, and `--parity-table`, which prints which promises are met at the end."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator

import hypothesis
import pytest

import parity_table

# `make test` tries the same examples every time, so that red means a change; `make test-all` looks for new ones.
# Nor does it fail because the machine was busy while an example was made.
_SLOW = [hypothesis.HealthCheck.too_slow]
hypothesis.settings.register_profile("steady", derandomize=True, deadline=None, suppress_health_check=_SLOW)
hypothesis.settings.register_profile("search", derandomize=False, deadline=None, suppress_health_check=_SLOW)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))

# Shells start what they put into the background deaf to Ctrl-C, and children inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# What moves the places where programs keep sessions; nobody's own settings may change what the tests see.
_MOVES = re.compile(
    r"BRANCHLINE_HOME|PI_\w+|OMP_PROFILE|INDUSAGI_\w+|ZOT_HOME|XDG_(?:CACHE|CONFIG|DATA|STATE)_HOME"
    r"|CLAUDE_CONFIG_DIR|CODEX_HOME|LOCALAPPDATA"
)


@pytest.fixture(autouse=True, scope="session")
def _home_of_nobody(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """An empty home: the sessions of whoever runs the tests are not looked at."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(tmp_path_factory.mktemp("nobody")))
        for name in filter(_MOVES.fullmatch, tuple(os.environ)):
            patch.delenv(name)
        yield


_WHOLE, _PART = "parity", "parity in part"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--parity-table", action="store_true", help="print which promises are met, and by which tests"
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    known = {row.id for row in parity_table.rows()}
    for item in items:
        marks = [(row, "part" in mark.kwargs) for mark in item.iter_markers("parity") for row in mark.args]
        if unknown := [row for row, _part in marks if row not in known]:
            raise pytest.UsageError(
                f"{item.nodeid} carries {', '.join(unknown)}, which is no row of parity_rows.toml"
            )
        # A property of the report, because that is what comes back from the processes of pytest-xdist.
        item.user_properties += [(_PART if part else _WHOLE, row) for row, part in marks]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if not config.getoption("--parity-table"):
        return
    outcomes = []
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", "") != "call" and getattr(report, "outcome", "passed") == "passed":
                continue
            outcomes += [
                parity_table.Outcome((row,), report.nodeid.split("[")[0], report.outcome, part=name == _PART)
                for name, row in getattr(report, "user_properties", ())
                if name in (_WHOLE, _PART)
            ]
    terminalreporter.section("parity")
    for line in parity_table.lines(parity_table.rows(), outcomes):
        terminalreporter.write_line(line)
