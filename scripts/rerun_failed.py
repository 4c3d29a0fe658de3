"""Run the tests that failed last time once more, alone, and name each that passes now as flaky.

Tests of real terminals and servers depend on the load of the machine. A test that fails beside others and
passes alone is still a defect, of the test or of the program: it is printed, and more than three of them
fail the run. A test that fails again fails it, too.

`rerun_failed.py [PYTEST ARGUMENTS]` is called in the directory whose `.pytest_cache` tells what failed.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

MOST = 3


def failed_last_time() -> list[str]:
    recorded = Path(".pytest_cache/v/cache/lastfailed")
    return sorted(json.loads(recorded.read_text(encoding="utf-8"))) if recorded.is_file() else []


def say(*lines: str) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))


def main(arguments: list[str]) -> int:
    failed = failed_last_time()
    if not failed:
        say("no test is recorded as failed: the run broke off, or what ended it was no test")
        return 1
    if len(failed) > MOST:
        say(
            *(f"failed: {test}" for test in failed), f"{len(failed)} tests failed; up to {MOST} are run again"
        )
        return 1
    command = (sys.executable, "-m", "pytest", "-p", "no:xdist", "--last-failed", *arguments)
    again = subprocess.run(command, check=False).returncode
    if not again:
        say(*(f"flaky: {test}" for test in failed))
    return again


sys.exit(main(sys.argv[1:]))
