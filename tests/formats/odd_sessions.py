"""Sessions that agents and model APIs are particular about, each for one reason.

Writers turn them into sessions that an agent continues and a model API accepts. They are native files made by
hand, because no verb of a session writes some of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

__all__ = ["ODD_SESSIONS"]

TIME = "2026-03-01T10:00:{:02}.000Z"
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

Row = dict[str, Any]


def session(*rows: Row) -> bytes:
    """A native file; each entry is a child of the previous one unless it names a parent, and is named by its place."""
    header = {"type": "session", "version": 3, "id": "odd", "timestamp": TIME.format(0), "cwd": "/home/u/p"}
    lines, last = [header], None
    for number, row in enumerate(rows):
        made = {"id": f"e{number}", "parentId": last, "timestamp": TIME.format(number + 1), **row}
        last = made["id"]
        lines.append(made)
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def user(content: str | list[Row], **more: Any) -> Row:
    return {"type": "message", "message": {"role": "user", "content": content}, **more}


def answer(*blocks: Row, stop: str = "stop", **more: Any) -> Row:
    message = {
        "role": "assistant",
        "content": list(blocks),
        "provider": "x",
        "model": "m",
        "stopReason": stop,
    }
    return {"type": "message", "message": message, **more}


def text(words: str) -> Row:
    return {"type": "text", "text": words}


def image(kind: str = "image/png", data: str = PNG) -> Row:
    return {"type": "image", "data": data, "mimeType": kind}


def thinking(words: str, signature: str | None = None) -> Row:
    return {"type": "thinking", "thinking": words, **({"thinkingSignature": signature} if signature else {})}


def call(name: str, tool: str = "read", **arguments: Any) -> Row:
    return {"type": "toolCall", "id": name, "name": tool, "arguments": arguments}


def calls(*names: str) -> Row:
    return answer(*(call(name, n=number) for number, name in enumerate(names)), stop="toolUse")


def result(name: str, content: str | list[Row], tool: str = "read", **more: Any) -> Row:
    parts = [text(content)] if isinstance(content, str) else content
    message = {"role": "toolResult", "toolCallId": name, "toolName": tool, "content": parts, "isError": False}
    return {"type": "message", "message": message, **more}


def compaction(summary: str, first: str | None, **more: Any) -> Row:
    return {"type": "compaction", "summary": summary, "firstKeptEntryId": first, "tokensBefore": 10, **more}


def _turns(*texts: str) -> Iterable[Row]:
    for words in texts:
        yield user(words)
        yield answer(text(f"{words}: done"))


ODD_SESSIONS: dict[str, bytes] = {
    "only a prompt": session(user("hello")),
    "starts with an answer": session(answer(text("Welcome.")), user("hello"), answer(text("Hi."))),
    "starts with a call": session(calls("a"), result("a", "one"), answer(text("Done."))),
    "ends with a call": session(user("go"), calls("a")),
    "ends with one of two results": session(user("go"), calls("a", "b"), result("b", "two")),
    "ends with a result": session(user("go"), calls("a"), result("a", "one")),
    "a prompt instead of a result": session(user("go"), calls("a"), user("stop"), answer(text("Stopped."))),
    "a result without a call": session(user("go"), result("a", "one"), answer(text("Done."))),
    "a second result": session(
        user("go"), calls("a"), result("a", "one"), result("a", "two"), answer(text("Done."))
    ),
    "a result of no call among others": session(
        user("go"),
        calls("a", "b"),
        result("z", "0"),
        result("a", "1"),
        result("b", "2"),
        answer(text("Done.")),
    ),
    "a branch at a result that was replaced": session(
        user("go"),
        calls("a"),
        result("a", "one"),
        answer(text("Left.")),
        result("a", "two", parentId="e2"),
        answer(text("Right.")),
    ),
    "a result in several texts": session(
        user("go"), calls("a"), result("a", [text("one"), text(""), text("two")]), answer(text("Done."))
    ),
    "a late result": session(user("go"), calls("a"), user("wait"), result("a", "one"), answer(text("Done."))),
    "results in another order": session(
        user("go"), calls("a", "b", "c"), result("c", "3"), result("a", "1"), result("b", "2")
    ),
    "an id for calls of two answers": session(
        user("go"),
        calls("a"),
        result("a", "one"),
        calls("a"),
        result("a", "two"),
        answer(text("Done.")),
    ),
    "an id for two calls of an answer": session(
        user("go"), calls("a", "a"), result("a", "one"), result("a", "two"), answer(text("Done."))
    ),
    "calls without ids": session(user("go"), calls(""), result("", "one"), answer(text("Done."))),
    "ids of another API": session(
        user("go"),
        calls("call_abc|fc_123", "größe", "a b"),
        result("call_abc|fc_123", "one"),
        result("größe", "two"),
        result("a b", "three"),
        answer(text("Done.")),
    ),
    "long ids": session(
        user("go"),
        calls("a" * 300, "a" * 300 + "b"),
        result("a" * 300, "one"),
        result("a" * 300 + "b", "two"),
        answer(text("Done.")),
    ),
    "ids that differ in what is cleaned": session(
        user("go"), calls("a.b", "a:b", "a_b"), result("a.b", "1"), result("a:b", "2"), result("a_b", "3")
    ),
    "names of tools that no API takes": session(
        user("go"),
        answer(call("a", "my tool.v2/é"), call("b", "t" * 100), call("c", ""), stop="toolUse"),
        result("a", "one", "my tool.v2/é"),
        result("b", "two", "t" * 100),
        result("c", "three", ""),
        answer(text("Done.")),
    ),
    "empty texts": session(
        user([text(""), text("go"), text(" ")]),
        answer(text(""), text("Done."), text("\n")),
        user(""),
        answer(text("")),
        user("more"),
        answer(text(" ")),
        user("and more"),
    ),
    "an empty result": session(user("go"), calls("a", "b"), result("a", ""), result("b", [])),
    "prompts in a row": session(
        user("one"), user("two"), user([text("three"), image()]), answer(text("Ok."))
    ),
    "answers in a row": session(
        user("go"), answer(text("One.")), answer(text("Two.")), answer(text("Two.")), user("next")
    ),
    "calls after calls": session(
        user("go"), calls("a"), result("a", "one"), calls("b"), result("b", "two"), answer(text("Done."))
    ),
    "calls after an answer": session(
        user("go"), answer(text("I look.")), calls("a"), result("a", "one"), answer(text("Done."))
    ),
    "calls without a result, then calls": session(
        user("go"), calls("a"), calls("b"), result("b", "two"), answer(text("Done."))
    ),
    "text after calls": session(
        user("go"),
        answer(text("First."), call("a"), text("Then."), call("b"), stop="toolUse"),
        result("a", "one"),
        result("b", "two"),
        answer(text("Done.")),
    ),
    "thinking without and with signatures": session(
        user("go"),
        answer(thinking("hm"), text("One.")),
        user("more"),
        answer(thinking("hm", "c2lnbmF0dXJl"), text("Two.")),
        user("and"),
        answer(thinking("", "ZW5jcnlwdGVk"), call("a"), stop="toolUse"),
        result("a", "one"),
        answer(thinking("only this")),
        user("next"),
        answer(text("Three.")),
    ),
    "images of unknown kinds": session(
        user([text("look"), image("image/x-unknown"), image("")]),
        answer(text("I see.")),
        user([image("image/svg+xml", "PHN2Zy8+")]),
        answer(text("And that.")),
    ),
    "images in results": session(
        user("go"), calls("a", "b"), result("a", [text("see"), image()]), result("b", [image()])
    ),
    "a system message in the middle": session(
        *_turns("one"),
        {"type": "message", "message": {"role": "system", "content": "Be brief."}},
        *_turns("two"),
    ),
    "a compaction at the tip": session(*_turns("one", "two"), compaction("In short.", "e2")),
    "a compaction that keeps nothing at the tip": session(*_turns("one"), compaction("In short.", None)),
    "several compactions": session(
        *_turns("one", "two"),
        compaction("First summary.", "e2"),
        *_turns("three"),
        compaction("Second summary.", "e5"),
        *_turns("four"),
        compaction("Third summary.", "e2"),
        user("five"),
    ),
    "a compaction between a call and its result": session(
        user("go"), calls("a"), compaction("In short.", "e0"), result("a", "one"), answer(text("Done."))
    ),
    "a compaction that keeps a result without its call": session(
        user("go"), calls("a"), result("a", "one"), compaction("In short.", "e2"), user("next")
    ),
    "a compaction that keeps a call without its result": session(
        user("go"), calls("a"), compaction("In short.", "e1"), user("next")
    ),
    "branches inside an exchange": session(
        user("go"),
        calls("a", "b"),
        result("a", "one"),
        result("b", "two"),
        answer(text("Left.")),
        result("b", "other", parentId="e2"),
        answer(text("Middle.")),
        user("stop", parentId="e1"),
        answer(text("Right.")),
    ),
    "the leaf inside an exchange": session(
        user("go"),
        calls("a", "b"),
        result("a", "one"),
        result("b", "two"),
        answer(text("Left.")),
        {"type": "leaf", "targetId": "e2", "parentId": "e2"},
    ),
    "several roots": session(*_turns("one"), user("another start", parentId=None), answer(text("Yes."))),
    "a failed answer": session(
        user("go"), answer(stop="error"), user("again"), answer(text("Half"), stop="aborted"), user("more")
    ),
    "half a character": session(
        user("half \ud83d"),
        answer(text("\udc00 half"), call("\ud83d", "x\ud83d", path="\ud83d"), stop="toolUse"),
        result("\ud83d", "half \ud83d", "x\ud83d"),
    ),
    "control characters": session(
        user("a\x00b\x07\u2028c\u0085\x1b[31m"), answer(text("\x00")), user("\u2029"), answer(text("Ok."))
    ),
    "a shell command and a summary of a branch": session(
        *_turns("one"),
        {
            "type": "message",
            "message": {"role": "bashExecution", "command": "ls", "output": "a\nb", "exitCode": 0},
        },
        {"type": "branch_summary", "fromId": "e0", "summary": "Another way."},
        {"type": "custom_message", "customType": "note", "content": "hidden", "display": False},
        *_turns("two"),
    ),
    "a context edit": session(
        *_turns("one", "two"),
        {"type": "context_edit", "targetId": "e1", "replacement": {"content": "shorter"}},
        {"type": "context_edit", "targetId": "e2", "replacement": None},
        user("next"),
    ),
}
"""The sessions by what is odd about them."""
