"""Write the tests of each promise into tests/parity_rows.toml, and docs/parity.md from that file."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import parity_table

marked = parity_table.marked_tests()
rows = [row._replace(tests=tuple(marked.get(row.id, ()))) for row in parity_table.rows()]
parity_table.ROWS.write_text(parity_table.rows_text(rows), encoding="utf-8")
(ROOT / "docs" / "parity.md").write_text(parity_table.page_text(rows), encoding="utf-8")
