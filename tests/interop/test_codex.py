"""The real Codex continues converted sessions: what it sends to the model is the conversation of the source."""

from __future__ import annotations

import json
import os
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from branchline.conversion import convert
from branchline.entries import Header, message_text
from branchline.formats import CODEX, EntryLog
from branchline.session import Session
from branchline.session.locator import record_title
from formats.conversion_kit import read
from interop import peers
from interop.api_rules import responses_problems
from interop.conversations import GOLDENS, PICTURE, PROMPT, Item, joined, said
from interop.model_server import ANSWER, ModelServer, model_server
from interop.resumed_agent import different_samples
from interop.sources import WRITTEN
from support import CORPUS

CHOSEN = ["g001", "g041", "g061", "g116"]
"""Summaries, nested branches, answers that hold only calls one after the other, many results."""
OMITTED = "image content omitted"
CONTEXT = ("<environment_context>", "# AGENTS.md", "<skills_instructions>", "<permissions")


class Codex(NamedTuple):
    """An installed Codex with a home of its own and a model server."""

    program: Path
    home: Path
    server: ModelServer

    @property
    def cwd(self) -> Path:
        return self.home / "project"

    @property
    def environment(self) -> dict[str, str]:
        home = str(self.home)
        return {"HOME": home, "CODEX_HOME": home, "PATH": os.environ["PATH"], "KEY": "x"}

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.program, *arguments],
            cwd=self.cwd,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            stdin=subprocess.DEVNULL,
        )

    def listed(self) -> list[dict[str, Any]]:
        """The sessions in Codex's own list."""
        rows: list[dict[str, Any]] = self.ask("thread/list")["data"]
        return rows

    def ask(self, method: str, **params: str) -> dict[str, Any]:
        """What the server behind Codex's screen answers."""
        orders = (
            {"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "test", "version": "1"}}},
            {"method": "initialized"},
            {"id": 2, "method": method, "params": params},
        )
        with subprocess.Popen(
            [self.program, "app-server"],
            cwd=self.cwd,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as server:
            assert server.stdin is not None
            assert server.stdout is not None
            for order in orders:
                print(json.dumps({"jsonrpc": "2.0", **order}), file=server.stdin, flush=True)
            answer = next(line for line in server.stdout if json.loads(line).get("id") == 2)
            server.kill()
        found: dict[str, Any] = json.loads(answer)
        assert "error" not in found, found
        result: dict[str, Any] = found["result"]
        return result

    def resumed(self, session: str) -> list[dict[str, Any]]:
        """The history that Codex sends with a new prompt to a session."""
        done = self.run("exec", "resume", session, "--skip-git-repo-check", PROMPT)
        assert done.returncode == 0, done.stderr
        items: list[dict[str, Any]] = self.server.requests[-1]["input"]
        assert responses_problems(items) == []
        return items


@pytest.fixture(scope="module")
def codex(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Codex]:
    try:
        program = peers.codex()
    except peers.PeerMissing as missing:
        pytest.skip(str(missing))
    home = tmp_path_factory.mktemp("codex")
    with model_server() as server:
        (home / "config.toml").write_text(
            # Codex shortens long results itself, depending on the model.
            "tool_output_token_limit = 1000000\n"
            'model = "fake"\nmodel_provider = "fake"\n[model_providers.fake]\nname = "fake"\n'
            f'base_url = "{server.url}/v1"\nenv_key = "KEY"\nwire_api = "responses"\n'
        )
        (home / "project").mkdir()
        yield Codex(program, home, server)


def installed(codex: Codex, source: EntryLog) -> str:
    """A session converted into the home of Codex."""
    session = str(uuid.uuid4())
    time = "2030-01-01T00:00:00.000Z"
    header = Header(id=session, version=3, timestamp=time, cwd=str(codex.cwd), parent_session="/x.jsonl")
    file = codex.home / "sessions" / "2030" / "01" / "01" / f"rollout-2030-01-01T00-00-00-{session}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(convert(source, CODEX, header).data)
    return session


def sent(items: list[dict[str, Any]]) -> list[Item]:
    """The same of a request, without what Codex adds itself and without the new prompt."""
    calls: dict[str, int] = {}
    found: list[Item] = []
    for item in items:
        match item["type"]:
            case "message" if item["role"] in ("user", "assistant"):
                parts = [_part(part) for part in item["content"]]
                if not (item["role"] == "user" and parts[0].startswith(CONTEXT)):
                    found.append((item["role"], parts))
            case "function_call":
                number = calls.setdefault(item["call_id"], len(calls))
                found.append(("call", number, item["name"], json.loads(item["arguments"])))
            case "function_call_output":
                output = item["output"]
                text = output if isinstance(output, str) else "".join(map(_part, output))
                found.append(("result", calls[item["call_id"]], text))
            case _:
                continue
    assert found.pop() == ("user", [PROMPT])
    return joined(found)


def _part(part: dict[str, Any]) -> str:
    text: str = part.get("text", PICTURE)
    return PICTURE if text.startswith(OMITTED) else text


def check(codex: Codex, path: Path) -> None:
    source = read(path.read_bytes(), name=str(path))

    items = codex.resumed(installed(codex, source))

    assert sent(items) == said(source), path


@pytest.mark.parametrize("name", CHOSEN)
def test_codex_sends_the_conversation_of_a_converted_session_item_by_item(codex: Codex, name: str):
    check(codex, CORPUS / "pi" / "golden" / f"{name}.jsonl")


def test_codex_lists_a_converted_session_and_goes_on_in_its_file(codex: Codex):
    with Session.in_memory(str(codex.cwd), id="source") as source:
        source.append_message("What is a monad?")
        source.append_message({"role": "assistant", "content": [{"type": "text", "text": "A monoid."}]})
        source.set_title("Monads explained")
        session = installed(codex, source.transcript)
    (file,) = (codex.home / "sessions").rglob(f"rollout-*-{session}.jsonl")
    header = Header(id=session, timestamp="2030-01-01T00:00:00.000Z", cwd=str(codex.cwd))
    record_title(CODEX, str(file), header, "Monads explained")

    listed = {row["id"]: (row["name"], row["preview"]) for row in codex.listed()}
    codex.resumed(session)

    assert listed[session] == ("Monads explained", "What is a monad?")
    with Session.open(file) as found:
        said_there = [message_text(item.message) for item in found.context().messages]
        assert said_there[:2] == ["What is a monad?", "A monoid."]
        assert said_there[-2:] == [PROMPT, ANSWER]
        inherited = found.transcript.reading.inherited_entries
        roles = found.index.roles
        assert [role for role in roles[:inherited] if role] == ["user", "assistant"]
        assert [role for role in roles[inherited:] if role] == ["user", "assistant"]


def test_codex_lists_a_session_that_begins_with_a_picture(codex: Codex):
    picture = (
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    )
    with Session.in_memory(str(codex.cwd), id="source") as source:
        source.append_message(
            {"role": "user", "content": [{"type": "image", "data": picture, "mimeType": "image/png"}]}
        )
        session = installed(codex, source.transcript)
        assert sent(codex.resumed(session)) == said(source.transcript)

    listed = {row["id"]: row["preview"] for row in codex.listed()}

    assert listed[session] == "[Image]"


def test_a_fork_that_codex_makes_of_a_converted_session_repeats_nothing(codex: Codex):
    """It copies every line with the time of copying; what it adds is its own."""
    with Session.in_memory(str(codex.cwd), id="source") as source:
        for number in range(50):
            source.append_message(f"Question {number}")
            source.append_message({"role": "assistant", "content": [{"type": "text", "text": "Yes."}]})
        session = installed(codex, source.transcript)
    known = set((codex.home / "sessions").rglob("*.jsonl"))

    done = codex.run("exec", "fork", session, "--skip-git-repo-check", PROMPT)

    assert done.returncode == 0, done.stderr
    (fork,) = set((codex.home / "sessions").rglob("*.jsonl")) - known
    with Session.open(fork) as found:
        inherited = found.transcript.reading.inherited_entries
        roles = found.index.roles
        assert len(list(filter(None, roles[:inherited]))) == 100
        assert list(filter(None, roles[inherited:])) == ["user", "assistant"]
        assert (found.title, found.header.parent_session) == (PROMPT, session)


def test_codex_opens_an_installed_session_on_its_screen(codex: Codex, monkeypatch: pytest.MonkeyPatch):
    """The screen refuses a session without the provider of the settings, once Codex has been used."""
    codex.listed()
    monkeypatch.setenv("CODEX_HOME", str(codex.home))
    with Session.in_memory(str(codex.cwd), id="source") as source:
        source.append_message("What is a monad?")
        source.append_message({"role": "assistant", "content": [{"type": "text", "text": "A monoid."}]})
        (made,) = source.convert(to="codex", install=True).files

    resumed = codex.ask("thread/resume", threadId=made.session)

    assert resumed["modelProvider"] == "fake"
    assert len(resumed["thread"]["turns"]) == 1
    assert made.session in {row["id"] for row in codex.listed()}


def test_codex_opens_an_installed_session_in_a_used_home_without_settings(
    codex: Codex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "project").mkdir()
    bare = codex._replace(home=tmp_path)
    bare.listed()
    monkeypatch.setenv("CODEX_HOME", str(tmp_path))
    with Session.in_memory(str(bare.cwd), id="source") as source:
        source.append_message("What is a monad?")
        (made,) = source.convert(to="codex", install=True).files

    resumed = bare.ask("thread/resume", threadId=made.session)

    assert not (tmp_path / "config.toml").exists()
    assert resumed["modelProvider"] == "openai"


@pytest.mark.slow
@pytest.mark.parametrize("path", GOLDENS, ids=lambda path: path.stem)
def test_codex_sends_the_conversation_of_every_golden(codex: Codex, path: Path):
    check(codex, path)


@pytest.mark.slow
@pytest.mark.parametrize("program", [name for name in WRITTEN if name != "codex"])
def test_codex_sends_the_conversation_of_every_sample(codex: Codex, program: str):
    def same(source: EntryLog) -> bool:
        wanted = said(source)
        return not wanted or sent(codex.resumed(installed(codex, source))) == wanted

    different = different_samples(program, same)

    assert different == []
