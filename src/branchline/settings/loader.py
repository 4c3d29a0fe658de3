"""Load the settings: defaults, then the file, then the environment.

Loading never fails. Invalid TOML, an unknown name or an invalid value is ignored and reported with its line.
``BRANCHLINE_CONFIG`` names another file; ``BRANCHLINE_THEME`` and similar variables override one setting.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from branchline._user_directories import user_directory
from branchline.settings.schema import (
    Settings,
    is_table,
    names,
    parse_value,
    validate,
    validate_table,
)

if TYPE_CHECKING:
    from branchline.context.prices import PriceList

__all__ = ["LoadedSettings", "SettingFinding", "Source", "load", "price_list", "settings_path"]

_MAX_SIZE = 1 << 20  # guards against devices and huge files
_PREFIX = "BRANCHLINE_"

Source = Literal["default", "file", "environment"]


class SettingFinding(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the file or the environment that is ignored, and why."""

    where: str
    """The file, or the environment variable."""
    line: int | None = None
    message: str

    def __str__(self) -> str:
        place = self.where if self.line is None else f"{self.where}, line {self.line}"
        return f"{place}: {self.message}"


class LoadedSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The effective settings and their sources."""

    settings: Settings
    path: str
    """The path of the settings file, whether or not it exists."""
    exists: bool
    sources: dict[str, Source]
    lines: dict[str, int]
    """The line of each setting in the file."""
    findings: tuple[SettingFinding, ...] = ()


def settings_path(environment: Mapping[str, str] | None = None) -> str:
    """Return the path of the settings file, whether or not it exists."""
    environment = os.environ if environment is None else environment
    if chosen := environment.get("BRANCHLINE_CONFIG"):
        return os.path.abspath(os.path.expanduser(chosen))
    if home := environment.get("BRANCHLINE_HOME"):
        return os.path.join(os.path.abspath(os.path.expanduser(home)), "config.toml")
    return os.path.join(user_directory("config", environment), "config.toml")


def load(environment: Mapping[str, str] | None = None) -> LoadedSettings:
    """Load the settings. Never fails: an invalid value becomes a finding, and its default is used."""
    environment = os.environ if environment is None else environment
    path = settings_path(environment)
    text, findings = _read_text(path)
    values: dict[str, Any] = {}
    sources: dict[str, Source] = dict.fromkeys(names(), "default")
    lines: dict[str, int] = {}
    if text:
        lines = _from_file(path, text, values, findings)
        sources |= dict.fromkeys(values, "file")
    for name in names():
        variable = _PREFIX + name.upper()
        if text_value := environment.get(variable):
            try:
                values[name] = parse_value(name, text_value)
            except ValueError as problem:
                findings.append(SettingFinding(where=variable, message=str(problem)))
            else:
                sources[name] = "environment"
    return LoadedSettings(
        settings=Settings(**values),
        path=path,
        exists=text is not None,
        sources=sources,
        lines=lines,
        findings=tuple(findings),
    )


def price_list(chosen: Settings | None = None) -> PriceList:
    """Return the public prices and those of these settings, by default of the loaded ones.

    Prices that cannot be read are left out.
    """
    from branchline.context.prices import PriceList, is_price  # noqa: PLC0415  few commands need prices

    chosen = load().settings if chosen is None else chosen
    return PriceList(filter(is_price, chosen.prices))


def _read_text(path: str) -> tuple[str | None, list[SettingFinding]]:
    """Return the text of the file, None if it does not exist."""
    data = b""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
        with open(descriptor, "rb") as file:
            data = file.read(_MAX_SIZE + 1) or b""
        if len(data) > _MAX_SIZE:
            return "", [SettingFinding(where=path, message="is larger than a megabyte and was not read")]
        return data.decode("utf-8-sig"), []
    except (FileNotFoundError, NotADirectoryError):
        return None, []
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        return "", [SettingFinding(where=path, line=line, message="is not UTF-8; the file is ignored")]
    except (OSError, ValueError) as problem:
        why = getattr(problem, "strerror", None) or str(problem)
        return "", [SettingFinding(where=path, message=f"could not be read: {why}")]


def _from_file(
    path: str, text: str, values: dict[str, Any], findings: list[SettingFinding]
) -> dict[str, int]:
    import tomllib  # noqa: PLC0415  only needed if there is a file

    from branchline.settings.toml_edit import statements  # noqa: PLC0415

    try:
        found = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as problem:
        place = re.search(r"\(at line (\d+)", str(problem))
        line = None if place is None else int(place[1])
        detail = re.sub(r" \(at .*\)", "", str(problem))
        message = f"is not valid TOML ({detail}); the file is ignored"
        findings.append(SettingFinding(where=path, line=line, message=message))
        return {}
    lines = {statement.name: statement.line for statement in reversed(statements(text))}
    for name, value in found.items():
        line = lines.get(name) or _table_line(text, name)
        if name not in names():
            findings.append(SettingFinding(where=path, line=line, message=_unknown(name)))
            continue
        if is_table(name) and isinstance(value, dict):
            values[name] = _tables(name, path, text, value, findings)
            continue
        try:
            values[name] = validate(name, value)
        except ValueError as problem:
            findings.append(SettingFinding(where=path, line=line, message=str(problem)))
    return {name: line for name, line in lines.items() if name in values}


def _tables(
    setting: str, path: str, text: str, tables: dict[str, Any], findings: list[SettingFinding]
) -> dict[str, Any]:
    """Return the valid tables of a setting; invalid ones are reported."""
    found: dict[str, Any] = {}
    for name, value in tables.items():
        try:
            found[name] = validate_table(setting, name, value)
        except ValueError as problem:
            line = _table_line(text, setting, name) or _table_line(text, setting)
            findings.append(SettingFinding(where=path, line=line, message=str(problem)))
    return found


def _table_line(text: str, *names: str) -> int | None:
    """Return the line of a table header."""
    dotted = r"[\"']?[ \t]*\.[ \t]*[\"']?".join(map(re.escape, names))
    place = re.search(rf"^[ \t]*\[+[ \t]*[\"']?{dotted}(?![\w-])", text, re.MULTILINE)
    return None if place is None else text.count("\n", 0, place.start()) + 1


def _unknown(name: str) -> str:
    import difflib  # noqa: PLC0415

    close = difflib.get_close_matches(name, names(), n=1)
    hint = f"; did you mean {close[0]}?" if close else "; `branchline config` lists all"
    return f"unknown setting {name!r}{hint}"
