"""Looking changes nothing: every read command leaves the bytes, times and names of a whole tree as they were."""

from __future__ import annotations

import os
import shutil

import pytest

from support import CORPUS

READ = [
    ["ls"],
    ["ls", "--shallow", "-v"],
    ["forest"],
    ["prune"],
    ["restore", "--list"],
    ["check"],
]
READ_ONE = [
    ["inspect"],
    ["show"],
    ["show", "--raw"],
    ["show", "--markdown"],
    ["tree"],
    ["tree", "--filter", "all"],
    ["context"],
    ["context", "--provider", "openai-chat"],
    ["label", "@leaf"],
    ["name"],
    ["export"],
    ["export", "--branch"],
    ["export", "--format", "md"],
]


def snapshot(root):
    found = {}
    for place, folders, names in os.walk(root):
        for name in [".", *folders, *names]:
            path = os.path.join(place, name)
            status = os.lstat(path)
            content = None
            if not os.path.isdir(path):
                with open(path, "rb") as file:
                    content = file.read()
            found[path] = (status.st_mtime_ns, status.st_ctime_ns, status.st_mode, status.st_ino, content)
    return found


@pytest.fixture
def library(world):
    """Sessions of every kind, sound and damaged, in a directory that may not be written."""
    place = world / "sessions"
    shutil.copytree(CORPUS / "pi" / "edge", place, ignore=shutil.ignore_patterns("*.json", "views-*"))
    for path in place.iterdir():
        path.chmod(0o400)
    place.chmod(0o500)
    yield place
    place.chmod(0o700)


@pytest.fixture(autouse=True)
def no_index(monkeypatch) -> None:
    """The index is the one thing that looking may write; where it is off, nothing is."""
    monkeypatch.setenv("BRANCHLINE_INDEX", "off")


@pytest.mark.parametrize("command", READ, ids=" ".join)
def test_looking_at_a_library_changes_nothing(command, library, world, tmp_path) -> None:
    from click.testing import CliRunner

    from branchline.cli.app import cli

    before = snapshot(tmp_path)

    result = CliRunner().invoke(cli, [*command, "--dir", str(library)])

    assert result.exit_code == (1 if command == ["check"] else 0), result.output
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("command", READ_ONE, ids=" ".join)
@pytest.mark.parametrize("json", [False, True], ids=["words", "json"])
def test_looking_at_a_session_changes_nothing(command, json, library, tmp_path) -> None:
    from click.testing import CliRunner

    from branchline.cli.app import cli

    before = snapshot(tmp_path)

    for path in sorted(library.iterdir()):
        name, *options = command
        result = CliRunner().invoke(cli, [name, str(path), *options, *(["--json"] if json else [])])
        assert "internal error in branchline" not in result.stderr

    assert snapshot(tmp_path) == before


def test_without_a_command_nothing_is_made(run, tmp_path) -> None:
    before = snapshot(tmp_path)

    run()
    run("ls", "--all")
    run("check")

    assert snapshot(tmp_path) == before
