"""The command line over the sessions of every program."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import pytest

from homes import ELSEWHERE, PROGRAMS, Home, build_home, compressed
from library.kit import state
from support import CORPUS


@pytest.fixture
def home(world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A person who uses all programs in this working directory; one session of each stays."""
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    monkeypatch.delenv("BRANCHLINE_HOME")
    monkeypatch.setattr("branchline.views.session_lines.age", lambda moment, now: "1d")
    home = build_home(tmp_path / "person", str(world))
    for agent, files in home.files.items():
        for path in files[1:]:
            if agent not in ("zot", "claude-code", "codex"):
                path.unlink()
                files.remove(path)
    return home


@pytest.fixture
def few(home: Home) -> Home:
    """The same with one session of each program, for whole screens."""
    for files in [*home.files.values()]:
        for path in files[1:]:
            path.unlink()
        del files[1:]
    for path in [*home.subagents["codex"], *home.earlier["codex"], *home.elsewhere["piglet"]]:
        path.unlink()
    return home


def paths(value) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for row in value["sessions"]:
        found.setdefault(row["agent"], set()).add(row["path"])
    return found


# -- ls ---------------------------------------------------------------------------------------------------


def test_ls_shows_the_sessions_of_all_programs_with_a_column_for_the_program(few, run) -> None:
    result = run("ls")

    assert sorted(result.stdout.splitlines()) == sorted(
        [
            "302f642e    1d      2  piglet       Migration with branches",
            'f27a4840    1d      2  zot          hello <world> & "friends" — ünïcode 漢字 🙂',
            "01a1de18    1d      5  oh-my-pi     1",
            "s_mwhiju    1d      4  induscode    hello wörld line2",
            "019f1000    1d      6  codex        rollbacks",
            "aaaaaaaa    1d      6  claude-code  parser work",
            "019eb0d2    1d      4  operator     hi from the phone",
            "golden-0    1d     16  pi           Q0 ünï ✓" + " w" * 25 + "  ⚠ 1 finding",
            f"{'ours' + str(len(few.cwd)):<8}    1d      2  branchline   Why is the sky blue?",
        ]
    )
    listed = json.loads(run("ls", "--json").stdout)["sessions"]
    assert [line.split()[3] for line in result.stdout.splitlines()] == [row["agent"] for row in listed]
    assert [row["used_ms"] for row in listed] == sorted((row["used_ms"] for row in listed), reverse=True)
    assert result.stderr == "13 seen, 9 listed, 4 of other directories\n"


def test_a_shallow_list_names_the_program_too(few, run) -> None:
    lines = run("ls", "--shallow").stdout.splitlines()

    assert [line.split()[-2] for line in lines] == list(PROGRAMS)
    assert lines[1].split() == ["golden-0", "1d", "13.9", "kB", "pi", "g004"]


def test_where_all_sessions_are_of_other_directories_it_says_how_to_see_them(
    few, run, tmp_path, monkeypatch
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")

    told = run("ls").stderr

    assert "0 listed" in told
    assert "of other directories (`branchline ls --all` lists them)" in told


def test_without_sessions_of_others_there_is_no_column(run, talk) -> None:
    assert "branchline" not in run("ls").stdout


def test_ls_of_all_projects_says_where_each_belongs(few, run) -> None:
    result = run("ls", "--all")

    assert "17 sessions" in result.stderr
    assert re.search(rf"zot +\S*{Path(ELSEWHERE).name} +plan the migration", result.stdout)
    assert re.search(r"induscode +\(no directory\) +list the files", result.stdout)


@pytest.mark.parametrize("given", [["--agent", "zot,codex"], ["--agent", "zot", "--agent", "codex"]])
def test_ls_of_some_programs(home, data, given) -> None:
    assert paths(data("ls", *given)) == {
        agent: {str(path) for path in home.files[agent]} for agent in ("zot", "codex")
    }


def test_the_rows_of_ls_carry_the_program(home, data) -> None:
    assert paths(data("ls")) == {agent: {str(path) for path in home.files[agent]} for agent in PROGRAMS}


def test_an_unknown_program_is_a_wrong_call_that_names_the_nearest(run) -> None:
    told = run("ls", "--agent", "claud", code=2).stderr

    assert "'claud'" in told
    assert "'claude-code'" in told


def test_a_directory_and_programs_exclude_each_other(run, world) -> None:
    assert "cannot be combined with --dir" in run("ls", "--agent", "pi", "--dir", world, code=2).stderr


def test_sub_agents_are_listed_when_asked_for(home, data) -> None:
    listed = {row["path"] for row in data("ls", "--subagents")["sessions"] if row["subagent"]}

    assert listed == {str(path) for files in home.subagents.values() for path in files}


def test_a_format_that_cannot_be_used_is_told_to_those_who_ask(run, talk, monkeypatch) -> None:
    from branchline.plugins.formats import BrokenFormat, InstalledFormats, installed_formats

    broken = InstalledFormats((), (BrokenFormat("odd of oddities", "ImportError: no"),))
    monkeypatch.setattr("branchline.places.installed_formats", lambda: broken)

    assert "the format odd of oddities cannot be used: ImportError: no" in run("ls", "-v").stderr
    assert "oddities" not in run("ls").stderr
    assert installed_formats() != broken


# -- the home screen --------------------------------------------------------------------------------------


def test_without_a_command_the_newest_sessions_of_all_programs_are_shown(few, run) -> None:
    assert run().stdout == run("ls").stdout


def test_in_a_directory_without_sessions_those_of_all_are_shown(few, run, tmp_path, monkeypatch) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")

    assert run().stdout == run("ls", "--all").stdout


# -- naming a session -------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["show", "tree", "inspect", "context", "export"])
@pytest.mark.parametrize("agent", PROGRAMS)
def test_every_command_that_reads_takes_the_id_of_a_session_of_any_program(
    few, run, data, command, agent
) -> None:
    row = next(row for row in data("ls")["sessions"] if row["agent"] == agent)

    by_id = run(command, row["id"])
    by_file = run(command, row["path"])

    assert by_id.stdout == by_file.stdout
    assert by_id.stdout


def test_a_title_or_the_beginning_of_an_id_is_enough(few, data) -> None:
    assert data("inspect", "Migration with branches")["format"] == "piglet"
    assert data("inspect", "s_mwhiju6j")["format"] == "induscode"
    assert data("inspect", "rollbacks")["format"] == "codex"


def test_sessions_of_other_directories_are_found_by_id(few, data, tmp_path, monkeypatch) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")

    assert data("inspect", "f27a4840")["format"] == "zot"


def test_a_name_that_fits_several_programs_is_told_with_them(home, run) -> None:
    shutil.copy(home.of("zot"), home.of("zot").parent / "20261114-072812-f27a4840.jsonl")

    told = run("show", "f27a4840", code=1).stderr

    assert "matches 2 sessions: 2026111" in told
    assert "(zot)" in told


def test_at_last_is_the_first_session_of_the_list_of_any_program(few, data) -> None:
    newest = data("ls")["sessions"][0]

    assert data("inspect", "@last")["id"] == newest["id"]
    few.of(newest["agent"]).unlink()
    assert data("inspect", "@last")["id"] == data("ls")["sessions"][0]["id"] != newest["id"]
    assert data("inspect", "@last:zot")["format"] == "zot"


def test_at_last_of_an_unknown_program_is_a_wrong_call(few, run) -> None:
    assert "did you mean 'zot'" in run("show", "@last:zod", code=2).stderr


def test_who_lists_all_and_has_none_is_not_told_to_list_all(run) -> None:
    assert "`branchline ls --all`" in run("ls").stderr

    assert run("ls", "--all").stderr == "no sessions of any agent yet; `branchline new` starts one\n"


def test_nothing_is_removed_from_another_program_by_its_id(few, run) -> None:
    before = state(few.path)

    told = run("rm", "f27a4840", code=1).stderr

    assert (
        f"is a zot session, not one of branchline; to do this anyway, give its file: {few.of('zot')}" in told
    )
    assert state(few.path) == before


# -- forest -----------------------------------------------------------------------------------------------


def test_the_forest_draws_forks_and_sub_agents_of_all_programs(home, run) -> None:
    lines = run("forest").stdout.splitlines()
    root = next(line for line in lines if line.startswith("43d9df14"))
    begin = len(root) - len(root.split(maxsplit=4)[-1])  # the names of all rows begin in one column
    shapes = {
        (line[:8], line.split()[3]): line[begin : len(line) - len(line[begin:].lstrip("│├└─ "))]
        for line in lines
    }

    assert shapes["43d9df14", "zot"] == ""
    assert shapes["8812b373", "zot"] in ("├─ ", "└─ ")
    assert shapes["412e9ea9", "zot"] in ("│  └─ ", "   └─ ")
    assert shapes["agent-ag", "claude-code"] == "└─ "
    assert {shapes[name, "claude-code"] for name in ("bbbbbbbb", "cccccccc")} == {"├─ ", "└─ "}


def test_a_fork_of_a_foreign_session_hangs_below_it(few, run, data) -> None:
    fork = data("fork", "f27a4840", "--to", "branchline")["session"]

    rows = {item["row"]["id"]: item for item in data("forest")["sessions"]}

    assert rows[fork]["row"]["agent"] == "branchline"
    assert rows[fork]["parent"] == few.of("zot").stem


# -- files that are special -------------------------------------------------------------------------------


def test_a_compressed_rollout_can_be_read(few, data, run) -> None:
    path = compressed(few)
    few.of("codex").unlink()

    assert data("inspect", "019f1000-0000-7000-8000-000000000002")["format"] == "codex"
    assert "first" in run("show", path).stdout


def test_a_compressed_rollout_says_what_is_missing(few, run, monkeypatch) -> None:
    path = compressed(few)
    monkeypatch.setitem(sys.modules, "zstandard", None)

    told = run("show", path, code=1).stderr

    assert told.startswith(f"branchline: cannot open {path}: this rollout is compressed with zstd")
    assert "pip install '.[zstd]'" in told


def test_a_session_of_a_newer_version_is_read_and_told(run, data) -> None:
    path = CORPUS / "pi" / "edge" / "version-99.jsonl"

    result = run("show", path)

    assert "version 99 is newer than 3; opened read-only" in result.stderr
    assert "newer than 3" in run("append", path, "words", code=1).stderr


def test_a_file_that_no_program_knows_is_told_in_one_sentence_with_what_was_tried(run, world) -> None:
    (world / "x.jsonl").write_bytes(b"nothing that anybody knows")

    told = run("show", "x.jsonl", code=1).stderr

    assert told.count("\n") == 1
    assert all(name in told for name in PROGRAMS if name != "branchline")


def test_reading_commands_leave_every_folder_but_the_cache_as_it_was(home, run) -> None:
    before = state(home.path)

    for command in (["ls"], ["ls", "--all", "-v"], ["forest", "--all"], ["show", "f27a4840"], []):
        run(*command)

    cache = str(home.path / ".cache")
    assert {path: what for path, what in state(home.path).items() if not path.startswith(cache)} == before


def test_no_file_is_read_whole_to_find_an_id_in_another_directory(few, run, tmp_path, monkeypatch) -> None:
    """Titles cost the reading of every file here; an id elsewhere must not."""
    for scanner in ("machine_scanner", "store_scanner"):
        monkeypatch.setattr(
            f"branchline.library.{scanner}.read_row",
            lambda *_arguments, **_options: pytest.fail("read whole"),
        )

    elsewhere = few.elsewhere["zot"][0]
    assert str(elsewhere) in run("show", elsewhere.stem[-8:], "--json").stdout


@pytest.mark.parametrize("everywhere", [[], ["--all"]])
def test_ls_knows_the_directory_of_induscode_sessions_that_lie_in_its_folder(few, data, everywhere) -> None:
    rows = data("ls", "--agent", "induscode", *everywhere)["sessions"]

    told = {row["path"]: row["cwd"] for row in rows}
    assert all(told[str(path)] == str(few.cwd) for path in few.files["induscode"])


@pytest.mark.parametrize("agent", ["induscode", "zot", "piglet", "oh-my-pi"])
def test_restore_without_a_name_finds_the_trash_of_other_programs(few, run, data, agent) -> None:
    path = few.files[agent][0]
    token = data("rm", path)["removed"][0]["token"]

    assert [item["token"] for item in data("restore", "--list")["trash"]] == [token]
    run("restore")

    assert path.exists()
