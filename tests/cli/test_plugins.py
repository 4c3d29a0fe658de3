"""`branchline plugins`: what is installed and what is wrong with it."""

from __future__ import annotations

import signal
import sys

import pytest

from branchline.plugins.formats import installed_formats
from branchline.plugins.packages import call_plugin
from flows.test_plugins import GOOD, package


def test_nothing_installed_is_said_on_stderr(run):
    result = run("plugins")

    assert result.stdout == ""
    assert result.stderr == "no plugins installed\n"


def test_plugins_are_listed_with_their_package_and_hooks(run, data, tmp_path, monkeypatch):
    package(tmp_path, "acme_good", GOOD, "good = acme_good")
    monkeypatch.syspath_prepend(tmp_path)

    assert run("plugins").stdout == "good  acme_good 1.2  session_before_fork\n"
    assert data("plugins")["plugins"] == [
        {"name": "good", "package": "acme_good", "version": "1.2", "hooks": ["session_before_fork"]}
    ]


def test_a_plugin_that_cannot_be_loaded_is_named_and_the_command_ends_with_1(
    run, data, tmp_path, monkeypatch
):
    package(tmp_path, "acme_bad", "raise RuntimeError('\\x1b[31mno')", "bad = acme_bad")
    monkeypatch.syspath_prepend(tmp_path)

    shown = run("plugins", code=1).stdout

    assert shown.startswith("bad: it cannot be loaded: RuntimeError: ")
    assert "\x1b" not in shown
    problem = data("plugins", code=1)["problems"][0]
    assert (problem["plugin"], problem["hook"]) == ("bad", "")


@pytest.mark.parametrize(
    "code",
    ["import sys; sys.exit(3)", "raise KeyboardInterrupt", "raise BaseException('x')", "raise SystemExit"],
)
@pytest.mark.parametrize("group", ["branchline.plugins", "branchline.formats"])
def test_a_plugin_that_ends_the_program_while_it_loads_is_a_problem_of_the_plugin(
    code, group, run, tmp_path, monkeypatch, talk
):
    package(tmp_path, "acme_exit", code, "bad = acme_exit:format")
    declared = tmp_path / "acme_exit-1.2.dist-info" / "entry_points.txt"
    declared.write_text(declared.read_text().replace("branchline.plugins", group))
    monkeypatch.syspath_prepend(tmp_path)
    installed_formats.cache_clear()
    try:
        for command in (["show", "talk"], ["append", "talk", "more"], ["formats"], ["ls", "--json"]):
            run(*command)
        shown = run("plugins", code=1 if group == "branchline.plugins" else 0).stdout
    finally:
        installed_formats.cache_clear()

    assert ("bad: it cannot be loaded: RuntimeError: it " in shown) is (group == "branchline.plugins")


def test_a_format_whose_reader_exits_recognizes_nothing():
    def sniff(head, path):
        sys.exit(3)

    with pytest.raises(RuntimeError, match=r"sys\.exit"):
        call_plugin(sniff, b"", "")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_while_a_plugin_loads_is_still_an_interrupt():
    with pytest.raises(KeyboardInterrupt):
        call_plugin(signal.raise_signal, signal.SIGINT)
