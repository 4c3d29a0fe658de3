"""Files of versions 1 and 2 are read unchanged, and rewritten as version 3 by the first append."""

import json
import os
import re
import shutil
import stat

import pytest

from branchline import Session
from branchline.errors import LogReplaced, ReadOnly
from branchline.formats import PI
from branchline.log import SYSTEM
from session.faults import in_a_child, striking
from session.kit import (
    assistant,
    clock,
    facts,
    lines_of,
    path_of,
    records_of,
    require_same_after_reopening,
    said,
    snapshot,
    words,
)
from support import CORPUS

NAMES = ["v1.jsonl", "v2.jsonl", "v1-kept-header.jsonl"]
HUGE = b"9" * 80

ODD_V1 = b"\n".join(
    [
        b'{"type":"session","id":"odd","timestamp":"2025-11-20T09:00:00.000Z","cwd":"/x","n":' + HUGE + b"}",
        b'{"type":"message","timestamp":"2025-11-20T09:00:01.000Z","message":{"role":"user","content":"one"}}',
        b"this line is no JSON",
        rb'{ "type" : "message", "big":%s, "a":1, "a":2, "message": {"role":"user","content":"\u00e4\/\ud800"} }'
        % HUGE,
        b"",
        b'{"no type":1}',
        b'{"type":"message","timestamp":"x","message":{"role":"hookMessage","customType":"h","content":"\\u0041","n":1e400}}',
        b'{"type":"message","message":{"role":"assistant","content":[{"type":"text","text":"a"}]}}',
        b'{"type":"compaction","summary":"s","firstKeptEntryIndex":2,"tokensBefore":1}',
        b'{"type":"message","message":{"role":"user","content":"after"}}\r',
        b'{"type":"message","message":{"role":"user","cont',
    ]
)
ODD_V2 = b"\xef\xbb\xbf" + b"\n".join(
    [
        b'{"type":"session","version":2,"id":"odd","timestamp":"2025-11-20T09:00:00.000Z","cwd":"/x"}',
        b'{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"one","n":'
        + HUGE
        + b"}}",
        b'{"type":"message","id":"b","parentId":"lost","message":{"role":"user","content":"orphan"}}',
        b'{"type":"message","id":"a","parentId":"b","message":{"role":"user","content":"same id again"}}',
        b'{"type":"message","id":"c","parentId":"c","message":{"role":"user","content":"its own parent"}}',
        b"not JSON, and of no use",
        b'{"type":"message","id":"d","parentId":"gone","message":{"role":"user","content":"after a gap"}}\r',
        b'{"type":"message","id":"e","parentId":"d","message":{"content":"\\u0068ook","role":"hookMessage","customType":"h"}}',
        b'{"type":"message","id":"f","parentId":"e","message":{"role":"assistant","content":[{"ty',
        b'{"type":"unheard-of","id":"g","parentId":"e","x":[1e400,-0.0],"x":2}',
        b'{"type":"message","id":"h","parentId":"g","message":{"role":"assistant","content":[]}}',
    ]
)
FILES = {name: (CORPUS / "pi" / "edge" / name).read_bytes() for name in NAMES} | {
    "odd-v1.jsonl": ODD_V1,
    "odd-v2.jsonl": ODD_V2,
}


@pytest.fixture(params=FILES)
def old(request, place):
    place.mkdir()
    path = place / request.param
    path.write_bytes(FILES[request.param])
    os.utime(path, (1_000_000, 1_000_000))
    return path


def told(session):
    """What must not change by an upgrade: everything but the bytes and the remarks about them."""
    view = facts(session)
    tree = session.index
    readable = [key for key in tree.keys if tree.positions[key] not in tree.placeholders]
    return {
        name: view[name] for name in ("leaf", "path", "labels", "title", "keys", "parents", "context")
    } | {"entries": session.entries(readable)}


@pytest.mark.parity("OMP-15")
def test_reading_an_old_file_leaves_it_untouched_and_gives_the_same_ids_every_time(old):
    before = snapshot(old.parent)

    with Session.open(old) as one, Session.open(old) as other:
        assert facts(one) == facts(other)
        one.path()
        one.outline()
        one.usage()
        one.refresh()
        one.fork(store=Session.in_memory("/x").store)

    assert snapshot(old.parent) == before


@pytest.mark.parity("OMP-15")
def test_the_first_append_makes_it_version_3_with_a_backup_and_says_the_same(old):
    before = old.read_bytes()
    with Session.open(old, clock=clock()) as session:
        known = told(session)

        entry = session.append_message(assistant("the first in a long time"))

        after = told(session)
        assert after["keys"] == [*known["keys"], entry]
        assert after["path"] == [*known["path"], entry]
        assert after["parents"][:-1] == known["parents"]
        assert after["context"][:-1] == known["context"]
        assert after["entries"][:-1] == known["entries"]
        require_same_after_reopening(session)
    assert records_first(old)["version"] == 3
    [backup] = (old.parent / ".branchline" / "backups").iterdir()
    assert backup.read_bytes() == before
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert stat.S_IMODE(old.stat().st_mode) == 0o600
    assert [path.name for path in old.parent.iterdir() if path.name not in (old.name, ".branchline")] == []


def records_first(path):
    return json.loads(lines_of(path)[0])


@pytest.mark.parity("OMP-15")
def test_only_the_fields_that_must_change_do_and_no_line_is_lost(old):
    """Huge integers, repeated keys, escapes, blanks and unreadable lines are what they were."""
    header, *before = lines_of(old.read_bytes().removeprefix(b"\xef\xbb\xbf"))
    with Session.open(old, clock=clock()) as session:
        session.append_message("more")
    new_header, *after = lines_of(old)

    if b'"version":2' in header:
        assert new_header == header.replace(b'"version":2', b'"version":3')
    else:
        assert new_header == header.replace(b'"type":"session"', b'"type":"session","version":3')
        after = [_without_links(line) for line in after]
    assert after[:-1] == [line.replace(b'"hookMessage"', b'"custom"') for line in before]


def _without_links(line):
    """A line as it was before ids were put in."""
    line = re.sub(
        rb'^(\{ ?"type" ?: ?"\w+"),"id":"[0-9a-f]{8}","parentId":(?:null|"[0-9a-f]{8}")', rb"\1", line
    )
    return re.sub(rb',"firstKeptEntryId":"[0-9a-f]{8}"', b"", line)


def test_what_a_version_1_compaction_kept_is_named_by_id(place):
    place.mkdir()
    path = place / "v1.jsonl"
    path.write_bytes(FILES["v1.jsonl"])
    with Session.open(path, clock=clock()) as session:
        before = said(session)
        session.append_message("more")

    [compaction] = [record for record in records_of(path) if record["type"] == "compaction"]
    assert compaction["firstKeptEntryId"] == records_of(path)[3]["id"]
    with Session.open(path) as again:
        assert said(again)[:-1] == before


@pytest.mark.parity("OMP-15")
@pytest.mark.parametrize(
    "old",
    [
        "v1.jsonl",
        "odd-v2.jsonl",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in FILES
            if name not in ("v1.jsonl", "odd-v2.jsonl")
        ),
    ],
    indirect=True,
)
def test_a_crash_during_the_upgrade_leaves_the_old_file_or_the_new_one_whole(old):
    before = old.read_bytes()
    with Session.open(old) as session:
        keys = list(session.index)
    outcomes = set()
    for at in range(1, 400):
        shutil.rmtree(old.parent / ".branchline", ignore_errors=True)
        old.unlink()
        old.write_bytes(before)

        def act(at=at):
            with Session.open(old, clock=clock()) as session, striking(at, "killed"):
                session.append_message("more")

        survived = in_a_child(act)

        with Session.open(old) as again:
            assert again.index.keys[: len(keys)] == keys
            version = again.transcript.reading.version
            outcomes.add((version, len(again) - len(keys)))
            assert version == 3 or old.read_bytes() == before
        if survived:
            break
    else:
        pytest.fail("the upgrade never came to its end")
    first_version = {outcome[0] for outcome in outcomes}
    assert len(first_version) == 2
    assert (3, 1) in outcomes


def test_an_upgrade_that_would_lose_an_entry_is_refused_and_changes_nothing(old, monkeypatch):
    before = old.read_bytes()
    real = type(PI.writer).upgrade
    monkeypatch.setattr(type(PI.writer), "upgrade", lambda self, transcript: list(real(self, transcript))[:2])

    with Session.open(old, clock=clock()) as session:
        known = facts(session)
        with pytest.raises(ReadOnly, match="every entry"):
            session.append_message("more")
        assert facts(session) == known

    assert old.read_bytes() == before
    assert [path.name for path in old.parent.iterdir() if path.is_file()] == [old.name]


# -- somebody else was there -----------------------------------------------------------------------------


@pytest.mark.parity("OMP-15")
def test_two_who_have_an_old_file_open_both_go_on_in_the_new_one(old):
    with Session.open(old, clock=clock()) as one, Session.open(old, clock=clock(seed=50)) as other:
        first = one.append_message("by one")
        second = other.append_message("by the other")
        one.refresh_log()

        assert one.index.keys[-2:] == other.index.keys[-2:] == [first, second]
        assert one.index.parent(first) == other.index.parent(second)
        one.append_message("and on")
        assert words(one)[-2:] == ["by one", "and on"]
        require_same_after_reopening(one)
    assert len(list((old.parent / ".branchline" / "backups").iterdir())) == 1


def test_refreshing_takes_up_an_upgrade_by_somebody_else(old):
    with Session.open(old, clock=clock()) as one, Session.open(old, clock=clock(seed=50)) as other:
        entry = other.append_message("by the other")

        assert one.refresh() == 1
        assert one.leaf == entry
        require_same_after_reopening(one)


def test_an_old_file_that_was_replaced_by_something_else_is_not_taken_for_its_upgrade(old):
    with Session.open(old, clock=clock()) as session:
        other = old.with_name("other")
        other.write_bytes((CORPUS / "pi" / "edge" / "labels.jsonl").read_bytes())
        os.replace(other, old)
        before = old.read_bytes()

        with pytest.raises(LogReplaced):
            session.append_message("more")
        with pytest.raises(LogReplaced):
            session.refresh()

    assert old.read_bytes() == before


def test_an_old_file_that_pi_rewrote_in_its_place_is_not_mixed_up_with_ours(place):
    """pi's own upgrade gives random ids and writes over the file; what was read before is no longer there."""
    place.mkdir()
    path = place / "v1.jsonl"
    path.write_bytes(FILES["v1.jsonl"])
    with Session.open(path, clock=clock()) as session:
        theirs = [json.loads(line) for line in lines_of(path)]
        theirs[0]["version"] = 3
        for number, record in enumerate(theirs[1:], 1):
            record.update(id=f"pi-{number}", parentId=f"pi-{number - 1}" if number > 1 else None)
        path.write_bytes(b"".join(json.dumps(record).encode() + b"\n" for record in theirs))
        before = path.read_bytes()

        with pytest.raises(LogReplaced):
            session.append_message("more")

    assert path.read_bytes() == before
    with Session.open(path, clock=clock()) as again:
        again.append_message("more")


def test_a_link_to_an_old_file_stays_a_link(place):
    place.mkdir()
    (place / "real").mkdir()
    (place / "real" / "v2.jsonl").write_bytes(FILES["v2.jsonl"])
    link = place / "link.jsonl"
    link.symlink_to(place / "real" / "v2.jsonl")

    with Session.open(link, clock=clock()) as session:
        session.append_message("more")

    assert link.is_symlink()
    assert records_first(place / "real" / "v2.jsonl")["version"] == 3


def test_the_upgrade_is_not_written_again_by_the_next_append(old, monkeypatch):
    with Session.open(old, clock=clock()) as session:
        session.append_message("one")
        inode = os.stat(old).st_ino
        renames = []
        monkeypatch.setattr(SYSTEM, "rename", lambda *names: renames.append(names))

        session.append_message("two")

        assert (os.stat(old).st_ino, renames) == (inode, [])
        assert path_of(session) == old
