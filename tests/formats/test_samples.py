"""Every sample file is read as the real program, or our own rules, say."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from branchline.entries import Compaction, CustomContent, MessageEntry
from branchline.formats import PI, EntryLog
from branchline.formats.integrity import check_log
from branchline.log import MemoryLog
from branchline.tree import ROOT
from support import CORPUS, load, sample, transcript

GOLDEN = sorted((CORPUS / "pi" / "golden").glob("*.jsonl"))
EDGE = load(CORPUS / "pi" / "edge" / "expected.json")
SIDE = {"label", "session_info", "usage", "custom", "leaf"}


def file_leaf(found: EntryLog) -> str | None:
    """The leaf as pi sees it: side records count."""
    return None if found.reading.leaf == ROOT else found.tree.keys[found.reading.leaf]


def nested(found: EntryLog) -> list[Any]:
    """The tree as the samples write it: nested lists of id, children and label, children oldest first."""
    nodes: dict[str, list[Any]] = {}
    for key in found.tree:
        label = found.reading.labels.get(key)
        nodes[key] = [key, []] if label is None else [key, [], label.text]
    for key in found.tree:
        nodes[key][1].extend(nodes[child] for child in found.tree.children(key))
    return [nodes[key] for key in found.tree.roots()]


def milliseconds(time: str) -> int:
    return (datetime.fromisoformat(time) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def names(found: EntryLog) -> dict[str, str]:
    """How the samples call the entries: by key, or by line where version 1 has no ids."""
    return {
        key: f"line-{found.reading.line_of(position)}" if found.reading.version == 1 else key
        for position, key in enumerate(found.tree.keys)
    }


# -- golden: what pi itself finds -------------------------------------------------------------------------


@pytest.mark.parity("OPR-01", "OPR-03", "OPR-04")
@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_golden_session_has_the_ids_leaf_branch_tree_name_and_labels_that_pi_finds(path):
    expected = load(path.parent / "expected-pi-1.5.0" / f"{path.stem}.json")

    found = transcript(path)

    placeholders = {found.tree.keys[position] for position in found.tree.placeholders}
    assert [key for key in found.tree if key not in placeholders] == expected["entryIds"]
    assert file_leaf(found) == expected["leafId"]
    assert found.tree.path(file_leaf(found)) == expected["branch"]
    assert nested(found) == expected["tree"]
    assert found.reading.title == expected["name"]
    in_file = {key: state.text for key, state in found.reading.labels.items() if key in found.tree}
    assert in_file == expected["labels"]
    assert found.reading.header is not None
    assert found.reading.header.id == expected["header"]["id"]


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_our_leaf_and_path_are_those_of_pi_without_the_side_records(path):
    expected = load(path.parent / "expected-pi-1.5.0" / f"{path.stem}.json")

    found = transcript(path)

    types = dict(zip(found.tree.keys, found.tree.types, strict=True))
    branch = [key for key in expected["branch"] if types[key] not in SIDE]
    assert found.leaf == (branch[-1] if branch else None)
    assert found.tree.conversation_path(found.leaf) == branch


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_the_time_of_the_last_message_is_what_pi_lists_as_modified(path):
    listed = load(path.parent / "expected-pi-1.5.0" / "_list.json")
    row = next(row for row in listed if row["path"] == path.name)

    found = EntryLog(PI, MemoryLog(path.read_bytes()).read, reader=PI.listing_reader()).reading

    assert found.header is not None
    modified = found.last_message_time or milliseconds(found.header.timestamp)
    assert modified == milliseconds(row["modified"])


# -- edge: what our rules say -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(EDGE))
def test_edge_case_gives_what_our_reader_must_give(name):
    expected = EDGE[name]["reader"]

    found = transcript(CORPUS / "pi" / "edge" / f"{name}.jsonl")

    named = names(found)
    placeholders = [named[found.tree.keys[position]] for position in sorted(found.tree.placeholders)]
    leaf = file_leaf(found)
    assert [named[key] for key in found.tree if named[key] not in placeholders] == expected.get(
        "entryKeys", []
    )
    assert placeholders == expected.get("placeholders", [])
    assert [named[key] for key in found.tree.roots()] == expected.get("roots", [])
    assert (None if leaf is None else named[leaf]) == expected["leafId"]
    assert [named[key] for key in found.tree.path(leaf)] == expected.get("branch", [])


@pytest.mark.parametrize("name", sorted(EDGE))
def test_edge_case_has_the_problems_that_our_reader_must_report_and_no_others(name):
    expected = [problem.partition("@") for problem in EDGE[name]["reader"]["problems"]]

    found = check_log(transcript(CORPUS / "pi" / "edge" / f"{name}.jsonl"))

    reported = [(finding.kind, finding.line) for finding in found if finding.kind != "two-writers"]
    assert sorted(kind for kind, _ in reported) == sorted(kind for kind, _, _ in expected)
    for kind, _, line in expected:
        assert not line or (kind, int(line)) in reported


@pytest.mark.parametrize("name", sorted(EDGE))
def test_edge_case_keeps_its_header(name):
    expected = EDGE[name]["reader"]["header"]

    found = transcript(CORPUS / "pi" / "edge" / f"{name}.jsonl").reading.header

    if expected is None:
        assert found is None
        return
    assert found is not None
    assert (found.id, found.version) == (expected["id"], expected.get("version", 1))
    assert (found.timestamp, found.cwd) == (expected["timestamp"], expected.get("cwd", ""))


# -- older versions ---------------------------------------------------------------------------------------


@pytest.mark.parity("OMP-15", part="in memory, same ids on every load")
@pytest.mark.parametrize("name", ["v1", "v1-kept-header"])
def test_entries_of_version_1_have_the_same_ids_on_every_load(name):
    path = CORPUS / "pi" / "edge" / f"{name}.jsonl"

    first, second = transcript(path), transcript(path)

    assert first.tree.keys == second.tree.keys
    assert len(set(first.tree.keys)) == len(first.tree)
    assert [entry.id for entry in first.entries(range(len(first.tree)))] == first.tree.keys


@pytest.mark.parity("OMP-15", part="in memory, same ids on every load")
def test_a_compaction_of_version_1_names_the_kept_entry_by_its_id():
    found = transcript(CORPUS / "pi" / "edge" / "v1.jsonl")
    line_of_key = {key: found.reading.line_of(position) for position, key in enumerate(found.tree.keys)}

    kept = [
        line_of_key[entry.first_kept]
        for entry in found.entries(range(len(found.tree)))
        if isinstance(entry, Compaction) and entry.first_kept is not None
    ]

    assert kept == [4]  # index 3, header 0: the fourth line


@pytest.mark.parity("OMP-15", part="in memory, same ids on every load")
def test_a_compaction_of_version_1_that_points_at_the_header_keeps_nothing():
    found = transcript(CORPUS / "pi" / "edge" / "v1-kept-header.jsonl")

    kept = [
        entry.first_kept for entry in found.entries(range(len(found.tree))) if isinstance(entry, Compaction)
    ]

    assert kept == [None]


@pytest.mark.parity("OMP-15", part="in memory, same ids on every load")
@pytest.mark.parametrize("name", ["v1", "v2"])
def test_hook_messages_of_older_versions_are_custom_messages(name):
    path = CORPUS / "pi" / "edge" / f"{name}.jsonl"
    found = transcript(path)

    entries = found.entries(range(len(found.tree)))

    messages = [entry.message for entry in entries if isinstance(entry, MessageEntry)]
    assert path.read_bytes().count(b'"hookMessage"') == 1
    assert found.tree.roles.count("custom") == 1
    assert "hookMessage" not in found.tree.roles
    assert sum(isinstance(message, CustomContent) for message in messages) == 1


def test_a_real_large_session_of_version_1_is_read_whole():
    path = sample("pi", "large-session.jsonl")
    expected = load(sample("pi", "large-session.expected.json"))
    before = path.stat()

    found = transcript(path)
    entries = found.entries(range(len(found.tree)))

    assert (len(found.tree), found.reading.lines) == (expected["entries"], expected["lines"])
    assert found.reading.version == expected["version"]
    assert {kind: found.tree.types.count(kind) for kind in set(found.tree.types)} == expected["types"]
    assert len(found.tree.path(file_leaf(found))) == expected["branchLength"]
    assert len(found.tree.roots()) == expected["roots"]
    roles = expected["pi-1.5.0"]["roles"]
    assert {role: found.tree.roles.count(role) for role in roles} == roles
    usages = [getattr(getattr(entry, "message", None), "usage", None) for entry in entries]
    spent = [usage for usage in usages if usage is not None]
    assert {
        "input": sum(usage.input for usage in spent),
        "output": sum(usage.output for usage in spent),
        "cacheRead": sum(usage.cache_read for usage in spent),
        "cacheWrite": sum(usage.cache_write for usage in spent),
    } == expected["usage"]
    assert sum(usage.cost.total for usage in spent) == pytest.approx(expected["cost"])
    assert [finding.kind for finding in check_log(found)] == ["v1"]
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
