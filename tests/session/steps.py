"""Any sequence of verbs, as data: what a hypothesis test draws, and how each step is done to a session."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from branchline import Session
from branchline.entries import BashExecution, SystemMessage, Text, ToolResult, Usage
from session.kit import assistant, user

Step = tuple[Any, ...]

texts = st.text(st.characters(exclude_categories=()), max_size=12)
numbers = st.integers(0, 40)
plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)

conversation = st.one_of(
    st.tuples(st.just("user"), texts),
    st.tuples(st.just("assistant"), texts),
    st.tuples(st.just("tool"), texts),
    st.tuples(st.just("system"), texts),
    st.tuples(st.just("bash"), texts),
    st.tuples(st.just("model"), texts),
    st.tuples(st.just("thinking"), texts),
    st.tuples(st.just("custom message"), texts),
    st.tuples(st.just("edit"), numbers, st.none() | texts),
    st.tuples(st.just("compaction"), st.none() | numbers, texts, plain),
    st.tuples(st.just("summary"), st.none() | numbers, texts),
)
side = st.one_of(
    st.tuples(st.just("label"), numbers, st.none() | texts),
    st.tuples(st.just("title"), texts),
    st.tuples(st.just("custom"), plain),
    st.tuples(st.just("usage"), numbers),
)
moves = st.one_of(st.tuples(st.just("branch"), numbers), st.just(("reset",)))
any_step: st.SearchStrategy[Step] = conversation | side | moves
steps = st.lists(any_step, max_size=12)


def chosen(session: Session, number: int | None) -> str | None:
    """An entry of the session, or None when it has none yet."""
    keys = session.index.keys
    return keys[number % len(keys)] if keys and number is not None else None


def do(session: Session, step: Step) -> str | None:
    """Do one step; the id of the entry that it made, if it made one."""
    match step:
        case ("user", text):
            return session.append_message(user(text))
        case ("assistant", text):
            return session.append_message(assistant(text))
        case ("tool", text):
            return session.append_message(
                ToolResult(tool_call_id="c", tool_name="read", content=(Text(text=text),), is_error=False)
            )
        case ("system", text):
            return session.append_message(
                SystemMessage(content=text, sections={"s": text}, tools_added=({"name": text},))
            )
        case ("bash", text):
            return session.append_message(
                BashExecution(command=text, output=text, exit_code=0, cancelled=False, truncated=False)
            )
        case ("model", text):
            return session.append_model_change("provider", text)
        case ("thinking", text):
            return session.append_thinking_level_change(text)
        case ("custom message", text):
            return session.append_custom_message("ext", text)
        case ("edit", number, replacement):
            path = [
                key
                for key in session.path()
                if session.index.roles[session.index.position(key)] in ("user", "assistant", "toolResult")
            ]
            return session.append_context_edit(path[number % len(path)], replacement) if path else None
        case ("compaction", number, text, details):
            return session.append_compaction(text, chosen(session, number), 7, details=details)
        case ("summary", number, text):
            return session.branch_with_summary(chosen(session, number), text)
        case ("label", number, text):
            key = chosen(session, number)
            return None if key is None else session.append_label(key, text)
        case ("title", text):
            return session.set_title(text)
        case ("custom", data):
            return session.append_custom("ext", data)
        case ("usage", number):
            return session.append_usage("warm", Usage(input=number))
        case ("branch", number):
            key = chosen(session, number)
            if key is not None:
                session.branch(key)
            return None
        case ("reset",):
            session.reset()
            return None
    raise AssertionError(step)


_serial = itertools.count(1)


def as_pi_does(session: Session, kind: str, number: int) -> dict[str, Any]:
    """Append a line behind our back as pi does: each one below the last, whatever that is, and without a lock."""
    tree = session.index
    keys = [key for key in tree.keys if tree.positions[key] not in tree.placeholders]
    target = keys[number % len(keys)] if keys else None
    further: dict[str, dict[str, Any]] = {
        "message": {"message": {"role": "user", "content": f"pi {number}"}},
        "label": {"targetId": target, "label": f"pi {number}"},
        "session_info": {"name": f"pi {number}"},
        "usage": {"kind": "warm", "provider": "p", "model": "m", "usage": {"input": number}},
        "custom": {"customType": "pi", "data": number},
        "compaction": {"summary": "pi", "firstKeptEntryId": target, "tokensBefore": 1},
    }
    record: dict[str, Any] = {
        "type": kind,
        "id": f"pi{next(_serial):06d}",
        "parentId": keys[-1] if keys else None,
        "timestamp": "2027-03-01T00:00:00.000Z",
        **further[kind],
    }
    log = session._writer.log
    assert log is not None
    with open(log.path, "ab", buffering=0) as file:  # type: ignore[attr-defined]
        file.write(json.dumps(record).encode() + b"\n")
    return record


@contextlib.contextmanager
def somewhere() -> Iterator[Path]:
    """A directory of its own for one example: in memory where the system has such a place."""
    shared = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=shared) as directory:
        yield Path(directory)
