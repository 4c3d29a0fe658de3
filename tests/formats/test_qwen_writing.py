"""What is written for Qwen Code: records that it sends on as requests that model APIs accept."""

from __future__ import annotations

import json
from typing import Any

from branchline.conversion import convert
from branchline.formats import QWEN
from branchline.session import Session
from formats.conversion_kit import HEADER, said, written

IMAGE = {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}


def call(name: str) -> dict[str, Any]:
    return {"type": "toolCall", "id": name, "name": "read", "arguments": {"path": name}}


def result(name: str, *blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "toolResult", "toolCallId": name, "toolName": "read", "content": list(blocks)}


def test_the_image_of_a_result_is_part_of_it():
    """Beside it, Qwen Code would send it as a prompt between the results of two calls."""
    with Session.in_memory("/home/u/project", id="source") as session:
        session.append_message("show both")
        session.append_message({"role": "assistant", "content": [call("a"), call("b")], "model": "m"})
        session.append_message(result("a", {"type": "text", "text": "a picture:"}, IMAGE))
        session.append_message(result("b", {"type": "text", "text": "none"}))

        made = convert(session.transcript, QWEN, HEADER)

        records = [json.loads(line) for line in made.data.splitlines()]
        parts = [record["message"]["parts"] for record in records if record["type"] == "tool_result"]
        assert [[*part] for one in parts for part in one] == [["functionResponse"], ["functionResponse"]]
        image = {"mimeType": "image/png", "data": IMAGE["data"]}
        assert parts[0][0]["functionResponse"]["parts"] == [{"inlineData": image}]
        assert said(written(made.data, QWEN), target=QWEN) == said(session.transcript, target=QWEN)


def test_a_session_has_no_records_that_qwen_code_shows_beside_the_conversation():
    """It says of a rewind that the conversation was rewound, wherever it is."""
    with Session.in_memory("/home/u/project", id="source") as session:
        first = session.append_message("one")
        session.append_message("two")
        session.branch(first)

        made = convert(session.transcript, QWEN, HEADER)

    records = [json.loads(line) for line in made.data.splitlines()]
    assert [record["subtype"] for record in records if record["type"] == "system"] == ["branchline"] * 2
    assert records[-1]["parentUuid"] == records[-1]["systemPayload"]["leaf"] == records[1]["uuid"]
    back = written(made.data, QWEN)
    assert back.tree.keys[back.tree.nearest_conversation_entry(back.reading.leaf)] == records[1]["uuid"]
