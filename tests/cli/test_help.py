"""Every command has a page: what it does, its options, examples that work, exit codes, where to read on."""

from __future__ import annotations

import inspect
import re
import shlex
from collections.abc import Iterator

import click
import pytest

from branchline.cli.app import cli


def pages() -> Iterator[tuple[str, click.Command]]:
    context = click.Context(cli, info_name="branchline")
    waiting = [(name, cli.get_command(context, name)) for name in cli.list_commands(context)]
    while waiting:
        name, command = waiting.pop(0)
        assert command is not None
        yield name, command
        if isinstance(command, click.Group):
            waiting += [(f"{name} {below}", made) for below, made in command.commands.items()]


PAGES = dict(pages())


def calls(examples: str) -> Iterator[list[str]]:
    """The calls of branchline in the lines of an example; words after two blanks explain it."""
    for line in inspect.cleandoc(examples).splitlines():
        for part in re.findall(r"\$\((.*?)\)", line) or re.split(r"\||>|&&", line):
            words = shlex.split(re.split(r"\s{2,}(?=\w)", part.strip())[0])
            while words and re.fullmatch(r"[A-Z_]+=\S*", words[0]):
                words = words[1:]
            if words[:1] == ["branchline"]:
                yield words[1:]


@pytest.mark.parametrize("name", PAGES)
def test_every_page_has_a_summary_options_examples_exit_codes_and_where_to_read_on(name, run):
    page = run(*name.split(), "--help").stdout

    sections = ["Usage:", "Options:", "Examples:", "Exit codes:", "See also:"]
    places = [page.index(section) for section in sections]
    assert places == sorted(places)
    summary = inspect.cleandoc(PAGES[name].help or "").splitlines()[0]
    assert summary.endswith((".", ":")) or summary[0].isupper()
    assert all(len(line) <= 100 for line in page.splitlines() if "branchline" not in line)


@pytest.mark.parametrize("name", PAGES)
def test_every_example_is_a_call_that_is_understood(name):
    found = list(calls(PAGES[name].epilog or ""))

    assert found, "a page needs an example"
    assert any(" ".join(words).startswith(name) for words in found)
    for call in found:
        words = call
        context = click.Context(cli, info_name="branchline")
        command: click.Command = cli
        while words and isinstance(command, click.Group) and not words[0].startswith("-"):
            chosen = command.get_command(context, words[0])
            assert chosen is not None, words
            command, words = chosen, words[1:]
        try:
            command.make_context(command.name, list(words))
        except click.BadParameter as problem:
            assert "does not exist" in problem.message  # noqa: PT017  a directory of the reader's


@pytest.mark.parametrize("name", PAGES)
def test_where_to_read_on_exists_and_is_another_page(name, run):
    page = run(*name.split(), "--help").stdout
    related = page[page.index("See also:") :].replace("\n", " ")

    names = re.findall(r"branchline (\w+)", related)
    assert names
    assert set(names) <= set(PAGES)
    assert name not in names


def test_the_first_page_has_examples_and_the_environment_too(run):
    page = run("--help").stdout

    assert all(section in page for section in ("Examples:", "Exit codes:", "See also:", "Environment:"))
    assert "BRANCHLINE_HOME" in page
    for words in calls(cli.epilog or ""):
        cli.make_context("branchline", list(words)) if "--help" not in words else None
