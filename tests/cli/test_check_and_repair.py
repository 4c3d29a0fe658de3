"""Damage is told with its place; a repair writes a new file, loses nothing and never touches the old one."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from branchline.actions.repair.native import repair_native, require_same
from branchline.errors import NotSaved
from branchline.stores.sqlite import SqliteStore
from support import CORPUS, transcript

EDGE = CORPUS / "pi" / "edge"
GOLDEN = CORPUS / "pi" / "golden"
REPAIRABLE = sorted(
    path for path in [*EDGE.glob("*.jsonl"), *GOLDEN.glob("*.jsonl")] if path.stem not in ("empty", "garbage")
)


# -- check ------------------------------------------------------------------------------------------------


def test_a_clean_file_is_fine(run, data, write_session, line) -> None:
    path = write_session(line("a", None, "user", "x"))

    result = run("check", path)

    assert result.stdout == f"{path}: fine\n"
    assert result.stderr == "1 file checked, none damaged or irregular\n"
    (report,) = data("check", path)["files"]
    assert report["status"] == "clean"
    assert report["entries"] == 1


def test_a_finding_is_told_with_line_byte_severity_and_kind(run, data) -> None:
    path = EDGE / "corrupt-middle.jsonl"

    result = run("check", path, code=1)

    assert f"{path}: damaged\n  line 3, byte 302  damage   unreadable " in result.stdout
    (finding,) = data("check", path, code=1)["files"][0]["findings"]
    assert finding["message"].endswith("entry 00000002 keeps its place in the tree")
    del finding["message"]
    assert finding == {"line": 3, "offset": 302, "size": 68, "kind": "unreadable", "severity": "damage"}


@pytest.mark.parametrize(
    ("name", "status", "code"),
    [
        ("v1", "notes", 0),
        ("bom", "notes", 0),
        ("bad-utf8", "odd", 1),
        ("version-99", "odd", 1),
        ("cycle", "damaged", 1),
    ],
)
def test_notes_alone_are_no_damage(name, status, code, data) -> None:
    assert data("check", EDGE / f"{name}.jsonl", code=code)["files"][0]["status"] == status


def test_one_bad_file_does_not_end_a_check(run, data, world, write_session, line) -> None:
    good = write_session(line("a", None, "user", "x"))
    (world / "folder.jsonl").mkdir()

    checked = data("check", "nope.jsonl", "folder.jsonl", EDGE / "empty.jsonl", good, code=1)

    assert [file["status"] for file in checked["files"]] == ["damaged", "damaged", "damaged", "clean"]
    assert checked["bad"] == 3
    assert [bool(file["problem"]) for file in checked["files"]] == [True, True, True, False]


def test_a_directory_is_checked_with_all_that_is_in_it(run, data, world, write_session, line) -> None:
    write_session(line("a", None, "user", "x"))
    (world / "deep" / "er").mkdir(parents=True)
    (world / "deep" / "er" / "b.jsonl").write_bytes((EDGE / "cycle.jsonl").read_bytes())
    (world / ".branchline").mkdir()
    (world / ".branchline" / "c.jsonl").write_bytes(b"")

    for arguments in (["--dir", "."], ["."]):
        names = [Path(file["path"]).name for file in data("check", *arguments, code=1)["files"]]
        assert names == ["made.jsonl", "b.jsonl"]
    assert "no such directory" in run("check", "--dir", "none", code=1).stderr


def test_without_a_name_the_sessions_of_this_directory_are_checked(run, data, talk) -> None:
    assert [file["id"] for file in data("check")["files"]] == ["talk"]


def test_nothing_to_check_is_no_damage(run) -> None:
    assert "no sessions here" in run("check").stderr


# -- repair -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", REPAIRABLE, ids=lambda path: path.stem)
def test_a_repair_keeps_every_readable_entry_and_the_old_file(path: Path, data, world) -> None:
    old = world / path.name
    old.write_bytes(path.read_bytes())
    before = data("inspect", old)

    done = data("repair", old)

    assert old.read_bytes() == path.read_bytes()
    if done["output"] is None:
        assert sorted(item.name for item in world.iterdir()) == [path.name]
        return
    after = data("inspect", done["output"])
    assert after["entries"] == before["entries"]
    assert after["leaf"] == before["leaf"]
    assert after["path"] == [entry for entry in before["path"] if entry in before["entries"]]
    assert after["context"] == before["context"]
    assert after["labels"] == {
        key: label for key, label in before["labels"].items() if key in before["entries"]
    }
    assert after["title"] == before["title"]
    assert {finding["kind"] for finding in after["findings"]} <= {
        "encoding",
        "newer-version",
        "v1",
        "two-writers",
        "duplicate-key",
    }
    assert stat.S_IMODE(Path(done["output"]).stat().st_mode) == 0o600
    changed = {change["entry"] for change in done["changed"]}
    with_old_bytes = transcript(old)
    with_new_bytes = transcript(Path(done["output"]))
    for entry in set(before["entries"]) - changed:
        assert with_new_bytes.raw(with_new_bytes.tree.position(entry)) == with_old_bytes.raw(
            with_old_bytes.tree.position(entry)
        )


def test_a_session_of_a_database_is_repaired_beside_the_damaged_one(run, data, world) -> None:
    store = SqliteStore(world / "app.db")
    damaged = (EDGE / "corrupt-middle.jsonl").read_bytes()
    store.load("talk", [damaged])

    done = data("repair", "talk", "--store", "app.db")
    again = run("repair", "talk", "--store", "app.db", code=1)
    outside = data("repair", "talk", "--store", "app.db", "-o", world / "out.jsonl")

    assert done["output"] == f"{world}/app.db#talk.repaired"
    assert (done["unreadable"], outside["unreadable"]) == (None, f"{world}/out.unreadable.txt")
    assert store.open("talk").read(0, len(damaged) + 1) == damaged
    with store.snapshot("talk.repaired") as read:
        assert read(0, 1 << 20) == (world / "out.jsonl").read_bytes()
    assert data("check", done["output"])["files"][0]["status"] == "clean"
    assert "app.db#talk.repaired already exists" in again.stderr
    store.close()


def test_no_byte_is_lost_by_a_repair(data, world) -> None:
    """Whatever is not in the new file is in the file of unreadable pieces, as it was."""
    for path in REPAIRABLE:
        old = world / path.name
        old.write_bytes(path.read_bytes())
        done = data("repair", old)
        if done["output"] is None:
            continue
        kept = Path(done["output"]).read_bytes()
        if done["unreadable"]:
            kept += Path(done["unreadable"]).read_bytes()
        for aside in done["aside"]:
            piece = path.read_bytes()[aside["offset"] : aside["offset"] + aside["size"]]
            assert piece in kept


def test_a_repair_tells_what_it_did(run, world) -> None:
    old = world / "x.jsonl"
    old.write_bytes((EDGE / "corrupt-middle.jsonl").read_bytes())

    result = run("repair", "x.jsonl")

    assert result.stdout.splitlines() == [
        f"wrote {world}/x.repaired.jsonl with all 3 readable entries",
        "  1 entry with guessed links",
        f"  1 piece of unusable data (68 bytes): {world}/x.unreadable.txt",
    ]
    assert f"{old} is unchanged" in result.stderr
    assert b"\n# line 3, byte 302, 68 bytes: unreadable" in (world / "x.unreadable.txt").read_bytes()
    assert stat.S_IMODE((world / "x.unreadable.txt").stat().st_mode) == 0o600


@pytest.mark.parametrize("taken", ["x.repaired.jsonl", "x.unreadable.txt"])
def test_a_repair_never_covers_a_file(taken, run, world) -> None:
    (world / "x.jsonl").write_bytes((EDGE / "corrupt-middle.jsonl").read_bytes())
    (world / taken).write_bytes(b"mine")

    result = run("repair", "x.jsonl", code=1)

    assert f"{taken} already exists" in result.stderr
    assert sorted(item.name for item in world.iterdir()) == sorted(["x.jsonl", taken])
    assert (world / taken).read_bytes() == b"mine"


def test_a_repair_goes_where_it_is_told(run, data, world) -> None:
    (world / "x.jsonl").write_bytes((EDGE / "nul-block.jsonl").read_bytes())

    done = data("repair", "x.jsonl", "-o", "mended.jsonl")

    assert done["output"] == str(world / "mended.jsonl")
    assert done["unreadable"] == str(world / "mended.unreadable.txt")
    assert "no such directory" in run("repair", "x.jsonl", "-o", "no/where.jsonl", code=1).stderr


def test_a_repaired_session_of_induscode_has_a_head_that_the_program_goes_by(data, run, world) -> None:
    sample = next((CORPUS / "induscode").rglob("s_mwhiju8t_*.ndjson"))  # whose head is out of date
    (world / "s_1_a.ndjson").write_bytes(sample.read_bytes()[:-25])

    done = data("repair", "s_1_a.ndjson")

    assert data("inspect", done["output"])["leaf"] == data("inspect", "s_1_a.ndjson")["leaf"]
    assert run("check", done["output"]).exit_code == 0


@pytest.mark.parametrize("content", [b"", b"garbage\n", b"\0" * 100, b"null\n"])
def test_what_is_no_session_cannot_be_repaired(content, run, world) -> None:
    (world / "x.jsonl").write_bytes(content)

    assert "cannot repair" in run("repair", "x.jsonl", code=1).stderr
    assert [item.name for item in world.iterdir()] == ["x.jsonl"]


def test_a_damaged_header_gives_what_is_left_of_it(data, world, line) -> None:
    torn = (
        b'{"type":"session","version":3,"id":"kept","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/home/u/pr'
    )
    (world / "x.jsonl").write_bytes(torn + b"\n" + line("a", None, "user", "x").encode() + b"\n")

    done = data("repair", "x.jsonl")

    after = data("inspect", done["output"])
    assert done["header_made"]
    assert (after["id"], after["version"], after["entries"]) == ("kept", 3, ["a"])
    assert torn in Path(done["unreadable"]).read_bytes()


def test_a_missing_header_gets_the_id_in_the_file_name(data, world, line) -> None:
    path = world / "2026-01-05T09-00-00-000Z_named.jsonl"
    path.write_bytes(line("a", None, "user", "x").encode() + b"\n")

    assert data("inspect", data("repair", path)["output"])["id"] == "named"


def test_pointers_follow_entries_whose_ids_were_used_twice(data, world, line) -> None:
    """A compaction, an edit and a move that mean the second holder of an id still mean it in the new file."""
    edit = {
        "type": "context_edit",
        "id": "e",
        "parentId": "d",
        "timestamp": "",
        "targetId": "b",
        "replacement": None,
    }
    compaction = {
        "type": "compaction",
        "id": "c",
        "parentId": "e",
        "timestamp": "",
        "summary": "s",
        "firstKeptEntryId": "b",
    }
    move = {"type": "leaf", "id": "m", "parentId": "b", "timestamp": "", "targetId": "b"}
    lines = [
        json.dumps({"type": "session", "version": 3, "id": "x", "timestamp": "", "cwd": ""}),
        line("a", None, "user", "one"),
        line("b", "a", "assistant", "two"),
        line("b", "b", "user", "three"),
        line("d", "b", "assistant", "four"),
        json.dumps(edit),
        json.dumps(compaction),
        line("f", "c", "user", "five"),
        json.dumps(move),
    ]
    (world / "x.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    before = data("inspect", "x.jsonl")

    done = data("repair", "x.jsonl")

    after = data("inspect", done["output"])
    assert before["leaf"] == "b#2"
    assert (after["leaf"], after["path"], after["context"]) == (
        before["leaf"],
        before["path"],
        before["context"],
    )
    assert (
        data("context", done["output"], "--at", "f")["messages"]
        == data("context", "x.jsonl", "--at", "f")["messages"]
    )


def test_entries_in_one_line_get_a_line_each(data, write_session, line) -> None:
    path = write_session(
        line("a", None, "user", "x") + line("b", "a", "assistant", "y"), line("c", "b", "user", "z")
    )
    before = data("inspect", path)

    done = data("repair", path)

    assert before["entries"] == ["a", "b", "c"]
    assert len(Path(done["output"]).read_bytes().splitlines()) == 4
    assert data("check", done["output"])["files"][0]["status"] == "clean"


def test_a_damaged_file_of_version_1_is_mended_as_version_3(run, data, world) -> None:
    """An index into the lines of the file would mean other entries once lines are set aside."""
    first, *rest = (EDGE / "v1.jsonl").read_bytes().splitlines(keepends=True)
    (world / "x.jsonl").write_bytes(first + b"null\n{}\n" + b"".join(rest) + b"{torn")
    before = data("inspect", "x.jsonl")

    result = run("repair", "x.jsonl")

    after = data("inspect", "x.repaired.jsonl")
    assert "the new one version 3" in result.stdout
    assert (before["version"], after["version"]) == (1, 3)
    assert (after["entries"], after["context"]) == (before["entries"], before["context"])


def test_a_mended_file_that_reads_differently_is_refused() -> None:
    old = transcript(EDGE / "labels.jsonl")
    lines = (EDGE / "labels.jsonl").read_bytes().splitlines(keepends=True)

    with pytest.raises(NotSaved, match="would lack 1 entries"):
        require_same(old, transcript(b"".join(lines[:-1])))
    with pytest.raises(NotSaved, match="read differently"):
        require_same(old, transcript(b"".join([lines[0], *lines[2:], lines[1]])))


DAMAGE = st.lists(
    st.tuples(
        st.sampled_from(["cut", "flip", "nul", "drop", "glue", "double"]),
        st.integers(0, 10_000),
        st.integers(0, 255),
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(path=st.sampled_from(REPAIRABLE), damage=DAMAGE)
def test_whatever_was_done_to_a_file_its_mended_copy_reads_the_same(path: Path, damage) -> None:
    data = damaged(path.read_bytes(), damage)
    old = transcript(data)
    if old.reading.header is None and not len(old.tree):
        return

    mended = repair_native(old, key="x", spare_id="spare")

    new = transcript(mended.data)
    require_same(old, new)
    allowed = {"v1", "two-writers", "newer-version", "encoding", "duplicate-key", "leaf-target"}
    assert {finding.kind for finding in new.findings} <= allowed
    pieces = [data[piece.offset : piece.offset + piece.size] for piece in mended.asides]
    assert all(piece.strip() and b"\n" not in piece for piece in pieces)


def damaged(data: bytes, damage) -> bytes:
    for kind, number, byte in damage:
        if not data:
            break
        place = number % len(data)
        lines = data.splitlines(keepends=True)
        here = place % len(lines)
        match kind:
            case "cut":
                data = data[:place]
            case "flip":
                data = data[:place] + bytes([byte]) + data[place + 1 :]
            case "nul":
                data = data[:place] + b"\0" * byte + data[place:]
            case "drop":
                data = b"".join(lines[:here] + lines[here + 1 :])
            case "glue":
                data = b"".join([*lines[:here], lines[here].rstrip(b"\n"), *lines[here + 1 :]])
            case "double":
                data = b"".join([*lines[:here], lines[here], *lines[here:]])
    return data
