"""``check --seal`` keeps checksums beside the sessions; from then on ``check`` tells what has changed in silence."""

from __future__ import annotations

import json
import os
import shutil
import stat
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from branchline.cli.app import cli
from branchline.errors import BranchlineError
from branchline.log import FileLog
from branchline.session import Session
from stores.places import common_place as common_place  # noqa: PLC0414  a fixture
from support import CORPUS

EDGE = CORPUS / "pi" / "edge"


@pytest.fixture
def session(write_session, line) -> Path:
    """A session of a hundred entries, in lines of some length."""
    entries = [
        line(f"e{number}", f"e{number - 1}" if number else None, "user", f"word {number} " * 30)
        for number in range(100)
    ]
    return write_session(*entries)


def seal_of(path: Path) -> Path:
    return path.parent / ".branchline" / "seals" / f"{path.name}.json"


def flip(path: Path, place: int) -> None:
    with path.open("r+b") as file:
        file.seek(place)
        byte = file.read(1)[0]
        file.seek(place)
        file.write(bytes([byte ^ 1]))


def append(path: Path, data: str) -> None:
    with FileLog(path) as log, log.exclusive() as writer:
        writer.append(data.encode() + b"\n")


def looked_at(path: Path, *options: str) -> dict[str, Any]:
    """What a check says about one file, whatever its verdict."""
    result = CliRunner().invoke(cli, ["check", str(path), *options, "--json"])
    (file,) = json.loads(result.stdout)["files"]
    return file


def everything(root: Path) -> dict[str, tuple]:
    found = {}
    for place, folders, names in os.walk(root):
        for name in [".", *folders, *names]:
            path = os.path.join(place, name)
            status = os.lstat(path)
            content = None if os.path.isdir(path) else Path(path).read_bytes()
            found[path] = (status.st_mtime_ns, status.st_ctime_ns, status.st_mode, status.st_ino, content)
    return found


# -- what is as it was ------------------------------------------------------------------------------------


def test_a_sealed_session_that_has_grown_is_fine(run, data, session, line) -> None:
    before = session.read_bytes()

    result = run("check", "--seal", session)
    append(session, line("new", "e99", "user", "more"))
    checked = data("check", session)

    assert result.stdout.startswith(f"{session}: fine, ")
    assert result.stdout.endswith(" kB sealed\n")
    assert session.read_bytes().startswith(before)
    assert stat.S_IMODE(seal_of(session).stat().st_mode) == 0o600
    (file,) = checked["files"]
    assert (file["status"], file["findings"], checked["bad"]) == ("clean", [], 0)
    assert (file["seal"]["state"], file["seal"]["size"]) == ("intact", len(before))
    assert ": fine, as sealed on 20" in run("check", session).stdout


def test_sealing_again_seals_what_came_since(data, session, line) -> None:
    first = data("check", "--seal", session)["files"][0]["seal"]
    unchanged = seal_of(session).read_bytes()
    again = data("check", "--seal", session)["files"][0]["seal"]
    assert (again, seal_of(session).read_bytes()) == (first, unchanged)

    append(session, line("new", "e99", "user", "more"))
    longer = data("check", "--seal", session)["files"][0]["seal"]

    assert (longer["state"], longer["size"]) == ("sealed", session.stat().st_size)


def test_a_directory_is_sealed_with_all_that_is_in_it(run, data, world, session) -> None:
    other = world / "deep" / "labels.jsonl"
    other.parent.mkdir()
    shutil.copy(EDGE / "labels.jsonl", other)

    run("check", "--seal", "--dir", ".")

    assert seal_of(session).exists()
    assert seal_of(other).exists()
    assert [file["seal"]["state"] for file in data("check", ".")["files"]] == ["intact", "intact"]


def test_the_sessions_of_this_directory_are_sealed_without_a_name(run, data, talk) -> None:
    run("check", "--seal")
    run("append", "talk", "one more")

    assert data("check")["files"][0]["seal"]["state"] == "intact"


def test_a_check_writes_nothing(run, tmp_path, session) -> None:
    run("check", "--seal", session)
    before = everything(tmp_path)

    run("check", session)
    flip(session, 10_000)
    changed = everything(tmp_path)
    run("check", session, code=1)

    assert before.keys() == changed.keys()
    assert everything(tmp_path) == changed


def test_a_session_that_was_never_sealed_has_no_seal(data, session) -> None:
    assert data("check", session)["files"][0]["seal"] is None


def test_a_torn_tail_that_is_closed_before_an_append_is_no_change(run, data, session, line) -> None:
    with session.open("ab") as file:
        file.write(b'{"type":"message","id":"torn')
    run("check", "--seal", session, code=1)

    append(session, line("new", "e99", "user", "more"))

    assert data("check", session, code=1)["files"][0]["seal"]["state"] == "intact"


@pytest.mark.parametrize("path", sorted(EDGE.glob("*.jsonl")), ids=lambda path: path.stem)
def test_whatever_is_in_a_session_it_is_sealed_or_told_why_not(path, world) -> None:
    copy = world / path.name
    shutil.copy(path, copy)
    status = looked_at(copy)["status"]

    file = looked_at(copy, "--seal")

    assert file["status"] == status
    assert copy.read_bytes() == path.read_bytes()
    if file["id"] is None:
        assert file["seal"]["message"] == "not sealed: it has no header"
    else:
        assert file["seal"]["state"] == "sealed"
        with copy.open("ab") as more:
            more.write(b"\n{}\n")
        assert looked_at(copy)["seal"]["state"] == "intact"


# -- what has changed -------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", [0.02, 0.5, 0.99])
def test_one_byte_that_changed_is_damage_with_line_and_offset(run, data, session, part) -> None:
    run("check", "--seal", session)
    content = session.read_bytes()
    place = content.index(b"word", int(len(content) * part) - 400)

    flip(session, place)

    checked = data("check", session, code=1)
    (finding,) = checked["files"][0]["findings"]
    assert (finding["kind"], finding["severity"]) == ("changed", "damage")
    assert finding["offset"] <= place < finding["offset"] + finding["size"]
    assert finding["size"] < 2_000
    assert finding["line"] == content.count(b"\n", 0, finding["offset"]) + 1
    assert (checked["bad"], checked["files"][0]["seal"]["state"]) == (1, "changed")
    where = f"  line {finding['line']}, byte {finding['offset']}  damage   changed "
    assert f"{session}: damaged\n{where}" in run("check", session, code=1).stdout
    assert "not as sealed on 20" in finding["message"]


def test_a_line_that_is_broken_as_well_is_told_in_both_ways(run, data, session) -> None:
    run("check", "--seal", session)

    flip(session, session.read_bytes().index(b'{"type": "message", "id": "e50"'))

    kinds = {finding["kind"] for finding in data("check", session, code=1)["files"][0]["findings"]}
    assert {"changed", "unreadable"} <= kinds


@pytest.mark.parametrize("size", [0, 50, 20_000])
def test_a_file_that_was_cut_is_shorter_than_when_it_was_sealed(run, data, session, size) -> None:
    run("check", "--seal", session)
    sealed = session.stat().st_size

    os.truncate(session, size)

    findings = data("check", session, code=1)["files"][0]["findings"]
    (finding,) = [finding for finding in findings if finding["kind"] == "changed"]
    assert "shorter than when it was sealed on 20" in finding["message"]
    assert f"it ends at byte {size}, {sealed - size:,} bytes are missing" in finding["message"]
    assert finding["line"] == session.read_bytes().count(b"\n") + 1


def test_a_file_that_was_cut_and_written_on_has_changed(run, data, session, line) -> None:
    run("check", "--seal", session)
    os.truncate(session, session.read_bytes().index(b'{"type": "message", "id": "e90"'))

    for number in range(90, 120):
        append(session, line(f"n{number}", "e89", "user", "other words " * 40))

    (finding,) = data("check", session, code=1)["files"][0]["findings"]
    assert finding["kind"] == "changed"
    assert 88 < finding["line"] <= 92


@pytest.mark.parametrize("field", [b'"made"', b'"session"', b'"version": 3'])
def test_a_header_that_changed_is_damage_and_not_another_session(run, data, session, field) -> None:
    run("check", "--seal", session)

    flip(session, session.read_bytes().index(field) + len(field) - 2)

    findings = data("check", session, code=1)["files"][0]["findings"]
    (finding,) = [finding for finding in findings if finding["kind"] == "changed"]
    assert (finding["line"], finding["offset"]) == (1, 0)


def test_a_version_that_nobody_upgrades_to_is_damage(run, data, session) -> None:
    run("check", "--seal", session)

    session.write_bytes(session.read_bytes().replace(b'"version": 3', b'"version": 7'))

    assert data("check", session, code=1)["files"][0]["seal"]["state"] == "changed"


def test_a_file_of_zeros_has_changed(run, data, session) -> None:
    run("check", "--seal", session)

    session.write_bytes(b"\0" * session.stat().st_size)

    (file,) = data("check", session, code=1)["files"]
    assert file["problem"] is not None
    assert "changed" in {finding["kind"] for finding in file["findings"]}


# -- seals that are about something else ------------------------------------------------------------------


def test_the_seal_of_another_session_under_the_same_name_is_no_damage(run, data, session) -> None:
    run("check", "--seal", session)

    shutil.copy(EDGE / "labels.jsonl", session)

    (file,) = data("check", session)["files"]
    assert (file["status"], file["findings"], file["seal"]["state"]) == ("clean", [], "other-session")
    assert "the seal is that of session made, which was stored here on 20" in run("check", session).stdout


def test_a_session_that_has_another_name_has_no_seal(run, data, session) -> None:
    run("check", "--seal", session)

    renamed = session.rename(session.with_name("renamed.jsonl"))

    assert data("check", renamed)["files"][0]["seal"] is None


def test_a_removed_session_that_is_restored_matches_its_seal(run, data, talk) -> None:
    run("check", "--seal", "talk")
    run("rm", "talk")
    run("restore")

    assert data("check", "talk")["files"][0]["seal"]["state"] == "intact"


@pytest.mark.parametrize("name", ["v1", "v2"])
def test_a_session_that_was_brought_to_a_new_version_is_no_damage(name, run, data, world) -> None:
    path = world / "old.jsonl"
    shutil.copy(EDGE / f"{name}.jsonl", path)
    run("check", "--seal", path)

    with Session.open(path) as session:
        session.append_message("more")

    (file,) = data("check", path)["files"]
    assert (file["status"], file["seal"]["state"]) == ("clean", "older-version")
    assert f"in version {name[1]}, and rewritten in version 3 since then" in file["seal"]["message"]


def test_a_title_that_oh_my_pi_writes_into_its_slot_is_no_change(world) -> None:
    path = world / "omp.jsonl"
    shutil.copy(CORPUS / "oh-my-pi" / "branches.jsonl", path)
    assert looked_at(path, "--seal")["seal"]["state"] == "sealed"

    slot, rest = path.read_bytes()[:256], path.read_bytes()[256:]
    assert slot.endswith(b"\n")
    new = slot.replace(b'"title":"', b'"title":"New').replace(b"   ", b"", 1)
    path.write_bytes(new + rest)
    assert looked_at(path)["seal"]["state"] == "changed", "no entry says that the title is another one"
    fields = json.loads(new)
    change = {"type": "title_change", "id": "t1", "parentId": None, "timestamp": fields["updatedAt"]}
    change["title"] = fields["title"]
    path.write_bytes(new + rest + json.dumps(change).encode() + b"\n")

    assert looked_at(path)["seal"]["state"] == "intact"
    flip(path, 400)
    assert looked_at(path)["seal"]["state"] == "changed"


# -- a seal is not replaced in silence --------------------------------------------------------------------


def spoil(session: Path, how: str) -> None:
    match how:
        case "changed":
            flip(session, 10_000)
        case "shorter":
            os.truncate(session, 10_000)
        case "other session":
            shutil.copy(EDGE / "labels.jsonl", session)
        case "damaged seal":
            flip(seal_of(session), 50)


@pytest.mark.parametrize("how", ["changed", "shorter", "other session", "damaged seal"])
def test_a_seal_that_does_not_match_is_replaced_only_by_force(run, data, session, how) -> None:
    run("check", "--seal", session)
    spoil(session, how)
    old = seal_of(session).read_bytes()

    refused = run("check", "--seal", session, code=1)
    assert "not sealed again, --force replaces the old seal" in refused.stdout
    assert "1 not sealed" in refused.stderr
    assert seal_of(session).read_bytes() == old

    code = 1 if how == "shorter" else 0  # a cut line is damage without any seal
    (file,) = data("check", "--seal", "--force", session, code=code)["files"]
    assert (file["seal"]["state"], file["seal"]["message"]) == (
        "sealed",
        "the old seal did not match and was replaced",
    )
    assert data("check", session, code=code)["files"][0]["seal"]["state"] == "intact"


def test_force_alone_means_nothing(run, session) -> None:
    assert "it needs --seal" in run("check", "--force", session, code=2).stderr


def test_a_seal_that_is_damaged_itself_is_odd(run, data, session) -> None:
    run("check", "--seal", session)
    flip(seal_of(session), 60)

    (file,) = data("check", session, code=1)["files"]

    assert (file["status"], file["findings"], file["seal"]["state"]) == ("odd", [], "unusable")
    assert "the seal is damaged" in file["seal"]["message"]


def test_one_file_that_cannot_be_sealed_does_not_end_the_command(run, data, world, session) -> None:
    (world / "a.jsonl").write_bytes(b"garbage\n")

    checked = data("check", "--seal", "a.jsonl", "none.jsonl", session, code=1)

    assert [file["seal"] and file["seal"]["state"] for file in checked["files"]] == ["none", None, "sealed"]


# -- where nothing may be written -------------------------------------------------------------------------


def test_in_a_directory_that_may_not_be_written_a_check_works_and_sealing_says_why_not(
    run, data, session, common_place
) -> None:
    sealed, bare = common_place / "sealed", common_place / "bare"
    for directory in (sealed, bare):
        directory.mkdir()
        (directory / "x.jsonl").write_bytes(EDGE.joinpath("labels.jsonl").read_bytes())
    run("check", "--seal", sealed / "x.jsonl")
    folders = [bare, sealed, sealed / ".branchline", *(sealed / ".branchline").iterdir()]
    for directory in folders:
        directory.chmod(0o500)
    before = everything(common_place)

    assert data("check", sealed / "x.jsonl")["files"][0]["seal"]["state"] == "intact"
    assert data("check", bare / "x.jsonl")["files"][0]["seal"] is None
    refused = run("check", "--seal", bare / "x.jsonl", code=1)
    (file,) = data("check", "--seal", bare / "x.jsonl", code=1)["files"]

    why = f"cannot seal {bare}/x.jsonl: permission denied (EACCES) at {bare}/.branchline; no seal was written"
    assert why in refused.stdout
    assert (file["status"], file["seal"]["state"], file["seal"]["message"]) == ("clean", "none", why)
    assert everything(common_place) == before


def test_a_seal_that_may_not_be_read_is_told(run, data, common_place) -> None:
    path = common_place / "x.jsonl"
    path.write_bytes(EDGE.joinpath("labels.jsonl").read_bytes())
    run("check", "--seal", path)
    seal_of(path).chmod(0)

    (file,) = data("check", path, code=1)["files"]

    assert "permission denied" in file["seal"]["message"]


def test_a_file_in_the_place_of_the_hidden_folder_is_told(run, world, session) -> None:
    (world / ".branchline").write_bytes(b"mine")

    assert "cannot seal" in run("check", "--seal", session, code=1).stdout
    assert (world / ".branchline").read_bytes() == b"mine"


def test_errors_of_sealing_are_of_the_family(world, session) -> None:
    from branchline.log.seals import seal_log

    (world / ".branchline").write_bytes(b"mine")

    with FileLog(session) as log, pytest.raises(BranchlineError):
        seal_log(log, session="made", sealed_at="")
