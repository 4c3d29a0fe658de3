"""Full-text search: what is found, where it leads, and what is said about the rest."""

from __future__ import annotations

import json
import os
import random
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

import branchline.catalog.record
import branchline.library.search
from branchline import Session, SessionLibrary
from branchline.catalog import Catalog
from branchline.clock import FixedClock
from branchline.demo import prepare
from branchline.formats import EntryLog
from branchline.library import search_text
from branchline.library.line_text import line_texts
from branchline.places import session_directory
from branchline.views.hits import Hits, find_ranges, make_snippet
from branchline.views.session_row import SessionRow
from formats.codex_kit import THREAD, item, meta
from library.kit import CWD, talk
from session.kit import assistant, user
from support import CORPUS


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BRANCHLINE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(branchline.catalog.record, "_RACE_NS", 0)


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": [{"type": "toolCall", "id": "c1", "name": name, "arguments": arguments}],
        "provider": "anthropic",
        "model": "claude-sonnet-4-5",
        "usage": {"input": 90_000, "output": 20_000, "totalTokens": 110_000, "cost": {"total": 2.5}},
    }


def result(text: str) -> dict[str, Any]:
    return {
        "role": "toolResult",
        "toolCallId": "c1",
        "toolName": "bash",
        "content": [{"type": "text", "text": text}],
    }


@pytest.fixture
def library(place: Path) -> SessionLibrary:
    """One rich session with an abandoned branch and a label, and a plain one."""
    with talk(place, 0, "Why does parseQuery fail?", title="Deploy checklist") as session:
        session.append_message(call("bash", command="pytest tests/auth/test_login.py"))
        session.append_message(result("E   ConnectionRefusedError: [Errno 111] Connection refused"))
        session.append_message(call("read", path="src/auth/token_store.py"))
        here = session.append_message(assistant("The naïve café is in 東京タワー."))
        session.append_label(here, "works")
        session.append_message(user("An abandoned idea about zeppelins."))
        session.branch(here)
        session.append_message(user("Let us go on."))
    with talk(place, 1, "Another talk about parsers"):
        pass
    return SessionLibrary(place)


def entries(hits: Hits) -> list[str]:
    return [hit.snippet.text for hit in hits]


@pytest.mark.parametrize("indexed", [True, False])
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("parseQuery", "parseQuery"),
        ("query fail", "parseQuery"),
        ("QUERY", "parseQuery"),
        ("test_login", "test_login.py"),
        ("login.py", "test_login.py"),
        ("auth/test", "tests/auth"),
        ('"connection refused"', "Connection refused"),
        ('"errno 111 connection"', "Connection refused"),
        ("cafe", "café"),
        ("東京", "東京"),
        ("タワー", "東京"),
        ("zepp", "zeppelins"),
        ("is:abandoned idea", "zeppelins"),
        ("tool:bash refused", "Connection refused"),
        ("in:tools refused", "Connection refused"),
        ("role:result refused", "Connection refused"),
        ("file:token_store", "token_store.py"),
        ("path:AUTH/token", "token_store.py"),
        ("onnectionrefus", "ConnectionRefusedError"),
        ("re:Errno \\d{3}", "Errno 111"),
        ("cost:>1 zeppelins", "zeppelins"),
        ("tokens:>100k zeppelins", "zeppelins"),
        ("model:sonnet zeppelins", "zeppelins"),
        ("label:works zeppelins", "zeppelins"),
        ("is:branch parsequery", "parseQuery"),
        ("=> ", None),
        ("in:said refused", None),
        ("in:said onnectionrefus", None),
        ("in:tools onnectionrefus", "ConnectionRefusedError"),
        ("re:^[0-9a-f]{16}$", None),
        ("role:user refused", None),
        ("is:fork parsequery", None),
        ("is:compacted parsequery", None),
        ("cost:<1 zeppelins", None),
        ("model:opus zeppelins", None),
        ("branch:main zeppelins", None),
        ("parsequery zeppelins", None),
        ("after:2027-01-01 parsequery", None),
    ],
)
def test_the_same_entries_are_found_with_and_without_an_index(
    library: SessionLibrary, query: str, found: str | None, *, indexed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not indexed:
        monkeypatch.setenv("BRANCHLINE_INDEX", "off")

    hits = library.search(query)

    texts = entries(hits)
    if found is None:
        assert texts == []
    else:
        assert any(found in text for text in texts), texts
        assert all("cannot be used" in note for note in hits.notes)


@pytest.mark.parametrize("indexed", [True, False])
@pytest.mark.parametrize(
    ("query", "roles"),
    [
        ("in:said", {"user", "assistant"}),
        ("in:tools", {"assistant", "toolResult"}),
        ("after:2000-01-01", {"user", "assistant", "toolResult"}),
    ],
)
def test_a_query_without_words_finds_entries_with_text_in_its_column(
    library: SessionLibrary,
    place: Path,
    query: str,
    roles: set[str],
    *,
    indexed: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with talk(place, 2, "A third talk") as session:
        session.append_message({**call("bash"), "content": []})
    if not indexed:
        monkeypatch.setenv("BRANCHLINE_INDEX", "off")

    hits = library.search(query, limit=100)

    assert {hit.role for hit in hits} == roles
    assert all(hit.snippet.text.strip() for hit in hits)
    calls = [hit for hit in hits if hit.role == "assistant" and hit.tool]
    assert bool(calls) == (query != "in:said")


@pytest.mark.parametrize("indexed", [True, False])
def test_a_search_for_an_agent_knows_its_aliases_and_reports_unknown_ones(
    tmp_path: Path, *, indexed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with Session.create(str(tmp_path)) as session:
        session.append_message(user("Why does parseQuery fail?"))
        session.append_message(assistant("It reads too far."))
    if not indexed:
        monkeypatch.setenv("BRANCHLINE_INDEX", "off")
    library = SessionLibrary.everywhere()

    assert library.search("agent:native parsequery")
    assert not library.search("agent:pi parsequery")
    assert "unknown agent 'codxe'; did you mean 'codex'" in library.search("agent:codxe").notes[-1]
    assert "role:nobody is not a common role" in library.search("role:nobody").notes[-1]


@pytest.mark.parametrize("indexed", [True, False])
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("failure", ["3 failures: İzmir, Aşkale"]),
        ('"failures izmir"', ["3 failures: İzmir, Aşkale"]),
        ("re:^3 fail", ["3 failures: İzmir, Aşkale"]),
        ("izmir askale", ["3 failures: İzmir, Aşkale"]),
        ("label:works", ["The naïve café is in 東京タワー."]),
    ],
)
def test_words_in_colour_or_with_accents_and_labelled_entries_are_found_either_way(
    library: SessionLibrary,
    place: Path,
    query: str,
    found: list[str],
    *,
    indexed: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with talk(place, 2, "The other failure") as session:
        session.append_message(result("\x1b[1;31m3 failures\x1b[0m: \x1b[32mİzmir\x1b[0m, Aşkale"))
    if not indexed:
        monkeypatch.setenv("BRANCHLINE_INDEX", "off")

    hits = library.search(query)

    assert [text for text in entries(hits) if "The other" not in text] == found
    assert all(hit.snippet.ranges for hit in hits if not query.startswith("label:"))


def test_a_snippet_shows_neither_ids_nor_the_tags_around_a_prompt() -> None:
    line = (
        b'{"type":"user","promptId":"8735fbac-d7f5-4c52-8434-7c88bacd6d2a","checksum":"0123456789abcdef",'
        b'"content":"<user_input mode=\\"act\\">Print <b>a</b> &\\nmore</user_input>"}'
    )

    assert line_texts(line) == ["Print <b>a</b> &\nmore"]
    assert line_texts(b'{"text":"<a>x</a> and <a>y</a>"}') == ["<a>x</a> and <a>y</a>"]


def test_every_hit_opens_at_its_entry_also_on_an_abandoned_branch(library: SessionLibrary) -> None:
    (hit,) = library.search("zeppelins")

    assert not hit.on_path
    session = library.open(hit.row)
    assert session is not None
    with session:
        assert "zeppelins" in str(session.entry(hit.entry))


@pytest.mark.parametrize("indexed", [True, False])
@pytest.mark.parametrize("query", ["zeppelins", "re:zeppelin.", "eppelin"])
def test_a_hit_on_an_abandoned_branch_ranks_below_an_equal_one_on_the_path(
    place: Path, query: str, *, indexed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The abandoned one is a second newer, which alone would put it first."""
    if not indexed:
        monkeypatch.setenv("BRANCHLINE_INDEX", "off")
    an_hour_ago = round(time.time() * 1000) - 3_600_000
    with Session.create(CWD, directory=place, clock=FixedClock(an_hour_ago)) as session:
        session.append_message(user("Hello."))
        first = session.append_message(user("Tell me of zeppelins."))
        answer = session.append_message(assistant("Of what?"))
        left = session.append_message(user("Tell me of zeppelins!"))
        session.branch(answer)
        session.append_message(user("Let us go on."))

    hits = SessionLibrary(place).search(query)

    assert [(hit.entry, hit.on_path) for hit in hits] == [(first, True), (left, False)]
    assert hits[0].score > hits[1].score


def test_the_snippet_of_every_agent_shows_what_was_said(tmp_path: Path) -> None:
    """Neither the directory of the session, nor a time, nor another field of the line."""
    demo = prepare(str(tmp_path / "demo"))
    directory = session_directory(demo.project, {"BRANCHLINE_HOME": demo.home})

    hits = SessionLibrary(directory).search("tide", limit=100)

    assert {hit.row.format for hit in hits.hits} >= {"pi", "piglet", "zot", "claude-code", "oh-my-pi"}
    for hit in hits.hits:
        start, end = hit.snippet.ranges[0]
        assert hit.snippet.text[start:end].lower() == "tide"
        assert str(tmp_path) not in hit.snippet.text


@pytest.mark.parametrize("indexed", [True, False])
def test_a_title_is_found_and_leads_to_the_leaf(
    library: SessionLibrary, *, indexed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not indexed:
        monkeypatch.setenv("BRANCHLINE_INDEX", "off")

    (hit,) = library.search("checklist")

    assert hit.role == "title"
    assert hit.entry == library.open(hit.row).leaf  # type: ignore[union-attr]


def test_a_message_that_forks_share_is_one_hit_with_all_its_places(place: Path) -> None:
    with talk(place, 0, "the shared question") as session:
        for _ in range(3):
            session.fork().close()
    library = SessionLibrary(place)

    (hit,) = library.search("role:user shared")

    assert len(hit.places) == 4
    assert len({at.row.path for at in hit.places}) == 4
    assert {at.entry for at in hit.places} == {hit.entry}


def test_what_is_appended_is_found_at_once_and_nothing_is_indexed_twice(place: Path) -> None:
    with talk(place, 0, "first words") as session:
        library = SessionLibrary(place)
        assert not library.search("aardvark")

        session.append_message(user("an aardvark"))

        assert len(library.search("aardvark")) == 1
    with Catalog.open() as catalog:
        held = catalog.status()
    assert (held.documents, held.dead) == (3, 0)


def test_of_a_file_that_grows_only_the_tail_is_read(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with talk(place, 0, *(f"question {number} about something longer" for number in range(300))) as session:
        library = SessionLibrary(place)
        library.search("question")
        session.append_message(user("a first addition"))
        library.search("addition")
        before = session.transcript.reading.consumed
        session.append_message(user("the needle in the haystack"))
        appended = session.transcript.reading.consumed - before
    sizes: list[int] = []
    pread = os.pread
    monkeypatch.setattr(os, "pread", lambda *given: (data := pread(*given), sizes.append(len(data)))[0])

    (hit,) = library.search("needle")

    assert hit.snippet.text == "the needle in the haystack"
    assert before > 50_000
    assert sum(sizes) <= appended + 8192


def test_of_a_rollout_that_grows_only_the_new_lines_are_interpreted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"rollout-2026-01-01T10-00-00-{THREAD}.jsonl"
    path.write_bytes(meta() + b"".join(item("user", f"question {number} " * 20) for number in range(300)))
    library = SessionLibrary(tmp_path)
    library.search("question")
    before = path.stat().st_size
    with path.open("ab") as file:
        file.write(item("user", "the needle in the haystack"))
    fed: list[int] = []
    feed = EntryLog._feed
    monkeypatch.setattr(EntryLog, "_feed", lambda self: (fed.append(self.reading.consumed), feed(self))[1])

    (hit,) = library.search("needle")

    assert hit.snippet.text == "the needle in the haystack"
    assert fed == [before]


def test_a_branch_that_is_left_is_off_the_path_afterwards(place: Path) -> None:
    with talk(place, 0, "first", "second") as session:
        library = SessionLibrary(place)
        assert all(hit.on_path for hit in library.search("second"))

        session.branch(session.path()[1])
        session.append_message(user("third"))

        assert not any(hit.on_path for hit in library.search("role:user second"))
        assert all(hit.on_path for hit in library.search("role:user third"))


def test_a_rewritten_file_answers_with_its_new_words_only(place: Path) -> None:
    with talk(place, 0, "old words") as session:
        path = session.file
    library = SessionLibrary(place)
    assert library.search("old")
    assert path is not None
    Path(path).write_bytes(Path(path).read_bytes().replace(b"old words", b"new lines"))

    assert not library.search("old")
    assert library.search("new lines")


def test_files_that_are_too_many_to_index_at_once_are_read_newest_first(
    library: SessionLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(branchline.library.search, "_AT_ONCE", 0)

    hits = library.search("zeppelins")

    assert len(hits) == 1
    assert hits.unindexed == 2
    assert hits.searched == 2


def test_a_search_without_time_says_what_it_left_out(library: SessionLibrary) -> None:
    hits = library.search("re:zeppelin", budget=0.0)

    assert hits.at_least
    assert "0 of 2 sessions were read" in hits.notes[0]
    assert (hits.is_complete, hits.searched, hits.parts_searched) == (False, 0, None)
    assert hits.coverage == "only 0 of 2 sessions searched, no matches in these"


def test_the_progress_of_the_index_ends_when_everything_is_written(library: SessionLibrary) -> None:
    told: list[tuple[int, int, int]] = []

    def progress(done: int, total: int) -> None:
        with Catalog.open() as catalog:
            told.append((done, total, catalog.status().indexed))

    library.update_index(progress=progress)

    assert told[-1] == (2, 2, 2)
    assert [done for done, _total, _indexed in told] == [1, 2]


def test_the_answer_of_the_index_stays_when_there_is_no_time_to_look_for_parts_of_words(
    library: SessionLibrary,
) -> None:
    library.update_index()

    hits = library.search('"no such phrase"', budget=0.0)

    assert (hits.is_complete, hits.searched, hits.parts_searched) == (True, 2, 0)
    assert hits.coverage == "no matches in 2 sessions"
    assert hits.remarks == ("parts of words were looked for in 0 of 2 sessions",)
    assert library.search('"no such phrase"').remarks == ()


def test_a_pattern_is_looked_for_in_indexed_sessions_also_where_others_have_hits(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with talk(place, 0, "an indexed zeppelin"):
        pass
    library = SessionLibrary(place)
    library.update_index()
    monkeypatch.setattr(branchline.library.search, "_AT_ONCE", 0)
    with talk(place, 1, "a new zeppelin"):
        pass

    hits = library.search("re:an? (new|indexed) zep+elin")

    assert len({hit.row.key for hit in hits}) == 2
    assert (hits.searched, hits.sessions, hits.is_complete) == (2, 2, True)


def test_a_pattern_that_never_ends_is_stopped_and_that_is_said(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with talk(place, 0, "a" * 40):
        pass
    monkeypatch.setattr(
        branchline.library.regex_worker.RegexWorker.__init__, "__kwdefaults__", {"seconds": 0.3}
    )

    hits = SessionLibrary(place).search("re:(a+)+b")

    assert not hits
    assert "took too long" in hits.notes[0]


@pytest.mark.parametrize(
    "query", ["re:(", "dir:x", "cost:lots", "in:nothing", "is:odd", "after:soon", "file:"]
)
def test_a_query_that_cannot_be_understood_is_refused_with_its_reason(
    library: SessionLibrary, query: str
) -> None:
    with pytest.raises(
        ValueError, match=query.partition(":")[0] if query != "re:(" else "regular expression"
    ):
        library.search(query)


def test_a_snippet_is_of_what_was_asked_for(place: Path) -> None:
    with talk(place, 0, "hello") as session:
        both = call("bash", command="make needle")
        both["content"].insert(0, {"type": "text", "text": "I look for the needle."})
        session.append_message(both)
    library = SessionLibrary(place)

    tools, said = library.search("in:tools needle"), library.search("in:said needle")

    assert [hit.snippet.text for hit in tools] == ["make needle"]
    assert [hit.snippet.text for hit in said] == ["I look for the needle."]


def test_hostile_text_is_harmless_in_a_snippet(place: Path) -> None:
    with talk(place, 0, "before \x1b[31mred\x07 \u202eevil\u200b needle"):
        pass

    (hit,) = SessionLibrary(place).search("role:user needle")

    assert "\x1b" not in hit.snippet.text
    assert "\u202e" not in hit.snippet.text
    ((start, end),) = hit.snippet.ranges
    assert hit.snippet.text[start:end] == "needle"


def test_only_sessions_of_the_directory_count_in_its_scope(tmp_path: Path) -> None:
    home = tmp_path / "person"
    for cwd in ("/work/one", "/work/two"):
        place = tmp_path / "home" / "sessions"
        with Session.create(cwd) as session:
            session.append_message(user(f"hello from {cwd}"))
            session.append_message(assistant("hi"))
        assert place.exists()

    everywhere = SessionLibrary.everywhere(home=home).search("hello")
    here = SessionLibrary.everywhere("/work/one", home=home).search("hello")

    assert len(everywhere) == 2
    assert [hit.row.cwd for hit in here] == ["/work/one"]


@pytest.mark.parametrize(("program", "name"), [("codex", "rollout-2026-08-20T11-00-00"), ("claude-code", "")])
def test_the_git_branch_of_a_session_is_found(program: str, name: str, tmp_path: Path) -> None:
    samples = [
        path
        for path in sorted((CORPUS / program).rglob("*.jsonl"))
        if b'ranch":"main"' in path.read_bytes() and name in path.name
    ]
    place = tmp_path / "one"
    place.mkdir()
    shutil.copy(samples[0], place)

    assert SessionLibrary(place).search("branch:main")
    assert not SessionLibrary(place).search("branch:elsewhere")


# -- the index says what the files say --------------------------------------------------------------------


def dump(library: SessionLibrary) -> list[tuple[Any, ...]]:
    """Everything that answers depend on, without the numbers that depend on history."""
    with Catalog.open() as catalog:
        return sorted(
            catalog.connection.execute(
                "SELECT file.path, doc.entry, doc.position, doc.offset, doc.length, doc.type, doc.role, doc.tool,"
                " doc.ms, doc.on_path, doc.mark, usage.model, usage.total, usage.cost, file.traits,"
                " file.leaf, file.consumed, file.record FROM doc JOIN file ON file.id = doc.file"
                " LEFT JOIN usage ON usage.doc = doc.id"
            ).fetchall(),
            key=repr,
        )


SAMPLES = [
    path
    for program in ("pi", "oh-my-pi", "operator", "induscode", "zot", "piglet", "claude-code", "codex")
    for path in sorted((CORPUS / program).rglob("*.jsonl"))[:12]
    if 0 < path.stat().st_size < 200_000
]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: str(path.relative_to(CORPUS)))
def test_a_file_that_grows_line_by_line_is_indexed_as_if_it_were_read_at_once(
    sample: Path, tmp_path: Path
) -> None:
    lines = sample.read_bytes().splitlines(keepends=True)
    directory = tmp_path / "grown"
    directory.mkdir()
    path = directory / sample.name
    draw = random.Random(len(lines))
    cuts = sorted({draw.randrange(1, len(lines) + 1) for _ in range(6)} | {len(lines)})
    library = SessionLibrary(directory)
    for end in cuts:
        with path.open("wb" if end == cuts[0] else "ab") as out:
            out.write(b"".join(lines[cuts[cuts.index(end) - 1] if end != cuts[0] else 0 : end]))
        library.update_index()
    grown = dump(library)

    library.update_index(rebuild=True)

    assert grown == dump(library)


# -- pieces -----------------------------------------------------------------------------------------------


def test_a_snippet_stands_around_the_first_match_and_marks_all_of_them() -> None:
    text = "filler " * 100 + "the needle here and a Needle there" + " filler" * 100

    snippet = make_snippet(text, find_ranges(text, ["needle"]), 80)

    assert snippet.text.startswith("…")
    assert snippet.text.endswith("…")
    assert [snippet.text[start:end].lower() for start, end in snippet.ranges] == ["needle", "needle"]
    assert len(snippet.text) <= 90


def test_an_index_of_copied_directories_is_not_confused(library: SessionLibrary, place: Path) -> None:
    library.update_index()
    copy = place.with_name("copy")
    shutil.copytree(place, copy)
    for path in copy.glob("*.jsonl"):
        os.utime(path)

    hits = SessionLibrary(copy).search("zeppelins")

    assert [str(copy) in str(hit.row.path) for hit in hits] == [True]
    assert len(hits[0].places) == 1


def test_words_are_found_in_a_file_whose_pieces_part_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_text, "_PIECE", 256)
    data = b"x" * 250 + b"needle" + b"y" * 500 + "Caf\u00e9".encode() + b"z" * 300

    def read(offset: int, size: int) -> bytes:
        return data[offset : offset + size]

    assert search_text.file_may_hold(["needle", "cafe"], read)
    assert not search_text.file_may_hold(["needle", "thread"], read)
    assert search_text.file_may_hold(["n" * 100], read)  # too long for pieces: the file is read


@pytest.mark.parametrize("indexed", [True, False])
def test_a_word_like_an_unknown_field_is_searched_as_text_and_explained(
    library: SessionLibrary, indexed: bool
) -> None:
    if indexed:
        library.update_index()

    nothing = library.search("ticket:42")
    found = library.search("connectionrefusederror: errno")

    assert len(nothing) == 0
    assert nothing.notes[-1].startswith(
        "ticket:42 was searched as text: unknown field ticket:; the fields are agent: cwd:"
    )
    assert len(found) == 1
    assert found.notes == ()
    assert library.search("std::string http://example.com c:\\temp").notes == ()


def test_only_listed_sessions_count_as_searched(tmp_path: Path) -> None:
    project = tmp_path / ".claude" / "projects" / "-home-u-demo"
    project.mkdir(parents=True)
    for shape in ("sub-agents", "parallel-tools"):
        for path in (CORPUS / "claude-code" / "synthetic" / shape).rglob("*.jsonl"):
            shutil.copy(path, project / path.name)
    everywhere = SessionLibrary.everywhere(home=tmp_path)
    listed = len(everywhere.list(deep=True))
    everywhere.update_index()

    hits = everywhere.search("the")

    assert len(list(project.iterdir())) > listed > 1
    assert (hits.searched, hits.sessions) == (listed, listed)
    here = SessionLibrary.everywhere(tmp_path / "elsewhere", home=tmp_path).search("the")
    assert (here.searched, len(here)) == (0, 0)


@pytest.mark.parametrize("indexed", [True, False])
def test_a_query_has_a_limit_of_words_and_repeats_none(library: SessionLibrary, indexed: bool) -> None:
    if indexed:
        library.update_index()

    assert entries(library.search("parseQuery " * 3000)) == entries(library.search("parseQuery"))
    nothing = library.search(" ".join(f"word{number}" for number in range(200)))
    assert (len(nothing), nothing.notes) == (0, ())
    with pytest.raises(ValueError, match="a query of 201 words is too long; use at most 200"):
        library.search(" ".join(f"word{number}" for number in range(201)))


def test_a_snippet_shows_no_names_of_tiers() -> None:
    line = (
        b'{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Bash","input":{"command":"ls",'
        b'"usage":{"text":"an argument"}}}],"usage":{"input_tokens":1,"service_tier":"standard"}}}'
    )

    assert line_texts(line) == ["Bash", "ls", "an argument"]


def test_rows_that_the_index_knows_are_those_of_the_list(tmp_path: Path) -> None:
    project = tmp_path / ".claude" / "projects" / "-home-u-demo"
    project.mkdir(parents=True)
    for shape in ("sub-agents", "parallel-tools", "titles"):
        for path in (CORPUS / "claude-code" / "synthetic" / shape).rglob("*.jsonl"):
            shutil.copy(path, project / path.name)
    with talk(tmp_path / "home" / "sessions" / "work-1", 0, "a session of branchline"):
        pass
    everywhere = SessionLibrary.everywhere(home=tmp_path)
    listed = everywhere.list(deep=True)

    known = everywhere.known_rows(100)

    assert {row.path: row for row in known} == {row.path: row for row in listed}
    assert {row.agent for row in known} == {"claude-code", "branchline"}
    assert all(row.expires_ms for row in known if row.agent == "claude-code")
    assert everywhere.known_rows(2) == known[:2]


@pytest.mark.parametrize("indexed", [True, False])
def test_the_cost_of_a_session_is_estimated_where_its_agent_does_not_record_it(
    place: Path, *, indexed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("genai_prices")
    if not indexed:
        monkeypatch.setenv("BRANCHLINE_INDEX", "off")
    monkeypatch.setenv("BRANCHLINE_PRICES", "anthropic/of-my-own=2:10")
    place.mkdir()
    models = {
        "cheap": "claude-haiku-4-5",
        "dear": "claude-opus-4-1",
        "unknown": "nobody-knows",
        "own": "of-my-own",
    }
    for name, model in models.items():
        usage = {"input_tokens": 100_000, "output_tokens": 1_000}
        content = [{"type": "text", "text": f"a zeppelin, {name}"}]
        message = {"id": name, "role": "assistant", "model": model, "content": content, "usage": usage}
        line = {"type": "assistant", "uuid": name, "parentUuid": None, "requestId": name, "message": message}
        about = {"sessionId": name, "cwd": "/p", "version": "2.0.0", "timestamp": "2026-01-05T10:00:00.000Z"}
        (place / f"{name}.jsonl").write_text(json.dumps(about | line) + "\n")
    library = SessionLibrary(place)

    found = {
        query: {Path(str(hit.row.path)).stem for hit in library.search(f"{query} zeppelin")}
        for query in ("cost:>1", "cost:<1", "cost:<0.15")
    }

    assert found == {"cost:>1": {"dear"}, "cost:<1": {"cheap", "own"}, "cost:<0.15": {"cheap"}}


def test_a_hit_without_words_shows_the_text_and_not_other_fields_of_its_line(place: Path) -> None:
    place.mkdir()
    message = {"id": "m", "role": "assistant", "model": "claude-opus-4-5"}
    line = {
        "type": "assistant",
        "uuid": "a",
        "parentUuid": None,
        "sessionId": "s",
        "cwd": "/p",
        "version": "2.1.0",
        "timestamp": "2026-01-05T10:00:00.000Z",
        "requestedModel": "claude-opus-4-5-with-a-long-name",
        "message": {**message, "content": [{"type": "text", "text": "Hi there."}]},
    }
    (place / "s.jsonl").write_text(json.dumps(line) + "\n")

    (hit,) = SessionLibrary(place).search("role:assistant")

    assert hit.snippet.text == "Hi there."


def test_a_hit_in_a_fork_that_refers_to_its_parent_shows_its_text(tmp_path: Path) -> None:
    """A thread of Codex names the file and the line up to which it continues another one."""
    home = tmp_path / "codex"
    shutil.copytree(CORPUS / "codex/synthetic/threads", home)
    library = SessionLibrary.everywhere(
        agents=["codex"], environment={"CODEX_HOME": str(home)}, home=tmp_path
    )

    hits = library.search("role:user", limit=100)

    assert len(hits) > 5
    assert all(hit.snippet.text for hit in hits)


@pytest.mark.parametrize("is_torn", [False, True])
@pytest.mark.parametrize("keeps_time", [False, True])
def test_text_that_was_edited_in_place_is_not_found_by_what_it_said_before(
    place: Path, *, keeps_time: bool, is_torn: bool
) -> None:
    """The file keeps its size, its ids and its last bytes, and perhaps its modification time."""
    with talk(place, 0, "The password is hunter2") as session:
        for number in range(20):
            session.append_message(assistant(f"Filler number {number}, so that the end is far away. " * 5))
    (path,) = place.glob("*.jsonl")
    if is_torn:
        path.write_bytes(path.read_bytes() + b'{"type":"message","id":"torn')
    library = SessionLibrary(place)
    assert library.search("hunter2")
    before = path.stat()

    with path.open("r+b") as file:
        file.write(path.read_bytes().replace(b"hunter2", b"xxxxxx9"))
    if keeps_time:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert not library.search("hunter2")
    assert library.search("xxxxxx9")


@pytest.mark.parametrize("indexed", [True, False])
def test_text_on_a_line_with_several_entries_is_found_in_its_own_entry(
    place: Path, *, indexed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.mkdir(exist_ok=True)
    shutil.copy(CORPUS / "gemini/tmp/acme/chats/session-2026-03-04T05-08-9e313111.jsonl", place)
    if not indexed:
        monkeypatch.setenv("BRANCHLINE_INDEX", "off")

    hits = SessionLibrary(place).search('"o such fi"')

    assert [hit.entry for hit in hits] == ["g2:c2"]


def long_talk(place: Path, number: int, count: int, text: str) -> Path:
    """A session with so many prompts of the same text, later than those of ``talk``."""
    place.mkdir(exist_ok=True)
    path = place / f"long-{number}.jsonl"
    header = {
        "type": "session",
        "version": 3,
        "id": f"long{number}",
        "timestamp": "2026-03-01T00:00:00Z",
        "cwd": "/l",
    }
    lines, parent = [json.dumps(header)], None
    for at in range(count):
        message = {"role": "user", "content": f"{text} {at}", "timestamp": 1_772_000_000_000 + at}
        entry = {"type": "message", "id": f"{number}-{at}", "parentId": parent, "message": message}
        entry["timestamp"] = "2026-03-01T00:00:00Z"
        lines.append(json.dumps(entry))
        parent = entry["id"]
    path.write_text("\n".join(lines) + "\n")
    return path


def sessions_of(hits: Hits) -> set[str]:
    return {hit.row.id for hit in hits}


@pytest.mark.parametrize("indexed", [True, False])
@pytest.mark.parametrize("query", ["theme", "them", "theme role:user"])
def test_a_word_that_one_long_session_repeats_is_found_in_the_others_too(
    place: Path, query: str, indexed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not indexed:
        monkeypatch.setenv("BRANCHLINE_INDEX", "off")
    ids = set()
    for number in range(3):
        with talk(place, number, "Which theme is dark?") as session:
            ids.add(session.id)
    long_talk(place, 0, 7_000, "a theme of many")
    library = SessionLibrary(place)
    if indexed:
        library.update_index()

    found = library.search(query, limit=12, budget=30)

    assert sessions_of(found) == {*ids, "long0"}
    assert found.total >= 12


def test_many_long_sessions_hide_none_of_the_short_ones(place: Path) -> None:
    with talk(place, 0, "Which theme is dark?") as session:
        short = session.id
    for number in range(4):
        long_talk(place, number, 3_000, "a theme of many")
    library = SessionLibrary(place)
    library.update_index()
    offered: list[str] = []

    def last(rows: list[SessionRow]) -> list[SessionRow]:
        offered.extend(row.id for row in rows)
        return rows[-1:]

    found = library.search("theme", choose=last)

    assert sorted(offered) == sorted([short, "long0", "long1", "long2", "long3"])
    assert sessions_of(found) == {offered[-1]}


@pytest.mark.parametrize("indexed", [True, False])
def test_the_first_hits_of_chosen_sessions_are_returned_with_their_number(
    place: Path, indexed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not indexed:
        monkeypatch.setenv("BRANCHLINE_INDEX", "off")
    with talk(place, 0, *["a theme"] * 5, title="Themes") as session:
        chosen = session.id
    with talk(place, 1, "another theme"):
        pass

    found = SessionLibrary(place).search(
        "theme", limit=1, choose=lambda rows: [row for row in rows if row.id == chosen]
    )

    assert [hit.row.id for hit in found] == [chosen] * 3
    assert list(found.counts.values()) == [11]


def test_dropped_documents_are_not_taken_for_those_of_other_sessions(place: Path) -> None:
    gone = long_talk(place, 0, 40, "a theme of many")
    with talk(place, 1, "Which theme is dark?") as session:
        left = session.id
    library = SessionLibrary(place)
    library.update_index()
    gone.unlink()
    with talk(place, 2, "A later theme") as session:
        later = session.id
    library.update_index()

    assert sessions_of(library.search("theme", limit=50)) == {left, later}
