"""A session as one HTML file: it can be imported again, and contains nothing that was redacted."""

from __future__ import annotations

import base64
import gzip
import html
import json
import os
import re
from pathlib import Path
from random import Random
from typing import Any

import pytest
from click.testing import CliRunner

from branchline import Session, SessionLibrary
from branchline.actions.check import check_file
from branchline.actions.export import Choices, ExportRequest, export
from branchline.actions.import_ import import_file
from branchline.actions.review import review
from branchline.cli.app import cli
from branchline.errors import EntryNotFound, NotASession, NotSupported, SecretsLeft
from branchline.views.html.single_page import packed_frames, page_provenance
from formats.database_kit import goose_database, llm_database, opencode_database
from secret_kinds import KINDS
from support import CORPUS
from web.forged import PLACES, chunk, forged, packed, sealed
from web.kit import Viewer

NOT_SESSIONS = {
    "empty",
    "garbage",
    "session_index",
    "binary",
    "other-json",
    "text",
    "withdrawn-library-store",
}
FORMATS = ("pi", "oh-my-pi", "operator", "induscode", "zot", "piglet", "claude-code", "codex")


def some_files(folder: str, most: int = 12) -> list[Path]:
    """Sessions of a folder, spread over all of it."""
    found = [path for path in sorted((CORPUS / folder).rglob("*.jsonl")) if path.stem not in NOT_SESSIONS]
    return found[:: max(1, len(found) // most)]


FILES = [path for folder in FORMATS for path in some_files(folder)] + some_files("bad", most=1_000)
TOKEN = "gh" + "p_" + "Zq7Rt2Lm9Xc4Vb8Nw3Kd6Hf1Js5Gy0PuTeAo"


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_page_gives_the_original_bytes_whatever_wrote_them(path: Path, world: Path) -> None:
    with Session.open(path) as session:
        export(session, "page.html", ExportRequest(redact=False))

        with Session.open("page.html") as again:
            # Codex may begin a session in another file: then the page has all of it.
            assert again.transcript.bytes_between(0, None) == session.transcript.bytes_between(0, None)
            assert again.index.keys == session.index.keys
            assert again.format == session.format


DOCUMENTS = [
    "cline/data/sessions/1772600000000_ab1cd/1772600000000_ab1cd.messages.json",
    "cline/globalStorage/rooveterinaryinc.roo-cline/tasks/1772600100000/api_conversation_history.json",
    "gemini/tmp/acme/chats/session-2025-09-01T10-00-abcdef01.json",
    "vibe/logs/session/unified/7b1de000-5555-4a6b-9c3d-000000000005/CURRENT",
    "goose/sessions/20250901_1.jsonl",
]
GOOSE = (
    '{"working_dir":"/work/acme","description":"Lamp"}\n'
    '{"id":"m1","role":"user","created":1756720000,"content":[{"type":"text","text":"Hello"}]}\n'
    '{"id":"m2","role":"assistant","created":1756720009,"content":[{"type":"text","text":"Hi"}]}\n'
)


def document(name: str, world: Path) -> Path:
    if not name.startswith("goose/"):
        return CORPUS / name
    path = world / name
    path.parent.mkdir(parents=True)
    path.write_text(GOOSE, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", DOCUMENTS, ids=lambda name: name.partition("/")[0])
def test_documents_come_out_of_a_page_byte_for_byte(name: str, world: Path) -> None:
    source = document(name, world)
    with Session.open(source) as session:
        keys, format_ = session.index.keys, session.format
        export(session, "page.html", ExportRequest(redact=False))

    done = import_file("page.html", directory="copies")
    again = import_file("page.html", directory="copies")

    files = [path for path in Path("copies").rglob("*") if path.is_file()]
    root = Path(str(source).removesuffix(os.path.relpath(done.path, "copies")))
    assert {path.read_bytes() == (root / path.relative_to("copies")).read_bytes() for path in files} == {True}
    assert Path(done.path).name == source.name
    assert (done.copied, again.copied) == (True, False)
    for place in ("page.html", done.path):
        with Session.open(place) as copy:
            assert (copy.index.keys, copy.format) == (keys, format_)


@pytest.mark.parametrize("damage", ["content", "planted", "outside"])
def test_files_that_are_not_those_of_the_session_are_never_written(damage: str, world: Path) -> None:
    with Session.open(CORPUS / DOCUMENTS[0]) as session:
        export(session, "page.html", ExportRequest(redact=False))
    page = (world / "page.html").read_text(encoding="utf-8")
    name = "sessions/1772600000000_ab1cd/1772600000000_ab1cd.json"
    if damage == "content":
        found = re.search('id="file-1">([^<]*)<', page)
        assert found is not None
        page = page.replace(found[1], base64.b64encode(gzip.compress(b"{}")).decode())
    else:
        other = "planted.sh" if damage == "planted" else "../" + name
        assert f'"name":"{name}"' in page
        page = page.replace(f'"name":"{name}"', f'"name":"{other}"')
    (world / "page.html").write_text(sealed(page), encoding="utf-8")

    with pytest.raises(NotASession):
        import_file("page.html", directory="copies")

    assert not os.path.exists("copies")


def test_a_redacted_page_has_no_original_files(world: Path) -> None:
    with Session.open(CORPUS / DOCUMENTS[0]) as session:
        export(session, "page.html")

    assert 'id="file-0"' not in (world / "page.html").read_text(encoding="utf-8")


READ_ONLY = [
    "copilot/session-state/0c0b1107-2222-4a6b-9c3d-000000000002/events.jsonl",
    "gemini/tmp/acme/chats/session-2026-03-04T05-08-9e313111.jsonl",
    "kimi/sessions/wd_acme_000000000000/session_4b1e0000-4444-4a6b-9c3d-000000000004/agents/main/wire.jsonl",
    "qwen/projects/-home-dev-acme/chats/5e0c1b1e-1111-4a6b-9c3d-000000000001.jsonl",
]
DATABASES = {"opencode": opencode_database, "llm": llm_database, "goose": goose_database}


@pytest.mark.parametrize("name", [*READ_ONLY, *DATABASES], ids=lambda name: name.partition("/")[0])
def test_sessions_that_are_only_read_come_out_of_a_page_as_they_went_in(name: str, world: Path) -> None:
    """Of databases, the lines that branchline reads one session as: others in the database stay there."""
    if name in DATABASES:
        DATABASES[name](world / "agent.db")
        source = str(SessionLibrary(world / "agent.db").list()[0].path)
    else:
        source = str(CORPUS / name)
    with Session.open(source) as session:
        lines, keys = session.transcript.bytes_between(0, None), session.index.keys
        export(session, "page.html", ExportRequest(redact=False))

    done = import_file("page.html", directory="copies")

    assert Path(done.path).read_bytes() == lines
    if name not in DATABASES:
        assert lines == Path(source).read_bytes()
    for place in ("page.html", done.path):
        with Session.open(place) as again:
            assert again.index.keys == keys
            assert again.format == session.format


def test_half_a_character_in_an_id_costs_no_page(world: Path) -> None:
    lines = rb"""{"type":"session","version":3,"id":"s\ud800","timestamp":"2026-03-13T05:00:00Z","cwd":"/a"}
{"type":"message","id":"m\udc00","parentId":null,"message":{"role":"user","content":"half"}}
"""
    Path("half.jsonl").write_bytes(lines)

    with Session.open("half.jsonl") as session:
        export(session, "page.html")

    assert Path(import_file("page.html", directory="copies").path).read_bytes() == lines


def test_import_copies_the_file_out_of_a_page(session: Session, world: Path) -> None:
    export(session, "page.html", ExportRequest(redact=False))

    done = import_file("page.html", directory="copies")

    assert Path(done.path).read_bytes() == Path(str(session.file)).read_bytes()
    assert Path(done.path).parent == world / "copies"
    assert (world / "page.html").stat().st_mode & 0o777 == 0o600


def test_a_redacted_page_has_the_same_ids_and_tree(session: Session) -> None:
    session.append_message(f"Use {TOKEN} for now")
    keys, parents, leaf = session.index.keys, session.index.parents, session.leaf

    result = export(session, "page.html")

    with Session.open("page.html") as again:
        assert (again.index.keys, again.index.parents, again.leaf) == (keys, parents, leaf)
        assert "[redacted:github-token]" in again.raw(str(leaf)).decode()
    assert result.secrets == 1
    with open("page.html", "rb") as file:
        known = page_provenance(lambda start, size: os.pread(file.fileno(), size, start))
    assert known.redacted == {"github-token": 1}


@pytest.mark.parametrize("knows_the_digest", [False, True])
@pytest.mark.parametrize("damage", ["text", "lost chunk", "base64", "other page", "cut"])
def test_a_damaged_page_is_refused(
    damage: str, knows_the_digest: bool, session: Session, world: Path
) -> None:
    export(session, "page.html")
    page = (world / "page.html").read_text(encoding="utf-8")
    element, content = chunk(page)
    match damage:
        case "text":
            page = page.replace(element, packed(content.replace(b"How do I start?", b"How do I stop??")))
        case "lost chunk":
            page = page.replace('id="chunk-0"', 'id="chunk-9"')
        case "base64":
            page = page.replace(element, element[:-40] + "!!!!" + element[-36:])
        case "other page":
            page = "<!doctype html><title>x</title><p>not ours"
        case "cut":
            page = page[: page.index('id="chunk-0"') + 200]
    (world / "page.html").write_text(sealed(page) if knows_the_digest else page, encoding="utf-8")

    with pytest.raises(NotASession, match="cannot open "):
        Session.open("page.html")


@pytest.mark.parametrize("place", PLACES)
def test_a_page_that_shows_something_else_is_refused_by_every_reader(
    place: str, session: Session, world: Path
) -> None:
    export(session, "page.html")
    page = (world / "page.html").read_text(encoding="utf-8")
    changed = forged(page, place)
    assert changed != page
    (world / "page.html").write_text(changed, encoding="utf-8")

    with pytest.raises(NotASession, match="was changed after it was exported, or is incomplete"):
        Session.open("page.html")
    with pytest.raises(NotASession, match="was changed"):
        import_file("page.html", directory="copies")
    assert not os.path.exists("copies")
    assert check_file("page.html").status == "damaged"
    for command in (["show"], ["tree"], ["import"], ["check"], ["convert", "--to", "pi"]):
        done = CliRunner().invoke(cli, [command[0], "page.html", *command[1:]])
        assert done.exit_code != 0, command
        assert "was changed" in done.output, command
    done = CliRunner().invoke(cli, ["inspect", "page.html", "--json"])
    (finding,) = json.loads(done.stdout)["findings"]
    assert "was changed" in finding["message"]


def test_converted_line_ends_are_no_change(session: Session, world: Path) -> None:
    export(session, "page.html", ExportRequest(redact=False))
    page = (world / "page.html").read_bytes()
    (world / "page.html").write_bytes(page.replace(b"\n", b"\r\n") + b"\r\n")

    done = import_file("page.html", directory="copies")

    assert Path(done.path).read_bytes() == Path(str(session.file)).read_bytes()
    assert not done.unchecked


def test_a_page_of_an_earlier_release_is_imported_and_said_to_be_unchecked(
    session: Session, world: Path
) -> None:
    export(session, "page.html")
    page = forged((world / "page.html").read_text(encoding="utf-8"), "no digest")
    (world / "page.html").write_text(page.replace(',"digest":true', ""), encoding="utf-8")

    done = CliRunner().invoke(cli, ["import", "page.html", "--dir", "copies"])

    assert done.exit_code == 0
    assert "not checked whether it was changed" in done.stderr
    report = check_file("page.html")
    assert [finding.kind for finding in report.findings] == ["no-checksum"]
    assert report.is_sound
    with Session.open("page.html") as again:
        assert again.index.keys == session.index.keys


def everything_in(data: bytes) -> str:
    """All text of a page: what it shows, its lines and its pieces, unpacked; also as a reader sees it."""
    parts = [data]
    for lines, piece in packed_frames(lambda start, size: data[start : start + size]):
        parts += (lines, piece)
    text = b"\n".join(parts).decode("utf-8", "replace")
    return text + html.unescape(text)


def entry_with(text: str, number: int) -> str | dict[str, Any]:
    """A prompt, an answer, a thought, a call or a result that holds a text."""
    call = {
        "type": "toolCall",
        "id": f"c{number - number % 5}",
        "name": "bash",
        "arguments": {"command": text},
    }
    match number % 5:
        case 0:
            return {"role": "assistant", "content": [call]}
        case 1:
            content = [{"type": "text", "text": text}]
            return {
                "role": "toolResult",
                "toolCallId": f"c{number - 1}",
                "toolName": "bash",
                "content": content,
            }
        case 2:
            return {"role": "assistant", "content": [{"type": "text", "text": text}]}
        case 3:
            return {"role": "assistant", "content": [{"type": "thinking", "thinking": text}]}
        case _:
            return text


@pytest.mark.parametrize("way", ["export", "share", "web"])
def test_secrets_of_all_kinds_are_gone_from_every_part_of_a_page(
    way: str, session: Session, world: Path
) -> None:
    random = Random(way)
    drawn = {name: kind.draw(random) for name, kind in KINDS.items()}
    texts = [random.choice(kind.places).format(drawn[name]) for name, kind in KINDS.items()]
    session.append_messages([entry_with(text, number) for number, text in enumerate(texts)])

    match way:
        case "export":
            export(session, "page.html")
            data = (world / "page.html").read_bytes()
        case "share":
            arguments = ["share", str(session.file), "-o", str(world / "page.html"), "--yes", "--portable"]
            done = CliRunner().invoke(cli, arguments, catch_exceptions=False)
            assert done.exit_code == 0
            data = (world / "page.html").read_bytes()
        case _:
            viewer = Viewer(SessionLibrary(Path(str(session.file)).parent))
            (row,) = viewer.get("/api/sessions").json["rows"]
            data = viewer.post(f"/api/s/{row['id']}/page", {}).body

    text = everything_in(data)
    left = [name for name, secret in drawn.items() if json.dumps(secret)[1:-1] in text or secret in text]
    assert len(left) <= len(KINDS) * 0.02, left
    found = " ".join(one.value for one in review(session, ExportRequest(format="html")))
    unseen = [name for name, secret in drawn.items() if json.dumps(secret)[1:-1][-8:] not in found]
    assert len(unseen) <= len(KINDS) * 0.02, unseen


def test_a_page_in_which_a_second_scan_finds_something_is_not_written(
    session: Session, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even where it is only in a packed part."""
    from branchline import redaction

    session.append_message(f"Use {TOKEN} for now")
    monkeypatch.setattr(redaction, "redact_bytes", lambda data: redaction.RedactedBytes(data, []))

    with pytest.raises(SecretsLeft, match="github-token"):
        export(session, "page.html", ExportRequest(branch=False))

    assert os.listdir(world) == []


def test_a_reviewer_sees_each_finding_once_and_decides(session: Session, world: Path) -> None:
    session.append_message(f"Use {TOKEN} for now")
    session.append_message(f"Again: {TOKEN}; and the code name is Kingfisher")

    (finding,) = review(session, ExportRequest())
    kept = export(session, "kept.html", ExportRequest(choices=Choices(keep=frozenset({finding.value}))))
    export(session, "masked.html", ExportRequest(choices=Choices(literals=("Kingfisher",))))

    assert (finding.kind, finding.value, finding.count) == ("github-token", TOKEN, 2)
    assert finding.before.endswith("Use ")
    assert finding.after.startswith(" for now")
    assert kept.secrets == 0
    assert TOKEN in everything_in((world / "kept.html").read_bytes())
    masked = everything_in((world / "masked.html").read_bytes())
    assert TOKEN not in masked
    assert "Kingfisher" not in masked
    assert "[redacted:literal]" in masked


def test_a_portable_page_does_not_name_this_machine(session: Session, world: Path, monkeypatch) -> None:
    monkeypatch.setenv("LOGNAME", "wilhelmina")
    home = os.path.expanduser("~")
    session.append_message(
        f"See {home}/notes.txt and /home/someone/x, ask ada@example.org or wilhelmina; git@example.org"
    )

    result = export(session, "page.html", ExportRequest(portable=True))

    text = everything_in((world / "page.html").read_bytes())
    assert "See ~/notes.txt and ~/x, ask [e-mail] or [user name]; git@example.org" in text
    assert home not in text
    counts = {each.kind: each.count for each in result.redacted or ()}
    assert counts["e-mail"] == 1
    assert counts["user name"] == 1
    assert "<dt>Replaced</dt><dd>nothing: no secrets found</dd><dt>Masked</dt><dd>1 e-mail, " in text
    assert re.search(r"not the original: \d+ places masked", text)


def test_a_portable_page_without_redaction_says_that_it_is_not_the_original(
    session: Session, world: Path
) -> None:
    session.append_message(f"Ask ada@example.org for {TOKEN}")

    export(session, "page.html", ExportRequest(portable=True, redact=False))

    text = everything_in((world / "page.html").read_bytes())
    assert f"Ask [e-mail] for {TOKEN}" in text
    assert "exported without redaction</dd><dt>Masked</dt><dd>1 e-mail" in text
    assert "gives the original session" not in text


@pytest.fixture
def rich(world: Path) -> Path:
    """A session with a tool call, a thought and an image."""
    pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
    messages = [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "look"},
                {"type": "image", "data": pixel, "mimeType": "image/png"},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "PONDER"},
                {"type": "toolCall", "id": "c", "name": "bash", "arguments": {"command": "RUNTHIS"}},
            ],
        },
        {
            "role": "toolResult",
            "toolCallId": "c",
            "toolName": "bash",
            "content": [{"type": "text", "text": "OUTPUT"}],
            "details": {"x": "DETAIL"},
        },
        {"role": "assistant", "content": [{"type": "text", "text": "a picture"}]},
    ]
    lines = [
        {"type": "session", "version": 3, "id": "rich", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/"}
    ]
    for number, message in enumerate(messages, 1):
        parent = f"e{number - 1}" if number > 1 else None
        lines.append(
            {
                "type": "message",
                "id": f"e{number}",
                "parentId": parent,
                "timestamp": "2026-01-01T00:00:00.000Z",
                "message": message,
            }
        )
    path = world / "rich.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_what_is_left_out_is_nowhere_in_the_page_and_leaves_a_stub(rich: Path, world: Path) -> None:
    with Session.open(rich) as session:
        export(session, "page.html", ExportRequest(tools=False, thinking=False, images=False))

    text = everything_in((world / "page.html").read_bytes())
    assert not re.search("PONDER|RUNTHIS|OUTPUT|DETAIL|iVBORw0", text)
    assert "[omitted: 6 characters]" in text
    assert "[omitted: image/png, 7" in text
    assert "1 tool call omitted" in text
    with Session.open("page.html") as again:
        assert again.path() == ["e1", "e2", "e3", "e4"]


def test_a_part_of_a_path_has_nothing_from_before_and_after(rich: Path, world: Path) -> None:
    with Session.open(rich) as session:
        export(session, "page.html", ExportRequest(first="e2", entry="e3"))
        with pytest.raises(EntryNotFound, match="not on the exported path"):
            export(session, "other.html", ExportRequest(first="e4", entry="e3"))

    text = everything_in((world / "page.html").read_bytes())
    assert "look" not in text
    assert "a picture" not in text
    with Session.open("page.html") as again:
        assert again.path() == ["e2", "e3"]
        assert again.findings == []


def test_an_empty_session_and_a_huge_message_have_pages(world: Path) -> None:
    with Session.create(persist="at_once") as empty:
        export(empty, "empty.html")
    with Session.create() as large:
        large.append_message("Grüße von der Küste. " * 100_000)
        export(large, "large.html")

        with Session.open("large.html") as again:
            assert again.index.keys == large.index.keys
    assert (world / "empty.html").exists()


def test_without_the_extra_the_message_says_what_to_install(
    session: Session, world: Path, monkeypatch
) -> None:
    from branchline.actions import page_assets

    monkeypatch.setattr(page_assets, "find_spec", lambda name: None if name == "pygments" else object())

    with pytest.raises(NotSupported, match="pages need pygments from the extra html"):
        export(session, "page.html")

    assert os.listdir(world) == []
