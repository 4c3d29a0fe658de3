"""What a person prefers: one TOML file, typed, with a reason for every value that could not be used.

:mod:`branchline.settings.toml_edit` changes the file; it is imported by those who do.
"""

from branchline.settings.loader import Loaded, SettingFinding, Source, load, settings_path
from branchline.settings.schema import Settings, about, names, template, toml_text, value_of

__all__ = [
    "Loaded",
    "SettingFinding",
    "Settings",
    "Source",
    "about",
    "load",
    "names",
    "settings_path",
    "template",
    "toml_text",
    "value_of",
]
