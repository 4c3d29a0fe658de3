"""User settings: one typed TOML file. Every invalid value is reported with the reason.

:mod:`branchline.settings.toml_edit` edits the file; import it separately.
"""

from branchline.settings.loader import LoadedSettings, SettingFinding, Source, load, price_list, settings_path
from branchline.settings.schema import (
    McpServerSettings,
    ProviderSettings,
    Settings,
    describe_setting,
    names,
    parse_value,
    parse_values,
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
    "parse_values",
    "price_list",
    "settings_path",
    "template",
    "toml_text",
]
