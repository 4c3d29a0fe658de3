"""A rollout that continues other files is opened together with them."""

from __future__ import annotations

import json
import shutil

import pytest

from branchline import Session
from support import CORPUS

THREADS = CORPUS / "codex" / "synthetic" / "threads"
DAY = ("sessions", "2026", "09", "02")
FORK = "rollout-2026-09-02T10-00-00-019f1000-0000-7000-8000-000000000010.jsonl"
REVERT = (
    "rollout-2026-09-02T09-00-00-019f1000-0000-7000-8000-000000000008_"
    "019f1000-0000-7000-8000-0000000000b8.jsonl"
)
FIRST = "rollout-2026-09-02T08-00-00-019f1000-0000-7000-8000-000000000008.jsonl"


@pytest.fixture
def home(tmp_path):
    shutil.copytree(THREADS, tmp_path / "codex")
    return tmp_path / "codex"


def texts(session):
    return [
        item.message.content[0].text
        for item in session.context().messages
        if item.message.__struct_config__.tag == "user"
    ]


def test_a_fork_of_a_reverted_thread_holds_both_beginnings(home):
    session = Session.open(home.joinpath(*DAY, FORK))

    assert texts(session) == ["one", "two", "three, again", "four"]
    assert session.usage().all.total.output == 10  # what was spent before was spent elsewhere
    assert not session.findings


def test_an_archived_beginning_is_found_too(home):
    archived = home / "archived_sessions"
    archived.mkdir(exist_ok=True)
    home.joinpath(*DAY, FIRST).rename(archived / FIRST)

    session = Session.open(home.joinpath(*DAY, FORK))

    assert texts(session) == ["one", "two", "three, again", "four"]


def test_a_beginning_that_is_gone_is_said_and_the_rest_shown(home):
    home.joinpath(*DAY, FIRST).unlink()

    session = Session.open(home.joinpath(*DAY, FORK))

    assert texts(session) == ["three, again", "four"]
    assert [
        (finding.kind, "0000-7000-8000-000000000008" in finding.message) for finding in session.findings
    ] == [("below-head", True)]


def test_rollouts_that_begin_with_each_other_are_cut(home):
    first = home.joinpath(*DAY, FIRST)
    head, rest = first.read_text().split("\n", 1)
    record = json.loads(head)
    record["payload"]["history_base"] = {
        "thread_id": "019f1000-0000-7000-8000-0000000000b8",
        "end_ordinal_exclusive": 1,
        "end_byte_offset": 10_000,
    }
    first.write_text(json.dumps(record, separators=(",", ":")) + "\n" + rest)

    session = Session.open(home.joinpath(*DAY, REVERT))

    assert texts(session)[-1] == "three, again"
    assert "below-head" in {finding.kind for finding in session.findings}


def test_the_name_of_a_thread_is_its_title(home):
    named = next(home.joinpath(*DAY).glob("*000000000001.jsonl"))

    assert Session.open(named).title == "rollbacks"
