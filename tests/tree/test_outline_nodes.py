"""The flat tree for programs."""

from __future__ import annotations

import msgspec
import pytest

from branchline.tree import ROOT, Tree, walk_nodes
from support import CORPUS, load, transcript

GOLDEN = sorted((CORPUS / "pi" / "golden").glob("g*.jsonl"))


@pytest.mark.parity("IND-07", "PIG-10", "OMP-01")
@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_every_node_of_every_root_is_there_with_parent_and_children_as_pi_has_them(path):
    session = transcript(path)
    expected = load(path.parent / "expected-pi-1.5.0" / f"{path.stem}.json")

    nodes = list(walk_nodes(session.tree, session.reading.leaf))

    found = {node.id: node for node in nodes}
    waiting = [(None, 0, item) for item in expected["tree"]]
    count = 0
    while waiting:
        parent, depth, (entry_id, children, *_) = waiting.pop()
        node = found[entry_id]
        assert (node.parent, node.depth, node.children) == (parent, depth, len(children))
        waiting += [(entry_id, depth + 1, child) for child in children]
        count += 1
    assert count == len(nodes)
    assert [node.id for node in nodes if node.active] == expected["branch"]
    assert [node.id for node in nodes if node.is_current] == [expected["leafId"]]


@pytest.mark.parity("PIG-10")
def test_the_active_subtree_comes_first_then_the_oldest():
    tree = Tree()
    for key, parent in (("a", ROOT), ("b", 0), ("c", 0), ("d", 0), ("e", 2)):
        tree.add(key, parent, type="message", time="2026-01-01T00:00:00.000Z")

    assert [node.id for node in list(walk_nodes(tree, 4))] == ["a", "c", "e", "b", "d"]


def test_a_node_is_plain_data():
    tree = Tree()
    tree.add("a", ROOT, type="message", role="user", time="2026-01-01T00:00:00.000Z")

    node = next(walk_nodes(tree, 0, {"a": "start"}))

    assert msgspec.to_builtins(node) == {
        "id": "a",
        "parent": None,
        "depth": 0,
        "level": 0,
        "type": "message",
        "role": "user",
        "label": "start",
        "timestamp": "2026-01-01T00:00:00.000Z",
        "active": True,
        "is_leaf": True,
        "is_current": True,
        "children": 0,
        "position": 0,
    }
