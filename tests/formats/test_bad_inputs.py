"""Each file of the corpus of bad inputs gives what its note says."""

from __future__ import annotations

import json

import pytest

from branchline.errors import NotASession
from branchline.formats import PI, detect
from branchline.formats.integrity import check_log
from readings import facts, one_line_at_a_time
from support import CORPUS, load, transcript

BAD = CORPUS / "bad"
FILES = sorted(BAD.glob("*.jsonl"))


def test_every_file_has_a_note_and_an_expectation():
    notes = (BAD / "NOTES.md").read_text("utf-8")

    assert len(FILES) > 30
    for path in FILES:
        assert f"| {path.stem} |" in notes, path.name
        assert path.with_suffix(".json").exists(), path.name


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_bad_input_is_taken_for_a_session_or_refused_with_a_reason(path):
    expected = load(path.with_suffix(".json"))
    head = path.read_bytes()[: 1 << 16]

    if expected["session"]:
        assert detect(head, path.name) is PI
    else:
        with pytest.raises(NotASession, match=expected["error"]):
            detect(head, path.name)
        assert transcript(path).leaf is None


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_bad_input_gives_what_its_note_says(path):
    expected = load(path.with_suffix(".json"))
    if not expected.pop("session"):
        return

    found = transcript(path)

    placeholders = [found.tree.keys[position] for position in sorted(found.tree.placeholders)]
    assert {
        "entries": [key for key in found.tree if key not in placeholders],
        "placeholders": placeholders,
        "leaf": found.leaf,
        "path": found.tree.conversation_path(found.leaf),
        "findings": [
            f"{finding.kind}@{finding.line}" if finding.line else finding.kind for finding in check_log(found)
        ],
        "readOnly": found.reading.read_only is not None,
    } == expected


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_bad_input_is_read_alike_both_ways_and_every_entry_can_be_asked_for(path, monkeypatch):
    found = transcript(path)
    fast = facts(found)

    one_line_at_a_time(monkeypatch)

    assert facts(transcript(path)) == fast
    for position in range(len(found.tree)):
        assert found.entry(position).id == found.tree.keys[position]
        json.dumps(found.raw(position).decode("utf-8", "replace"))
