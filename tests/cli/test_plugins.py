"""`branchline plugins`: what is installed and what is wrong with it."""

from __future__ import annotations

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
