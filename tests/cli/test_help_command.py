"""What people type before they know the program: help, version, and other names of commands."""

from __future__ import annotations

import pytest

from branchline import __version__


def test_help_shows_the_program_or_a_command(run):
    program, command, alias = run("help"), run("help", "rm"), run("help", "delete")

    assert "Browse:" in program.stdout
    assert command.stdout.startswith("Usage: branchline rm")
    assert alias.stdout == command.stdout
    assert command.stdout.splitlines() == run("rm", "--help").stdout.splitlines()


def test_help_of_an_unknown_command_says_so(run):
    asked = run("help", "nothing-like-it", code=2)

    assert "unknown command 'nothing-like-it'" in asked.stderr


def test_version_is_a_command_too(run):
    assert run("version").stdout == f"branchline {__version__}\n"


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("list", "ls"),
        ("find", "search"),
        ("delete", "rm"),
        ("remove", "rm"),
        ("rename", "name"),
        ("title", "name"),
        ("undelete", "restore"),
        ("compare", "diff"),
    ],
)
def test_other_names_that_people_type_lead_to_the_command(run, alias, name):
    assert run(alias, "--help").stdout == run(name, "--help").stdout
