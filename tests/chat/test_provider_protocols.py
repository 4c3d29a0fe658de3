"""A chat with a server on the loopback: attached files in the shape of each protocol, and what they cost."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from branchline.settings import ProviderSettings, Settings
from chat.kit import Talk, drive
from models.server import Reply, says, serving, stream

pytest.importorskip("pydantic_ai")

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
DATA = base64.b64encode(PNG).decode()
FILE = '<file path="notes.txt">\nfour words\n</file>'


def anthropic() -> Reply:
    usage = {"input_tokens": 10, "output_tokens": 1}
    message = {"id": "m", "type": "message", "role": "assistant", "model": "mystery", "content": []}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": message | {"stop_reason": None, "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "seen"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 20}},
        {"type": "message_stop"},
    ]
    return stream(*[f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events])


def google() -> Reply:
    candidate = {
        "content": {"role": "model", "parts": [{"text": "seen"}]},
        "index": 0,
        "finishReason": "STOP",
    }
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 7, "totalTokenCount": 17}
    body = {"candidates": [candidate], "modelVersion": "mystery", "usageMetadata": usage}
    return stream(f"data: {json.dumps(body)}\r\n\r\n".encode())


PROTOCOLS = {
    "openai-completions": (
        says("seen"),
        lambda request: request["messages"][-1]["content"],
        [
            {"type": "text", "text": FILE},
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{DATA}"}},
        ],
    ),
    "anthropic-messages": (
        anthropic(),
        lambda request: request["messages"][-1]["content"],
        [
            {"type": "text", "text": FILE},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DATA}},
        ],
    ),
    "google-generative-ai": (
        google(),
        lambda request: request["contents"][-1]["parts"],
        [
            {"text": FILE},
            {"inlineData": {"mime_type": "image/png", "data": DATA.replace("+", "-").replace("/", "_")}},
        ],
    ),
}


@pytest.mark.parametrize("api", PROTOCOLS)
def test_files_and_images_reach_each_protocol_and_an_unknown_price_is_unknown(project, monkeypatch, api):
    reply, blocks_of, sent = PROTOCOLS[api]
    (project / "notes.txt").write_text("four words\n")
    (project / "shot.png").write_bytes(PNG)
    monkeypatch.setenv("GATEWAY_KEY", "key-for-tests")

    async def work() -> None:
        own = ProviderSettings(
            base_url=server.url.removesuffix("" if api.startswith("openai") else "/v1"),
            api_key_env="GATEWAY_KEY",
            api=api,
        )
        talk = Talk(project, settings=Settings(providers={"gateway": own}))
        async with talk.conductor:
            await talk.say("/model gateway:mystery", "/attach notes.txt", "What is on @shot.png?", "/cost")

            assert talk.front.written == "seen"
            assert blocks_of(server.requests[0])[-2:] == sent
            assert [line.split()[-1] for line in talk.front.lines[-4:]] == ["unknown"] * 4
            assert not [line for line in talk.front.lines if "$" in line]

            await talk.say("/model gateway:two words")
            assert "model names have no spaces" in talk.front.remarks[-1]

    with serving() as server:
        server.will(reply)
        drive(work)


def test_a_price_of_the_settings_makes_an_estimate(project):
    async def work() -> None:
        own = ProviderSettings(base_url=server.url)
        prices = ("gateway/test-model-2026=100:200",)
        talk = Talk(project, settings=Settings(providers={"gateway": own}, prices=prices))
        async with talk.conductor:
            await talk.say("/model gateway:mystery", "hello", "/cost")

            total = next(line for line in talk.front.lines if "this branch" in line)
            assert total.split()[-1].startswith("≈$0.01")

    with serving() as server:
        server.will(says("seen"))
        drive(work)
