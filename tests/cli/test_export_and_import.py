"""Sessions leave and come in as files: private, complete, never on top of another one."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from support import CORPUS

EDGE = CORPUS / "pi" / "edge"
GOLDEN = CORPUS / "pi" / "golden"


def lines_of(path):
    return [json.loads(line) for line in Path(path).read_bytes().splitlines()]


# -- export -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["corrupt-middle", "torn-tail", "bom", "bad-utf8", "crlf"])
def test_a_whole_export_is_the_file_byte_for_byte(name, run, world) -> None:
    path = EDGE / f"{name}.jsonl"

    run("export", path, "-o", "out.jsonl")

    assert (world / "out.jsonl").read_bytes() == path.read_bytes()
    assert stat.S_IMODE((world / "out.jsonl").stat().st_mode) == 0o600
    assert run("export", path).stdout_bytes == path.read_bytes()
    assert run("export", path, "-o", "-").stdout_bytes == path.read_bytes()


def test_an_export_says_where_it_went(run, data, talk, world) -> None:
    result = run("export", talk, "-o", "out.jsonl")

    assert result.stdout.startswith(f"exported talk to {world}/out.jsonl (")
    told = data("export", talk, "-o", "other.jsonl")
    assert told["path"] == str(world / "other.jsonl")
    assert told["size"] == (world / "other.jsonl").stat().st_size


def test_an_export_covers_a_file_only_by_force(run, talk, world) -> None:
    (world / "out.jsonl").write_bytes(b"mine")

    result = run("export", talk, "-o", "out.jsonl", code=1)

    assert "exists already; --force replaces it" in result.stderr
    assert (world / "out.jsonl").read_bytes() == b"mine"
    run("export", talk, "-o", "out.jsonl", "--force")
    assert (world / "out.jsonl").read_bytes() != b"mine"
    assert [item.name for item in world.iterdir()] == ["out.jsonl"]


def test_an_export_into_a_directory_takes_the_name_of_the_session(data, talk, tmp_path) -> None:
    (tmp_path / "out").mkdir()

    told = data("export", talk, "-o", tmp_path / "out")

    assert Path(told["path"]).parent == tmp_path / "out"
    assert told["path"].endswith("_talk.jsonl")


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("g*.jsonl"))[::5], ids=lambda path: path.stem)
def test_a_branch_export_is_the_path_alone(path, data, world) -> None:
    source = data("inspect", path)

    told = data("export", path, "--branch", "-o", "branch.jsonl")

    header, *entries = lines_of(told["path"])
    assert {key: header[key] for key in ("type", "version", "id", "cwd")} == {
        "type": "session",
        "version": 3,
        "id": source["id"],
        "cwd": source["cwd"],
    }
    assert "parentSession" not in header
    copy = data("inspect", told["path"])
    readable = [entry for entry in source["path"] if entry in source["entries"]]
    assert copy["path"] == readable
    assert copy["context"] == source["context"]
    assert copy["title"] == source["title"]
    assert copy["labels"] == {key: label for key, label in source["labels"].items() if key in copy["entries"]}
    assert {finding["kind"] for finding in copy["findings"]} <= {"two-writers"}
    assert len(entries) == len(copy["entries"])


def test_a_branch_export_leaves_other_branches_out(data, talk, run, world) -> None:
    run("export", talk, "--branch", "-o", "branch.jsonl")

    content = (world / "branch.jsonl").read_text(encoding="utf-8")
    assert "And the tests?" in content
    assert "Then what?" not in content


@pytest.mark.parity("ZOT-17")
def test_a_portable_export_does_not_tell_where_it_was_made(data, run, talk, world) -> None:
    forked = data("fork", talk)["session"]

    for options in (["--portable"], ["--portable", "--branch"]):
        run("export", forked, *options, "-o", "out.jsonl", "--force")
        text = (world / "out.jsonl").read_text(encoding="utf-8")
        assert str(world) not in text
        assert data("inspect", "out.jsonl")["path"] == data("inspect", forked)["path"]
    assert "has no header" in run("export", EDGE / "no-header.jsonl", "--portable", code=1).stderr


def test_markdown_is_chosen_by_name_or_by_word(run, talk, world) -> None:
    run("export", talk, "-o", "talk.md")

    text = (world / "talk.md").read_text(encoding="utf-8")
    assert text.startswith("# Auth refactor\n\n- Session talk\n")
    assert "## User\n\nHow do I start?" in text
    assert run("export", talk, "--format", "md").stdout == text


def test_json_about_an_export_needs_a_file(run, talk) -> None:
    run("export", talk, "--json", code=2)
    run("export", talk, "--format", "html", code=2)


# -- import -----------------------------------------------------------------------------------------------


def test_an_import_copies_byte_for_byte_and_keeps_the_id(run, data, tmp_path) -> None:
    source = tmp_path / "somewhere.jsonl"
    source.write_bytes((GOLDEN / "g001.jsonl").read_bytes())

    told = data("import", source)

    assert told["session"] == "golden-0001"
    assert Path(told["path"]).name == "2026-01-02T00-00-00-000Z_golden-0001.jsonl"
    assert Path(told["path"]).read_bytes() == source.read_bytes()
    assert stat.S_IMODE(Path(told["path"]).stat().st_mode) == 0o600
    assert [row["id"] for row in data("ls")["sessions"]] == ["golden-0001"]
    assert "imported golden-0001 with 22 entries: " in run("import", source).stdout


def test_importing_again_takes_the_next_free_name(data) -> None:
    names = [Path(data("import", GOLDEN / "g001.jsonl")["path"]).stem for _ in range(3)]

    stem = "2026-01-02T00-00-00-000Z_golden-0001"
    assert names == [stem, f"{stem}-1", f"{stem}-2"]


@pytest.mark.parity("ZOT-17")
def test_an_import_can_have_an_id_and_a_directory_of_its_own(data, tmp_path, monkeypatch) -> None:
    (tmp_path / "shop").mkdir()

    told = data("import", GOLDEN / "g001.jsonl", "--new-id", "--cwd", tmp_path / "shop")

    copy = data("inspect", told["path"])
    assert told["session"] == copy["id"] != "golden-0001"
    assert copy["cwd"] == str(tmp_path / "shop")
    assert copy["entries"] == data("inspect", GOLDEN / "g001.jsonl")["entries"]
    monkeypatch.chdir(tmp_path / "shop")
    assert [row["id"] for row in data("ls")["sessions"]] == [told["session"]]


def test_a_portable_session_belongs_to_where_it_is_imported(run, data, talk, world) -> None:
    run("export", talk, "--portable", "-o", "out.jsonl")

    told = data("import", "out.jsonl", "--new-id")

    assert data("inspect", told["path"])["cwd"] == str(world)


def test_what_is_there_already_is_not_copied(run, data, talk) -> None:
    path = data("name", talk)["file"]

    result = run("import", path)

    assert "is there already; nothing was copied" in result.stderr
    assert len(data("ls")["sessions"]) == 1


def test_damage_comes_along_and_is_told(run, data, world) -> None:
    result = run("import", EDGE / "corrupt-middle.jsonl")

    assert "1 finding in it" in result.stderr


def test_an_id_that_cannot_be_a_file_name_does_not_become_one(data, run, world, tmp_path, line) -> None:
    header = {"type": "session", "version": 3, "id": "../../../evil", "timestamp": "../..", "cwd": str(world)}
    (world / "odd.jsonl").write_text(
        json.dumps(header) + "\n" + line("a", None, "user", "x") + "\n", encoding="utf-8"
    )

    told = data("import", "odd.jsonl")

    assert Path(told["path"]).name == "odd.jsonl"
    assert Path(told["path"]).parent.parent == tmp_path / "home" / "sessions"


@pytest.mark.parametrize("name", ["empty", "garbage", "no-header"])
def test_what_is_no_session_is_not_imported(name, run, tmp_path) -> None:
    result = run("import", EDGE / f"{name}.jsonl", code=1)

    assert result.stderr
    assert not (tmp_path / "home").exists()
    run("import", "nope.jsonl", code=1)
