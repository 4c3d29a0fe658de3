"""The JSON of every command is a contract: its keys are written down here, and a change is a new version."""

from __future__ import annotations

import json

import pytest

from support import CORPUS

POSITION = {"schema", "session", "file", "leaf"}
ROW = {
    "key",
    "id",
    "path",
    "size",
    "modified_ms",
    "draft",
    "cwd",
    "title",
    "created",
    "last_activity_ms",
    "used_ms",
    "messages",
    "total_messages",
    "first_prompt",
    "parent_session",
    "format",
    "version",
    "provider",
    "model",
    "findings",
    "problem",
    "agent",
    "subagent",
    "git_branch",
    "branches",
    "prompts",
    "tags",
    "note",
    "archived",
    "expires_ms",
}
DETAILS = {"tokens", "cost", "cost_state", "cost_is_partial", "estimated", "models", "tools", "files"}
DETAILS |= {"errors", "resume_command"}

CONFIG = {"schema", "file", "exists", "settings", "sources", "lines", "findings"}

SCHEMAS = {
    ("new",): POSITION | {"cwd", "title"},
    ("append", "talk", "words"): POSITION | {"entry"},
    ("branch", "talk", "~1"): POSITION | {"before"},
    ("branch", "talk", "--name", "idea"): POSITION | {"before"},
    ("branch", "talk", "--list"): POSITION | {"branches"},
    ("branch", "talk", "root"): POSITION | {"before"},
    ("graft", "talk", "@leaf~1"): POSITION | {"entries", "left_out"},
    ("squash", "talk", "@leaf..@leaf", "--summary", "x"): POSITION | {"entries", "left_out"},
    ("undo", "talk"): POSITION | {"operation"},
    ("redo", "talk"): POSITION | {"operation"},
    ("log", "talk"): {"schema", "session", "operations"},
    ("label", "talk", "@leaf", "x"): POSITION | {"entry", "label"},
    ("label", "talk", "@leaf", ""): POSITION | {"entry", "label"},
    ("label", "talk", "@leaf"): POSITION | {"entry", "label"},
    ("name", "talk", "x"): POSITION | {"title"},
    ("name", "talk"): POSITION | {"title"},
    ("tag", "talk", "x"): {"schema", "session", "path", "tags", "counts", "note"},
    ("tag", "--list"): {"schema", "session", "path", "tags", "counts", "note"},
    ("tag", "talk", "--note", "x"): {"schema", "session", "path", "tags", "counts", "note"},
    ("archive", "--expiring"): {"schema", "sessions"},
    ("fork", "talk"): POSITION | {"parent", "parent_file", "entries", "cwd"},
    ("show", "talk"): POSITION | {"title", "entries", "cards"},
    ("tree", "talk"): POSITION | {"filter", "rows"},
    ("context", "talk"): POSITION | {"at", "model", "thinking_level", "tokens", "messages"},
    ("context", "talk", "--provider", "anthropic"): POSITION
    | {"at", "model", "thinking_level", "tokens", "provider", "request"},
    ("models",): {"schema", "model", "providers"},
    ("ls",): {"schema", "sessions", "seen", "hidden", "unreadable"},
    ("forest",): {"schema", "sessions"},
    ("search", "start"): {
        "schema",
        "hits",
        "total",
        "at_least",
        "searched",
        "sessions",
        "parts_searched",
        "complete",
        "unindexed",
        "notes",
        "took_ms",
    },
    ("sql", "select 1 as one"): {"schema", "columns", "rows", "cut"},
    ("index", "--status"): {
        "schema",
        "enabled",
        "path",
        "problem",
        "sessions",
        "indexed",
        "waiting",
        "documents",
        "dead",
        "bytes",
        "text_bytes",
        "exclude",
        "running",
    },
    ("check", "talk"): {"schema", "files", "bad"},
    ("check", "talk", "--seal"): {"schema", "files", "bad"},
    ("repair", "talk"): {
        "schema",
        "path",
        "output",
        "unreadable",
        "entries",
        "header_made",
        "changed",
        "left",
        "aside",
    },
    ("export", "talk", "-o", "x.jsonl"): {
        "schema",
        "session",
        "format",
        "branch",
        "path",
        "size",
        "redacted",
    },
    ("import", str(CORPUS / "pi" / "edge" / "labels.jsonl")): {
        "schema",
        "session",
        "path",
        "entries",
        "source",
    },
    ("convert", "talk", "--to", "zot"): {
        "schema",
        "source",
        "source_file",
        "source_format",
        "target",
        "files",
    },
    ("rm", "talk"): {"schema", "removed"},
    ("restore", "--list"): {"schema", "trash"},
    ("prune",): {"schema", "dry_run", "sessions"},
    ("browse",): {"schema", "query", "problem", "sessions", "seen", "hidden", "unreadable"},
    ("diff", "talk"): {"schema", "common_ancestor", "shared", "by", "left", "right", "pairs"},
    ("stats",): {
        "schema",
        "since",
        "until",
        "total",
        "by",
        "keys",
        "groups",
        "tools",
        "repeated",
        "read",
        "unreadable",
        "notes",
    },
    ("config",): CONFIG,
    ("config", "path"): CONFIG,
    ("config", "get", "theme"): CONFIG,
    ("config", "set", "theme", "dark"): CONFIG,
    ("config", "unset", "theme"): CONFIG,
    ("demo",): {"schema", "sessions", "seen", "hidden", "unreadable"},
    ("share", "talk", "-o", "talk.html"): {"schema", "session", "path", "size", "redacted"},
    ("sync", ".", "other.db"): {"schema", "written", "sessions"},
    ("store", "status", "."): {
        "schema",
        "name",
        "kind",
        "sessions",
        "drafts",
        "trash",
        "bytes",
        "version",
        "needed",
        "server",
        "stored_bytes",
        "ready",
    },
    ("version",): {"schema", "version"},
    ("plugins",): {"schema", "plugins", "problems"},
    ("mcp",): {"schema", "tools"},
    ("chat", "--print", "hello"): POSITION | {"answer", "ending", "error", "model", "usage"},
    ("resume", "talk"): {"schema", "session", "file", "agent", "command", "cwd", "cwd_exists", "note"},
    ("formats",): {"schema", "formats"},
    ("inspect", "talk"): {
        "schema",
        "format",
        "file",
        "size",
        "created",
        "version",
        "id",
        "cwd",
        "title",
        "parent_session",
        "entries",
        "leaf",
        "path",
        "roots",
        "tree",
        "labels",
        "context",
        "usage",
        "findings",
    },
}


@pytest.mark.parametrize(
    "arguments", SCHEMAS, ids=lambda arguments: " ".join(arguments[:1] + arguments[2:])[:40]
)
def test_the_keys_of_a_result_are_pinned(arguments, data, talk) -> None:
    if arguments[0] == "redo":
        data("undo", talk)

    assert set(data(*arguments)) == SCHEMAS[arguments]


def test_the_keys_of_what_is_inside_are_pinned(data, run, talk, world) -> None:
    (world / "damaged.jsonl").write_bytes((CORPUS / "pi" / "edge" / "corrupt-middle.jsonl").read_bytes())
    data("fork", talk)
    run("new", "--id", "empty")
    inspected = data("inspect", talk)
    checked = data("check", "damaged.jsonl", code=1)["files"][0]
    repaired = data("repair", "damaged.jsonl")

    inside = {
        "card": data("show", talk)["cards"][0],
        "tree row": data("tree", talk)["rows"][0],
        "context message": data("context", talk)["messages"][0],
        "row": data("ls")["sessions"][0],
        "forest": data("forest")["sessions"][0],
        "forest row": data("forest")["sessions"][0]["row"],
        "node": inspected["tree"][0],
        "context": inspected["context"],
        "usage": inspected["usage"],
        "finding": data("inspect", "damaged.jsonl")["findings"][0],
        "file": checked,
        "checked finding": checked["findings"][0],
        "seal": data("check", "--seal", talk)["files"][0]["seal"],
        "change": repaired["changed"][0],
        "aside": repaired["aside"][0],
        "pruned": data("prune")["sessions"][0],
        "compared side": data("diff", talk)["left"],
        "pair": data("diff", talk)["pairs"][0],
        "turn": data("diff", talk)["pairs"][0]["left"],
        "figures": data("stats")["total"],
        "group": data("stats")["by"]["model"][0],
        "hidden": None,
        "removed": data("rm", talk)["removed"][0],
        "trashed": data("restore", "--list")["trash"][0],
        "restored": data("restore"),
    }

    assert {name: set(value) for name, value in inside.items() if value is not None} == {
        "card": {
            "kind",
            "id",
            "title",
            "body",
            "meta",
            "timestamp",
            "label",
            "arguments",
            "call",
            "pictures",
            "error",
            "open",
        },
        "tree row": {
            "id",
            "parent",
            "depth",
            "connector",
            "last",
            "active",
            "type",
            "role",
            "time",
            "label",
            "text",
        },
        "context message": {"entry", "role", "message"},
        "row": ROW | DETAILS,
        "forest": {"row", "depth", "parent", "parent_path", "children", "last", "active_ms", "note"},
        "forest row": ROW,
        "node": {"id", "parent", "depth", "type", "role", "label", "active"},
        "context": {"model", "thinking_level", "messages"},
        "usage": {"input", "output", "cache_read", "cache_write"}
        | {"cost", "estimated_cost", "inherited_cost"},
        "finding": {"line", "offset", "kind", "message"},
        "file": {"path", "id", "format", "version", "entries", "status", "problem", "findings", "seal"},
        "seal": {"state", "size", "sealed_at", "message"},
        "checked finding": {"line", "offset", "size", "kind", "severity", "message"},
        "change": {"entry", "line", "fields"},
        "aside": {"line", "offset", "size", "reason"},
        "compared side": {
            "session",
            "file",
            "leaf",
            "messages",
            "tools",
            "errors",
            "read",
            "changed",
            "usage",
        },
        "pair": {"left", "right", "prompt", "answer"},
        "turn": {
            "ids",
            "prompt",
            "answer",
            "timestamp",
            "messages",
            "tools",
            "errors",
            "read",
            "changed",
            "models",
            "usage",
        },
        "figures": {
            "sessions",
            "messages",
            "prompts",
            "answers",
            "tool_calls",
            "input",
            "output",
            "cache_read",
            "cache_write",
            "tokens",
            "cost",
            "estimated",
            "unpriced",
            "cost_state",
        },
        "group": {"name", "keys", "figures"},
        "pruned": {"row", "removed", "token"},
        "removed": {"path", "key", "token"},
        "trashed": {"token", "key", "size", "removed_ms", "draft", "directory"},
        "restored": {"schema", "key", "path"},
    }


def test_every_command_has_a_schema(run) -> None:
    from branchline.cli.app import cli

    commands = {name: cli.get_command(None, name) for name in cli.list_commands(None)}
    with_json = {name for name, command in commands.items() if "json" in {one.name for one in command.params}}
    assert {arguments[0] for arguments in SCHEMAS} | {"restore", "web"} == with_json
    assert set(commands) - with_json == {"completion", "help"}


def test_json_is_one_line_for_programs(run, talk) -> None:
    assert run("tree", talk, "--json").stdout.count("\n") == 1
    json.loads(run("tree", talk, "--json").stdout)
