"""``config`` and ``completion``: settings and shell completion."""

from __future__ import annotations

import os

import click

from branchline.cli.failures import usage_errors
from branchline.cli.options import command, group
from branchline.cli.output import Output, paint, remark
from branchline.views.humanize import count

__all__ = ["completion_command", "config_command"]

_OF_THE_INDEX = ("index", "index_exclude")


@group(
    "config",
    examples="""
    branchline config
    branchline config set theme light
    branchline config get keep_recent_tokens
    branchline config unset theme
    branchline config edit
    BRANCHLINE_THEME=light branchline tree @last       for one command only
    """,
)
def config_command(out: Output) -> None:
    """Show the current settings, the source of each, and invalid values.

    Settings are stored in one TOML file; BRANCHLINE_CONFIG names another one. BRANCHLINE_THEME,
    BRANCHLINE_COLOR and so on override one setting.
    """
    from branchline.settings import describe_setting, load, names, toml_text

    if _told(out):
        return
    loaded = load()
    values = {name: toml_text(getattr(loaded.settings, name)) for name in names()}
    name_room = max(map(len, values))
    value_room = min(24, max(map(len, values.values())))
    for name, value in values.items():
        source = loaded.sources[name]
        where = f"line {loaded.lines[name]}" if source == "file" and name in loaded.lines else source
        out.row(
            paint("id", f"{name:<{name_room}}  "),
            paint("dim" if source == "default" else "title", f"{value:<{value_room}}  "),
            paint("good" if source != "default" else "dim", f"{where:<11}  "),
            paint("dim", describe_setting(name)),
        )
    remark(
        f"{loaded.path}{'' if loaded.exists else ' (does not exist yet; `branchline config set` creates it)'}"
    )
    for finding in loaded.findings:
        remark(str(finding))


def _told(out: Output) -> bool:
    """With --json, print the present settings, the same object for every subcommand."""
    if not out.json:
        return False
    import msgspec

    from branchline.settings import load

    loaded = load()
    fields = {
        "file": loaded.path,
        "exists": loaded.exists,
        "settings": msgspec.to_builtins(loaded.settings),
        "sources": loaded.sources,
        "lines": loaded.lines,
        "findings": [msgspec.to_builtins(finding) for finding in loaded.findings],
    }
    out.result("config", fields)
    return True


@command(
    "path",
    plain=False,
    below=config_command,
    examples='branchline config path\ncp "$(branchline config path)" settings.toml',
)
def path_command(out: Output) -> None:
    """Print the path of the settings file."""
    from branchline.settings import settings_path

    if _told(out):
        return
    out.line(settings_path())


@command(
    "get",
    plain=False,
    below=config_command,
    examples="branchline config get theme\nbranchline config get pins --json",
)
@click.argument("key")
def get_command(out: Output, key: str) -> None:
    """Print the value of a setting."""
    from branchline.settings import load, toml_text

    _require(key)
    if _told(out):
        return
    value = getattr(load().settings, key)
    out.line(value if isinstance(value, str) else "" if value is None else toml_text(value))


@command(
    "set",
    below=config_command,
    examples="""
    branchline config set theme light
    branchline config set keep_recent_tokens 30000
    branchline config set pins 01a1ddf5 01b2c3d4
    branchline config set index false                            deletes the index, too
    branchline config set index_exclude '/home/me/secret/*' '*/drafts/*'
    """,
)
@click.argument("key")
@click.argument("values", metavar="VALUE...", nargs=-1, required=True)
def set_command(out: Output, key: str, values: tuple[str, ...]) -> None:
    """Change a setting in the file. Comments and unknown content are preserved.

    Of a list, every VALUE is an item; commas separate items, too.
    """
    from branchline.actions.settings_file import change_settings
    from branchline.settings import load, parse_values, toml_text
    from branchline.settings.toml_edit import set_value

    _require(key)
    with usage_errors():
        value = parse_values(key, values)
    change_settings(lambda text: set_value(text, key, value))
    if key in _OF_THE_INDEX:
        _apply_to_index()
    if _told(out):
        return
    out.line(paint("id", key), " = ", toml_text(value))
    if load().sources[key] == "environment":
        remark(f"BRANCHLINE_{key.upper()} is set and overrides it")


@command("unset", below=config_command, examples="branchline config unset theme")
@click.argument("key")
def unset_command(out: Output, key: str) -> None:
    """Remove a setting from the file, so its default applies."""
    from branchline.actions.settings_file import change_settings
    from branchline.settings import load, toml_text
    from branchline.settings.toml_edit import remove_value

    if load().exists:
        change_settings(lambda text: remove_value(text, key))
    else:
        _require(key)
    if key in _OF_THE_INDEX:
        _apply_to_index()
    if _told(out):
        return
    out.line(paint("id", key), " = ", toml_text(getattr(load().settings, key, None)))


@command("edit", below=config_command, examples="branchline config edit\nEDITOR=nano branchline config edit")
def edit_command(out: Output) -> None:
    """Open the file in an editor ($VISUAL, $EDITOR); a new one explains every setting."""
    from branchline.actions.settings_file import write_settings
    from branchline.settings import load, template

    loaded = load()
    if not os.path.exists(loaded.path):
        write_settings(loaded.path, template())
    _open_editor(loaded.path)
    edited = load().settings
    if any(getattr(loaded.settings, key) != getattr(edited, key) for key in _OF_THE_INDEX):
        _apply_to_index()
    if _told(out):
        return
    out.line(loaded.path)
    for finding in load().findings:
        remark(str(finding))


def _open_editor(path: str) -> None:
    """Edit a file, and wait for the end. The program is not looked up in relative entries of ``PATH``."""
    from branchline.errors import NotSupported
    from branchline.programs import command_words, run_program

    wanted = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    editors = [wanted] if wanted else ["sensible-editor", "vim", "nano", "vi"]
    found = next(filter(None, map(command_words, editors)), None)
    if found is None:
        raise NotSupported(f"cannot edit {path}: no program {' or '.join(map(repr, editors))}; set EDITOR")
    if code := run_program((*found, path), None):
        raise NotSupported(f"cannot edit {path}: {found[0]} ended with exit code {code}")


def _apply_to_index() -> None:
    """Bring the index to its settings at once: a file that is excluded must not stay in it until later."""
    from branchline.actions.index import apply_index_settings
    from branchline.settings import load

    dropped = apply_index_settings()
    if not load().settings.index:
        remark("the index is deleted: lists and searches read the session files")
    elif dropped:
        remark(f"{count(dropped, 'session')} dropped from the index")


def _require(key: str) -> None:
    from branchline.settings import names

    if key not in names():
        import difflib

        close = difflib.get_close_matches(key, names(), n=1)
        hint = f"; did you mean {close[0]!r}?" if close else "; `branchline config` lists all"
        raise click.UsageError(f"unknown setting {key!r}{hint}")


@command(
    "completion",
    json=False,
    plain=False,
    examples="""
    eval "$(branchline completion bash)"                                    in ~/.bashrc
    eval "$(branchline completion zsh)"                                     in ~/.zshrc, after compinit
    branchline completion fish > ~/.config/fish/completions/branchline.fish
    """,
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion_command(out: Output, shell: str) -> None:
    """Print a script for shell completion of commands, options, sessions and entries.

    Sessions are listed with their titles, entries with the beginning of their text.
    """
    from click.shell_completion import ShellComplete, get_completion_class

    cli = click.get_current_context().find_root().command
    kind = get_completion_class(shell)
    assert kind is not None
    # Not the method of the class for bash, which runs bash to check its version: the script may be for
    # another shell.
    script = ShellComplete.source(kind(cli, {}, "branchline", "_BRANCHLINE_COMPLETE"))
    out.data(script.encode())
