"""Benchmarks of branchline against the real pi, on the same machine and files, in the same run."""

import sys
from pathlib import Path

# The tests have the real programs and servers.
sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))
