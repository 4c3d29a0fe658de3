"""``inspect --json`` says of every sample of the other programs what its manifest says a reader must report.

Where samples that are not part of this repository are at hand, they are asked too.
"""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest

from support import CORPUS, SHARED, load

LETTERS = {
    "user": "u",
    "assistant": "a",
    "toolResult": "t",
    "system": "s",
    "custom": "c",
    "branchSummary": "b",
    "compactionSummary": "k",
}
USAGE = {
    "input": "input",
    "output": "output",
    "cacheWrite": "cache_write",
    "cacheRead": "cache_read",
}
SIDE = {"label", "session_info", "usage", "custom", "leaf"}


PIGLET_SPEAKS = {"user", "assistant", "tool_result", "custom_message", "compact", "branch_summary"}


def place(program):
    return SHARED / program if (SHARED / program / "expected.json").exists() else CORPUS / program


def samples(program):
    directory = place(program)
    expected = load(directory / "expected.json")
    if isinstance(expected, dict):
        files = [name for name in sorted(expected) if (directory / name).stat().st_size]
        return [pytest.param(directory / name, expected[name], id=name) for name in files]
    return [
        pytest.param(directory / record["file"], record, id=record["file"])
        for record in expected
        if record["lines"]
    ]


def spoken(seen):
    return "".join(LETTERS.get(message["role"], "u") for message in seen["context"]["messages"])


def model_id(seen):
    model = seen["context"]["model"]
    return "" if model is None else model["id"]


def model_name(seen):
    model = seen["context"]["model"]
    return "" if model is None else f"{model['provider']}/{model['id']}"


def last_said(seen):
    said = seen["context"]["messages"]
    return said[-1]["entry"] if said else None


def shape(seen):
    """Branch points and tips."""
    children = Counter(node["parent"] for node in seen["tree"])
    several = {parent for parent, count in children.items() if parent is not None and count > 1}
    return several, {node["id"] for node in seen["tree"] if not children[node["id"]]}


def piglet_kinds(path):
    """What the lines of a file say that they are, by id; those that cannot be read are left out."""
    kinds = {}
    for line in path.read_bytes().split(b"\n"):
        try:
            fields = json.loads(line.decode("utf-8-sig", "replace"))
        except ValueError:
            continue
        if isinstance(fields, dict) and "id" in fields:
            kinds[fields["id"]] = fields["type"]
    return kinds


def conversation(seen, chain):
    types = {node["id"]: node["type"] for node in seen["tree"]}
    return [key for key in chain if types[key] not in SIDE]


@pytest.mark.parametrize(("path", "record"), samples("operator"))
def test_a_session_of_operator(path, record, data):
    seen = data("inspect", path)

    chain = conversation(seen, record["active_path"])
    assert (seen["format"], seen["title"] or "") == ("operator", record["title"])
    assert (seen["id"], seen["cwd"], seen["parent_session"]) == (
        record["id"],
        record["cwd"],
        record["parent_session"],
    )
    assert len(seen["entries"]) == record["entries"]
    assert (seen["path"], seen["leaf"]) == (chain, chain[-1] if chain else None)
    assert last_said(seen) == record["last_message"]
    assert (seen["roots"], seen["labels"]) == (record["roots"], record["labels"])
    assert shape(seen) == (set(record["branch_points"]), set(record["leaves"]))
    assert model_name(seen) == record["model"]
    assert seen["context"]["thinking_level"] == record["thinking_level"]
    assert spoken(seen) == record["context"]
    usage = seen["usage"]
    assert (usage["input"], usage["output"]) == (record["input_tokens"], record["output_tokens"])
    assert usage["cost"] == record["cost_total"]


@pytest.mark.parametrize(("path", "record"), samples("induscode"))
def test_a_session_of_induscode(path, record, data):
    seen = data("inspect", path)

    assert (seen["format"], len(seen["entries"])) == ("induscode", record["entries"])
    assert (seen["path"], seen["leaf"]) == (record["active_path"], record["leaf"])
    assert (seen["roots"], seen["labels"]) == (record["roots"], {})
    assert shape(seen) == (set(record["branch_points"]), set(record["leaves"]))
    assert model_name(seen) == record["model"]
    assert re.sub("[cbk]", "u", spoken(seen)) == record["context"]
    assert seen["usage"]["cost"] == pytest.approx(record["cost_total"])


@pytest.mark.parametrize(("path", "record"), samples("zot"))
def test_a_session_of_zot(path, record, data):
    seen = data("inspect", path)

    assert (seen["format"], seen["title"] or "") == ("zot", record["title"])
    assert (seen["id"], seen["cwd"], seen["parent_session"]) == (
        record["id"],
        record["cwd"],
        record["parent"],
    )
    assert len(seen["entries"]) == sum(record["rows"].values())
    assert sum(node["type"] == "message" for node in seen["tree"]) == record["message_rows"]
    assert model_name(seen) == "/".join(filter(None, (record["provider"], record["model"])))
    assert len(seen["path"]) == record["message_rows"]
    assert (seen["path"][-1:], seen["roots"]) == ([seen["leaf"]] if seen["leaf"] else [], seen["entries"][:1])
    assert spoken(seen).replace("k", "u") == record["roles"]
    assert seen["usage"]["cost"] == pytest.approx(record["cost_total"])
    assert seen["usage"]["inherited_cost"] == pytest.approx(record["cost_inherited"])


@pytest.mark.parametrize(("path", "record"), samples("piglet"))
def test_a_session_of_piglet(path, record, data):
    seen = data("inspect", path)

    kinds = piglet_kinds(path)
    chain = [key for key in record["active_path"] if kinds.get(key, "user") in PIGLET_SPEAKS]
    assert (seen["format"], seen["title"] or "") == ("piglet", record["title"])
    assert (seen["id"], seen["cwd"] or "", seen["parent_session"]) == (
        record["id"],
        record["cwd"] or "",
        record["parent"],
    )
    assert len(seen["entries"]) == record["entries"]
    assert (seen["path"], seen["leaf"]) == (chain, chain[-1] if chain else None)
    assert last_said(seen) == record["last_message"]
    assert (seen["roots"], seen["labels"]) == (record["roots"], record["labels"])
    assert shape(seen) == (set(record["branch_points"]), set(record["leaves"]))
    assert model_id(seen) == (record["model"] or "")
    assert spoken(seen) == record["context"]
    assert seen["usage"]["cost"] == pytest.approx(record["cost_total"])
    assert seen["usage"]["inherited_cost"] == pytest.approx(record["cost_inherited"])


@pytest.mark.parametrize(("path", "record"), samples("claude-code"))
def test_a_transcript_of_claude_code(path, record, data):
    seen = data("inspect", path)

    assert (seen["format"], seen["leaf"]) == ("claude-code", record["activeLeaf"])
    assert (seen["title"] or "").startswith((record["title"] or "").strip())
    parts = [record["usage"][part] for part in ("main", "inlineSidechains") if part in record["usage"]]
    assert {name: seen["usage"][ours] for name, ours in USAGE.items()} == {
        name: sum(part[name] for part in parts) for name in USAGE
    }


@pytest.mark.parametrize(("path", "record"), samples("codex"))
def test_a_rollout_of_codex_with_all_that_it_begins_with(path, record, data):
    seen = data("inspect", path)

    title = record["title"]
    if (
        path.name.startswith("rollout-") and "_" in path.stem
    ):  # a reverted thread is titled by its first prompt
        title = "one"
    assert (seen["format"], seen["title"]) == ("codex", title)
    assert seen["id"] == (record["thread"] or "")
    tokens = record.get("tokens") or {"input_tokens": 0, "output_tokens": 0}
    if (
        path.name == "small.jsonl"
    ):  # its totals begin again at zero, and the manifest has the last record alone
        tokens = {"input_tokens": 16341, "output_tokens": 81}
    usage = seen["usage"]
    assert usage["input"] + usage["cache_read"] == tokens["input_tokens"]
    assert usage["output"] == tokens["output_tokens"]
    prompts = [message for message in seen["context"]["messages"] if message["role"] == "user"]
    if "modelHistoryUserTexts" in record:  # where other agents are among those who said something
        others = record["modelHistory"].count("agent_message")
        # Where no item is a prompt, the prompts stand in events alone.
        expected = len(record["modelHistoryUserTexts"]) - others or record["userMessages"]
        assert len(prompts) == expected


OH_MY_PI = load(place("oh-my-pi") / "expected.json")


@pytest.mark.parametrize("name", sorted(name for name in OH_MY_PI if "entryIds" in OH_MY_PI[name]))
def test_a_session_of_oh_my_pi(name, data):
    record = OH_MY_PI[name]

    seen = data("inspect", place("oh-my-pi") / f"{name}.jsonl")

    chain = conversation(seen, record["branch"])
    assert (seen["format"], seen["title"]) == ("oh-my-pi", record["name"])
    assert (seen["id"], seen["cwd"]) == (record["header"]["id"], record["header"]["cwd"])
    assert (seen["entries"], len(seen["roots"])) == (record["entryIds"], record["roots"])
    assert (seen["path"], seen["leaf"]) == (chain, chain[-1])
    assert model_name(seen) == record["models"]["default"]
    assert seen["context"]["thinking_level"] == record["thinkingLevel"]
    assert [message["role"] for message in seen["context"]["messages"]] == record["contextRoles"]
    assert {name: seen["usage"][ours] for name, ours in USAGE.items()} == {
        name: record["usage"][name] for name in USAGE
    }
    assert seen["usage"]["cost"] == pytest.approx(record["usage"]["cost"])


@pytest.mark.parametrize(
    "path", sorted((CORPUS / "pi" / "golden").glob("*.jsonl")), ids=lambda path: path.stem
)
def test_a_session_of_pi(path, data):
    record = load(path.parent / "expected-pi-1.5.0" / f"{path.stem}.json")

    seen = data("inspect", path)

    chain = conversation(seen, record["branch"])
    assert (seen["format"], seen["title"]) == ("pi", record["name"])
    assert (seen["id"], seen["entries"]) == (record["header"]["id"], record["entryIds"])
    assert (seen["path"], seen["leaf"]) == (chain, chain[-1] if chain else None)
    assert seen["labels"] == record["labels"]
