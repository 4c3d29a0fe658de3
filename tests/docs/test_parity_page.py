"""The parity page and the list of promises have the same rows."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import pytest

from support import ROOT

PAGE = (ROOT / "docs" / "parity.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| ([A-Z]{3}-\d\d) \| (.+?) \| (.+?) \|$", PAGE, re.MULTILINE)
PROMISES = ROOT / "tests" / "parity_rows.toml"


def ids_in(value: Any) -> list[str]:
    """Every id in the file, however its tables are laid out."""
    if isinstance(value, list):
        return [found for item in value for found in ids_in(item)]
    if not isinstance(value, dict):
        return []
    if isinstance(value.get("id"), str):
        return [value["id"]]
    named = [key for key in value if re.fullmatch(r"[A-Z]{3}-\d\d", key)]
    return named or [found for item in value.values() for found in ids_in(item)]


def test_the_page_lists_exactly_the_promises():
    if not PROMISES.exists():
        pytest.skip("tests/parity_rows.toml is not there")

    promised = ids_in(tomllib.loads(PROMISES.read_text(encoding="utf-8")))

    assert sorted(row_id for row_id, _promise, _here in ROWS) == sorted(promised)


def test_every_row_stands_once_and_names_a_call_or_says_not_yet():
    ids = [row_id for row_id, _promise, _here in ROWS]

    assert len(ids) == len(set(ids)) == len(re.findall(r"^\| [A-Z]{3}-\d", PAGE, re.MULTILINE))
    assert not [row_id for row_id, _promise, here in ROWS if not re.search(r"`|not yet|\]\(", here)]
