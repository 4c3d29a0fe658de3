"""Lines that are no message of the protocol are answered, with the id of the request where it can be read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from branchline.mcp.refusals import LARGEST_MESSAGE, refusals
from support import ROOT

PARSE, INVALID = -32700, -32600
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": "first",
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    },
}
CASES: list[tuple[bytes, list[tuple[Any, int]]]] = [
    (b"x", [(None, PARSE)]),
    (b"{", [(None, PARSE)]),
    (b"\0" * 100, [(None, PARSE)]),
    (b"\xff\xfe\xfd", [(None, PARSE)]),
    (b"[" * 200_000 + b"]" * 200_000, [(None, PARSE)]),
    (b'{"a":' * 50_000, [(None, PARSE)]),
    (b'{"jsonrpc":"2.0","id":1,"method":"tools/list"', [(1, PARSE)]),
    (b'{"jsonrpc": "2.0", "id" : "a b" , "params": {"id": 5, ]', [("a b", PARSE)]),
    (b'{"jsonrpc":"2.0","id":12', [(None, PARSE)]),
    (b'{"jsonrpc":"2.0","params":{"id":5},"method":nope}', [(None, PARSE)]),
    (b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"x":"\xff"}}', [(2, PARSE)]),
    (b"null", [(None, INVALID)]),
    (b"1", [(None, INVALID)]),
    (b'"a"', [(None, INVALID)]),
    (b"[]", [(None, INVALID)]),
    (b"{}", [(None, INVALID)]),
    (b'{"jsonrpc":"1.0","id":3,"method":"tools/list"}', [(3, INVALID)]),
    (b'{"jsonrpc":"2.0","id":4}', [(4, INVALID)]),
    (b'{"jsonrpc":"2.0","id":{},"method":"tools/list"}', [(None, INVALID)]),
    (b'{"jsonrpc":"2.0","id":true,"method":"tools/list"}', [(None, INVALID)]),
    (b'{"jsonrpc":"2.0","id":"\\ud800","method":5}', [(None, INVALID)]),
    (b'{"jsonrpc":"2.0","id":5,"method":5}', [(5, INVALID)]),
    (b'{"jsonrpc":"2.0","id":6,"method":"tools/call","params":5}', [(6, INVALID)]),
    (
        (
            b'{"jsonrpc":"2.0","id":7,"method":"tools/call",'
            b'"params":{"name":"search","arguments":{"query":"\\ud800"}}}'
        ),
        [(7, INVALID)],
    ),
    (b'[{"jsonrpc":"2.0","id":8,"method":"x"},{"id":9},{}]', [(8, INVALID), (9, INVALID)]),
    (b'{"jsonrpc":"2.0","id":10,"result":5}', []),
    (
        b'{"jsonrpc":"2.0","id":11,"method":"tools/call","params":"' + b"x" * 3 * LARGEST_MESSAGE + b'"}',
        [(11, INVALID)],
    ),
]


@pytest.mark.parametrize(("line", "answers"), CASES, ids=lambda case: repr(case)[:50])
def test_a_line_that_is_no_message_is_refused_by_name(line, answers):
    is_cut = len(line) > LARGEST_MESSAGE

    found = refusals(line[: LARGEST_MESSAGE + 1], is_cut=is_cut)

    assert [(one.id, one.code) for one in found] == answers


def test_every_request_is_answered_over_standard_input_and_output(tmp_path):
    """All of them in one conversation, with blank lines, and the last request without a newline."""
    asked = [
        json.dumps(INITIALIZE).encode(),
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
        b"",
        b" ",
    ]
    for line, _answers in CASES:
        asked.append(line)
    asked += [
        b'{"jsonrpc":"2.0","id":20,"method":"nope"}',
        b'{"jsonrpc":"2.0","id":21,"method":"tools/call"}',
        b'{"jsonrpc":"2.0","id":22,"method":"tools/call","params":{"name":"search","arguments":[]}}',
        b'{"jsonrpc":"2.0","id":23,"method":"tools/call","params":{"name":"list_sessions","arguments":{}}}',
    ]
    expected = [answer for _line, answers in CASES for answer in answers]

    with subprocess.Popen(
        [sys.executable, "-m", "branchline", "mcp", "--store", str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "BRANCHLINE_HOME": str(tmp_path / "home")},
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"\n".join(asked) + b"\n")
        process.stdin.flush()
        answers = [json.loads(process.stdout.readline()) for _ in range(1 + len(expected) + 4)]
        process.stdin.close()
        rest = process.stdout.read()
        assert process.wait(timeout=30) == 0

    assert rest == b""
    refused = [one for one in answers if one.get("error", {}).get("code") in (PARSE, INVALID)]
    assert [(one["id"], one["error"]["code"]) for one in refused] == expected
    assert {one["id"] for one in answers} >= {"first", 20, 21, 22, 23}
