"""Random lives: sessions that were talked in, branched, labelled, compacted and edited by chance.

A life is built with the verbs of a session, so it is one that could have happened. Texts, ids and arguments
are unusual more often than in life.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from branchline import Session
from branchline.clock import FixedClock
from branchline.entries import Usage
from branchline.errors import BranchlineError

__all__ = ["life"]

TEXTS = (
    "look", "ünï ✓ 漢字 🌿", "a\u2028b\u2029c\u0085d", '<b>&amp;</b> "quoted" \\n', "\ufeffmarked\ufeff", "",
    "   ", "tab\there\r\nand there", "nul \x00 and \x1b[31m", "e\u0301 \u202e reversed", "half \ud83d character",
    "w " * 200,
)  # fmt: skip
PICTURES = (
    {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"},
    {"type": "image", "data": "R0lGODlhAQABAAAAACw=", "mimeType": "image/gif"},
    {"type": "image", "data": "not base64", "mimeType": "image/png"},
    {"type": "image", "data": "iVBORw0KGgo" + "A" * 2001, "mimeType": "image/png"},
)
ARGUMENTS: tuple[dict[str, Any], ...] = (
    {},
    {"path": "a\\b.py", "n": 1},
    {"ü": ["x", None, 1.5, True], "deep": {"a": {"b": []}}},
    {"big": 12345678901234567890, "small": -(2**53) - 1},
    {"text": "half \ud83d"},
)
SIGNATURES = (None, "c2ln", '{"type":"reasoning","id":"rs_1","encrypted_content":"b3A=","summary":[]}')


def life(seed: int, session: Session | None = None, *, steps: int = 24) -> Session:
    """A session in memory, or this one, with everything that its format holds; the same for the same seed."""
    chance = random.Random(seed)
    if session is None:
        session = Session.in_memory("/home/u/project", clock=FixedClock(1_794_700_000_000, seed=seed))
    for _ in range(chance.randint(1, steps)):
        try:
            chance.choices(STEPS, WEIGHTS)[0](session, chance)
        except (BranchlineError, ValueError, IndexError):
            continue  # not possible here: nothing to go back to, no message to edit
    return session


def text(chance: random.Random) -> str:
    return chance.choice(TEXTS) if chance.random() < 0.5 else f"words {chance.randint(0, 999)}"


def block(chance: random.Random) -> dict[str, Any]:
    return {"type": "text", "text": text(chance)}


def ask(session: Session, chance: random.Random) -> None:
    content: Any = text(chance)
    if chance.random() < 0.4:
        content = [block(chance), *chance.choices(PICTURES, k=chance.randint(0, 2))]
    session.append_message({"role": "user", "content": content})


def answer(session: Session, chance: random.Random) -> None:
    content: list[dict[str, Any]] = []
    if chance.random() < 0.5:
        signature = chance.choice(SIGNATURES)
        thoughts = {"type": "thinking", "thinking": text(chance)}
        content.append(thoughts if signature is None else {**thoughts, "thinkingSignature": signature})
    if chance.random() < 0.8:
        content.append(block(chance))
    calls = [
        {
            "type": "toolCall",
            "id": chance.choice(["call_1", f"toolu_{chance.randint(0, 9**9)}", "call|with/odd:id"])
            + f".{number}",
            "name": chance.choice(["bash", "read", "mcp__x__y"]),
            "arguments": chance.choice(ARGUMENTS),
        }
        for number in range(chance.choice([0, 0, 1, 2]))
    ]
    reason = "toolUse" if calls else chance.choice(["stop", "stop", "stop", "length", "error", "aborted"])
    session.append_message(
        {
            "role": "assistant",
            "content": content + calls,
            "api": "anthropic-messages",
            "provider": chance.choice(["anthropic", "openai"]),
            "model": chance.choice(["claude-sonnet-4-5", "gpt-5.1"]),
            "usage": {"input": 3, "output": 5, "cacheRead": 1, "cacheWrite": 2, "totalTokens": 11,
                      "cost": {"input": 0.1, "output": 0.2, "cacheRead": 0, "cacheWrite": 0, "total": 0.3}},
            "stopReason": reason,
            **({"errorMessage": "429"} if reason == "error" else {}),
        }
    )  # fmt: skip
    results = [
        {
            "role": "toolResult",
            "toolCallId": call["id"],
            "toolName": call["name"],
            "content": [block(chance), *chance.choices(PICTURES, k=chance.choice([0, 0, 1]))],
            "isError": chance.random() < 0.2,
        }
        for call in calls
        if chance.random() < 0.85
    ]
    if results:
        session.append_messages(results)


def shell(session: Session, chance: random.Random) -> None:
    session.append_message(
        {"role": "bashExecution", "command": "ls", "output": text(chance), "exitCode": chance.choice([0, 1]),
         "cancelled": False, "truncated": False, "excludeFromContext": chance.random() < 0.3}
    )  # fmt: skip


def go_back(session: Session, chance: random.Random) -> None:
    target = chance.choice(session.index.keys)
    if chance.random() < 0.4:
        session.branch_with_summary(target, text(chance))
    else:
        session.branch(target)


def compact(session: Session, chance: random.Random) -> None:
    kept = chance.choice([None, *session.path()])
    session.append_compaction(text(chance) or "in short", kept, chance.choice([None, 1000]))


def edit(session: Session, chance: random.Random) -> None:
    replacement: Any = chance.choice([None, "shorter", [{"type": "text", "text": "blocks"}]])
    session.append_context_edit(chance.choice(session.path()), replacement)


STEPS: list[Callable[[Session, random.Random], object]] = [
    ask,
    answer,
    shell,
    go_back,
    compact,
    edit,
    lambda session, chance: session.append_label(chance.choice(session.index.keys), text(chance)),
    lambda session, chance: session.set_title(text(chance)),
    lambda session, chance: session.append_custom_message("ext", text(chance), display=chance.random() < 0.5),
    lambda session, chance: session.append_custom("ext", {"a": [text(chance)]}),
    lambda session, chance: session.append_model_change("openai", chance.choice(["gpt-5.1", "o5"])),
    lambda session, chance: session.append_thinking_level_change(chance.choice(["off", "high"])),
    lambda session, chance: session.append_usage("title", Usage(input=7, output=2, total_tokens=9)),
    lambda session, chance: session.append_message({"role": "system", "content": text(chance)}),
    lambda session, chance: session.reset(),
]
WEIGHTS = [30, 40, 4, 8, 4, 3, 5, 4, 4, 3, 3, 2, 2, 2, 1]
