"""``inspect --json`` is a contract: on every sample it says what the real programs and the format say."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from branchline.cli.app import cli
from branchline.tree import severity
from support import CORPUS, load

GOLDEN = sorted((CORPUS / "pi" / "golden").glob("g*.jsonl"))
EDGE = sorted((CORPUS / "pi" / "edge").glob("*.jsonl"))
BAD = sorted((CORPUS / "bad").rglob("*.jsonl")) if (CORPUS / "bad").is_dir() else []
SIDE = {"label", "session_info", "usage", "custom", "leaf"}
OUR_NOTES = {"two-writers", "duplicate-key"}


def parents_of(nested, parent=None):
    waiting = [(node, parent) for node in nested]
    found = {}
    while waiting:
        (entry, children, *_), above = waiting.pop()
        found[entry] = above
        waiting += [(child, entry) for child in children]
    return found


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_a_golden_session_is_what_pi_sees(path: Path, data) -> None:
    expected = load(path.parent / "expected-pi-1.5.0" / f"{path.stem}.json")

    seen = data("inspect", path)

    types = {node["id"]: node["type"] for node in seen["tree"]}
    branch = [entry for entry in expected["branch"] if types[entry] not in SIDE]
    assert seen["entries"] == expected["entryIds"]
    assert [entry for entry in seen["path"] if types[entry] != "damaged"] == branch
    assert seen["leaf"] == (branch[-1] if branch else None)
    assert seen["labels"] == expected["labels"]
    assert seen["title"] == expected["name"]
    assert seen["id"] == expected["header"]["id"]
    context = seen["context"]
    assert [message["role"] for message in context["messages"]] == [
        message["role"] for message in expected["context"]["messages"]
    ]
    assert context["thinking_level"] == expected["context"]["thinkingLevel"]
    model = expected["context"]["model"]
    assert context["model"] == (
        None if model is None else {"provider": model["provider"], "id": model["modelId"]}
    )
    selected = [entry for entry in expected["contextEntryIds"] if types[entry] not in SIDE]
    assert [message["entry"] for message in context["messages"]] == [
        entry for entry in selected for message in context["messages"] if message["entry"] == entry
    ]
    guessed = {finding["line"] for finding in seen["findings"] if finding["kind"] == "guessed-link"}
    if not guessed:
        assert {node["id"]: node["parent"] for node in seen["tree"]} == parents_of(expected["tree"])


@pytest.mark.parametrize("path", EDGE, ids=lambda path: path.stem)
def test_an_edge_case_is_read_as_the_format_says(path: Path, run) -> None:
    expected = load(CORPUS / "pi" / "edge" / "expected.json")[path.stem]["reader"]
    is_session = bool(expected.get("entryKeys")) or expected["header"] is not None

    result = run("inspect", path, "--json", code=0 if is_session else 1)

    assert bool(result.stderr) is not is_session
    seen = json.loads(result.stdout)
    assert seen["format"] == ("pi" if is_session else None)
    if not is_session:
        return
    names = dict(zip(seen["entries"], expected.get("entryKeys", []), strict=False))
    types = {node["id"]: node["type"] for node in seen["tree"]}

    def named(entries):
        return [names.get(entry, entry) for entry in entries]

    assert named(seen["entries"]) == expected.get("entryKeys", [])
    assert [node["id"] for node in seen["tree"] if node["type"] == "damaged"] == expected.get(
        "placeholders", []
    )
    by_type = {names.get(entry, entry): kind for entry, kind in types.items()}
    branch = [entry for entry in expected.get("branch", []) if by_type[entry] not in SIDE]
    assert named(seen["path"]) == branch
    readable = [entry for entry in branch if by_type[entry] != "damaged"]
    assert named([seen["leaf"]] if seen["leaf"] else []) == readable[-1:]
    assert named(seen["roots"]) == expected.get("roots", [])
    assert [message["role"] for message in seen["context"]["messages"]] == [
        role for role, *_ in expected.get("context", [])
    ]
    assert seen["context"]["thinking_level"] == expected.get("thinkingLevel", "off")
    model = expected.get("model")
    assert seen["context"]["model"] == (model and {"provider": model["provider"], "id": model["modelId"]})
    found = [
        f"{finding['kind']}@{finding['line']}" if finding["line"] else finding["kind"]
        for finding in seen["findings"]
        if finding["kind"] not in OUR_NOTES
    ]
    assert sorted(map(short, found)) == sorted(map(short, expected["problems"]))
    header = expected["header"]
    assert seen["version"] == (None if header is None else header.get("version", 1))


def short(problem: str) -> str:
    """Where the samples name no line for a finding, ours may."""
    kind, _, line = problem.partition("@")
    return (
        kind
        if kind in ("bom", "no-header", "no-final-newline", "v1", "newer-version", "empty")
        else f"{kind}@{line}"
    )


def test_a_bad_file_gives_json_and_an_exit_code() -> None:
    for path in BAD:
        before = path.read_bytes()

        result = CliRunner().invoke(cli, ["inspect", str(path), "--json"])

        assert result.exit_code in (0, 1), path
        assert bool(result.stderr) is (result.exit_code == 1), path
        assert json.loads(result.stdout)["format"] == ("pi" if result.exit_code == 0 else None), path
        assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("empty.jsonl", b"", "empty"),
        ("text.jsonl", b"hello\n", "no-header"),
        ("binary.jsonl", bytes(range(256)), "no-header"),
        ("other.jsonl", b'{"type":"poll","a":1}\n', "not-a-session"),
        ("object.json", b'{"a": {"b": []}}', "no-header"),
        ("sound.db", b"SQLite format 3\0" + bytes(84), None),
        ("packed.jsonl.zst", b"\x28\xb5\x2f\xfd\0\1", None),
    ],
)
def test_inspect_prints_json_for_a_file_that_is_no_session(run, world, talk, name, data, kind) -> None:
    (world / name).write_bytes(data)

    result = run("inspect", name, "--json", code=1)

    seen, session = json.loads(result.stdout), json.loads(run("inspect", talk, "--json").stdout)
    assert seen.keys() == session.keys()
    assert seen["usage"].keys() == session["usage"].keys()
    assert (seen["format"], seen["id"], seen["leaf"], seen["entries"]) == (None, None, None, [])
    assert result.stderr
    assert seen["findings"]
    assert kind in (None, seen["findings"][0]["kind"])


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, lambda path: path.symlink_to(path)])
@pytest.mark.parametrize("name", ["other", "other.jsonl", "other.db"])
def test_inspect_prints_json_for_what_is_no_file(run, world, name, make) -> None:
    make(world / name)

    result = run("inspect", f"./{name}", "--json", code=1)

    assert json.loads(result.stdout)["findings"][0]["kind"] == "not-a-session"
    assert result.stderr


@pytest.mark.parametrize("data", [b"", bytes(range(256)), b"SQLite format 3\0" + bytes(84)])
def test_inspect_prints_json_for_an_address_in_a_file_that_is_no_database(run, world, data) -> None:
    (world / "a.db").write_bytes(data)

    result = run("inspect", "a.db#talk", "--json", code=1)

    assert json.loads(result.stdout)["findings"]
    assert result.stderr


def test_a_file_that_does_not_exist_is_no_object(run) -> None:
    assert run("inspect", "./missing.jsonl", "--json", code=1).stdout == ""


def test_the_tree_goes_into_the_active_branch_first_and_indents_only_at_branches(data, talk) -> None:
    seen = data("inspect", talk)

    rows = [
        (node["depth"], node["type"], node["role"], node["label"], node["active"]) for node in seen["tree"]
    ]
    assert rows[:3] == [
        (0, "message", "user", None, True),
        (1, "message", "assistant", None, True),
        (2, "message", "user", None, True),
    ]
    assert (2, "message", "user", "left", False) in rows
    assert seen["leaf"] == seen["path"][-1]
    assert seen["labels"] == {node["id"]: "left" for node in seen["tree"] if node["label"]}


def test_what_a_fork_inherited_is_told_apart_in_the_costs(run, data, world) -> None:
    run("new", "--id", "paid")
    usage = {
        "input": 10,
        "output": 2,
        "cacheRead": 1,
        "cacheWrite": 3,
        "totalTokens": 16,
        "cost": {"total": 0.5},
    }
    answer = {"role": "assistant", "content": [], "usage": usage}
    run("append", "paid", "--message-json", json.dumps(answer))
    forked = data("fork", "paid")["session"]
    run("append", forked, "--message-json", json.dumps(answer))

    seen = data("inspect", forked)

    assert seen["usage"] == {
        "input": 20,
        "output": 4,
        "cache_read": 2,
        "cache_write": 6,
        "cost": 1.0,
        "estimated_cost": None,
        "inherited_cost": 0.5,
    }
    assert seen["parent_session"].endswith("_paid.jsonl")


def test_a_person_reads_the_same_in_a_dozen_lines(run, talk) -> None:
    result = run("inspect", talk)

    facts = dict(line.split(maxsplit=1) for line in result.stdout.splitlines())
    assert facts["session"] == "talk  (pi, version 3)"
    assert facts["title"] == "Auth refactor"
    assert "And the tests?" in facts["leaf"]
    assert facts["labels"] == "left"
    assert facts["findings"] == "none"


def test_every_kind_of_finding_has_a_severity() -> None:
    assert {severity(kind) for kind in ("bom", "encoding", "unreadable")} == {"note", "warning", "damage"}


def test_the_leaf_of_a_zot_session_is_its_last_message_whatever_model_was_chosen_since(data, world) -> None:
    """In zot the conversation is all message rows in file order; meta rows say which model is chosen."""
    sample = next(path for path in sorted((CORPUS / "zot").rglob("*f27a4840.jsonl")))
    meta = sample.read_bytes().split(b"\n", 1)[0].replace(b"claude-sonnet-4-5", b"another-model")
    switched = world / "switched.jsonl"
    switched.write_bytes(sample.read_bytes() + meta + b"\n")

    before, after = data("inspect", sample), data("inspect", switched)

    roles = {row["id"]: row["role"] for row in after["tree"]}
    assert [roles[key] for key in after["path"]] == ["user", "assistant"]
    assert (after["leaf"], after["path"]) == (before["leaf"], before["path"])
    assert after["context"]["model"]["id"] == "another-model"


def test_the_report_names_the_file_its_size_and_the_beginning(run, data, world):
    made = Path(run("new", "--title", "Size").stderr.split(": ")[0])
    (world / "odd.jsonl").write_bytes(b"no session\n")

    seen = data("inspect", "@last")
    wrong = data("inspect", world / "odd.jsonl", code=1)

    first = json.loads(made.read_text().splitlines()[0])
    assert (seen["file"], seen["size"], seen["created"]) == (
        str(made),
        made.stat().st_size,
        first["timestamp"],
    )
    assert (wrong["file"], wrong["size"], wrong["created"]) == (str(world / "odd.jsonl"), 11, None)
