"""What a client of `branchline mcp` learns of a secret by asking: nothing, whatever it asks."""

from __future__ import annotations

import asyncio
import json
import os
import re
import string
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from mcp.client import Client

from branchline.library import SessionLibrary
from branchline.mcp.server import build_server

ALPHABET = string.ascii_letters + string.digits
TOKEN = "ghp_Zk3Q9xWv7LmT2bNc8RyP4sHd6JfGa1Ue5KoX"
OTHER = "ghp_qA8uVt6rEw2ZyX0mLk4jHg1fDs9PoIn7bCv3"
TIME = "2026-01-01T00:00:0{}.000Z"
Ask = Callable[..., str]


def lines(secret: str, name: str, cwd: str, e: str) -> list[dict[str, Any]]:
    """A session with the secret in every field that a query, a list or a lookup looks at."""
    call = {
        "type": "toolCall",
        "id": "c1",
        "name": f"fetch_{secret}",
        "arguments": {"command": f"cat /srv/{secret}/notes.txt", "path": f"/srv/{secret}/notes.txt"},
    }
    spoken = [
        {"role": "user", "content": f"the token is {secret} keep it", "timestamp": 1},
        {"role": "assistant", "content": [call], "model": f"model-{secret}", "provider": "x", "timestamp": 2},
        {
            "role": "toolResult",
            "toolCallId": "c1",
            "toolName": f"fetch_{secret}",
            "content": [{"type": "text", "text": f"token {secret}\nredacted"}],
            "timestamp": 3,
        },
        {"role": "user", "content": "xgh inside of words, tokens and the end", "timestamp": 4},
    ]
    rows: list[dict[str, Any]] = [
        {"type": "session", "version": 3, "id": name, "timestamp": TIME.format(0), "cwd": cwd}
    ]
    parent = None
    for number, message in enumerate(spoken, 1):
        rows.append({"type": "message", "id": f"{e}{number}", "parentId": parent, "message": message})
        parent = f"{e}{number}"
    rows.append(
        {"type": "label", "id": "l1", "parentId": parent, "targetId": f"{e}1", "label": f"about {secret}"}
    )
    rows.append({"type": "session_info", "id": "t1", "parentId": "l1", "name": f"Title {secret}"})
    return [{"timestamp": TIME.format(1), **row} for row in rows]


def world(place: Path, secret: str) -> Ask:
    """A store with the secret, asked through a server; the answer of every call is one text."""
    store = place / "store"
    store.mkdir(parents=True)
    for number, (name, cwd, has) in enumerate(
        [("talk", "/x", secret), (secret, f"/srv/{secret}", secret), ("plain", "/x", "nothing secret")]
    ):
        file = store / f"{name}.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in lines(has, name, cwd, "aek"[number])))
        os.utime(file, (1767225600 + number, 1767225600 + number))
    return server_of(store)


def server_of(store: Path) -> Ask:
    server = build_server(lambda: SessionLibrary(store))

    def ask(tool: str, **arguments: Any) -> str:
        async def call() -> Any:
            async with Client(server) as client:
                return await client.call_tool(tool, arguments)

        result = asyncio.run(call())
        return f"{result.is_error} {result.content[0].text}".replace(str(store), "STORE")

    return ask


@pytest.fixture(autouse=True)
def _home(tmp_path, monkeypatch):
    monkeypatch.setenv("BRANCHLINE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def searches(known: str, letters: str) -> dict[str, str]:
    """One question of each kind about the next letter after what is known."""
    one, many = known + letters[0], f"{re.escape(known)}[{letters}]"
    return {
        "pattern": f"re:(?-i:{many})",
        "pattern with context": f"re:token is (?-i:{many})",
        "pattern of what is not there": rf"re:\A(?![\s\S]*(?-i:{many}))[\s\S]*keep",
        "backwards": f"re:keep(?<=(?-i:{many}).{{{36 - len(known) + 4}}} keep)",
        "word": one,
        "word with others": f"token {one} keep",
        "last letters": one[-3:],
        "phrase": f'"is {one}"',
        "phrase across": f'"is {one[-1]} keep"',
        "phrase after": f'"{one[-2:]} keep"',
        "role": f"role:user {one}",
        "said": f"in:said {one}",
        "tools": f"in:tools {one}",
        "file": f"file:{one}",
        "path": f"path:/srv/{one}",
        "tool": f"tool:fetch_{one}",
        "model": f"model:model-{one}",
        "label": f'label:"about {one}"',
        "label and word": f"label:{one} keep",
        "directory": f"cwd:/srv/{one}",
        "directory and word": f"cwd:{one} keep",
        "title": f"title {one}",
        "fields": f"model:{one} tool:{one} is:fork after:2020-01-01",
        "word of the mark": f"redacted {one[-1]}",
        "kind of the mark": f"github {one[-1]}",
    }


def test_no_question_tells_the_next_letter_of_a_secret(tmp_path):
    """The bisecting attack: the letters are halved while the answers differ from those about another secret."""
    one, other = world(tmp_path / "one", TOKEN), world(tmp_path / "other", OTHER)
    known, told = TOKEN[:9], []

    for letters in (ALPHABET, TOKEN[9] + TOKEN[12], TOKEN[9]):
        for kind, query in searches(known, letters).items():
            answer = one("search", query=query)
            assert TOKEN[4:12] not in answer
            if answer != other("search", query=query):
                told.append(kind)

    assert told == []


def questions(random: Random, secret: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Calls of every tool with arguments cut from a secret."""
    for _round in range(4):
        start = random.randrange(len(secret))
        known = secret[: 4 + random.randrange(12)]
        for query in searches(known, "".join(random.sample(ALPHABET, 30))).values():
            yield "search", {"query": query, "limit": random.choice([1, 3, 100])}
        part = secret[start : start + random.randrange(1, 9)]
        for query in (part, f"{part} token", f'"{part}"', f"re:{part}", f"-{part} keep", f"e {part}"):
            yield "search", {"query": query}
        for name in (secret[:start], secret, f"title {secret}", f"Title {known}", part, "talk", "[redacted"):
            yield "read_session", {"session": name or "x"}
            yield "session_tree", {"session": name or "x", "filter": random.choice(["all", "labeled-only"])}
            yield "get_entry", {"session": name or "x", "entry": random.choice(["e1", known, "e2"])}
        yield "read_session", {"session": "talk", "leaf": known}
        yield "read_session", {"session": "talk", "before": known}
        yield "list_sessions", {"limit": random.choice([1, 2, 100])}


def test_no_answer_depends_on_a_secret(tmp_path):
    """Two stores that differ in the secret alone give the same answer to whatever is asked of either."""
    one, other = world(tmp_path / "one", TOKEN), world(tmp_path / "other", OTHER)
    asked = [*questions(Random(1), TOKEN), *questions(Random(2), OTHER)]

    differing = [
        (tool, arguments) for tool, arguments in asked if one(tool, **arguments) != other(tool, **arguments)
    ]

    assert differing == []


def test_a_secret_that_only_its_name_tells_is_not_found_either(tmp_path):
    """The text that is searched in tool calls has the value without its name."""
    asks = []
    for number, secret in enumerate(["Tr0ubadour-x9Qz-77", "Zebra-Qx81-kPlm-42"]):
        call = {
            "type": "toolCall",
            "id": "c",
            "name": "login",
            "arguments": {"password": secret, "user": "me"},
        }
        rows = [
            {"type": "session", "version": 3, "id": "talk", "timestamp": TIME.format(0), "cwd": "/x"},
            {
                "type": "message",
                "id": "a1",
                "parentId": None,
                "message": {"role": "assistant", "content": [call]},
            },
        ]
        store = tmp_path / f"{number}"
        store.mkdir()
        file = store / "talk.jsonl"
        file.write_text("".join(json.dumps({"timestamp": TIME.format(1), **row}) + "\n" for row in rows))
        os.utime(file, (1767225600, 1767225600))
        asks.append(server_of(store))
    one, other = asks

    for query in (
        "login me",
        "Tr0",
        "login Tr0",
        "in:tools Tr0ubadour",
        "re:Tr0u",
        r"re:\A(?![\s\S]*Tr0)[\s\S]*login",
    ):
        assert one("search", query=query) == other("search", query=query)
    assert '"total":1' in one("search", query="login me")


def test_a_value_is_secret_wherever_it_stands_in_its_session(tmp_path):
    """Only the address in the last entry tells that it is a password."""
    password = "Kestrel-Quiet7"
    store = tmp_path / "store"
    store.mkdir()
    rows = lines("nothing", "talk", f"/srv/{password}", "a")
    spoken = [
        f"take {password} for the database",
        f"is it **{password}**?",
        f"postgres://app:{password}@db.internal/shop",
    ]
    for number, text in enumerate(spoken):
        message = {"role": "user", "content": text, "timestamp": 9}
        rows.append({"type": "message", "id": f"m{number}", "parentId": rows[-1]["id"], "message": message})
    rows.append({"type": "label", "id": "l9", "parentId": "m2", "targetId": "m0", "label": f"on {password}"})
    rows.append({"type": "session_info", "id": "t9", "parentId": "l9", "name": f"About {password}"})
    for row in rows[-5:]:
        row["timestamp"] = TIME.format(2)
    (store / "talk.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    ask = server_of(store)

    answers = [
        ask("list_sessions"),
        ask("read_session", session="talk"),
        ask("read_session", session="talk", last=1, before="m1"),
        ask("session_tree", session="talk"),
        ask("get_entry", session="talk", entry="m0"),
        ask("search", query="database"),
        ask("search", query="re:take .* for"),
    ]

    assert all("redacted:url-password" in answer for answer in answers[1:])
    assert not any("Quiet7" in answer or "Kestrel" in answer for answer in answers)
    for query in ("Kestrel", "take Kes", "re:take Kes", 'label:"on Kes"', "cwd:/srv/Kes database"):
        assert '"total":0' in ask("search", query=query)


def test_what_is_around_a_secret_is_still_found(tmp_path):
    ask = world(tmp_path, TOKEN)

    def found(query: str) -> list[tuple[str, str]]:
        answer = json.loads(ask("search", query=query).partition(" ")[2])
        return sorted((hit["session"], hit["entry"]) for hit in answer["hits"])

    hidden = "[redacted:github-token]"
    assert found('"keep it" is') == sorted([("talk", "a1"), ("plain", "k1"), (hidden, "e1")])
    assert ("talk", "a3") in found("re:^token \\[redacted")
    assert ("talk", "a2") in found("file:notes.txt")
    assert ("plain", "k1") in found("label:secret keep")
    assert found("cwd:/srv keep") == [(hidden, "e1")]
    assert ("plain", "k4") in found("nside")
    assert json.loads(ask("read_session", session=hidden).partition(" ")[2])["session"] == hidden


def test_a_search_that_ends_early_says_how_much_it_read(tmp_path):
    store = tmp_path / "many"
    with SessionLibrary(store) as library:
        for number in range(5):
            with library.get_or_create(f"s{number}") as session:
                session.append_messages(["needle"] * 10)
    server = build_server(lambda: SessionLibrary(store))

    async def call() -> Any:
        async with Client(server) as client:
            return await client.call_tool("search", {"query": "needle", "limit": 1})

    answer = asyncio.run(call()).structured_content

    assert (len(answer["hits"]), answer["total"]) == (1, 20)
    assert answer["remarks"] == ["the search ended after 20 hits: 2 of 5 sessions were read"]
