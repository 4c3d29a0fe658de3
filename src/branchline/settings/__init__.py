"""What a person prefers: one TOML file, typed, with a reason for every value that could not be used."""

from branchline.settings.editing import edited, removed
from branchline.settings.loading import Loaded, SettingFinding, Source, load, settings_path
from branchline.settings.records import Settings, about, names, template, toml_text, value_of

__all__ = [
    "Loaded",
    "SettingFinding",
    "Settings",
    "Source",
    "about",
    "edited",
    "load",
    "names",
    "removed",
    "settings_path",
    "template",
    "toml_text",
    "value_of",
]
