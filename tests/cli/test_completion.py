"""Tab in a shell: commands, options, sessions with titles, entries with words."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from branchline.cli.app import cli


@pytest.fixture
def complete(monkeypatch):
    """What is offered for a line that ends with an unfinished word, with the help beside it."""
    from click.shell_completion import ShellComplete

    def call(*words: str) -> dict[str, str | None]:
        *before, typed = words
        shell = ShellComplete(cli, {}, "branchline", "_BRANCHLINE_COMPLETE")
        return {item.value: item.help for item in shell.get_completions(list(before), typed)}

    return call


def test_commands_and_options_complete(complete):
    assert {"tree"} <= set(complete("tr"))
    assert "--filter" in complete("tree", "--f")
    assert set(complete("tree", "--filter", "la")) == {"labeled-only"}
    assert set(complete("config", "set", "the")) == {"theme"}


def test_agents_complete_as_lists_name_them_and_one_after_the_other(complete):
    assert {"branchline", "claude-code", "oh-my-pi"} <= set(complete("ls", "--agent", ""))
    assert set(complete("ls", "--agent", "pi,cla")) == {"pi,claude-code"}


def test_only_agents_whose_sessions_can_be_written_are_offered_as_targets(complete):
    from branchline.actions.convert import TARGETS

    assert set(complete("convert", "x", "--to", "")) == set(TARGETS)
    assert set(complete("fork", "x", "--to", "")) == set(TARGETS)
    assert set(complete("new", "--format", "")) == set(TARGETS)


def test_models_complete_as_the_command_takes_them(complete, run, talk):
    run("append", talk, "--role", "assistant", "--model", "anthropic/m1", "yes")

    assert "anthropic:m1" in complete("chat", "--model", "")
    assert "anthropic/m1" in complete("append", talk, "--model", "")


def test_sessions_complete_by_id_with_their_titles_and_by_title(complete, talk):
    assert complete("show", "ta") == {"talk": "Auth refactor"}
    assert complete("show", "auth") == {"Auth refactor": "by its title"}
    assert "@last" in complete("show", "")


def test_a_title_is_escaped_for_bash(complete, talk, monkeypatch):
    monkeypatch.setenv("_BRANCHLINE_COMPLETE", "bash_complete")

    assert set(complete("show", "Auth")) == {"Auth\\ refactor"}


def test_entries_complete_with_what_they_say_those_with_a_label_first(complete, data, talk):
    offered = complete("branch", talk, "")

    assert next(iter(offered)) == "@leaf"
    assert next(text for entry, text in offered.items() if entry != "@leaf") == "[left] user: Then what?"
    assert "user: And the tests?" in offered.values()
    leaf = data("inspect", talk)["leaf"]
    assert set(complete("show", talk, "--at", leaf[:8])) == {leaf}


def test_entries_complete_by_their_labels(complete, run, talk, monkeypatch):
    run("label", talk, "@leaf", "Ada's plan")

    assert complete("branch", talk, "le") == {"left": "by its label"}
    assert complete("branch", talk, "ro") == {"root": "before the first entry"}
    assert complete("show", talk, "--at", "ro") == {}
    assert "Ada's plan" in complete("branch", talk, "ada")
    monkeypatch.setenv("_BRANCHLINE_COMPLETE", "bash_complete")
    assert "Ada\\'s\\ plan" in complete("branch", talk, "ada")


def test_files_complete_where_a_path_was_begun(complete):
    assert complete("show", "./x") == {"./x": None}


def test_what_cannot_be_read_offers_nothing_and_says_nothing(complete, write_session, capfd):
    write_session("garbage", header=False, name="bad.jsonl")

    assert set(complete("show", "--dir", ".", "b")) == {"bad"}
    assert complete("branch", "nosuch", "x") == {}
    assert complete("show", "--dir", "/nowhere", "b") == {}
    assert capfd.readouterr() == ("", "")


def test_entries_complete_by_the_names_of_branches(complete, run, talk):
    run("branch", talk, "@leaf", "--name", "idea")

    assert complete("show", "talk", "--branch", "id") == {"idea": "end of the branch"}
    assert complete("graft", "talk", "id") == {"idea": "end of the branch"}


def test_hostile_titles_come_out_filtered(complete, run):
    run("new", "--id", "evil", "--title", "\x1b]0;owned\x07title")

    assert complete("show", "ev") == {"evil": "␛]0;owned␇title"}
    assert complete("show", "\x1b") == {}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_each_shell_is_printed_and_is_sound(shell, run, tmp_path):
    script = run("completion", shell).stdout

    assert "_BRANCHLINE_COMPLETE" in script
    if shutil.which(shell):
        path = tmp_path / "script"
        path.write_text(script)
        subprocess.run([shell, "-n", str(path)], check=True, timeout=30)


def test_bash_itself_completes_a_session(run, talk, tmp_path, process):
    """The script, read by a real shell, calls the installed command and offers what it prints."""
    if not shutil.which("bash"):
        pytest.skip("there is no bash here")
    (tmp_path / "bin").mkdir()
    command = Path(sys.executable).parent / "branchline"
    (tmp_path / "bin" / "branchline").symlink_to(command)
    (tmp_path / "script").write_text(run("completion", "bash").stdout)
    asked = (
        f'PATH="{tmp_path}/bin:$PATH"; source {tmp_path}/script; COMP_WORDS=(branchline show ta); COMP_CWORD=2; '
        '_branchline_completion branchline; echo "${COMPREPLY[@]}"'
    )

    done = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, timeout=60, check=True)

    assert done.stdout.strip() == "talk"
    assert done.stderr == ""


def test_fish_itself_completes_a_session(run, talk, tmp_path, process):
    """As bash; fish shows the title beside the id."""
    if not shutil.which("fish"):
        pytest.skip("there is no fish here")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "branchline").symlink_to(Path(sys.executable).parent / "branchline")
    (tmp_path / "script").write_text(run("completion", "fish").stdout)
    asked = f"set -x PATH {tmp_path}/bin $PATH; source {tmp_path}/script; complete -C 'branchline show ta'"

    done = subprocess.run(["fish", "-c", asked], capture_output=True, text=True, timeout=60, check=True)

    assert done.stdout.split("\t")[0] == "talk"


def test_zsh_itself_completes_a_session_on_a_terminal(run, talk, tmp_path, process):
    """As bash, with the keys of a person: zsh completes in its line editor only."""
    if not shutil.which("zsh"):
        pytest.skip("there is no zsh here")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "branchline").symlink_to(Path(sys.executable).parent / "branchline")
    (tmp_path / "script").write_text(run("completion", "zsh").stdout)
    (tmp_path / ".zshrc").write_text(
        f"PATH={tmp_path}/bin:$PATH; PS1='ready> '; autoload -Uz compinit; compinit -u -D; source {tmp_path}/script\n"
    )
    here, there = pty.openpty()
    shell = subprocess.Popen(
        ["zsh", "-i"],
        stdin=there,
        stdout=there,
        stderr=there,
        env={**os.environ, "ZDOTDIR": str(tmp_path), "TERM": "xterm"},
        start_new_session=True,
    )
    os.close(there)

    def wait_for(words: str) -> str:
        seen, end = "", time.monotonic() + 60
        while words not in seen and time.monotonic() < end:
            if select.select([here], [], [], 0.2)[0]:
                seen += os.read(here, 65536).decode("utf-8", "replace")
        assert words in seen, seen
        return seen

    try:
        wait_for("ready> ")
        os.write(here, b"branchline show ta\t")
        wait_for("lk")
        os.write(here, b"\x01echo \r")  # the whole line, completed, as words
        assert "branchline show talk" in wait_for("ready> ")
    finally:
        shell.kill()
        shell.wait()
        os.close(here)


def test_sessions_complete_by_id_also_where_there_is_no_time_to_read_them(complete, talk, monkeypatch):
    monkeypatch.setattr("branchline.cli.shell_completion._PATIENCE", -1.0)

    assert complete("show", "ta") == {"talk": ""}
