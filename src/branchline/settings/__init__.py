"""What a person prefers: one TOML file, typed, with a reason for every value that could not be used.

:mod:`branchline.settings.toml_edit` changes the file; it is imported by those who do.
"""

from branchline.settings.loader import LoadedSettings, SettingFinding, Source, load, settings_path
from branchline.settings.schema import (
    McpServerSettings,
    ProviderSettings,
    Settings,
    describe_setting,
    names,
    parse_value,
    template,
    toml_text,
)

__all__ = [
    "LoadedSettings",
    "McpServerSettings",
    "ProviderSettings",
    "SettingFinding",
    "Settings",
    "Source",
    "describe_setting",
    "load",
    "names",
    "parse_value",
    "settings_path",
    "template",
    "toml_text",
]
