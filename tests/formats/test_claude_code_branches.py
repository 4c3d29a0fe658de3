"""Real branches are told apart from artefacts of recording: one test for every rule."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchline.context import build_context
from branchline.formats import EntryLog
from branchline.formats.claude_code import CLAUDE_CODE
from branchline.formats.claude_code.kinds import ANSWER, ASIDE, HUMAN
from branchline.formats.claude_code.rewinds import RowFacts, sort_into_branches
from branchline.tree import ROOT
from formats.claude_code_kit import NAME, SAMPLES, call, keys, read, record, result

BEGINNING = record("u1", None) + record("a1", "u1", "assistant")


def line(found):
    """The records on the active line."""
    return keys(found, found.reading.active_line)


def points(found):
    tree = found.tree
    return [
        (tree.keys[point.position], [tree.keys[place] for place in point.branches])
        for point in found.reading.linker.points
    ]


def kinds(found):
    return [finding.kind for finding in found.findings]


def test_rule_1_a_record_that_repeats_a_sibling_is_hidden_and_what_follows_it_goes_on_under_the_first():
    again = record("u2b", "a1", content="again")
    data = BEGINNING + record("u2", "a1", content="again") + again + record("a2", "u2b", "assistant")

    found = read(data)

    assert points(found) == []
    assert line(found) == ["u1", "a1", "u2", "u2b", "a2"]
    assert found.tree.types[found.tree.position("u2b")] == "custom"


def test_rule_1_the_same_words_at_another_time_are_a_rewind():
    data = BEGINNING + record("u2", "a1", content="again") + record("u3", "a1", content="again", later=1)

    assert points(read(data)) == [("a1", ["u2", "u3"])]


def test_rule_2_bookkeeping_without_conversation_stays_in_place():
    data = BEGINNING + record("d", "a1", "system", subtype="turn_duration") + record("u2", "a1")

    found = read(data)

    assert points(found) == []
    assert line(found) == ["u1", "a1", "d", "u2"]
    assert kinds(found) == []


def test_rule_3_parallel_calls_and_their_results_are_one_line():
    data = record("u1", None) + record("a1", "u1", "assistant", [call("c1")], answer="m")
    data += record("a2", "a1", "assistant", [call("c2")], answer="m")
    data += result("r1", "a1", "c1") + result("r2", "a2", "c2") + record("a3", "r2", "assistant")

    found = read(data)

    assert points(found) == []
    assert line(found) == ["u1", "a1", "a2", "r1", "r2", "a3"]


def test_rule_4_conversation_that_goes_on_through_progress_is_followed():
    data = record("u1", None) + record("a1", "u1", "assistant", [call("c1")])
    data += record("p1", "a1", "progress") + record("p2", "a1", "progress")
    data += (
        record("u3", "p2", content="steer", isMeta=True)
        + result("r1", "p1", "c1")
        + record("a2", "r1", "assistant")
    )

    found = read(data)

    assert points(found) == []
    assert line(found)[-1] == "a2"
    assert kinds(found) == []


def test_rule_5_a_resume_goes_on_behind_the_tail_that_it_skipped():
    data = BEGINNING + record("x", "a1", content="unanswered")
    data += record("rm", "a1", "assistant", "No response requested.", model="<synthetic>")
    data += record("u2", "rm") + record("a2", "u2", "assistant")

    found = read(data)

    assert points(found) == []
    assert line(found) == ["u1", "a1", "x", "rm", "u2", "a2"]
    assert found.tree.roles[found.tree.position("rm")] is None


def test_rule_6_local_commands_under_one_caveat_are_one_line():
    data = record("c", None, content="Caveat: The messages below", isMeta=True)
    data += record("k1", "c", content="<command-name>/clear</command-name>")
    data += record("k2", "c", content="<command-name>/help</command-name>") + record("u1", "k2")

    found = read(data)

    assert points(found) == []
    assert line(found) == ["c", "k1", "k2", "u1"]


def test_rule_7_a_prompt_that_was_corrected_before_it_was_answered_is_a_branch():
    data = (
        BEGINNING
        + record("u2", "a1", content="tpyo")
        + record("u3", "a1", content="typo")
        + record("a3", "u3", "assistant")
    )

    found = read(data)

    assert points(found) == [("a1", ["u2", "u3"])]
    assert line(found) == ["u1", "a1", "u3", "a3"]
    assert found.tree.children("a1") == ["u2", "u3"]


def test_rule_7_the_other_branch_may_begin_with_a_command_that_was_answered():
    data = BEGINNING + record("u2", "a1") + record("a2", "u2", "assistant")
    data += record("k", "a1", content="<command-name>/review</command-name>")
    data += record("m", "k", content="Review it", isMeta=True) + record("a3", "m", "assistant")

    assert points(read(data)) == [("a1", ["u2", "k"])]


def test_rule_8_two_answers_to_one_prompt_are_one_line_and_reported():
    data = record("u1", None) + record("a1", "u1", "assistant") + record("a2", "u1", "assistant", later=1)

    found = read(data)

    assert points(found) == []
    assert line(found) == ["u1", "a1", "a2"]
    assert kinds(found) == ["unknown"]


def test_a_branch_inside_a_branch_hangs_from_it():
    data = BEGINNING + record("u2", "a1") + record("a2", "u2", "assistant")
    data += (
        record("u3", "a2", content="3") + record("u4", "a2", content="4") + record("u5", "a1", content="5")
    )

    found = read(data)

    assert points(found) == [("a1", ["u2", "u5"]), ("a2", ["u3", "u4"])]
    assert found.tree.children("a2") == ["u3", "u4"]
    assert line(found) == ["u1", "a1", "u5"]


def test_the_last_prompt_names_the_leaf_if_it_is_in_the_file():
    data = BEGINNING + record("u2", "a1", content="2") + record("u3", "a1", content="3")
    named = b'{"type":"last-prompt","leafUuid":"u2"}\n{"type":"last-prompt","leafUuid":"elsewhere"}\n'

    found = read(data + named)

    assert (found.leaf, found.reading.leaf_named_by) == ("u2", "last-prompt")


# -- links ------------------------------------------------------------------------------------------------


def test_a_parent_that_is_not_there_is_a_broken_link_to_the_record_before():
    found = read(BEGINNING + record("u2", "gone"))

    assert found.tree.parent("u2") == "a1"
    assert kinds(found) == ["guessed-link"]


def test_a_second_start_continues_the_line_behind_a_mark_and_has_a_context_of_its_own():
    found = read(BEGINNING + record("u2", None, content="fresh"))

    assert found.tree.roots() == ["u1"]
    assert line(found) == ["u1", "a1", "u2.cleared", "u2"]
    assert found.tree.types[found.tree.position("u2.cleared")] == "context_cleared"
    assert [item.entry for item in build_context(found, found.reading.leaf).messages] == ["u2"]
    assert kinds(found) == []


def test_a_second_start_continues_the_newest_branch_of_the_first():
    rewound = BEGINNING + record("u2", "a1", content="2") + record("u3", "a1", content="3")

    found = read(rewound + record("u4", None, content="fresh") + record("u5", None, content="again"))

    assert line(found) == ["u1", "a1", "u3", "u4.cleared", "u4", "u5.cleared", "u5"]
    assert found.tree.children("a1") == ["u2", "u3"]


@pytest.mark.parametrize("named", ["", "00000000-0000-0000-0000-000000000000", "a1"])
def test_a_typed_prompt_at_a_second_root_is_a_rewind_to_the_start(named):
    """Releases that record where a prompt came from clear a context by starting a new file."""
    rewound = record("u2", None, content="better", promptSource="typed")
    data = BEGINNING + rewound + (last_prompt(named) if named else b"") + record("a2", "u2", "assistant")

    found = read(data)

    assert found.tree.roots() == ["u1", "u2"]
    assert found.leaf == ("a1" if named == "a1" else "a2")
    assert found.tree.path("a2") == ["u2", "a2"]
    assert "context_cleared" not in found.tree.types
    assert kinds(found) == []


def test_a_start_after_a_rewind_to_the_start_continues_the_newest_conversation():
    rewound = record("u2", None, content="better", promptSource="typed") + record("a2", "u2", "assistant")

    found = read(BEGINNING + rewound + record("u3", None, content="fresh"))

    assert found.tree.path("u3") == ["u2", "a2", "u3.cleared", "u3"]


def test_a_start_that_goes_on_after_the_next_one_began_is_shown_first():
    data = BEGINNING + record("u2", None, content="fresh") + record("u3", "a1", content="late")

    found = read(data + record("a2", "u2", "assistant"))

    assert line(found) == ["u1", "a1", "u3", "u2.cleared", "u2", "a2"]


def test_a_root_without_conversation_clears_nothing():
    hook = record("h1", None, "progress")

    found = read(BEGINNING + hook + record("u2", "a1"))

    assert line(found) == ["u1", "a1", "u2"]
    assert "context_cleared" not in found.tree.types
    assert found.tree.roots() == ["u1", "h1"]


def test_a_file_that_grows_tells_the_starts_as_one_that_is_read_at_once():
    parts = [BEGINNING, record("h1", None, "progress"), record("u2", "h1"), record("a2", "u2", "assistant")]
    whole = b"".join(parts)
    shown = len(BEGINNING)
    growing = EntryLog(CLAUDE_CODE, lambda offset, size: whole[:shown][offset : offset + size], NAME)

    for part in parts[1:]:
        shown += len(part)
        growing.catch_up()

    assert line(growing) == line(read(whole)) == ["u1", "a1", "h1.cleared", "h1", "u2", "a2"]
    assert growing.tree.types == read(whole).tree.types


def test_an_answer_cannot_begin_a_conversation():
    found = read(BEGINNING + record("a2", None, "assistant"))

    assert found.tree.parent("a2") == "a1"
    assert kinds(found) == ["guessed-link"]


def test_a_ring_is_cut_at_its_first_record_which_hangs_behind_the_one_before_it():
    found = read(BEGINNING + record("x", "y") + record("y", "x"))

    assert line(found) == ["u1", "a1", "x", "y"]
    assert kinds(found) == ["cycle"]


def test_a_ring_that_the_record_before_belongs_to_is_cut_for_good():
    found = read(record("a", "b") + record("b", "c") + record("c", "a"))

    assert sorted(found.tree.keys) == ["a", "b", "c"]
    assert len(found.tree.roots()) == 1


def test_a_record_that_is_its_own_parent_is_reported():
    found = read(BEGINNING + record("u2", "u2"))

    assert found.tree.parent("u2") == "a1"
    assert kinds(found) == ["self-parent"]


def test_the_second_record_with_a_uuid_is_kept_aside():
    found = read(BEGINNING + record("a1", "u1", "assistant", "other") + record("u2", "a1"))

    assert line(found) == ["u1", "a1", "u2"]
    assert found.tree.types[found.tree.position("a1#2")] == "custom"
    assert kinds(found) == ["duplicate-id"]


def test_records_of_a_sub_agent_are_a_tree_of_their_own():
    data = (
        record("u1", None)
        + record("s1", None, isSidechain=True)
        + record("s2", "s1", "assistant", isSidechain=True)
    )

    found = read(data + record("a1", "u1", "assistant"))

    assert found.tree.roots() == ["u1", "s1"]
    assert line(found) == ["u1", "a1"]
    assert found.leaf == "a1"


def test_the_file_of_a_sub_agent_is_read_like_a_session():
    data = record("s1", None, isSidechain=True) + record("s2", "s1", "assistant", isSidechain=True)

    found = read(data, "/x/projects/p/5a000000-0000-4000-8000-000000000001/subagents/agent-abc.jsonl")

    assert found.leaf == "s2"
    assert found.reading.header.id == "agent-abc"
    assert found.reading.header.parent_session == "5a000000-0000-4000-8000-000000000001"


# -- laws -------------------------------------------------------------------------------------------------


@st.composite
def forests(draw):
    """Records with any kind and a parent before or behind them, without rings."""
    count = draw(st.integers(1, 25))
    places = draw(st.permutations(range(count)))
    parents = {ROOT: ROOT}
    for number, place in enumerate(places):
        parents[place] = draw(st.sampled_from([ROOT, *places[:number]]))
    del parents[ROOT]
    kinds = draw(st.lists(st.integers(0, ASIDE - 1), min_size=count, max_size=count))
    times = draw(st.lists(st.sampled_from(["1", "2", ""]), min_size=count, max_size=count))
    marks = draw(st.lists(st.integers(0, 2), min_size=count, max_size=count))
    calls = draw(st.dictionaries(st.integers(0, count - 1), st.sampled_from(["a", "b", "a\nb"])))
    return list(range(count)), parents, RowFacts(kinds, times, marks, calls)


@settings(max_examples=300, deadline=None)
@given(forests())
def test_every_record_stands_in_exactly_one_line_in_the_order_of_the_file_but_after_its_parent(forest):
    nodes, parents, facts = forest

    lines = sort_into_branches(nodes, parents, facts)

    assert sorted(place for members in lines.members for place in members) == nodes
    for members in lines.members:
        assert members
        place = {node: number for number, node in enumerate(members)}
        assert all(place.get(parents[node], -1) < place[node] for node in members)
        if all(parents[node] < node for node in nodes):
            assert members == sorted(members)
    assert all(above < number for number, above in enumerate(lines.above))
    for point in lines.points:
        assert len(point.branches) > 1


def test_sorting_costs_the_same_per_record_however_deep_the_artefacts_nest():
    """Every record with two children, all the way down: looking into each subtree anew would take minutes."""
    count = 40_000
    parents = {0: ROOT} | {place: place - 2 + place % 2 if place > 1 else 0 for place in range(1, count)}
    facts = RowFacts([HUMAN, ANSWER] * (count // 2), [str(place) for place in range(count)], [0] * count, {})

    start = time.process_time()
    lines = sort_into_branches(range(count), parents, facts)

    assert sum(map(len, lines.members)) == count
    assert time.process_time() - start < 5


# -- found in real files ----------------------------------------------------------------------------------


def test_a_boundary_that_continues_a_record_of_another_file_is_no_damage():
    found = read(SAMPLES / "found" / "bound.jsonl")

    assert found.findings == []
    assert found.tree.path("a2") == ["u1", "a1", "cb", "cs", "a2"]


@pytest.mark.parametrize("continued", ["cb", "cs", "a2"])
def test_a_boundary_that_continues_what_stands_below_it_is_no_damage(continued):
    """As after a compaction and a fork of the session."""
    boundary = {"subtype": "compact_boundary", "logicalParentUuid": continued}
    data = record("u1", None) + record("a1", "u1", "assistant") + record("cb", None, "system", **boundary)
    data += record("cs", "cb", isCompactSummary=True) + record("a2", "cs", "assistant")

    found = read(data)

    assert found.findings == []
    assert found.tree.path("a2") == ["u1", "a1", "cb", "cs", "a2"]


def last_prompt(uuid):
    return f'{{"type":"last-prompt","leafUuid":"{uuid}"}}\n'.encode()


def test_the_conversation_goes_on_below_the_record_that_a_last_prompt_names():
    found = read(SAMPLES / "found" / "leaf.jsonl")

    assert (found.leaf, found.reading.leaf_named_by) == ("a2", "last-prompt")


def test_the_last_prompt_chooses_the_branch_and_the_leaf_is_the_newest_record_on_it():
    older = record("u2", "a1", content="2") + record("a2", "u2", "assistant")
    newer = record("u3", "a1", content="3") + record("a3", "u3", "assistant")
    data = BEGINNING + older + newer + record("r2", "a2", content="more")

    assert read(data + last_prompt("u2")).leaf == "r2"
    assert read(data + last_prompt("u3")).leaf == "a3"
    assert read(data + last_prompt("u1")).leaf == "r2"


def test_below_the_last_prompt_a_rewind_ends_on_the_line_that_stands_last_in_the_file():
    older = record("u2", "a1", content="2") + record("a2", "u2", "assistant")
    newer = record("u3", "a1", content="3") + record("a3", "u3", "assistant")

    found = read(BEGINNING + last_prompt("a1") + older + newer)

    assert found.leaf == "a3"


@pytest.mark.parametrize("named", [True, False])
def test_a_prompt_that_was_written_after_its_answer_stands_before_it(named):
    data = (SAMPLES / "found" / "late.jsonl").read_bytes()

    found = read(data if named else data.partition(b"\n")[2])

    assert (found.leaf, found.findings) == ("a1", [])
    assert line(found) == ["u1", "at", "a1", "d1"]
    assert found.tree.path("a1") == ["u1", "at", "a1"]


def test_a_prompt_that_was_written_after_its_answer_stands_before_later_turns():
    data = (SAMPLES / "found" / "late.jsonl").read_bytes()
    older = record("u2", "d1", content="2") + record("a2", "u2", "assistant")
    newer = record("u3", "d1", content="3") + record("a3", "u3", "assistant")

    found = read(data + older + newer)

    assert found.leaf == "a3"
    assert points(found) == [("d1", ["u2", "u3"])]
    assert found.tree.path("a3") == ["u1", "at", "a1", "d1", "u3", "a3"]


def test_a_context_that_was_cleared_after_the_last_prompt_goes_on_at_the_new_start():
    data = (
        BEGINNING + last_prompt("u1") + record("u2", None, content="fresh") + record("a2", "u2", "assistant")
    )

    assert read(data).leaf == "a2"
    assert read(data + last_prompt("u1")).leaf == "a1"


def test_all_results_of_the_last_record_stand_above_the_leaf():
    calls = record("a2", "a1", "assistant", [call("x"), call("y")])

    found = read(BEGINNING + last_prompt("a1") + calls + result("r", "a2", "x", "y"))

    assert found.leaf == "r.2"


def test_records_of_a_longer_conversation_in_the_file_of_a_sub_agent_are_not_damage():
    """A summarizer gets some records of the main file, each with a parent that only the main file has."""
    data = record("u5", "a4") + record("u7", "a6") + record("a7", "u7", "assistant")

    found = read(
        data, "/x/projects/p/0f5b1c1e-0000-4000-8000-000000000001/subagents/agent-acompact-70d8e7.jsonl"
    )

    assert kinds(found) == []
    assert line(found) == ["u5", "u7", "a7"]
    assert kinds(read(data)) == ["orphan", "guessed-link"]
