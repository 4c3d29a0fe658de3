"""System prompt and tools are the result of applying all patches in the transcript."""

from __future__ import annotations

from branchline.context import SystemState, replay_system
from branchline.entries import SystemMessage, Text, UserMessage


def test_patches_add_replace_and_take_away():
    read = {"name": "read", "parameters": {}}
    bash = {"name": "bash", "parameters": {}}
    better = {"name": "bash", "parameters": {"type": "object"}}
    messages = [
        SystemMessage(content="", sections={"preamble": "You help.", "cwd": "/p"}, tools_added=(read, bash)),
        UserMessage(content="hello"),
        SystemMessage(
            content=(Text(text="Be brief."),),
            sections={"cwd": None, "skills": "<skills/>"},
            tools_added=(better,),
            tools_removed=({"name": "read"},),
        ),
        SystemMessage(content="Be kind."),
    ]

    state = replay_system(messages)

    assert state == SystemState(
        prompt="Be brief.\n\nBe kind.",
        sections={"preamble": "You help.", "skills": "<skills/>"},
        tools=(better,),
    )
    assert state.text == "You help.\n\n<skills/>\n\nBe brief.\n\nBe kind."


def test_sessions_without_system_messages_have_no_system_state():
    assert replay_system([UserMessage(content="hello")]) == SystemState()
