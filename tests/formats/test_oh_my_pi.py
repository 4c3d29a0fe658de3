"""Sessions of oh-my-pi are read as the real program reads them."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from branchline import Session
from branchline.context import anthropic, build_context, to_model, totals
from branchline.conversion import convert
from branchline.entries import (
    BranchSummary,
    Compaction,
    CustomContent,
    Header,
    Image,
    MessageEntry,
    ModelChange,
    SessionInfo,
    Text,
    ThinkingLevelChange,
    ToolResult,
    Unknown,
    UnknownMessage,
    UsageEntry,
    message_fields,
    message_text,
)
from branchline.formats import INDUSCODE, OH_MY_PI, PI, PIGLET, ZOT, EntryLog, detect, peek
from branchline.formats.common.blobs import blob_directories
from branchline.formats.integrity import check_log
from branchline.formats.oh_my_pi import path_state
from branchline.formats.oh_my_pi.title_slot import TitleSlot, read_slot, slot_line
from formats.oh_my_pi_kit import (
    CREATED,
    EXPECTED,
    HEADER,
    NAMES,
    SAMPLES,
    SIDE,
    answer,
    message,
    read,
    role,
    sample,
    story,
    user,
)
from support import CORPUS, load

GOLDEN = sorted((CORPUS / "pi" / "golden").glob("*.jsonl"))
PICTURE = "99089c28831f6321254c085f90cfc588daff2a626929874e075986f12c9ea68d"


# -- samples: what the program itself finds ---------------------------------------------------------------


@pytest.mark.parity("OMP-01")
@pytest.mark.parametrize("name", NAMES)
def test_a_sample_has_the_entries_leaf_branch_roots_title_and_header_of_the_program(name):
    expected = EXPECTED[name]

    found = sample(name)

    tree, reading = found.tree, found.reading
    assert tree.keys == expected["entryIds"]
    assert tree.keys[reading.leaf] == expected["leafId"]
    assert tree.path(tree.keys[reading.leaf]) == expected["branch"]
    assert len(tree.roots()) == expected["roots"]
    assert reading.title == expected["name"]
    assert reading.header is not None
    header = expected["header"]
    assert reading.header.id == header["id"]
    assert reading.header.timestamp == header["timestamp"]
    assert reading.header.cwd == header["cwd"]
    assert reading.header.parent_session == header.get("parentSession")
    assert reading.read_only is None


@pytest.mark.parity("OMP-09")
@pytest.mark.parametrize("name", NAMES)
def test_a_sample_has_the_context_models_mode_and_rules_of_the_program(name):
    expected = EXPECTED[name]
    found = sample(name)

    context = build_context(found, found.reading.leaf)
    state = path_state(found, found.reading.leaf)

    assert [role(item.message) for item in context.messages] == expected["contextRoles"]
    assert context.thinking_level == state.thinking_level == expected["thinkingLevel"]
    assert context.model is not None
    assert f"{context.model.provider}/{context.model.id}" == expected["models"]["default"]
    assert state.models == expected["models"]
    assert state.mode == expected["mode"]
    assert list(state.injected_rules) == expected["injectedTtsrRules"]


@pytest.mark.parametrize("name", NAMES)
def test_a_sample_has_the_types_and_the_usage_of_the_program(name):
    expected = EXPECTED[name]
    native = {"title_change": "session_info", "model_usage": "usage"}

    found = sample(name)

    kinds = [kind.partition(":") for kind in expected["entryTypes"]]
    assert found.tree.types == [native.get(kind, kind) for kind, _, _ in kinds]
    assert found.tree.roles == [speaker or None for _, _, speaker in kinds]
    spent = totals(found).all.total
    usage = expected["usage"]
    assert (spent.input, spent.output) == (usage["input"], usage["output"])
    assert (spent.cache_read, spent.cache_write) == (usage["cacheRead"], usage["cacheWrite"])
    assert spent.total_tokens == usage["totalTokens"]
    assert spent.cost == pytest.approx(usage["cost"])


@pytest.mark.parametrize("name", NAMES)
def test_leaf_and_path_pass_through_what_only_says_something_about_the_session(name):
    expected = EXPECTED[name]
    kinds = dict(zip(expected["entryIds"], expected["entryTypes"], strict=True))
    path = [key for key in expected["branch"] if kinds[key] not in SIDE]

    session = Session.open(SAMPLES / f"{name}.jsonl")

    assert session.path() == path
    assert session.leaf == path[-1]


@pytest.mark.parametrize("name", NAMES)
def test_only_the_two_files_that_lost_something_have_findings(name):
    kinds = {"fork-branched": [("orphan", 5)], "torn-after-append": [("orphan", 4)]}

    found = sample(name)

    assert [(finding.kind, finding.line) for finding in found.findings] == kinds.get(name, [])


@pytest.mark.parametrize("name", NAMES)
def test_a_sample_is_known_by_its_slot_wherever_it_lies(name):
    data = (SAMPLES / f"{name}.jsonl").read_bytes()

    assert detect(data[:4096], "/anywhere/x.jsonl") is OH_MY_PI


def test_labels_are_those_that_were_set():
    assert Session.open(SAMPLES / "every-entry-type.jsonl").labels == {"6cc758a1": "found it"}
    assert Session.open(SAMPLES / "fork-branched.jsonl").labels == {"845dc899": "mark"}


def test_children_hang_oldest_first_from_every_entry():
    session = Session.open(SAMPLES / "appended-elsewhere.jsonl")

    assert session.children("323aa4f1") == ["28067857", "d88b4727"]
    assert session.children("28067857") == ["46ebe869", "de9eef36"]


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_a_file_of_pi_gives_the_context_that_oh_my_pi_makes_of_it(path):
    """70 random sessions: failed turns, unanswered calls, kept ranges, edits that have no effect."""
    expected = load(path.parent / "expected-oh-my-pi-18.2.3" / f"{path.stem}.json")
    told = (
        "role",
        "content",
        "summary",
        "customType",
        "display",
        "command",
        "toolCallId",
        "timestamp",
        "stopReason",
    )

    found = read(path)
    context = build_context(found, found.reading.leaf)

    messages = json.loads(json.dumps([message_fields(item.message) for item in context.messages]))
    assert [[one.get(name) for name in told] for one in messages] == [
        [one.get(name) for name in told] for one in expected["context"]["messages"]
    ]
    assert context.thinking_level == expected["context"]["thinkingLevel"]
    models = path_state(found, found.reading.leaf).models
    assert models == expected["context"]["models"]
    assert (context.model and f"{context.model.provider}/{context.model.id}") == models.get("default")
    spent = totals(found).all.total
    assert (spent.input, spent.output, spent.total_tokens) == tuple(
        expected["usage"][name] for name in ("input", "output", "totalTokens")
    )


# -- which files are oh-my-pi's ---------------------------------------------------------------------------

PLAIN = b'{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}\n'


@pytest.mark.parametrize(
    ("data", "path"),
    [
        (PLAIN.replace(b'"cwd"', b'"title":"x","cwd"'), "/x"),
        (PLAIN.replace(b'"cwd"', b'"titleSource":"auto","cwd"'), "/x"),
        (PLAIN.replace(b'"cwd"', b'"additionalDirectories":[],"cwd"'), "/x"),
        (PLAIN.replace(b'"cwd"', b'"previousSessionFiles":[],"cwd"'), "/x"),
        (PLAIN.replace(b'"cwd"', b'"providerPromptCacheKey":"k","cwd"'), "/x"),
        (PLAIN + b'{"type":"mode_change","id":"a","parentId":null,"timestamp":"","mode":"plan"}\n', "/x"),
        (PLAIN + b'{"type":"title_change","id":"a","parentId":null,"timestamp":"","title":"t"}\n', "/x"),
        (PLAIN + b'{"type":"model_change","id":"a","parentId":null,"timestamp":"","model":"a/b"}\n', "/x"),
        (PLAIN, "/home/u/.omp/agent/sessions/-x/f.jsonl"),
        (PLAIN, "/home/u/.local/share/omp/sessions/-x/f.jsonl"),
        (b"\xef\xbb\xbf" + story(), "/x"),
        (b"#" * 255 + b"\n" + PLAIN, "/x"),
    ],
)
def test_slot_keys_types_and_place_tell_that_oh_my_pi_wrote_a_file(data, path):
    assert detect(data, path) is OH_MY_PI


@pytest.mark.parametrize("path", sorted((CORPUS / "pi").rglob("*.jsonl")), ids=lambda path: path.stem)
def test_a_file_of_pi_stays_pis(path):
    assert not OH_MY_PI.reader.sniff(path.read_bytes()[: 1 << 16], "/anywhere/x.jsonl")


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"message","id":"a","parentId":null,"timestamp":"","message":{"role":"user","content":"{\\"type\\":\\"mode_change\\","}}',
        b'{"type":"model_change","id":"a","parentId":null,"timestamp":"","provider":"a","modelId":"b"}',
    ],
)
def test_words_of_a_person_do_not_make_it_a_file_of_oh_my_pi(line):
    assert detect(PLAIN + line + b"\n", "/x") is PI


def test_the_header_behind_the_slot_is_found_without_reading_the_file():
    data = story(user("hi"))

    header = peek(lambda offset, size: data[offset : offset + size]).header

    assert header is not None
    assert header.id == "s"


# -- titles -----------------------------------------------------------------------------------------------


def change(title: str, **fields: object) -> dict[str, object]:
    return {"type": "title_change", "title": title, "source": "user", **fields}


def slot(title: str, source: str | None = "user", updated: str = "2026-11-15T09:00:00.000Z") -> bytes:
    return slot_line(TitleSlot(title, source, updated))


LATER = "2026-11-15T10:00:00.000Z"


@pytest.mark.parametrize(
    ("data", "title"),
    [
        (story(), None),
        (story(slot=slot("In the slot")), "In the slot"),
        (story(header={**HEADER, "title": "In the header"}, slot=slot("In the slot")), "In the slot"),
        (story(header={**HEADER, "title": "In the header"}, slot=slot("", None)), None),
        (story(header={**HEADER, "title": "In the header"}, slot=b""), "In the header"),
        (story(change("First"), change("Last"), slot=b""), "Last"),
        (story(change("First"), header={**HEADER, "title": "In the header"}, slot=b""), "In the header"),
        (story(change("Older than the slot"), slot=slot("In the slot")), "In the slot"),
        (story(change("Younger", timestamp=LATER), slot=slot("In the slot")), "Younger"),
        (story(change("Automatic", timestamp=LATER, source="auto"), slot=slot("In the slot")), "In the slot"),
        (story(change("Automatic", timestamp=LATER, source="auto"), slot=slot("Slot", "auto")), "Automatic"),
        (story(change("", timestamp=LATER), slot=slot("In the slot")), None),
        (story({"type": "session_info", "name": "A name that pi gave"}), None),
    ],
)
def test_the_title_is_the_slots_unless_a_change_is_younger_and_the_headers_without_a_slot(data, title):
    assert read(data).reading.title == title


def test_a_change_that_replaces_the_title_of_a_header_counts_without_a_slot():
    header = {**HEADER, "title": "Old"}

    found = read(
        story(
            change("New", previousTitle="Old"), change("Newer", previousTitle="New"), header=header, slot=b""
        )
    )

    assert found.reading.title == "Newer"


@pytest.mark.parametrize(
    "title", ["", "plain", "Ünïcødé " * 40, 'quotes " and \\ ' * 30, "🌿" * 100, "a" * 500, "tab\tand\x01"]
)
def test_a_slot_is_always_256_bytes_and_reads_as_the_beginning_of_the_title(title):
    line = slot_line(TitleSlot(title, "user", CREATED))

    assert len(line) == 256
    assert line.endswith(b"\n")
    found = read_slot(json.loads(line))
    assert found is not None
    assert title.startswith(found.title)
    assert found.source == "user"
    assert found.updated == CREATED


def test_the_slot_of_a_sample_is_written_byte_for_byte():
    for name in ("every-entry-type", "long-title", "untitled"):
        data = (SAMPLES / f"{name}.jsonl").read_bytes()
        found = read_slot(json.loads(data[:256]))
        assert found is not None

        whole = found._replace(title=found.title + "ééé" if name == "long-title" else found.title)

        assert slot_line(whole) == data[:256]


@pytest.mark.parametrize(
    "fields",
    [
        {"v": 2},
        {"v": True},
        {"title": None},
        {"updatedAt": 5},
        {"pad": None},
        {"source": "somebody"},
        {"source": None},
        {"type": "session"},
    ],
)
def test_a_slot_with_another_version_or_other_types_is_none(fields):
    good = {"type": "title", "v": 1, "title": "t", "source": "user", "updatedAt": CREATED, "pad": ""}
    assert read_slot(good) is not None

    assert read_slot({**good, **fields}) is None


# -- records ----------------------------------------------------------------------------------------------


def entry(fields: dict[str, object]) -> object:
    return read(story(user("before"), fields)).entry(1)


def test_a_model_change_of_the_default_role_is_a_native_one():
    found = entry({"type": "model_change", "model": "openrouter/anthropic/claude", "role": "default"})

    assert isinstance(found, ModelChange)
    assert (found.provider, found.model_id) == ("openrouter", "anthropic/claude")


@pytest.mark.parametrize(
    "fields", [{"model": "a/b", "role": "smol"}, {"provider": "a", "modelId": "b"}, {"model": ""}]
)
def test_a_model_change_of_another_role_or_of_pi_is_kept_without_effect(fields):
    assert isinstance(entry({"type": "model_change", **fields}), Unknown)


@pytest.mark.parametrize(
    "fields", [{}, {"thinkingLevel": None}, {"thinkingLevel": None, "configured": "auto"}]
)
def test_no_thinking_level_is_off(fields):
    found = entry({"type": "thinking_level_change", **fields})

    assert isinstance(found, ThinkingLevelChange)
    assert found.thinking_level == "off"


def test_titles_and_usage_have_native_records():
    usage = {"input": 7, "output": 3, "totalTokens": 10, "premiumRequests": 1, "cost": {"total": 0.5}}

    title = entry(change("A title"))
    spent = entry({"type": "model_usage", "purpose": "title", "provider": "p", "model": "m", "usage": usage})

    assert isinstance(title, SessionInfo)
    assert title.name == "A title"
    assert isinstance(spent, UsageEntry)
    assert (spent.kind, spent.provider, spent.model) == ("title", "p", "m")
    assert spent.usage is not None
    assert spent.usage.cost.total == 0.5


def test_what_an_extension_made_is_marked_as_such():
    made = entry({"type": "compaction", "summary": "s", "firstKeptEntryId": "e1", "fromExtension": True})
    summary = entry({"type": "branch_summary", "summary": "s", "fromId": "e1", "fromExtension": True})

    assert isinstance(made, Compaction)
    assert made.from_hook is True
    assert isinstance(summary, BranchSummary)
    assert summary.from_hook is True


def test_a_hook_message_is_a_custom_one():
    data = story(message("hookMessage", customType="h", content="said", display=False, timestamp=5))

    found = read(data)

    record = found.entry(0)
    assert found.tree.roles == ["custom"]
    assert isinstance(record, MessageEntry)
    assert isinstance(record.message, CustomContent)


def test_what_a_sub_agent_spent_counts_with_the_result_of_its_task():
    usage = {
        "input": 5,
        "output": 1,
        "cacheRead": 0,
        "cacheWrite": 0,
        "totalTokens": 6,
        "cost": {"total": 0.25},
    }
    fields = {"toolCallId": "c", "content": [], "isError": False, "details": {"usage": usage}}
    data = story(
        message("toolResult", toolName="task", **fields), message("toolResult", toolName="read", **fields)
    )

    found = read(data)

    record = found.entry(0)
    assert isinstance(record, MessageEntry)
    assert isinstance(record.message, ToolResult)
    assert totals(found).all.total.cost == 0.25


@pytest.mark.parametrize(
    "kind", ["mode_change", "service_tier_change", "credential_pin", "session_init", "future_type"]
)
def test_other_types_keep_every_field(kind):
    found = entry({"type": kind, "anything": {"deep": [1]}})

    assert isinstance(found, Unknown)
    assert found.fields["anything"] == {"deep": [1]}


def test_roles_that_models_do_not_know_are_said_in_the_users_name():
    data = story(
        message("developer", content=[{"type": "text", "text": "Mind the tests."}], timestamp=1),
        message("pythonExecution", code="1+1", output="2", exitCode=1, cancelled=False, truncated=False),
        message("pythonExecution", code="secret", output="", excludeFromContext=True),
        message(
            "fileMention",
            files=[{"path": "a.py", "content": "print(1)"}, {"path": "b", "skippedReason": "binary"}],
        ),
        message("nobody", content="hidden"),
    )
    found = read(data)

    sent = to_model(build_context(found, found.reading.leaf))

    texts = [one.content[0].text for one in sent]
    assert [role(one) for one in sent] == ["user", "user", "user"]
    assert texts[0] == "Mind the tests."
    assert "1+1" in texts[1]
    assert "failed with code 1" in texts[1]
    assert '<file path="a.py">\nprint(1)\n</file>' in texts[2]
    assert not any("secret" in text or "hidden" in text for text in texts)


def test_unknown_roles_of_oh_my_pi_stay_whole_in_the_history():
    found = sample("every-entry-type")

    record = found.entry(found.tree.position("6927a561"))

    assert isinstance(record, MessageEntry)
    assert isinstance(record.message, UnknownMessage)
    assert record.message.fields["code"] == "1+1"


# -- blobs ------------------------------------------------------------------------------------------------


def test_a_picture_that_is_kept_apart_is_put_back_and_a_small_one_is_left():
    found = sample("blob").entry(0)

    assert isinstance(found, MessageEntry)
    _, large, small = found.message.content
    assert isinstance(large, Image)
    assert base64.b64decode(large.data) == (SAMPLES / "blobs" / PICTURE).read_bytes()
    assert small == Image(data="c21hbGw=", mime_type="image/png")


def test_the_line_itself_keeps_its_reference():
    assert f'"blob:sha256:{PICTURE}"'.encode() in sample("blob").raw(0)


@pytest.mark.parametrize(
    "reference",
    [
        f"blob:sha256:{'0' * 64}",
        f"blob:sha256:{PICTURE[:-1]}",
        f"blob:sha256:{PICTURE.upper()}",
        f"blob:sha256:{PICTURE}\n",
        f"blob:sha256:../blobs/{PICTURE}",
        f"blob:sha256:{PICTURE}.png",
        f" blob:sha256:{PICTURE}",
    ],
)
def test_a_missing_blob_or_another_pattern_is_a_note_and_never_taken_for_base64(reference):
    picture = {"type": "image", "data": reference, "mimeType": "image/png"}
    data = story(message("user", content=[picture], timestamp=1))

    transcript = read(data, str(SAMPLES / "x.jsonl"))
    found = transcript.entry(0)

    assert isinstance(found, MessageEntry)
    assert found.message.content == (Text(text=f"[image not found: image/png, {reference}]"),)
    (finding,) = check_log(transcript)
    assert (finding.kind, finding.line) == ("missing-part", 3)
    assert "1 image whose file is missing" in finding.message


@pytest.mark.parametrize("target", [PI, ZOT, INDUSCODE, PIGLET], ids=lambda target: target.name)
def test_a_conversion_says_which_images_are_missing_and_hands_no_reference_on(target):
    here = {"type": "image", "data": f"blob:sha256:{PICTURE}", "mimeType": "image/png"}
    gone = {**here, "data": f"blob:sha256:{'0' * 64}"}
    data = story(message("user", content=[here], timestamp=1), message("user", content=[gone], timestamp=2))
    source = read(data, str(SAMPLES / "x.jsonl"))

    converted = convert(
        source, target, Header(id="n", version=3, timestamp="2030-01-01T00:00:00.000Z", cwd="/")
    )

    (note,) = converted.fidelity.approximated
    assert note.why == "with a note in place of 1 image whose file is missing"
    assert base64.b64encode((SAMPLES / "blobs" / PICTURE).read_bytes()) in converted.data
    made = EntryLog(target, lambda offset, size: converted.data[offset : offset + size], "made")
    images = [
        block
        for entry in made.entries(range(len(made.tree)))
        if isinstance(entry, MessageEntry)
        for block in entry.message.content
        if isinstance(block, Image)
    ]
    assert len(images) == 1


def test_blobs_of_a_session_in_any_directory_are_looked_for_in_the_agent_directory(tmp_path, monkeypatch):
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path / "agent"))
    (tmp_path / "agent" / "blobs").mkdir(parents=True)
    (tmp_path / "agent" / "blobs" / PICTURE).write_bytes(b"picture")
    picture = {"type": "image", "data": f"blob:sha256:{PICTURE}", "mimeType": "image/png"}
    path = tmp_path / "elsewhere.jsonl"
    path.write_bytes(story(message("user", content=[picture], timestamp=1)))

    with Session.open(path) as session:
        assert session.context().messages[0].message.content[0].data == base64.b64encode(b"picture").decode()


@pytest.fixture
def elsewhere(tmp_path, monkeypatch) -> Callable[..., Path]:
    """A file without any other mark of oh-my-pi, outside its folders, and its blobs in ``~/.omp/agent``."""
    monkeypatch.setenv("HOME", str(tmp_path))
    blobs = tmp_path / ".omp" / "agent" / "blobs"
    blobs.mkdir(parents=True)
    (blobs / PICTURE).write_bytes((SAMPLES / "blobs" / PICTURE).read_bytes())

    def make(picture: str = PICTURE, *, version: int = 3, late: bool = False) -> Path:
        block = {"type": "image", "data": f"blob:sha256:{picture}", "mimeType": "image/png"}
        header = {**HEADER, "version": version}
        earlier = [user("x" * 1000), answer("ok")] * (100 if late else 0)
        seen = message("user", content=[{"type": "text", "text": "see"}, block], timestamp=1)
        lines = story(*earlier, seen, answer("ok"), header=header).splitlines(keepends=True)
        path = tmp_path / "copies" / "copy.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"".join(lines[1:]))
        return path

    return make


@pytest.mark.parametrize("late", [False, True], ids=["early", "late"])
@pytest.mark.parametrize("version", [2, 3])
def test_a_picture_of_a_file_that_looks_like_one_of_pi_is_put_back_and_inlined(elsewhere, version, late):
    path = elsewhere(version=version, late=late)
    inline = base64.b64encode((SAMPLES / "blobs" / PICTURE).read_bytes()).decode()

    with Session.open(path) as session:
        body = json.dumps(anthropic(session.context()).messages)
        made = session.convert("pi", output=path.with_name("made.jsonl"))
        session.fork()
        assert session.format == "pi"

    assert inline in body
    assert "blob:" not in body
    written = [Path(made.files[0].path), *set(path.parent.glob("*.jsonl")) - {path}]
    assert len(written) > 1
    for data in map(Path.read_bytes, written):
        assert inline.encode() in data
        assert b"blob:sha256:" not in data
    assert path.read_bytes().count(b"blob:sha256:") == 1


@pytest.mark.parametrize("same_id", [False, True])
def test_a_picture_that_is_gone_is_counted_as_not_kept_and_never_sent(elsewhere, same_id):
    path = elsewhere("0" * 64)

    with Session.open(path) as session:
        body = json.dumps(anthropic(session.context()).messages)
        report = session.convert("pi", output=path.with_name("made.jsonl"), same_id=same_id).files[0]
        findings = [(finding.kind, finding.line) for finding in session.check().findings]

    assert "base64" not in body
    assert "[image not found: image/png" in body
    assert findings == [("missing-part", 2)]
    (note,) = report.fidelity.approximated
    assert note.why == "with a note in place of 1 image whose file is missing"
    with Session.open(report.path) as made:
        assert "[image not found: image/png" in message_text(made.entries()[0].message)


def test_words_about_a_blob_stay_words(elsewhere):
    path = elsewhere()
    path.write_bytes(
        path.read_bytes().replace(b'"text":"see"', b'"text":"blob:sha256:%b"' % PICTURE.encode())
    )

    with Session.open(path) as session:
        assert message_text(session.entries()[0].message) == f"blob:sha256:{PICTURE}"


def test_blobs_are_looked_for_in_the_agent_directory_also_for_sub_agents(tmp_path: Path):
    agent = tmp_path / "agent"
    nested = agent / "sessions" / "-code-x" / "2026_abc" / "scout.jsonl"
    (agent / "blobs").mkdir(parents=True)
    (agent / "blobs" / PICTURE).write_bytes(b"picture")
    nested.parent.mkdir(parents=True)
    picture = {"type": "image", "data": f"blob:sha256:{PICTURE}", "mimeType": "image/png"}
    nested.write_bytes(story(message("user", content=[picture], timestamp=1)))

    session = Session.open(nested)

    assert session.context().messages[0].message.content[0].data == base64.b64encode(b"picture").decode()
    assert blob_directories(str(nested))[0] == str(agent / "blobs")
    assert blob_directories("memory") == ()


def test_pictures_elsewhere_in_a_record_are_put_back_where_the_program_takes_them_out():
    picture, address = f"blob:sha256:{PICTURE}", SAMPLES / "x.jsonl"
    fields = {
        "images": [{"data": picture, "mimeType": "image/png"}, {"data": picture, "mimeType": "text/plain"}],
        "items": [{"type": "image_generation_call", "result": picture}, {"image_url": picture}],
        "note": picture,
    }

    found = read(story({"type": "future_type", **fields}), str(address)).entry(0)

    assert isinstance(found, Unknown)
    inline = base64.b64encode((SAMPLES / "blobs" / PICTURE).read_bytes()).decode()
    assert [image["data"] for image in found.fields["images"]] == [inline, picture]
    assert found.fields["items"][0]["result"] == inline
    assert found.fields["items"][1]["image_url"] != picture
    assert found.fields["note"] == picture


def test_quiet_answers_are_those_without_words_whatever_else_they_hold():
    data = story(
        answer(
            {"type": "redactedThinking", "data": "x"},
            {"type": "toolCall", "id": "c", "name": "n", "arguments": {}},
        ),
        answer({"type": "fallback", "from": "a", "to": "b"}, "words"),
        answer({"type": "something new"}),
    )

    assert read(data).tree.textless == {0, 2}
