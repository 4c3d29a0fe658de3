"""A path as a Markdown document that no message can break."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchline.views.cards import Card, Picture, cards
from branchline.views.markdown import fenced, markdown, prose
from branchline.views.tool_calls import Call
from support import CORPUS, transcript


def card(kind: str, title: str = "", body: str = "", **more) -> Card:
    return Card(kind=kind, id="e", title=title or kind.capitalize(), body=body, **more)


def open_fence(text: str) -> str:
    """The fence that a reader of this document is inside of at its end."""
    fence = ""
    for line in text.split("\n"):
        found = re.match(r" {0,3}(`{3,}|~{3,})(.*)$", line)
        if found is None or (found[1][0] == "`" and "`" in found[2]):
            continue
        if not fence:
            fence = found[1]
        elif found[1][0] == fence[0] and len(found[1]) >= len(fence) and not found[2].strip():
            fence = ""
    return fence


def test_a_conversation_is_headings_words_and_folded_tools():
    tool = card("tool", "read: a.py", "1 line", call=Call("c", "read", {"path": "a.py", "mode": "raw"}))
    deck = [
        card("user", body="What is in it?", label="start"),
        card("assistant", body="I look.", meta=("p/m", "2k tokens")),
        tool,
        card("assistant", body="**One** line."),
    ]

    document = markdown(deck, title="About a *file*", facts=["session 0199"])

    assert document == (
        "# About a \\*file\\*\n\n"
        "- session 0199\n\n"
        "## User\n\n"
        "**Label:** start\n\n"
        "What is in it?\n\n"
        "## Assistant\n\n"
        "*p/m · 2k tokens*\n\n"
        "I look.\n\n"
        "<details>\n<summary>read: a.py</summary>\n\n"
        "```\nmode: raw\n```\n\n"
        "```\n1 line\n```\n\n"
        "</details>\n\n"
        "**One** line.\n"
    )


def test_pictures_are_named_with_their_size():
    pictures = (Picture(mime_type="image/png", size=999), Picture(mime_type="image/gif", size=1_234_567))

    document = markdown([card("user", pictures=pictures)])

    assert "*\\[image/png, 999 bytes\\]*\n\n*\\[image/gif, 1.2 MB\\]*" in document


def test_other_cards_have_their_place():
    document = markdown(
        [
            card("bash", "make", "built", meta=("exit code 2",)),
            card("setting", "Model: p/m_x"),
            card("thinking", "Thinking", "```\nhm"),
            card("tool", "ls: <b>", open=True),
            card("damage", "Unreadable line", '{"a'),
            card("compaction", "Compaction", "So far."),
        ]
    )

    assert "## Command\n\n*exit code 2*\n\n```sh\nmake\n```\n\n```\nbuilt\n```" in document
    assert "*Model: p/m\\_x*" in document
    assert "<summary>Thinking</summary>\n\n````text\n```\nhm\n````" in document
    assert "<summary>ls: &lt;b&gt;</summary>\n\n*no result*" in document
    assert '## Unreadable line\n\n```\n{"a\n```' in document
    assert "## Compaction\n\nSo far." in document


def test_nothing_gives_an_empty_document():
    assert markdown([]) == ""


@pytest.mark.parametrize("inner", ["```", "````", "a\n`````js\nb", "~~~", ""])
def test_a_fence_is_longer_than_any_inside(inner):
    block = fenced(inner, "text")

    fence = block.split("text", 1)[0]
    assert set(fence) == {"`"}
    assert block.endswith("\n" + fence)
    assert fence not in inner
    assert inner in block


@settings(deadline=None)
@given(st.text(st.sampled_from("`~ \nab<!->")))
def test_a_fence_holds_whatever_is_inside(text):
    assert open_fence(fenced(text)) == ""


@settings(deadline=None)
@given(st.text(st.sampled_from("`~ \nab<!->")))
def test_words_leave_no_fence_open(text):
    assert open_fence(prose(text)) == ""


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain **bold** a < b && c > d", "plain **bold** a < b && c > d"),
        ("<script>x</script>", "\\<script>x\\</script>"),
        ("<!-- hidden", "\\<!-- hidden"),
        ("use `<div>` and <div>", "use `<div>` and \\<div>"),
        ("``a ` <b>`` <b>", "``a ` <b>`` \\<b>"),
        ("```html\n<div>\n```\n<div>", "```html\n<div>\n```\n\\<div>"),
        ("```js\nx <b>", "```js\nx <b>\n```"),
        ("~~~\n```\n<b>", "~~~\n```\n<b>\n~~~"),
        ("1. so:\n     ```\n     <a>\n     ```\n<a>", "1. so:\n     ```\n     <a>\n     ```\n\\<a>"),
        ("- list\n  ```\n  open", "````\n- list\n  ```\n  open\n````"),
    ],
)
def test_html_in_words_is_shown_and_open_fences_are_closed(text, shown):
    assert prose(text) == shown


def test_titles_cannot_start_a_line_of_their_own():
    document = markdown([card("custom", "note\n# Forged\u2028## Too", "x")], title="a\n# b")

    assert [line for line in document.split("\n") if line.startswith("#")] == [
        "# a \\# b",
        "## note \\# Forged \\#\\# Too",
    ]


def test_every_sample_becomes_a_document_with_all_its_words():
    for path in sorted((CORPUS / "pi" / "golden").glob("*.jsonl")):
        source = transcript(path)
        deck = cards(source.entries(source.tree.path_positions(source.reading.leaf)))

        document = markdown(deck, title=path.stem)

        assert open_fence(document) == ""
        for shown in deck:
            if shown.kind in ("user", "assistant"):
                assert shown.body.strip("\n") in document.replace("\\<", "<")
