"""A live session as rows: its tree, and the turns that led here."""

from __future__ import annotations

import pytest

from branchline import Session, SessionLibrary
from branchline.entries import Usage
from branchline.library import BranchNode, Prompt
from branchline.stores import MemoryStore
from library.kit import CWD, clock
from session.kit import assistant, user

LIBRARY = SessionLibrary(MemoryStore())


def branched():
    """Two roots; the first has two branches, and the leaf is at the end of the older one."""
    session = Session.in_memory(CWD, clock=clock())
    session.append_message(user("one"))
    here = session.append_message(assistant("yes"))
    session.append_message(user("left"))
    left = session.append_message(assistant("left it is"))
    session.branch(here)
    session.append_message(user("right"))
    session.reset()
    session.append_message(user("a new root"))
    session.branch(left)
    return session


@pytest.mark.parity("IND-07")
def test_the_tree_is_every_node_of_every_root_depth_first():
    session = branched()

    nodes = LIBRARY.tree(session)

    assert [
        (node.label, node.depth, node.is_leaf, node.is_current) for node in nodes if "leaf" not in node.label
    ] == [
        ("user: one", 0, False, False),
        ("assistant: yes", 1, False, False),
        ("user: left", 2, False, False),
        ("assistant: left it is", 3, False, True),
        ("user: right", 2, True, False),
        ("user: a new root", 0, True, False),
    ]
    assert sorted(node.id for node in nodes) == sorted(session.index)
    assert [node.parent for node in nodes] == [session.index.parent(node.id) for node in nodes]


@pytest.mark.parity("IND-07")
def test_a_label_says_who_speaks_on_one_line():
    session = Session.in_memory(CWD, clock=clock())
    call = {"type": "toolCall", "id": "c", "name": "read", "arguments": {"path": "a.py"}}
    session.append_message(user("several\nlines\twith\u2028breaks"))
    session.append_message({**assistant(""), "content": [call], "stopReason": "toolUse"})
    session.append_message(
        {"role": "toolResult", "toolCallId": "c", "toolName": "read", "content": [], "isError": False}
    )
    session.append_message({"role": "bashExecution", "command": "ls -l", "output": ""})
    session.append_compaction("what was said", None, 12_345)
    session.append_model_change("anthropic", "opus")
    session.append_custom_message("note", "remember\nthis")
    session.append_usage("warm", Usage())
    session.set_title("A title")

    labels = [node.label for node in LIBRARY.tree(session)]

    assert labels == [
        "user: several lines with breaks",
        "assistant: (no content)",
        "tool: read",
        "[bash]: ls -l",
        "compaction: what was said",
        "[model: opus]",
        "[note]: remember this",
        "usage",
        "[title: A title]",
    ]


@pytest.mark.parity("IND-07")
def test_the_tree_of_an_empty_session_is_empty():
    assert LIBRARY.tree(Session.in_memory(CWD, clock=clock())) == []


@pytest.mark.parity("IND-07", "IND-08", "IND-16")
def test_tree_and_turns_change_nothing_and_give_frozen_records():
    session = branched()
    before = (session.leaf, len(session), session._writer.log.size())

    (node, *_), (turn, *_) = LIBRARY.tree(session), LIBRARY.prior_turns(session)

    assert (session.leaf, len(session), session._writer.log.size()) == before
    assert BranchNode.__struct_fields__ == ("id", "parent", "label", "depth", "is_leaf", "is_current")
    assert Prompt.__struct_fields__ == ("id", "text", "preview")
    with pytest.raises(AttributeError):
        node.label = "x"
    with pytest.raises(AttributeError):
        turn.text = "x"


@pytest.mark.parity("IND-08")
def test_the_prior_turns_are_the_prompts_with_words_on_the_active_path():
    session = branched()
    first, left = (
        key for key in session.path() if session.index.roles[session.index.positions[key]] == "user"
    )

    assert LIBRARY.prior_turns(session) == [
        Prompt(id=first, text="one", preview="one"),
        Prompt(id=left, text="left", preview="left"),
    ]


@pytest.mark.parity("IND-08")
def test_a_turn_has_its_full_text_and_a_preview_of_one_line():
    session = Session.in_memory(CWD, clock=clock())
    long = "first line\n" + "word " * 1000
    image = {"type": "image", "data": "AA", "mimeType": "image/png"}
    session.append_message({"role": "user", "content": [image]})
    session.append_message(user("   \n"))
    session.append_message({"role": "user", "content": [{"type": "text", "text": long}, image]})
    session.append_message({"role": "user", "content": "plain"})

    turns = LIBRARY.prior_turns(session)

    assert [turn.text for turn in turns] == [long, "plain"]
    assert turns[0].preview.startswith("first line word word")
    assert len(turns[0].preview) == 200


def test_the_turns_after_a_reset_are_none():
    session = branched()
    session.reset()

    assert LIBRARY.prior_turns(session) == []
    assert not any(node.is_current for node in LIBRARY.tree(session))


def test_a_long_session_has_a_tree_too():
    session = Session.in_memory(CWD, clock=clock())
    for number in range(1500):
        session.append_message(user(f"{number}"))

    nodes = LIBRARY.tree(session)

    assert [node.depth for node in nodes] == list(range(1500))
    assert nodes[-1].label == "user: 1499"
