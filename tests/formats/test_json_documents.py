"""The items of large documents, which are read in windows, are the same as those of the whole document."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from branchline import Session
from branchline.actions.inspect import report
from branchline.errors import NotASession
from branchline.formats.common import json_documents
from branchline.formats.common.json_documents import BytesContent, item_lines

_MESSAGES = [
    {"id": f"m{number}", "content": [{"id": "x", "text": "a\n\u2028\0 },\n    {\n" * (number % 9)}]}
    for number in range(300)
]
_LAYOUTS: dict[str, dict[str, Any]] = {
    "compact": {"separators": (",", ":")},
    "spaced": {},
    "indented": {"indent": 2},
    "tabs": {"indent": "\t"},
}


class _Counted(BytesContent):
    """Content that knows the largest piece that was read of it."""

    largest = 0

    def read(self, offset: int, size: int) -> bytes:
        self.largest = max(self.largest, size)
        return super().read(offset, size)


@pytest.fixture(autouse=True)
def _small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_documents, "_WINDOW", 1 << 10)


def _items(content: BytesContent, field: str = "messages") -> list[Any]:
    return [json.loads(line) for line in _split(b"".join(item_lines(content, "file", field)))]


def _split(data: bytes) -> Iterator[bytes]:
    assert not data or data.endswith(b"\n")
    yield from data.split(b"\n")[:-1]


@pytest.mark.parametrize("layout", _LAYOUTS)
def test_windows_hold_the_same_items_as_the_document(layout: str) -> None:
    document = {"version": 1, "origin": {"id": "x"}, "messages": _MESSAGES, "system_prompt": "},{"}
    data = json.dumps(document, **_LAYOUTS[layout]).encode()
    content = _Counted(data)

    assert _items(content) == _MESSAGES
    assert content.largest < len(data) / 8


@pytest.mark.parametrize("layout", _LAYOUTS)
def test_a_document_may_be_an_array(layout: str) -> None:
    data = json.dumps(_MESSAGES, **_LAYOUTS[layout]).encode()

    assert _items(BytesContent(data), "") == _MESSAGES


def test_a_boundary_inside_an_item_is_not_taken_for_one_between_items() -> None:
    """Nested objects that begin like a message make the document be read as a whole."""
    nested = [{"id": "a", "input": [{"id": str(number)} for number in range(2000)]}, *_MESSAGES]
    data = json.dumps({"messages": nested}, separators=(",", ":")).encode()

    assert _items(BytesContent(data)) == nested


def test_a_field_of_the_same_name_further_inside_is_another_one() -> None:
    document = {"origin": {"messages": [{"id": "no"}] * 200}, "messages": _MESSAGES}

    assert _items(BytesContent(json.dumps(document).encode())) == _MESSAGES


@pytest.mark.parametrize("end", [-1, -40, -2000, 900])
def test_an_unfinished_document_is_reported(end: int) -> None:
    data = json.dumps({"messages": _MESSAGES}, indent=2).encode()[:end]

    with pytest.raises(NotASession, match="not finished or damaged"):
        list(item_lines(BytesContent(data), "file", "messages"))


@pytest.mark.parametrize("layout", _LAYOUTS)
def test_a_byte_order_mark_is_accepted(layout: str) -> None:
    data = b"\xef\xbb\xbf" + json.dumps({"messages": _MESSAGES}, **_LAYOUTS[layout]).encode()

    assert _items(BytesContent(data)) == _MESSAGES


def test_items_larger_than_a_window_are_read() -> None:
    messages = [{"id": str(number), "content": "x" * 5000} for number in range(20)]

    assert _items(BytesContent(json.dumps({"messages": messages}).encode())) == messages


def test_items_that_only_a_lenient_decoder_accepts_are_read() -> None:
    data = json.dumps({"messages": [*_MESSAGES, {"id": "last", "cost": float("nan"), "text": "\ud800"}]})

    found = _items(BytesContent(data.encode()))

    assert found[:-1] == _MESSAGES
    assert found[-1]["text"] == "\ud800"


@pytest.mark.parametrize("opened", ["manifest", "messages"])
@pytest.mark.parametrize("damage", [b"", b'{"cwd": "/home', b"\0" * 100, b"[]"])
def test_a_damaged_manifest_of_cline_costs_only_its_own_facts(tmp_path, opened, damage) -> None:
    manifest, messages = _cline_session(tmp_path)
    manifest.write_bytes(damage)

    session = Session.open(manifest if opened == "manifest" else messages)

    assert [session.entry(key).type for key in session.path()] == ["message", "message"]
    assert session.title == "Hello"
    assert "whose file is damaged" in session.findings[0].message


def test_damaged_messages_of_cline_are_named_whichever_file_is_opened(tmp_path) -> None:
    manifest, messages = _cline_session(tmp_path)
    messages.write_bytes(messages.read_bytes()[:-20])

    for path in (manifest, messages):
        with pytest.raises(NotASession, match=r"abcde\.messages\.json is not finished or damaged"):
            Session.open(path)


def test_a_fork_of_cline_names_its_original_and_knows_its_cost(tmp_path) -> None:
    manifest, _ = _cline_session(tmp_path)
    facts = json.loads(manifest.read_text())
    facts["metadata"] |= {"fork": {"forkedFromSessionId": "1794778104000_first"}, "totalCost": 0.25}
    manifest.write_text(json.dumps(facts))

    session = Session.open(manifest)

    assert session.parent_session == "1794778104000_first"
    assert report(session)["usage"]["cost"] == 0.25


def _cline_session(tmp_path: Path) -> tuple[Path, Path]:
    key = "1794778104904_abcde"
    folder = tmp_path / "sessions" / key
    folder.mkdir(parents=True)
    manifest, messages = folder / f"{key}.json", folder / f"{key}.messages.json"
    manifest.write_text(
        json.dumps({"session_id": key, "cwd": "/home/dev", "metadata": {"title": "Greeting"}})
    )
    said = [
        {"id": "1", "role": "user", "content": "Hello"},
        {"id": "2", "role": "assistant", "content": "Hi"},
    ]
    messages.write_text(json.dumps({"version": 1, "messages": said}))
    return manifest, messages
