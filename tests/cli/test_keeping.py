"""Removing is undoable, pruning asks first."""

from __future__ import annotations

from pathlib import Path

import pytest


def ids(data, *options):
    return [row["id"] for row in data("ls", *options)["sessions"]]


@pytest.mark.parity("IND-06")
def test_rm_moves_to_the_trash_and_says_how_to_undo(run, data, talk) -> None:
    path = Path(data("name", talk)["file"])
    content = path.read_bytes()

    result = run("rm", talk)

    assert ids(data) == []
    undo = result.stdout.split("undo: branchline ")[1].split()
    run(*undo)
    assert path.read_bytes() == content


def test_rm_of_a_file_elsewhere_says_where_to_undo_it(run, write_session, line, world) -> None:
    path = write_session(line("a", None, "user", "x"))

    result = run("rm", path)

    assert not path.exists()
    undo = result.stdout.split("undo: branchline ")[1].split()
    assert undo[-2:] == ["--dir", str(world)]
    run(*undo)
    assert path.exists()


def test_restore_brings_back_the_last_one(run, data, talk) -> None:
    run("new", "--id", "other")
    run("rm", talk)
    run("rm", "other")

    result = run("restore")

    assert "restored " in result.stdout
    assert ids(data) == ["other"]
    assert data("restore", "talk")["key"].endswith("_talk")
    assert set(ids(data)) == {"other", "talk"}


def test_restore_takes_the_beginning_of_an_id_as_lists_show_it(run, data) -> None:
    for name in ("0199aaaa-1", "0199aaaa-2", "0199bbbb-1"):
        run("new", "--id", name)
        run("rm", name)

    assert "matches 2 sessions in the trash" in run("restore", "0199aaaa", code=1).stderr
    assert data("restore", "0199bbbb")["key"].endswith("_0199bbbb-1")
    run("restore", "0199cccc", code=1)
    assert ids(data) == ["0199bbbb-1"]


def test_restore_lists_what_is_in_the_trash(run, data, talk) -> None:
    token = data("rm", talk)["removed"][0]["token"]

    (item,) = data("restore", "--list")["trash"]

    assert item["token"] == token
    assert run("restore", "--list").stdout.startswith(token)
    run("restore", "--list", token, code=2)


def test_restore_finds_the_trash_of_other_directories(run, data, talk, tmp_path, monkeypatch) -> None:
    token = data("rm", talk)["removed"][0]["token"]
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")

    assert "is empty" in run("restore", code=1).stderr
    run("restore", token)
    assert ids(data, "--all") == ["talk"]


def test_restore_never_covers_another_file(run, data, talk) -> None:
    path = Path(data("name", talk)["file"])
    run("rm", talk)
    path.write_bytes(b"somebody else's\n")

    result = run("restore", code=1)

    assert str(path) in result.stderr or path.stem in result.stderr
    assert path.read_bytes() == b"somebody else's\n"
    assert data("restore", "--list")["trash"]


def test_a_typing_error_removes_nothing(run, data, talk, world) -> None:
    (world / "folder.jsonl").mkdir()
    (world / "notes.txt").write_text("mine", encoding="utf-8")

    for wrong in ("nope", "nope.jsonl", "folder.jsonl", "./notes.txt"):
        run("rm", talk, wrong, code=1)

    assert ids(data) == ["talk"]
    run("rm", code=2)


def test_one_session_named_twice_is_removed_once(run, data, talk) -> None:
    assert len(data("rm", talk, "tal")["removed"]) == 1


@pytest.mark.parametrize("options", [[], ["--all"]])
def test_prune_says_what_it_would_do_and_does_it_only_when_told(options, run, data, talk) -> None:
    run("new", "--id", "empty", "--title", "nothing in it")

    dry = run("prune", *options)
    assert "would be moved to the trash" in dry.stdout
    assert "--yes moves them" in dry.stderr
    assert set(ids(data)) == {"talk", "empty"}

    done = data("prune", *options, "--yes")
    assert [item["row"]["id"] for item in done["sessions"]] == ["empty"]
    assert ids(data) == ["talk"]
    run("restore", done["sessions"][0]["token"])
    assert set(ids(data)) == {"talk", "empty"}


def test_prune_of_nothing_says_so(run, talk) -> None:
    assert "no empty sessions" in run("prune").stderr
