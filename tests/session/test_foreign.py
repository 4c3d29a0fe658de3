"""A session of another program can be gone on with as a native one."""

from __future__ import annotations

import pytest

from branchline import Session
from branchline.entries import SIDE, Unknown
from support import CORPUS, SHARED

LEFT_OUT = SIDE | {"damaged"}


def is_ours(entry) -> bool:
    """Whether an entry is one of a conversation for us; what only the other program knows becomes data."""
    boundary = entry.type == "reset_boundary"
    return entry.type not in LEFT_OUT and (boundary or not isinstance(entry, Unknown))


FILES = sorted(
    path
    for program in ("zot", "operator", "induscode", "oh-my-pi", "piglet", "claude-code", "codex")
    for root in (CORPUS / program, SHARED / program)
    for path in root.rglob("*")
    if path.suffix in (".jsonl", ".ndjson") and path.stat().st_size
)


@pytest.mark.parametrize("path", FILES, ids=lambda path: "-".join(path.parts[-3:]))
def test_a_fork_into_a_native_session_keeps_the_words_and_touches_nothing(path, tmp_path, monkeypatch):
    monkeypatch.setenv("BRANCHLINE_HOME", str(tmp_path))
    before = path.read_bytes()
    try:
        session = Session.open(path)
    except Exception as refusal:
        pytest.skip(f"not opened: {refusal}")

    fork = session.fork(cwd=tmp_path)

    assert fork.transcript.format.name == "pi"
    assert fork.path() == [key for key in session.path() if is_ours(session.entry(key))]
    assert fork.parent_session == session.file
    assert path.read_bytes() == before
    assert not (path.parent / ".branchline").exists()
