"""The reference says what the code says: every command, option, schema and public name, and nothing else."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import re
from pathlib import Path
from typing import get_args

import click
import pytest
from click.testing import CliRunner

import branchline
from branchline import (
    Conductor,
    Session,
    SessionLibrary,
    chat,
    compaction,
    conductor,
    errors,
    flows,
    library,
    models,
    plugins,
)
from branchline.cli.app import cli
from branchline.library import ForestRow, SessionRow
from branchline.plugins.formats import formats
from branchline.settings import Settings, names
from branchline.tree import Kind
from branchline.tree import severity as severity_of
from branchline.views.cards import Card, CardKind
from support import ROOT

DOCS = ROOT / "docs"
CLI_PAGE = (DOCS / "reference" / "cli.md").read_text(encoding="utf-8")
PYTHON_PAGE = (DOCS / "reference" / "python.md").read_text(encoding="utf-8")
DISCOVERY = (DOCS / "guides" / "discovery.md").read_text(encoding="utf-8")
WITH_CALLS = [
    *sorted(f"coming-from/{page.name}" for page in DOCS.joinpath("coming-from").glob("*.md")),
    "differences.md",
    "parity.md",
    "reference/cli.md",
    "reference/format.md",
    "reference/python.md",
]
EVERYWHERE = {"--json", "--plain", "--color", "--session", "--dir"}
COMMANDS = {name: cli.get_command(None, name) for name in cli.list_commands(None)}


def section(name: str) -> str:
    """What the page says under the heading of a command."""
    found = re.search(rf"^### {name}\n(.*?)(?=^##|\Z)", CLI_PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None, f"docs/reference/cli.md has no section for `{name}`"
    return found[1]


def mentions(text: str, option: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", text) is not None


def options(command: click.Command) -> set[str]:
    return {
        spelling
        for parameter in command.params
        if isinstance(parameter, click.Option)
        for spelling in [*parameter.opts, *parameter.secondary_opts]
    }


def printed_schemas() -> set[str]:
    """The names that stand in calls of ``Output.result``, as ``branchline.NAME/VERSION``."""
    found = set()
    for module in sorted(Path(branchline.__file__).parent.joinpath("cli").glob("*.py")):
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "result" and node.args):
                continue
            versions = [keyword.value for keyword in node.keywords if keyword.arg == "version"]
            version = versions[0].value if versions and isinstance(versions[0], ast.Constant) else 1
            if isinstance(node.args[0], ast.Constant):
                found.add(f"branchline.{node.args[0].value}/{version}")
    return found


# -- the command line -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_of_a_command_is_explained_in_its_section(name):
    own = options(COMMANDS[name]) - EVERYWHERE

    missing = sorted(option for option in own if not mentions(section(name), option))

    assert not missing, f"the section `{name}` of docs/reference/cli.md does not say {', '.join(missing)}"


def test_options_of_all_commands_are_explained_once():
    shared = options(cli) | {"-h", "--help"} | EVERYWHERE

    assert not [option for option in shared if not mentions(CLI_PAGE, option)]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_usage_line_of_a_section_has_no_option_that_the_command_lacks(name):
    known = options(COMMANDS[name]) | EVERYWHERE | {"--help"}

    usage = re.search(r"```text\n(.*?)```", section(name), re.DOTALL)[1]

    assert set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", usage)) <= known


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_an_example_that_runs(name):
    assert f"$ branchline {name}" in "".join(re.findall(r"```console\n(.*?)```", CLI_PAGE, re.DOTALL))


@pytest.mark.parametrize("name", COMMANDS)
def test_the_json_of_a_command_is_described_in_its_section(name):
    assert (f"branchline.{name}/" in section(name)) == ("--json" in options(COMMANDS[name]))


def test_every_schema_that_is_printed_is_on_the_page_and_no_other():
    on_page = set(re.findall(r"branchline\.[a-z]+/\d+", CLI_PAGE))

    assert printed_schemas() <= on_page
    with_json = {name for name, command in COMMANDS.items() if "--json" in options(command)}
    assert {re.split(r"[./]", schema)[1] for schema in on_page} == with_json


def test_the_contract_of_inspect_names_every_key(tmp_path):
    file = tmp_path / "made.jsonl"
    file.write_text(
        '{"type":"session","version":3,"id":"made","timestamp":"","cwd":"/"}\n{"type":"message"}\n'
    )
    seen = json.loads(CliRunner().invoke(cli, ["inspect", str(file), "--json"]).stdout)

    keys = {*seen, *seen["context"], *seen["usage"], *seen["findings"][0]}

    assert not [key for key in keys if f"`{key}`" not in section("inspect") and key != "schema"]


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("ls", SessionRow.__struct_fields__),
        ("forest", ForestRow.__struct_fields__),
        ("show", Card.__struct_fields__),
        ("show", get_args(CardKind)),
        ("check", get_args(Kind)),
    ],
)
def test_the_keys_inside_a_result_are_in_its_section(name, keys):
    assert not [key for key in keys if f"`{key}`" not in section(name)]


def test_findings_are_listed_with_their_severity():
    rows = re.findall(r"^\| (`[^|]*) \| (note|warning|damage) \|", section("check"), re.MULTILINE)

    said = {kind: level for kinds, level in rows for kind in re.findall(r"`([^`]+)`", kinds)}

    assert said == {kind: severity_of(kind) for kind in get_args(Kind)}


def _default_words(value):
    if isinstance(value, bool | int | str):
        return str(value).lower()
    return " ".join(value) if value else "none"


def test_every_setting_is_on_the_page_with_its_default():
    rows = dict(re.findall(r"^\| `(\w+)` \| `?([\w.-]+)`? \|", section("config"), re.MULTILINE))
    defaults = {name: getattr(Settings(), name) for name in names()}

    said = {name: _default_words(value) for name, value in defaults.items()}

    assert rows == said


# -- Python -----------------------------------------------------------------------------------------------


def public(owner: type) -> list[str]:
    return [name for name in dir(owner) if not name.startswith("_")]


def in_code(page: str, name: str) -> bool:
    """Whether a name stands between backticks, alone or as part of a call."""
    spans = re.findall(r"`([^`\n]+)`", page)
    return any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", span) for span in spans)


@pytest.mark.parametrize("name", branchline.__all__)
def test_the_names_of_the_package_are_on_the_page(name):
    assert name in PYTHON_PAGE


@pytest.mark.parametrize("owner", [Session, SessionLibrary, Conductor], ids=lambda owner: owner.__name__)
def test_every_public_method_and_property_is_on_the_page(owner):
    start = PYTHON_PAGE.index(f"\n## {owner.__name__}\n")
    part = PYTHON_PAGE[start : PYTHON_PAGE.index("\n## ", start + 1)]

    missing = [name for name in public(owner) if not in_code(part, name)]

    assert not missing, f"docs/reference/python.md does not say {', '.join(missing)} of {owner.__name__}"


@pytest.mark.parametrize(
    "room",
    [chat, compaction, conductor, errors, flows, library, models, plugins],
    ids=lambda room: room.__name__,
)
def test_errors_and_records_are_on_the_page(room):
    assert not [name for name in room.__all__ if not in_code(PYTHON_PAGE, name) and name != "Progress"]


def test_the_guide_for_plugins_names_every_hook_with_every_field_that_it_gets():
    guide = (DOCS / "guides" / "plugins.md").read_text(encoding="utf-8")
    rows = {row[0]: row for row in re.findall(r"^\| `(\w+)` \| `(\w+)`: (.*?) \| .*\|$", guide, re.MULTILINE)}

    assert list(rows) == list(flows.HOOKS)
    for hook, event, said in rows.values():
        record = inspect.signature(getattr(flows.HookSpecs, hook)).parameters["event"].annotation
        assert event == record
        others = {
            "session",
            "file",
            "previous_session",
            "previous_file",
        }  # said in words where there are four
        fields = set(getattr(flows, event).__struct_fields__)
        missing = [
            name for name in fields - (others if others <= fields else set()) if f"`{name}`" not in said
        ]
        assert not missing or said.startswith("the same"), f"{hook} does not say {missing}"


# -- what pages name exists -------------------------------------------------------------------------------


def spans(page: str) -> list[str]:
    text = re.sub(
        r"^```.*?^```", "", (DOCS / page).read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    return re.findall(r"`([^`\n]+)`", text)


@pytest.mark.parametrize("page", WITH_CALLS)
def test_a_call_that_a_page_names_exists(page):
    owners = {"Session": Session, "SessionLibrary": SessionLibrary}

    for span in spans(page):
        for owner, name in re.findall(r"(?<![\w.])(Session|SessionLibrary)\.(\w+)", span):
            assert hasattr(owners[owner], name), f"{page} names {span}"
        for dotted in re.findall(r"^branchline(?:\.\w+)+(?![\w/])", span):
            assert resolves(dotted), f"{page} names {dotted}"


@pytest.mark.parametrize("page", WITH_CALLS)
def test_a_keyword_that_a_page_gives_to_a_call_is_one_of_its_parameters(page):
    owners = {"Session": Session, "SessionLibrary": SessionLibrary}

    for span in spans(page):
        for owner, name, given in re.findall(r"(?<![\w.])(Session|SessionLibrary)\.(\w+)\(([^)]*)\)", span):
            known = inspect.signature(getattr(owners[owner], name)).parameters
            assert set(re.findall(r"(\w+)=", given)) <= set(known), f"{page} names {span}"


@pytest.mark.parametrize("page", WITH_CALLS)
def test_a_command_that_a_page_names_exists_with_its_options(page):
    for span in spans(page):
        found = re.match(r"branchline ([a-z]+)(?: |$)", span)
        if found is not None:
            assert found[1] in COMMANDS, f"{page} names {span}"
            known = options(COMMANDS[found[1]]) | {"--help"}
            assert set(re.findall(r"(?<=\s)--?[a-z][\w-]*", span)) <= known, f"{page} names {span}"


def resolves(dotted: str) -> bool:
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for name in parts[length:]:
            if not hasattr(found, name):
                return False
            found = getattr(found, name)
        return True
    return False


def test_the_guide_to_discovery_says_where_each_agent_keeps_its_sessions():
    table = DISCOVERY.split("## Search locations")[1].split("\n## ")[0]
    agents = re.findall(r"^\| ([\w -]+) \| (?!folder)", table, re.MULTILINE)
    known = {format_.name for format_ in formats()}

    named = [
        {agent.lower(), agent.lower().replace(" ", "-"), agent.lower().split()[0]} & known
        for agent in agents
        if agent != "branchline"
    ]

    assert [len(names) for names in named] == [1] * len(known), "bring the table up to date"
    assert set().union(*named) == known
