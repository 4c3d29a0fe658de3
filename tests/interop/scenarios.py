"""Sessions that branchline writes, one function for each thing that a session can hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from branchline import Session
from branchline.entries import Usage
from branchline.flows import Attempt, AttemptResult, compact, navigate, rewind_failed, run, turn

__all__ = ["NEWER", "SCENARIOS", "Scenario", "assistant", "everything"]


def assistant(text: str, **more: Any) -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": text}],
        "api": "anthropic-messages",
        "provider": "anthropic",
        "model": "claude-sonnet-4-5",
        "usage": {
            "input": 3,
            "output": 5,
            "cacheRead": 0,
            "cacheWrite": 0,
            "totalTokens": 8,
            "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0},
        },
        "stopReason": "stop",
        **more,
    }


def talk(session: Session) -> list[str]:
    """Two turns, one with a tool; the ids of the six entries."""
    call = {"type": "toolCall", "id": "call_1", "name": "read", "arguments": {"path": "a\\b.py"}}
    result = {"role": "toolResult", "toolCallId": "call_1", "toolName": "read", "isError": False}
    return [
        session.append_message("first question, with \u2028 and ünïcode 🌿"),
        session.append_message(assistant("first answer")),
        session.append_message({"role": "user", "content": "second question"}),
        session.append_message(assistant("", content=[call], stopReason="toolUse")),
        session.append_message({**result, "content": [{"type": "text", "text": 'line "1"\nline 2\\n'}]}),
        session.append_message(assistant("second answer")),
    ]


def branches(session: Session) -> None:
    ids = talk(session)
    session.branch(ids[1])
    session.append_message("another second question")
    session.append_message(assistant("another second answer"))


def a_leaf_move(session: Session) -> None:
    ids = talk(session)
    session.branch(ids[1])


def leaf_moves(session: Session) -> None:
    ids = talk(session)
    for target in (ids[1], ids[5], ids[3]):
        session.branch(target)
    session.append_message("after the moves")
    session.branch(ids[2])


def a_reset(session: Session) -> None:
    talk(session)
    session.reset()


def a_second_root(session: Session) -> None:
    talk(session)
    session.reset()
    session.append_message("from the start again")
    session.append_message(assistant("a new beginning"))


def labels(session: Session) -> None:
    ids = talk(session)
    session.append_label(ids[0], "start")
    session.append_label(ids[1], "gone soon")
    session.append_message("after a label")
    session.append_label(ids[1], None)
    session.append_label(ids[0], "the start")


def a_label_after_a_move(session: Session) -> None:
    ids = talk(session)
    session.branch(ids[1])
    session.append_label(ids[5], "the other branch")


def titles(session: Session) -> None:
    talk(session)
    session.set_title("First\nname")
    session.append_message("go on")
    session.set_title("  Second name ")


def a_compaction(session: Session) -> None:
    ids = talk(session)
    session.append_compaction("What happened so far.", ids[2], 1234, details={"readFiles": ["a.py"]})
    session.append_message("after the compaction")
    session.append_message(assistant("still here"))


def two_compactions(session: Session) -> None:
    ids = talk(session)
    session.append_compaction("The first summary.", ids[2], 10)
    ids += [session.append_message("between"), session.append_message(assistant("both"))]
    session.append_compaction("The second summary.", ids[6], 20)


def a_compaction_that_keeps_nothing(session: Session) -> None:
    talk(session)
    session.append_compaction("Everything in one sentence.", None, 99)
    session.append_message("go on")


def a_branch_beside_a_compaction(session: Session) -> None:
    ids = talk(session)
    session.append_compaction("Not on this branch.", ids[4], 50)
    session.branch(ids[3])


def branch_summaries(session: Session) -> None:
    ids = talk(session)
    session.branch_with_summary(ids[1], "We tried the second question.", details={"readFiles": []})
    session.append_message("a better question")
    session.branch_with_summary(None, "We tried it all.")
    session.append_message("from scratch")


def custom_entries(session: Session) -> None:
    talk(session)
    session.append_custom("my-extension", {"count": 1, "nested": {"list": [1, 2.5, None, "ä"]}})
    session.append_custom_message("my-extension", "remember this", display=False, details={"d": 1})
    session.append_custom("my-extension")
    session.append_custom_message("other", [{"type": "text", "text": "and this"}])


def settings(session: Session) -> None:
    talk(session)
    session.append_model_change("openai", "gpt-5")
    session.append_thinking_level_change("high")
    session.append_message("whom am I speaking to?")


def shell_commands(session: Session) -> None:
    talk(session)
    command = {"role": "bashExecution", "command": "ls", "output": "a\nb\n", "exitCode": 0}
    session.append_message({**command, "cancelled": False, "truncated": False})
    session.append_message({**command, "cancelled": False, "truncated": False, "excludeFromContext": True})


def everything(session: Session) -> None:
    ids = talk(session)
    session.set_title("Everything")
    session.append_label(ids[3], "tool call")
    session.branch(ids[1])
    session.append_model_change("openai", "gpt-5")
    session.append_custom("my-extension", {"a": 1})
    ids.append(session.append_message("another way"))
    session.append_message(assistant("indeed", provider="openai", model="gpt-5"))
    session.append_compaction("So far.", ids[-1], 77)
    session.append_label(ids[-1], "kept")
    session.branch_with_summary(ids[4], "The other way was long.")
    session.append_custom_message("my-extension", "a remark")
    session.reset()
    session.append_message("elsewhere")
    session.branch(ids[5])
    session.set_title("Everything, again")


def navigation(session: Session) -> None:
    """Back to a prompt with a summary and a name for it, then on, then back without one, with a name."""
    ids = talk(session)
    run(navigate(session, ids[2], summarize=True, label="tried"), summarizer=lambda request: "It was read.")
    session.append_message("a better question")
    session.append_message(assistant("a better answer"))
    run(navigate(session, ids[3], label="again"))


def a_compaction_by_flow(session: Session) -> None:
    """Inside a turn, twice, the second time as an update."""
    talk(session)
    for text in ("so far", "and further"):
        run(compact(session, keep_recent_tokens=2), summarizer=lambda request, text=text: text)
        session.append_message(f"after {text}")
        session.append_message(assistant("still here"))


def a_retry(session: Session) -> None:
    talk(session)
    session.append_message("once more")
    session.append_message(assistant("", content=[], stopReason="error", errorMessage="overloaded"))
    run(rewind_failed(session))
    session.append_message(assistant("this time it worked"))


def an_overflow(session: Session) -> None:
    """The failed attempt is taken out by an edit, then the context is summed up."""
    talk(session)
    session.append_message("too long " * 50)

    def attempt(step: Attempt) -> AttemptResult:
        if step.number == 2:
            session.append_message(assistant("fits"))
            return AttemptResult()
        error = assistant("", content=[], stopReason="error", errorMessage="too long")
        return AttemptResult(overflow=True, failed=session.append_message(error))

    run(turn(session, keep_recent_tokens=50), attempt=attempt, summarizer=lambda request: "in short")


def context_edits(session: Session) -> None:
    ids = talk(session)
    session.append_context_edit(ids[0], "a shorter question")
    session.append_context_edit(ids[4], "(output removed)")
    session.append_context_edit(ids[2], None)
    session.append_context_edit(ids[0], [{"type": "text", "text": "the shortest question"}])
    session.append_message("go on")


def an_edit_on_another_branch(session: Session) -> None:
    ids = talk(session)
    session.append_context_edit(ids[0], None)
    session.branch(ids[5])


def usage(session: Session) -> None:
    talk(session)
    session.append_usage("cache_warm", Usage(input=10, total_tokens=10), provider="anthropic", model="claude")
    session.append_message("warm enough")


def system_messages(session: Session) -> None:
    tool = {"name": "read", "description": "reads", "parameters": {"type": "object", "properties": {}}}
    session.append_message({"role": "system", "content": "Be brief.", "toolsAdded": [tool]})
    ids = talk(session)
    session.append_message({"role": "system", "content": "", "sections": {"style": "Be kind."}})
    session.append_compaction("Brief and kind.", ids[4], 55)
    session.append_message("go on")


Scenario = Callable[[Session], None]
SCENARIOS: list[Scenario] = [
    branches,
    a_leaf_move,
    leaf_moves,
    a_reset,
    a_second_root,
    labels,
    a_label_after_a_move,
    titles,
    a_compaction,
    two_compactions,
    a_compaction_that_keeps_nothing,
    a_branch_beside_a_compaction,
    branch_summaries,
    custom_entries,
    settings,
    shell_commands,
    navigation,
    a_compaction_by_flow,
    a_retry,
    everything,
]
# Entry types and roles that pi 0.73.1 does not know yet.
NEWER: list[Scenario] = [context_edits, an_edit_on_another_branch, usage, system_messages, an_overflow]
