"""The table of promises tells the truth: met by a test that ran and passed, and not if another one failed."""

import os
import re
import subprocess
import sys
from collections import Counter

import pytest

from parity_table import ROWS, Outcome, Row, judge, lines, marked_tests, page_text, rows, rows_text
from support import ROOT

FOUR = [
    Row(f"X-{number}", "system", word, "`call`", ())
    for number, word in enumerate(["one", "two", "three", "four"], 1)
]
OUTCOMES = [
    Outcome(("X-1", "X-2"), "a", "passed"),
    Outcome(("X-2",), "b", "failed"),
    Outcome(("X-3",), "c", "skipped"),
    Outcome(("X-1",), "a", "passed"),
    Outcome(("X-1", "X-4"), "d", "passed", part=True),
]


def test_a_row_is_met_by_a_test_that_passed_and_not_by_one_that_failed_was_skipped_or_proves_a_part():
    verdicts = {verdict.row.id: verdict for verdict in judge(FOUR, OUTCOMES)}

    assert [verdict.word for verdict in verdicts.values()] == ["met", "not met", "not met", "in part"]
    assert verdicts["X-1"].passed == ["a"]
    assert verdicts["X-2"].failed == ["b"]
    assert verdicts["X-3"].skipped == ["c"]


def test_the_table_names_every_row_with_its_tests_and_counts_those_that_are_met():
    text = "\n".join(lines(FOUR, OUTCOMES))

    assert "system (1 of 4 met)" in text
    assert re.search(r"  met      X-1  one\n +a\n +in part d\n", text)
    assert re.search(r"  in part  X-4  four\n +in part d\n", text)
    assert re.search(r"  not met  X-2  two\n +a\n +FAILED b\n", text)
    assert re.search(r"  not met  X-3  three\n +skipped c\n", text)
    assert text.endswith("1 of 4 promises met, 1 in part")


def test_there_are_a_hundred_and_nine_promises_of_five_systems_each_under_its_own_id():
    found = rows()

    assert Counter(row.id[:3] for row in found) == {"IND": 24, "OPR": 20, "ZOT": 23, "PIG": 19, "OMP": 23}
    assert len({row.source for row in found}) == 5
    assert all(re.fullmatch(r"[A-Z]{3}-\d\d", row.id) for row in found)
    assert len({row.id for row in found}) == len(found)


def test_the_file_names_exactly_the_tests_that_carry_the_id_of_each_row():
    marked = marked_tests()

    stale = [row.id for row in rows() if list(row.tests) != marked.get(row.id, [])]

    assert not stale, f"run `python scripts/parity.py`: the tests of {', '.join(stale)} have changed"
    assert ROWS.read_text(encoding="utf-8") == rows_text(rows())


def test_the_page_is_what_the_file_says():
    page = (ROOT / "docs" / "parity.md").read_text(encoding="utf-8")

    assert page == page_text(rows()), "run `python scripts/parity.py`: docs/parity.md is stale"


def test_every_row_names_the_call_that_keeps_the_promise():
    assert not [row.id for row in rows() if "`" not in row.here]


@pytest.mark.parametrize("workers", [0, 1])
def test_the_option_prints_the_table_also_when_other_processes_run_the_tests(workers, tmp_path):
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text(encoding="utf-8"))
    (tmp_path / "test_it.py").write_text(
        "import pytest\n"
        "@pytest.mark.parity('IND-01', 'PIG-01')\n"
        "@pytest.mark.parametrize('n', [1, 2])\n"
        "def test_good(n): pass\n"
        "@pytest.mark.parity('PIG-01')\n"
        "def test_bad(): assert False\n"
    )

    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-n",
            str(workers),
            "--parity-table",
            "-p",
            "no:cacheprovider",
            ".",
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "tests")},
        capture_output=True,
        text=True,
        check=False,
    )

    assert "1 of 109 promises met" in done.stdout, done.stdout + done.stderr
    assert re.search(r"  met      IND-01 .*\n +test_it.py::test_good\n", done.stdout)
    assert re.search(
        r"  not met  PIG-01 .*\n +test_it.py::test_good\n +FAILED test_it.py::test_bad\n", done.stdout
    )
