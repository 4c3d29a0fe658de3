"""Entries as HTML: what a piece holds, and that text in it is always text."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchline.demo import sessions_directory
from branchline.formats import LabelState
from branchline.session import Session
from branchline.views.html import prose as prose_module
from branchline.views.html.markup import escape, join, template
from branchline.views.html.outline_columns import skeleton_columns
from branchline.views.html.pieces import PieceOptions, PieceRenderer
from branchline.views.html.prose import prose
from support import transcript

TAGS = frozenset(
    [
        "a",
        "article",
        "b",
        "blockquote",
        "br",
        "code",
        "del",
        "details",
        "div",
        "em",
        "figcaption",
        "figure",
        "h3",
        "h4",
        "h5",
        "h6",
        "hr",
        "i",
        "img",
        "li",
        "ol",
        "p",
        "pre",
        "s",
        "span",
        "strong",
        "summary",
        "table",
        "tbody",
        "td",
        "th",
        "thead",
        "time",
        "tr",
        "ul",
    ]
)
ATTRIBUTES = frozenset(
    [
        "alt",
        "aria-label",
        "class",
        "data-diff",
        "data-paragraphs",
        "data-text",
        "datetime",
        "href",
        "id",
        "rel",
        "role",
        "src",
        "start",
        "tabindex",
        "target",
        "title",
    ]
)
VOID = frozenset({"br", "hr", "img"})
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="


class Reader(HTMLParser):
    """Reads a piece as a browser would, and notes what a piece must not have."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.text: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.wrong: list[str] = []

    def handle_starttag(self, tag, attrs):
        if tag not in TAGS:
            self.wrong.append(f"<{tag}>")
        for name, value in attrs:
            if name not in ATTRIBUTES:
                self.wrong.append(f"<{tag} {name}>")
            if name in ("href", "src"):
                self.links.append(value or "")
            if name == "id":
                self.ids.append(value or "")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}>")

    def handle_data(self, data):
        self.text.append(data)

    def handle_comment(self, data):
        self.wrong.append(f"<!--{data}-->")

    def handle_decl(self, decl):
        self.wrong.append(f"<!{decl}>")


def read(piece: str) -> Reader:
    reader = Reader()
    reader.feed(piece)
    reader.close()
    return reader


def log(*messages: dict, **more):
    """A pi session whose entries follow each other."""
    lines = [
        {"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/"}
    ]
    for number, message in enumerate(messages, 1):
        fields = message if "type" in message else {"type": "message", "message": message}
        common = {"id": f"e{number}", "parentId": f"e{number - 1}" if number > 1 else None}
        lines.append({**common, "timestamp": f"2026-01-01T00:00:{number:02d}.000Z", **fields})
    return transcript("".join(json.dumps(line) + "\n" for line in lines).encode())


def call(key: str, name: str = "bash", **arguments) -> dict:
    return {"type": "toolCall", "id": key, "name": name, "arguments": arguments}


def result(key: str, text: str, name: str = "bash", **more) -> dict:
    content = [{"type": "text", "text": text}]
    return {"role": "toolResult", "toolCallId": key, "toolName": name, "content": content, **more}


def test_a_prompt_is_markdown_and_its_html_is_shown():
    source = log({"role": "user", "content": "Use **care**: <script>alert(1)</script> `a<b`"})

    piece = PieceRenderer(source).piece(0)

    assert "<strong>care</strong>" in piece
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in piece
    assert "<code>a&lt;b</code>" in piece
    assert read(piece).ids == ["e-e1"]


def test_a_result_stands_with_its_call_and_its_own_piece_is_empty():
    answer = {"role": "assistant", "content": [call("c1", command="make"), call("c2", "read", path="a.py")]}
    source = log({"role": "user", "content": "go"}, answer, result("c2", "x = 1", "read"), result("c1", "ok"))
    renderer = PieceRenderer(source)

    pieces = renderer.pieces(range(4))

    assert pieces[2] == pieces[3] == ""
    assert read(pieces[1]).ids == ["e-e2", "e-e4", "e-e3"]
    assert "x = 1" in pieces[1]
    assert [renderer.row_of(at) for at in range(4)] == [0, 1, 1, 1]
    assert pieces == [renderer.piece(at) for at in range(4)]


def test_a_result_without_a_call_and_a_second_one_for_the_same_call_are_shown():
    answer = {"role": "assistant", "content": [call("c1", command="make")]}
    source = log(answer, result("c1", "first"), result("c1", "second"), result("lost", "third"))

    pieces = PieceRenderer(source).pieces(range(4))

    assert "first" in pieces[0]
    assert "second" in pieces[2]
    assert "third" in pieces[3]


def test_without_tools_thinking_or_images_a_line_says_what_is_missing():
    content = [{"type": "thinking", "thinking": "secret plan"}, call("c1", command="make")]
    image = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
    source = log(
        {"role": "user", "content": [image]}, {"role": "assistant", "content": content}, result("c1", "x")
    )

    shown = PieceRenderer(source).pieces(range(3))
    options = PieceOptions(tools=False, thinking=False, images=False)
    short = PieceRenderer(source, options=options).pieces(range(3))

    assert f"data:image/png;base64,{PIXEL}" in shown[0]
    assert "secret plan" in shown[1]
    assert "image/png" in short[0]
    assert "base64" not in short[0]
    assert "1 tool call omitted" in short[1]
    assert "secret plan" not in "".join(short)


@pytest.mark.parametrize("kind", ["image/svg+xml", "text/html", 'image/png" onerror="x', ""])
def test_only_known_image_types_are_images(kind):
    image = {"type": "image", "data": PIXEL, "mimeType": kind}

    piece = PieceRenderer(log({"role": "user", "content": [image]})).piece(0)

    assert "<img" not in piece
    assert read(piece).wrong == []


def test_images_of_markdown_are_named_and_links_lead_to_the_web_only():
    text = "![cat](https://example.com/c.png) [a](https://example.com) [b](javascript:x) [c](data:text/html,x) [d](x.md)"

    reader = read(prose(text))

    assert [link for link in reader.links if link] == ["https://example.com"]
    assert "image: cat" in "".join(reader.text)


def test_code_has_classes_and_differences_have_marked_lines():
    source = log(
        {"role": "assistant", "content": [call("c", "edit", path="a.py", oldText="a\nb", newText="a\nc")]}
    )

    piece = PieceRenderer(source).piece(0)

    assert '<span class="k">def</span>' in prose("```python\ndef f(): pass\n```")
    assert '<span class="ln del">b</span><span class="ln add">c</span>' in piece
    assert "+1 −1" in piece


@given(st.text(alphabet="ab .\n\"'()é,", max_size=60))
@settings(max_examples=60, deadline=None)
def test_text_without_markdown_looks_as_markdown_would_render_it(text):
    fast = prose(text)

    slow = prose_module._markdown().render(text.strip("\n"))

    assert re.sub(r"\s+", " ", fast).replace(" </p>", "</p>") == re.sub(r"\s+", " ", slow).replace(
        " </p>", "</p>"
    )


def test_the_end_of_a_long_text_is_folded_and_that_of_a_huge_one_is_counted():
    folded = prose("A paragraph with *marks*.\n\n" * 2_000)
    huge = prose("word " * 300_000)

    assert folded.index("<details") < folded.index("more characters")
    assert read(folded).wrong == []
    assert len(huge) < 1_100_000
    assert "500,000 more characters are not shown" in huge


HOSTILE = st.sampled_from(
    [
        "<script>x()</script>",
        '"><img src=x onerror=x()>',
        "'><svg onload=x()>",
        "[a](javascript:x())",
        "![a](javascript:x())",
        "<!-- --><b>",
        "```html\n<script>\n```",
        "\x00\x1b]8;;https://x\x07\u202e",
        "</details></article>",
        "&#60;script&#62;",
        "| a | b |\n|:-:|--:|\n| <i> | x |",
        "<https://x.example/'onclick=x()>",
        "~~~\n</pre>",
    ]
)


@given(st.lists(HOSTILE, min_size=9, max_size=9))
@settings(max_examples=40, deadline=None)
def test_no_field_of_a_session_makes_markup(words):
    a, b, c, d, e, f, g, h, i = words
    answer = {
        "role": "assistant",
        "content": [
            {"type": "text", "text": a},
            {"type": "thinking", "thinking": b},
            call(c, d, command=e, path=f),
            {"type": g, "x": h},
        ],
        "model": i,
        "stopReason": "error",
        "errorMessage": a,
        "usage": {"input": 5, "totalTokens": 5},
    }
    source = log(
        {"role": "user", "content": "".join(words)},
        answer,
        result(c, f, d),
        {"role": "bashExecution", "command": a, "output": b},
        {"type": "compaction", "summary": c},
        {"type": "branch_summary", "summary": d, "fromId": "e1"},
        {"type": "model_change", "provider": e, "modelId": f},
        {"type": g, "id": h, "timestamp": i},
        {"type": "custom_message", "customType": a, "content": b},
    )
    labels = {key: LabelState(text=c, time="") for key in source.tree.keys}

    pieces = PieceRenderer(source, labels=labels).pieces(range(len(source.tree)))

    for piece in pieces:
        reader = read(piece)
        assert reader.wrong == []
        assert reader.open == []
        assert all(re.match(r"#|https?://|mailto:|data:image/", link) for link in reader.links)
        assert not re.search("[\x00-\x08\x0b-\x1f\u202e]", "".join(reader.text))


def test_a_template_escapes_what_is_not_markup():
    inner = template('<b title="{}">{}</b>')('a"b', "<i>")

    assert inner == '<b title="a&quot;b">&lt;i&gt;</b>'
    assert join((inner, "<")) == inner + "&lt;"
    assert join([inner + ""]) == escape(inner)  # plain concatenation is text again
    with pytest.raises(TypeError, match="missing 1 required"):
        template("{}{}")("x")


def test_references_stand_for_long_texts_and_lead_back_to_them():
    long = "line of output\n" * 40
    answer = {
        "role": "assistant",
        "content": [call("c", command="make"), {"type": "thinking", "thinking": long}],
    }
    source = log({"role": "user", "content": long}, answer, result("c", long))

    def reference(position: int, text: str) -> int | None:
        at = source.raw(position).find(json.dumps(text).encode())
        return None if at < 0 else at

    pieces = PieceRenderer(source, reference=reference).pieces(range(3))

    assert "line of output" not in pieces[0]
    found = re.findall(r'data-(?:text|paragraphs)="(\d+)(?::(\d+))?"', "".join(pieces))
    assert len(found) == 3
    for row, (at, delta) in zip((0, 1, 1), found, strict=True):
        raw = source.raw(row + int(delta or 0)).decode()
        assert json.JSONDecoder().raw_decode(raw, int(at))[0] == long


def test_every_entry_of_the_demo_has_a_well_formed_piece():
    for path in sorted(Path(sessions_directory()).glob("*.jsonl")):
        with Session.open(path) as session:
            renderer = PieceRenderer(session.transcript, labels=session.transcript.reading.labels)

            pieces = renderer.pieces(range(len(session)))

            for piece in pieces:
                reader = read(piece)
                assert (reader.wrong, reader.open) == ([], [])


def test_the_skeleton_has_a_row_for_each_entry_and_text_where_the_tree_shows_it():
    source = log(
        {"role": "user", "content": "first prompt"},
        {"role": "assistant", "content": [{"type": "text", "text": "an answer"}]},
        {"type": "label", "targetId": "e2", "label": "here"},
        {"type": "compaction", "summary": "x"},
    )

    columns = skeleton_columns(source, "e2", labels=source.reading.labels)

    assert columns.ids == ["e1", "e2", "e3", "e4"]
    assert columns.steps == [1, 1, 1, 1]
    assert columns.kinds == "ua-c"
    assert columns.texts[0] == "first prompt"
    assert columns.texts[1] == "an answer"
    assert columns.labels == {1: "here"}
    assert columns.times[1:] == [1, 1, 1]
    assert columns.leaf == 1
    assert skeleton_columns(source, "e2", start=2).kinds == "-c"
