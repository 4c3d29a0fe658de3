"""``inspect --json`` says of every sample of the other programs what its manifest says a reader must report."""

from __future__ import annotations

from collections import Counter

import pytest

from support import CORPUS, load

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


def samples(program):
    expected = load(CORPUS / program / "expected.json")
    if isinstance(expected, dict):
        files = [name for name in sorted(expected) if (CORPUS / program / name).stat().st_size]
        return [pytest.param(name, expected[name], id=name) for name in files]
    return [pytest.param(record["file"], record, id=record["file"]) for record in expected if record["lines"]]


def spoken(seen):
    return "".join(LETTERS.get(message["role"], "u") for message in seen["context"]["messages"])


def model_id(seen):
    model = seen["context"]["model"]
    return "" if model is None else model["id"]


def shape(seen):
    """Branch points and tips."""
    children = Counter(node["parent"] for node in seen["tree"])
    several = {parent for parent, count in children.items() if parent is not None and count > 1}
    return several, {node["id"] for node in seen["tree"] if not children[node["id"]]}


def conversation(seen, chain):
    types = {node["id"]: node["type"] for node in seen["tree"]}
    return [key for key in chain if types[key] not in SIDE]


@pytest.mark.parametrize(("name", "record"), samples("operator"))
def test_a_session_of_operator(name, record, data):
    seen = data("inspect", CORPUS / "operator" / name)

    path = conversation(seen, record["active_path"])
    assert (seen["format"], seen["title"] or "") == ("operator", record["title"])
    assert len(seen["entries"]) == record["entries"]
    assert (seen["path"], seen["leaf"]) == (path, path[-1] if path else None)
    assert (seen["roots"], seen["labels"]) == (record["roots"], record["labels"])
    assert shape(seen) == (set(record["branch_points"]), set(record["leaves"]))
    assert model_id(seen) == record["model"].partition("/")[2]
    assert seen["context"]["thinking_level"] == record["thinking_level"]
    assert spoken(seen) == record["context"]
    usage = seen["usage"]
    assert (usage["input"], usage["output"]) == (record["input_tokens"], record["output_tokens"])


@pytest.mark.parametrize(("name", "record"), samples("induscode"))
def test_a_session_of_induscode(name, record, data):
    seen = data("inspect", CORPUS / "induscode" / name)

    assert (seen["format"], len(seen["entries"])) == ("induscode", record["entries"])
    assert (seen["path"], seen["leaf"]) == (record["active_path"], record["leaf"])
    assert (seen["roots"], seen["labels"]) == (record["roots"], {})
    assert shape(seen) == (set(record["branch_points"]), set(record["leaves"]))
    assert model_id(seen) == record["model"].partition("/")[2]
    assert len(seen["context"]["messages"]) == len(record["context"])
    assert seen["usage"]["cost"] == pytest.approx(record["cost_total"])


@pytest.mark.parametrize(("name", "record"), samples("zot"))
def test_a_session_of_zot(name, record, data):
    seen = data("inspect", CORPUS / "zot" / name)

    assert (seen["format"], seen["title"] or "") == ("zot", record["title"])
    assert (seen["id"], seen["cwd"], seen["parent_session"]) == (
        record["id"],
        record["cwd"],
        record["parent"],
    )
    assert len(seen["entries"]) == sum(record["rows"].values())
    assert sum(node["type"] == "message" for node in seen["tree"]) == record["message_rows"]
    assert model_id(seen) == (record["model"] or "")
    assert spoken(seen).replace("k", "u") == record["roles"]
    assert seen["usage"]["cost"] == pytest.approx(record["cost_total"])
    assert seen["usage"]["inherited_cost"] == pytest.approx(record["cost_inherited"])


@pytest.mark.parametrize(("name", "record"), samples("piglet"))
def test_a_session_of_piglet(name, record, data):
    seen = data("inspect", CORPUS / "piglet" / name)

    path = conversation(seen, record["active_path"])
    assert (seen["format"], seen["title"] or "") == ("piglet", record["title"])
    assert len(seen["entries"]) == record["entries"]
    assert (seen["path"], seen["leaf"]) == (path, path[-1] if path else None)
    assert (seen["roots"], seen["labels"]) == (record["roots"], record["labels"])
    assert shape(seen) == (set(record["branch_points"]), set(record["leaves"]))
    assert model_id(seen) == (record["model"] or "")
    assert spoken(seen) == record["context"]
    assert seen["usage"]["cost"] == pytest.approx(record["cost_total"])
    assert seen["usage"]["inherited_cost"] == pytest.approx(record["cost_inherited"])


@pytest.mark.parametrize(("name", "record"), samples("claude-code"))
def test_a_transcript_of_claude_code(name, record, data):
    seen = data("inspect", CORPUS / "claude-code" / name)

    assert (seen["format"], seen["leaf"]) == ("claude-code", record["activeLeaf"])
    assert (seen["title"] or "").startswith((record["title"] or "").strip())
    assert {name: seen["usage"][ours] for name, ours in USAGE.items()} == {
        name: record["usage"]["main"][name] for name in USAGE
    }


@pytest.mark.parametrize(("name", "record"), samples("codex"))
def test_a_rollout_of_codex_with_all_that_it_begins_with(name, record, data):
    seen = data("inspect", CORPUS / "codex" / name)

    assert (seen["format"], seen["title"]) == ("codex", record["title"])
    assert seen["id"] == (record["thread"] or "")
    tokens = record.get("tokens") or {"input_tokens": 0, "output_tokens": 0}
    usage = seen["usage"]
    assert usage["input"] + usage["cache_read"] == tokens["input_tokens"]
    assert usage["output"] == tokens["output_tokens"]
    prompts = [message for message in seen["context"]["messages"] if message["role"] == "user"]
    assert len(prompts) == len(record["modelHistoryUserTexts"])
