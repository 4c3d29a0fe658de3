"""The example plugin, installed like a package: files on the path with a dist-info."""

from __future__ import annotations

import asyncio
import shutil
import sys
import tomllib

import pytest

from branchline.flows import arun, compact, fork, navigate, run
from branchline.plugins import Plugin, Plugins
from flows.kit import LONG, Writer, branched
from session.kit import assistant, reopened, user
from support import ROOT

EXAMPLE = ROOT / "examples" / "signposts"


@pytest.fixture
def plugins(tmp_path, monkeypatch):
    """What an installer does with the example, by what its pyproject.toml says."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    shutil.copy(EXAMPLE / "signposts.py", tmp_path)
    info = tmp_path / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    points = project["entry-points"]["branchline.plugins"]
    lines = "".join(f"{name} = {target}\n" for name, target in points.items())
    (info / "entry_points.txt").write_text(f"[branchline.plugins]\n{lines}")
    monkeypatch.syspath_prepend(tmp_path)
    yield Plugins.load()
    sys.modules.pop("signposts", None)


def test_it_is_found_with_its_package_and_its_hooks(plugins):
    assert plugins.installed == [
        Plugin(
            name="signposts",
            package="branchline-signposts",
            version="0.1.0",
            hooks=("session_before_tree", "session_tree", "session_before_fork", "session_compact"),
        )
    ]
    assert plugins.problems == []


def test_the_end_of_a_branch_that_is_left_is_labelled(plugins, place):
    session, names = branched(place)

    run(navigate(session, names["old"]), hooks=plugins)
    run(navigate(session, names["new"]), hooks=plugins)

    assert reopened(session).labels == {names["new"]: "left", names["old"]: "left"}
    assert session.leaf == names["new"]


def test_a_short_branch_is_quoted_and_a_long_one_is_summed_up(plugins, place):
    session, names = branched(place)
    writer = Writer()

    short = run(navigate(session, names["old"], summarize=True), hooks=plugins, summarizer=writer)
    session.append_message(user(LONG))
    long = run(navigate(session, names["new"], summarize=True), hooks=plugins, summarizer=writer)

    assert session.entry(short.summary_entry).summary.endswith("> the new way")
    assert (short.from_hook, long.from_hook, len(writer.requests)) == (True, False, 1)


def test_what_is_private_is_not_forked(plugins, place):
    session, names = branched(place)
    session.append_label(names["second"], "private")

    assert run(fork(session), hooks=plugins).status == "cancelled"
    assert run(fork(session, names["answer"]), hooks=plugins).status == "done"


@pytest.mark.parametrize("awaiting", [False, True])
def test_compactions_are_remembered_under_both_drivers(plugins, place, awaiting):
    session, _names = branched(place)
    session.append_message(user(LONG))
    session.append_message(assistant("fine"))

    flow = compact(session, keep_recent_tokens=50)
    if awaiting:
        done = asyncio.run(arun(flow, hooks=plugins, summarizer=Writer()))
    else:
        done = run(flow, hooks=plugins, summarizer=Writer())

    notes = [entry.data for entry in session.entries() if entry.type == "custom"]
    assert notes == [{"entry": done.entry, "tokens": done.tokens_before}]
    assert plugins.problems == []
