"""`from branchline import …`: which names there are, and what importing them loads."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

import branchline
from branchline import errors
from branchline.entries import Block, Message


def test_dir_lists_exactly_the_public_names():
    assert dir(branchline) == sorted(branchline.__all__)
    assert len(set(branchline.__all__)) == len(branchline.__all__)


@pytest.mark.parametrize("name", branchline.__all__)
def test_every_public_name_can_be_imported(name):
    scope: dict[str, object] = {}

    exec(f"from branchline import {name}", scope)

    assert scope[name] is getattr(branchline, name)


def test_every_error_message_and_block_is_a_public_name():
    records = [record.__name__ for record in (*get_args(Message), *get_args(Block))]

    assert {*errors.__all__, *records, "Message", "Block", "Context"} <= set(branchline.__all__)
    assert all(getattr(branchline, name) is getattr(errors, name) for name in errors.__all__)


def test_a_name_that_does_not_exist_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'branchline' has no attribute 'Sesion'"):
        branchline.Sesion  # noqa: B018


def test_type_checkers_see_every_public_name():
    """They do not run ``__getattr__``: each name has to be imported in the source, for them alone or for all."""
    source = Path(branchline.__file__).read_text(encoding="utf-8")

    imported = {
        alias.asname or alias.name
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

    assert set(branchline.__all__) <= imported


def test_importing_sessions_loads_msgspec_and_nothing_else_outside_the_standard_library():
    code = (
        "import sys; before = set(sys.modules)\n"
        "from branchline import Session\n"
        "new = {name.split('.')[0] for name in set(sys.modules) - before}\n"
        "print(*sorted(new - sys.stdlib_module_names))\n"
        "print(*sorted(name for name in sys.modules if name.startswith('branchline.')))"
    )

    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)

    packages, modules = (line.split() for line in done.stdout.splitlines())
    assert set(packages) - {"typing_extensions"} == {
        "branchline",
        "msgspec",
    }  # msgspec loads it if it is there
    lazy = {"branchline.conductor", "branchline.flows", "branchline.library", "branchline.plugins.manager"}
    assert lazy.isdisjoint(modules)
