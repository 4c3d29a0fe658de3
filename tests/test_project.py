"""The files of the project agree with each other: locked requirements, metadata, what the sdist holds."""

from __future__ import annotations

import ast
import re
import runpy
import tomllib

import pytest

import branchline.context.source as context_source
from branchline import __version__
from branchline.flows import session_protocol
from branchline.formats import protocol as format_protocol
from branchline.library import scanner as scanner_protocol
from branchline.stores import protocol as store_protocol
from support import ROOT

SOURCE = ROOT / "src" / "branchline"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def locked(name: str) -> dict[str, str]:
    """What a requirements file says of each package: version, condition and hashes."""
    text = (ROOT / "requirements" / name).read_text(encoding="utf-8")
    return {found[1]: found[2] for found in re.finditer(r"^([\w.-]+)==((?:.*\\\n)*.*)$", text, re.MULTILINE)}


def required(texts: list[str]) -> set[str]:
    return {re.match(r"[\w.-]+", text)[0] for text in texts} - {"branchline"}


@pytest.mark.parametrize("name", ["base.txt", "dev.txt", "run.txt"])
def test_locked_requirements_have_hashes_and_no_address(name):
    packages = locked(name)

    assert packages
    assert all("--hash=sha256:" in said for said in packages.values())
    assert "://" not in (ROOT / "requirements" / name).read_text(encoding="utf-8")


def test_every_dependency_is_locked():
    base = required(PROJECT["project"]["dependencies"])
    # The frameworks whose own pins exclude the rest; their adapters are tested where they are installed.
    apart = {"adk", "agent-framework"}
    extras = required(
        [
            text
            for name, texts in PROJECT["project"]["optional-dependencies"].items()
            if name not in apart
            for text in texts
        ]
    )
    groups = PROJECT["dependency-groups"]
    dev = required([text for text in (*groups["build"], *groups["dev"]) if isinstance(text, str)])

    assert base <= locked("base.txt").keys()
    assert base | extras | dev <= locked("dev.txt").keys()


@pytest.mark.parametrize("name", ["base.txt", "run.txt"])
def test_smaller_environments_have_the_versions_of_the_development_environment(name):
    smaller, dev = locked(name), locked("dev.txt")

    assert smaller == {package: dev.get(package) for package in smaller}


def test_the_changelog_follows_keep_a_changelog():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")

    versions = re.findall(r"^## \[?([^\]\n]+?)\]?(?: - \d{4}-\d\d-\d\d)?$", text, re.MULTILINE)
    kinds = re.findall(r"^### (.+)$", text, re.MULTILINE)

    assert __version__ in versions[: 2 if versions[0] == "Unreleased" else 1]
    assert set(kinds) <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


@pytest.mark.parametrize("page", ["CHANGELOG.md", "CONTRIBUTING.md", "README.md", "SECURITY.md"])
def test_links_between_the_files_of_the_project_lead_somewhere(page):
    text = (ROOT / page).read_text(encoding="utf-8")

    targets = [target for target in re.findall(r"\]\(([^)#\s]+)", text) if "://" not in target]

    assert [target for target in targets if not (ROOT / target).exists()] == []


def test_contributing_has_one_line_for_every_package_and_module():
    there = {
        path.name + ("/" if path.is_dir() else "")
        for path in SOURCE.iterdir()
        if path.name not in ("__init__.py", "__main__.py", "_version.py", "py.typed", "__pycache__")
    }
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")

    rows = [
        name
        for row in re.findall(r"^\| (`[^|]+) \|", text, re.MULTILINE)
        for name in re.findall(r"`([^`]+)`", row)
    ]

    assert sorted(rows) == sorted(there)


def test_the_import_graph_is_that_of_the_sources():
    """`python scripts/import_graph.py` writes it again."""
    script = runpy.run_path(str(ROOT / "scripts" / "import_graph.py"))

    page = script["page"]()

    assert script["PAGE"].read_text(encoding="utf-8") == page


def test_modules_are_named_for_what_they_hold_and_not_for_an_activity():
    allowed = {"encoding", "finding", "listing", "setting"}

    names = [path.stem for path in SOURCE.rglob("*") if path.suffix == ".py" or path.is_dir()]

    assert [name for name in names if name.endswith("ing") and name not in allowed] == []


def test_a_public_class_name_means_one_thing():
    """Rows are named as the program calls them, and facades as the systems that they stand for do."""
    found: dict[str, list[str]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE)
        if place.match("compat/*") or place.match("compat/*/*") or place.match("formats/*/rows.py"):
            continue
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found.setdefault(node.name, []).append(str(place))

    assert {name: places for name, places in found.items() if len(places) > 1} == {}


@pytest.mark.parametrize(
    "module", [format_protocol, store_protocol, session_protocol, context_source, scanner_protocol]
)
def test_protocols_are_small(module):
    protocols = [one for one in vars(module).values() if getattr(one, "_is_protocol", False)]

    sizes = {one.__name__: len([name for name in vars(one) if not name.startswith("_")]) for one in protocols}

    assert sizes
    assert {name: size for name, size in sizes.items() if size > 8} == {}
