"""Nothing hides a session: a damaged manifest in the trash, a seal without its file, a check without names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from branchline import places
from branchline.cli.app import cli
from branchline.stores import FilesStore
from homes import build_home
from support import CORPUS

GOLDEN = CORPUS / "pi" / "golden" / "g001.jsonl"
SLOTTED = CORPUS / "oh-my-pi" / "every-entry-type.jsonl"


@pytest.fixture(autouse=True)
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    monkeypatch.setenv("BRANCHLINE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("BRANCHLINE_CONFIG", str(tmp_path / "home" / "config.toml"))
    monkeypatch.chdir(project)
    return project


def run(*words: object, code: int = 0) -> Result:
    result = CliRunner().invoke(cli, [str(word) for word in words], env={"BRANCHLINE_DEBUG": "1"})
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    assert result.exit_code == code, result.output
    return result


def sessions(world: Path, *names: str) -> list[Path]:
    folder = world / "sessions"
    folder.mkdir()
    for name in names:
        (folder / name).write_bytes(GOLDEN.read_bytes())
    return [folder / name for name in names]


# -- the trash --------------------------------------------------------------------------------------------

MANIFESTS = {
    "missing": None,
    "empty": b"",
    "cut off": b'{"key":"tal',
    "NUL bytes": b"\0" * 200,
    "null": b"null",
    "a list": b"[]",
    "no fields": b"{}",
    "a key that is no text": b'{"key":5,"removed":1790000000}',
    "a key of another file": b'{"key":"other","removed":1790000000}',
    "a key that is a path": b'{"key":"../../talk","removed":1790000000}',
    "no time": b'{"key":"talk"}',
    "a time that is a text": b'{"key":"talk","removed":"yesterday"}',
    "a time beyond all numbers": b'{"key":"talk","removed":1' + b"0" * 400 + b"}",
    "a time that is none": b'{"key":"talk","removed":NaN}',
    "a time before all others": b'{"key":"talk","removed":-1e300}',
}


@pytest.mark.parametrize("name", MANIFESTS)
@pytest.mark.parametrize("named", [["talk"], []], ids=["by name", "the last one"])
def test_a_bad_manifest_hides_no_session_in_the_trash(name, named, world):
    (file,) = sessions(world, "talk.jsonl")
    run("rm", file)
    (manifest,) = (file.parent / ".branchline" / "trash").glob("*/manifest.json")
    manifest.unlink()
    if (data := MANIFESTS[name]) is not None:
        manifest.write_bytes(data)

    listed = run("restore", "--list", "--dir", file.parent, "--json").stdout
    run("restore", *named, "--dir", file.parent)

    assert [item["key"] for item in json.loads(listed)["trash"]] == ["talk"]
    assert file.read_bytes() == GOLDEN.read_bytes()
    assert list((file.parent / ".branchline" / "trash").iterdir()) == []


def test_what_lies_in_the_trash_without_a_session_is_not_listed(world):
    (file,) = sessions(world, "talk.jsonl")
    (file.parent / ".branchline" / "trash" / "20260101T000000-aaaa").mkdir(parents=True)

    assert json.loads(run("restore", "--list", "--dir", file.parent, "--json").stdout)["trash"] == []


# -- seals ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("names", [["a.jsonl", "b.jsonl"], ["a.jsonl"]], ids=["one of two", "the last one"])
def test_a_sealed_session_that_was_deleted_is_named(names, world):
    file, *_ = sessions(world, *names)
    run("check", "--dir", file.parent, "--seal")
    file.unlink()

    checked = run("check", "--dir", file.parent, code=1)
    told = json.loads(run("check", "--dir", world, "--json", code=1).stdout)

    assert f"{file}: missing" in checked.stdout
    assert "sealed on" in checked.stdout
    assert [(item["path"], item["status"]) for item in told["files"] if item["problem"]] == [
        (str(file), "damaged")
    ]


def test_a_sealed_session_that_was_deleted_is_named_by_a_check_of_this_directory(world):
    run("new", "--id", "talk")
    run("append", "talk", "hello")
    run("check", "--seal")
    (file,) = Path(places.session_directory()).glob("*talk*.jsonl")
    file.unlink()

    checked = run("check", code=1)

    assert f"{file}: missing" in checked.stdout


def test_a_sealed_session_in_the_trash_or_under_another_name_is_not_missing(world):
    removed, renamed = sessions(world, "a.jsonl", "b.jsonl")
    run("check", "--dir", removed.parent, "--seal")
    run("rm", removed)
    FilesStore(removed.parent).rename("b", "c")

    checked = json.loads(run("check", "--dir", removed.parent, "--json").stdout)

    assert [(Path(item["path"]).name, item["seal"]["state"]) for item in checked["files"]] == [
        (renamed.with_stem("c").name, "intact")
    ]


def test_a_seal_holds_the_title_slot_to_what_the_file_records(world):
    file = world / "slotted.jsonl"
    data = SLOTTED.read_bytes()
    file.write_bytes(data)
    run("check", file, "--seal")
    assert run("check", file, "--json")

    for place in range(0, 256, 7):
        changed = bytearray(data)
        changed[place] ^= 1
        file.write_bytes(changed)

        told = json.loads(CliRunner().invoke(cli, ["check", str(file), "--json"]).stdout)

        assert (place, told["bad"]) == (place, 1)


def test_a_title_that_the_program_changed_is_as_sealed(world):
    file = world / "slotted.jsonl"
    data = SLOTTED.read_bytes()
    file.write_bytes(data)
    run("check", file, "--seal")
    time, title = "2026-11-16T08:00:00.000Z", "Another title"
    slot = {"type": "title", "v": 1, "title": title, "source": "user", "updatedAt": time, "pad": ""}
    slot["pad"] = " " * (256 - 1 - len(json.dumps(slot, separators=(",", ":"))))
    change = {
        "type": "title_change", "id": "aaaa0001", "parentId": None, "timestamp": time, "title": title, "source": "user",
    }  # fmt: skip
    lines = [json.dumps(one, separators=(",", ":")).encode() + b"\n" for one in (slot, change)]
    assert len(lines[0]) == 256
    file.write_bytes(lines[0] + data[256:] + lines[1])

    told = json.loads(CliRunner().invoke(cli, ["check", str(file), "--json"]).stdout)

    assert told["files"][0]["seal"]["state"] == "intact"


# -- check without names ----------------------------------------------------------------------------------


def test_a_check_without_names_is_one_of_every_agent_in_this_directory(world, monkeypatch, tmp_path):
    home = build_home(tmp_path / "person", str(world))
    damaged = [home.of("pi"), home.of("zot"), home.of("claude-code")]
    for file in damaged:
        file.write_bytes(file.read_bytes() + b'{"damaged\n')
    elsewhere = home.elsewhere["piglet"][0]
    elsewhere.write_bytes(elsewhere.read_bytes() + b'{"damaged\n')

    here = run("check", code=1)
    machine = run("check", "--all", code=1)

    for file in damaged:
        assert str(file) in here.stdout
        assert str(file) in machine.stdout
    assert str(elsewhere) not in here.stdout
    assert str(elsewhere) in machine.stdout
    assert str(home.of("codex")) not in here.stdout
    told = json.loads(run("check", "--json", code=1).stdout)
    assert {str(home.of(name)) for name in ("codex", "operator", "induscode", "oh-my-pi")} <= {
        item["path"] for item in told["files"]
    }


def test_all_goes_with_no_names(world):
    assert "--all" in run("check", "--all", "--dir", ".", code=2).stderr


def test_the_hint_of_stats_names_a_check_that_says_why(world):
    folder = sessions(world, "a.jsonl")[0].parent
    (folder / "b.jsonl").write_bytes(b"nothing of a session\n")

    told = run("stats", "--dir", folder).stderr
    checked = run("check", "--dir", folder, code=1)

    assert f"`branchline check --dir {folder}` says why" in told
    assert "b.jsonl: not a session" in checked.stdout


# -- ids --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["", " ", "\\n\\t"])
def test_a_session_without_an_id_is_listed_under_one_that_finds_it(world, name):
    (file,) = sessions(world, "talk.jsonl")
    head, *lines = file.read_text().split("\n")
    file.write_text("\n".join([json.dumps({**json.loads(head), "id": json.loads(f'"{name}"')}), *lines]))

    (row,) = json.loads(run("ls", "--dir", file.parent, "--json").stdout)["sessions"]

    assert row["id"] == "talk"
    assert run("show", row["id"], "--dir", file.parent).stdout
