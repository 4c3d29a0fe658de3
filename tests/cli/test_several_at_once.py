"""Several messages may be appended in one call, and a store that pi has let go of is named by every command."""

from __future__ import annotations

import json


def result(call):
    return {"role": "toolResult", "toolCallId": call, "toolName": "read", "content": [], "isError": False}


def test_the_results_of_all_calls_are_appended_together_to_a_session_of_zot(data, run, world, monkeypatch):
    monkeypatch.setenv("ZOT_HOME", str(world / "zot"))
    file = data("new", "--format", "zot")["file"]
    calls = [{"type": "toolCall", "id": call, "name": "read", "arguments": {}} for call in ("c1", "c2")]
    run("append", file, "question")
    run("append", file, "--message-json", json.dumps({"role": "assistant", "content": calls}))

    run("append", file, "--message-json", json.dumps([result("c1"), result("c2")]))

    seen = data("inspect", file)
    assert [message["role"] for message in seen["context"]["messages"]] == ["user", "assistant", "toolResult"]
    assert not seen["findings"]


def test_a_list_with_something_that_is_no_message_is_a_wrong_call(run, data, talk):
    before = data("inspect", talk)

    run("append", talk, "--message-json", json.dumps([result("c1"), 5]), code=2)
    run("append", talk, "--message-json", "[]", code=2)

    assert data("inspect", talk) == before


def test_a_withdrawn_store_of_pi_is_named_as_not_supported(run, world):
    (world / "old.jsonl").write_text('{"v":4,"kind":"header","id":"x"}\n')

    for command in ("inspect", "check", "tree"):
        result = run(command, "old.jsonl", code=1)
        assert "whose format was withdrawn; it is not supported" in result.stdout + result.stderr
