"""`python -m bench`: measure, print the table, and check the goals on request."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench.report import as_json, table
from bench.run import GROUPS, PEERS, Benchmark


def main() -> int:
    options = _options()
    benchmark = Benchmark(runs=options.runs, full=options.full, only=options.only)
    rows = list(benchmark.rows())
    print(f"Processor time unless said otherwise, best of {options.runs}; {_machine()}\n")
    print(table(rows, PEERS))
    print("".join(f"\n{remark}" for remark in benchmark.remarks))
    if options.json:
        best = {
            work: {name: asdict(sample) for name, sample in samples.items()}
            for work, samples in benchmark.samples.items()
        }
        report: dict[str, Any] = {"machine": _machine(), "runs": options.runs, "remarks": benchmark.remarks}
        report |= {"rows": [as_json(row) for row in rows], "best": best}
        options.json.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    missed = benchmark.disagreement or any(row.met is False for row in rows)
    return int(options.check and missed)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench", description="Measure branchline beside the real pi."
    )
    parser.add_argument(
        "--only", type=_groups, default=GROUPS, metavar="GROUPS", help=f"some of {','.join(GROUPS)}"
    )
    parser.add_argument("--runs", type=int, default=5, help="how often each work is done (5)")
    parser.add_argument("--full", action="store_true", help="also open a session of 1 GB")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything measured to FILE")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a goal is missed")
    return parser.parse_args()


def _groups(text: str) -> tuple[str, ...]:
    groups = tuple(text.split(","))
    for group in groups:
        if group not in GROUPS:
            raise argparse.ArgumentTypeError(f"{group!r} is not one of {', '.join(GROUPS)}")
    return groups


def _machine() -> str:
    system = f"{platform.system()} {platform.machine()}"
    return f"Python {platform.python_version()}, {system}, {os.cpu_count()} cores"


if __name__ == "__main__":
    sys.exit(main())
