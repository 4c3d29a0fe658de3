"""Finding files by path patterns: nothing is opened, and symlink cycles end."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from branchline.stores.walker import walk


def stem(path: str) -> str:
    return os.path.basename(path).split(".")[0]


def make(root, *names):
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")


def found(root, layout, folder=None):
    walked = walk(str(root), layout, str(folder or root), stem)
    return sorted(os.path.relpath(state.path, root) for state in walked.found)


@pytest.mark.parametrize(
    ("layout", "names"),
    [
        (["*.jsonl"], ["a.jsonl"]),
        (["*/*.jsonl"], ["p/b.jsonl", "q/c.jsonl"]),
        (["*.jsonl", "*/*.jsonl"], ["a.jsonl", "p/b.jsonl", "q/c.jsonl"]),
        (["p/*.jsonl"], ["p/b.jsonl"]),
        (["*/*/*/rollout-*.jsonl"], ["2026/01/02/rollout-x.jsonl"]),
        (["q/**/*.jsonl"], ["q/c.jsonl", "q/r/d.jsonl", "q/r/s/e.jsonl"]),
        (["**/d.jsonl"], ["q/r/d.jsonl"]),
        (["*.zst"], ["z.zst"]),
        ([], []),
    ],
    ids=str,
)
def test_a_layout_says_which_files_are_sessions(tmp_path, layout, names):
    make(
        tmp_path,
        "a.jsonl",
        "z.zst",
        "a.txt",
        "p/b.jsonl",
        "q/c.jsonl",
        "q/r/d.jsonl",
        "q/r/s/e.jsonl",
        "2026/01/02/rollout-x.jsonl",
        "2026/01/02/other.jsonl",
        ".hidden/h.jsonl",
        "q/.hidden.jsonl",
    )

    assert found(tmp_path, layout) == names


def test_the_layout_counts_from_the_root_wherever_the_walk_begins(tmp_path):
    make(tmp_path, "p/b.jsonl", "p/s/subagents/agent-1.jsonl", "q/c.jsonl")

    assert found(tmp_path, ["*/*.jsonl", "*/*/subagents/agent-*.jsonl"], tmp_path / "p") == [
        "p/b.jsonl",
        "p/s/subagents/agent-1.jsonl",
    ]


def test_a_ring_of_links_ends(tmp_path):
    make(tmp_path, "p/a.jsonl", "p/q/b.jsonl")
    (tmp_path / "p" / "q" / "ring").symlink_to(tmp_path / "p")

    assert len(found(tmp_path, ["**/*.jsonl"])) == 2


def test_what_is_no_session_is_told(tmp_path):
    make(tmp_path, "a.sync-conflict-20260101-000000.jsonl", "b.jsonl.nextcloud")
    (tmp_path / "dangling.jsonl").symlink_to(tmp_path / "nowhere")
    (tmp_path / "folder.jsonl").mkdir()

    walked = walk(str(tmp_path), ["*.jsonl"], str(tmp_path), lambda path: os.path.basename(path)[:-6])

    assert walked.found == []
    assert sorted(item.reason.split(":")[0] for item in walked.hidden) == [
        "a conflict copy of 'a' made by Syncthing",
        "a placeholder of Nextcloud for 'b.jsonl', not the session itself",
        "cannot be read",
        "not a regular file",
    ]


def test_a_folder_that_is_not_there_holds_nothing(tmp_path):
    walked = walk(str(tmp_path), ["*/*.jsonl"], str(tmp_path / "none"), stem)

    assert (walked.found, walked.hidden) == ([], [])


NAMES = st.lists(st.sampled_from(["a", "b", "c"]), min_size=0, max_size=3)


@given(st.sets(NAMES.map(tuple), max_size=8), st.lists(st.sampled_from(["*", "**", "a", "b"]), max_size=3))
def test_the_walk_finds_what_the_pattern_says(tmp_path_factory, folders, pattern):
    """As a plain matcher over all paths has it: a star is one folder, two stars are any number."""
    root = tmp_path_factory.mktemp("walk")
    for folder in folders:
        make(root, "/".join([*folder, "x.jsonl"]))

    def matches(parts, rest):
        if not rest:
            return not parts
        if rest[0] == "**":
            return any(matches(parts[number:], rest[1:]) for number in range(len(parts) + 1))
        return bool(parts) and rest[0] in ("*", parts[0]) and matches(parts[1:], rest[1:])

    expected = ["/".join([*folder, "x.jsonl"]) for folder in folders if matches(folder, pattern)]
    assert found(root, ["/".join([*pattern, "*.jsonl"])]) == sorted(expected)


def test_a_file_that_did_not_change_is_found_as_it_was_known(tmp_path):
    make(tmp_path, "a.jsonl", "b.jsonl")
    walked = walk(str(tmp_path), ["*.jsonl"], str(tmp_path), stem)
    known = {state.path: structs.replace(state, number=7) for state in walked.found}
    (tmp_path / "b.jsonl").write_bytes(b"xy")

    again = walk(str(tmp_path), ["*.jsonl"], str(tmp_path), stem, known)

    assert {os.path.basename(state.path): state.number for state in again.found} == {
        "a.jsonl": 7,
        "b.jsonl": 0,
    }
