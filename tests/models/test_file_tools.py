"""The file tools read only below one directory, whatever a model requests."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from branchline.entries import ToolCall, message_text
from branchline.models import READ_FILES, call_tool, contained_directory, file_tools


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory with files, beside a secret that links lead to."""
    inside = tmp_path / "inside"
    (inside / "src" / "deep").mkdir(parents=True)
    (inside / "src" / "x.py").write_text("one\ntwo\nthree\n")
    (inside / "src" / "deep" / "y.txt").write_text("two birds\n")
    (inside / "binary").write_bytes(b"two\0birds")
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key.txt").write_text("two keys\n")
    (inside / "link.txt").symlink_to(tmp_path / "secret" / "key.txt")
    (inside / "links").symlink_to(tmp_path / "secret")
    os.mkfifo(inside / "pipe")
    return inside


def call(root: Path | str, name: str, seconds: float = 30.0, /, **arguments: object) -> tuple[str, bool]:
    """What a model is told, and whether that is an error."""
    tools = {tool.name: tool for tool in file_tools(str(root), grep_seconds=seconds)}
    done = asyncio.run(call_tool(tools[name], ToolCall(id="1", name=name, arguments=dict(arguments))))
    return message_text(done), done.is_error is True


def test_they_share_a_permission_and_say_what_they_do(place):
    tools = file_tools(str(place))

    assert [tool.name for tool in tools] == ["list_files", "read_file", "grep_files"]
    assert {tool.permission for tool in tools} == {READ_FILES}
    assert all(tool.description for tool in tools)


def test_a_listing_names_what_is_there_and_follows_no_link(place):
    listed, failed = call(place, "list_files", depth=3)

    assert not failed
    assert listed.split("\n") == [
        "binary  9 bytes",
        "link.txt@",
        "links@",
        "pipe (not a file)",
        "src/",
        "src/deep/",
        "src/deep/y.txt  10 bytes",
        "src/x.py  14 bytes",
    ]


def test_lines_of_a_file_are_read_and_the_rest_is_announced(place):
    assert call(place, "read_file", path="src/x.py") == ("one\ntwo\nthree", False)
    assert call(place, "read_file", path=f"{place}/src/x.py", start_line=2, lines=1) == (
        "two\n[lines 2 to 2; start_line=3 reads on]",
        False,
    )
    assert call(place, "read_file", path="src/x.py", start_line=9) == ("[src/x.py has 3 lines]", False)


def test_of_a_huge_file_only_what_was_asked_for_is_read(place):
    with open(place / "huge.txt", "wb") as file:
        file.write(b"first\n" + b"x" * 3_000_000 + b"\n")
        file.truncate(3_000_000_000)  # sparse

    text, failed = call(place, "read_file", path="huge.txt", lines=2)

    assert not failed
    assert len(text) < 3_000
    assert text.startswith("first\nxxx")
    assert text.endswith("[lines 1 to 2; start_line=3 reads on]")


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("../secret/key.txt", "outside"),
        ("src/../../secret/key.txt", "outside"),
        ("/etc/passwd", "outside"),
        ("~/.ssh/id_rsa", "outside"),
        ("link.txt", "symlink"),
        ("links/key.txt", "symlink"),
        ("src/x.py\0", "outside"),
        ("pipe", "not a regular file"),
        ("src", "directory"),
        ("binary", "not a text file"),
        ("absent", "No such file"),
        ("/".join(["a"] * 100), "components"),
    ],
)
def test_no_path_leads_outside_or_to_something_that_is_no_file(place, path, why):
    said, failed = call(place, "read_file", path=path)

    assert failed
    assert why in said
    assert "keys" not in said


@pytest.mark.skipif(not os.path.exists("/proc/self/environ"), reason="needs /proc")
def test_below_the_root_directory_proc_and_devices_stay_closed():
    for path in ("/proc/self/environ", "proc/self/environ", "/dev/null"):
        said, failed = call("/", "read_file", path=path)
        assert failed
        assert "another file system" in said or "not a regular file" in said
    assert file_tools("/proc/self") == ()


@pytest.mark.parametrize(("swapped", "target"), [("src", "secret"), ("src/x.py", "secret/key.txt")])
def test_a_symlink_that_is_swapped_in_between_two_steps_leads_nowhere(place, monkeypatch, swapped, target):
    """The name was looked at and is a directory or a file; then it becomes a link to the secret."""
    real = os.stat

    def stat_then_swap(name, *arguments, **options):
        found = real(name, *arguments, **options)
        here = place / swapped
        if name == here.name and not here.is_symlink():
            here.rename(place / "moved")
            here.symlink_to(place.parent / target)
        return found

    (place.parent / "secret" / "x.py").write_text("two keys\n")
    monkeypatch.setattr(contained_directory.os, "stat", stat_then_swap)

    said, failed = call(place, "read_file", path="src/x.py")

    assert (place / swapped).is_symlink()
    assert failed
    assert "keys" not in said


def test_grep_finds_lines_in_text_files_and_nothing_behind_links(place):
    assert call(place, "grep_files", pattern=r"tw\w") == (
        "src/deep/y.txt:1: two birds\nsrc/x.py:2: two",
        False,
    )
    assert call(place, "grep_files", pattern="TWO", glob="*.txt", ignore_case=True) == (
        "src/deep/y.txt:1: two birds",
        False,
    )


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"pattern": "("}, "not a regular expression"),
        ({"pattern": "two", "path": "../secret"}, "outside"),
        ({"pattern": "two", "path": "links"}, "symlink"),
    ],
)
def test_grep_refuses_what_reading_refuses(place, arguments, why):
    said, failed = call(place, "grep_files", **arguments)

    assert failed
    assert why in said


def test_a_pattern_that_never_ends_is_ended(place):
    (place / "slow.txt").write_text("a" * 60 + "!\n")

    said, failed = call(place, "grep_files", 1.0, pattern="(a+)+$", path="slow.txt")

    assert not failed
    assert said == "[ended after 1 s: the pattern is too slow or there are too many files]"
