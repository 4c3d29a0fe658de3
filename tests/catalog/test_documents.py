"""The words of many entries at once are those of the entries themselves."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from branchline.catalog.documents import documents_of, text_of
from branchline.formats import CLAUDE_CODE, EntryLog, EntryText, Format

CORPUS = Path(__file__).parents[1] / "corpus"
TYPED = {"claude-code": CLAUDE_CODE}


def read(format_: Format, data: bytes, name: str = "session.jsonl") -> EntryLog:
    return EntryLog(format_, lambda offset, size: data[offset : offset + size], name)


def both(log: EntryLog) -> list[tuple[EntryText, EntryText | None]]:
    """What the format says of entries at once, beside what the decoded entries say."""
    assert log.format.texts is not None
    found = []
    for block in log.reading.blocks:
        data = log.bytes_between(block.offset, block.offset + block.ends[-1])
        for place, text in enumerate(log.format.texts.texts(data, log.reading, block) or (), block.first):
            if text is not None:
                found.append((text, text_of(log.entry(place))))
    return found


@pytest.mark.parametrize("name", TYPED)
def test_texts_equal_those_of_the_decoded_entries_in_every_file_of_the_corpus(name: str) -> None:
    compared = 0
    for path in sorted((CORPUS / name).rglob("*.jsonl")):
        for text, decoded in both(read(TYPED[name], path.read_bytes(), str(path))):
            assert text == decoded, path
            compared += 1

    assert compared > 100


@pytest.mark.parametrize("name", TYPED)
def test_texts_equal_those_of_the_decoded_entries_whatever_a_field_holds(name: str) -> None:
    draw = Random(name)
    paths = sorted((CORPUS / name).rglob("*.jsonl"))
    lines = [line for path in paths for line in path.read_bytes().splitlines()[:30]]
    compared = 0

    for _ in range(400):
        changed = [_changed(line, draw) for line in draw.sample(lines, 4)]
        for text, decoded in both(read(TYPED[name], b"\n".join(changed) + b"\n")):
            assert text == decoded, changed
            compared += 1

    assert compared > 200


_VALUES: tuple[Any, ...] = (
    *(None, True, 7, -1.5, 1 << 70, "", "words", [], {}, ["a", {"type": "text", "text": "b"}]),
    *({"type": "text", "text": None}, {"type": "tool_result", "content": [{"type": "image"}]}),
    *({"type": "web_search_call", "name": "find", "action": {"query": "x"}}, "unknown", "refusal", "error"),
)


def _changed(line: bytes, draw: Random) -> bytes:
    """A line with another value in one place."""
    try:
        fields = json.loads(line)
    except ValueError:
        return line
    where: Any = fields
    for _ in range(draw.randrange(1, 5)):
        if isinstance(where, dict) and where:
            key: Any = draw.choice(sorted(where))
        elif isinstance(where, list) and where:
            key = draw.randrange(len(where))
        else:
            break
        if not isinstance(where[key], dict | list) or draw.random() < 0.2:
            where[key] = draw.choice(_VALUES)
            break
        where = where[key]
    return json.dumps(fields).encode()


def test_an_unusual_record_among_usual_ones_costs_none_of_them() -> None:
    lines = []
    for number in range(40):
        content: Any = f"prompt {number}" if number != 20 else [{"type": "document", "source": {}}, 5]
        about = {"uuid": f"u{number}", "parentUuid": f"u{number - 1}" if number else None, "sessionId": "s"}
        message = {"role": "user", "content": content}
        lines.append(json.dumps({"type": "user", **about, "cwd": "/w", "message": message}).encode())

    documents = list(documents_of(read(CLAUDE_CODE, b"\n".join(lines) + b"\n")))

    assert [one.said for one in documents if one.position != 20] == [
        f"prompt {number}" for number in range(40) if number != 20
    ]
    assert [one.entry for one in documents] == [f"u{number}" for number in range(40)]
