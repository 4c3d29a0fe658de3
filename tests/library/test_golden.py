"""The deep list says what pi 1.5.0 says about the same files."""

from __future__ import annotations

import shutil

import pytest

from branchline import SessionLibrary
from branchline.clock import iso
from support import CORPUS, load

GOLDEN = CORPUS / "pi" / "golden"


@pytest.mark.parity("IND-03", "PIG-13")
def test_the_deep_list_agrees_with_pi(place):
    shutil.copytree(
        GOLDEN, place, ignore=lambda _, names: [name for name in names if not name.endswith(".jsonl")]
    )
    expected = load(GOLDEN / "expected-pi-1.5.0" / "_list.json")

    listing = SessionLibrary(place).list(deep=True)

    rows = {f"{row.key}.jsonl": row for row in listing}
    assert rows.keys() == {theirs["path"] for theirs in expected}
    for theirs in expected:
        row = rows[theirs["path"]]
        assert row.id == theirs["id"]
        assert row.cwd == theirs["cwd"]
        assert row.created == theirs["created"]
        assert iso(row.last_activity_ms) == theirs["modified"]
        assert row.total_messages == theirs["messageCount"]
        assert row.title == theirs.get("name")
        assert row.first_prompt == " ".join(theirs["firstMessage"].split())
