"""Where Codex stores its rollouts."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from datetime import datetime

from branchline.entries import Header, json_codec
from branchline.formats.protocol import FormatHome, SettingsFile, TitleFiles

__all__ = ["HOME_OF", "CodexHome", "CodexSettings", "ThreadNames", "read_names"]

_DEFAULT_PROVIDER = "openai"
HOME_OF = re.compile(r"(.*)[/\\](?:archived_)?sessions[/\\]", re.DOTALL)


class CodexHome(FormatHome):
    """Dated folders below ``sessions``, and the archive beside it."""

    def roots(self, environment: Mapping[str, str], home: str) -> list[str]:
        base = environment.get("CODEX_HOME") or posixpath.join(home, ".codex")
        return [posixpath.join(base, "sessions"), posixpath.join(base, "archived_sessions")]

    def new_directories(self, header: Header, environment: Mapping[str, str], home: str) -> Sequence[str]:
        """Return the folder of the day on which the thread started, in local time."""
        day = _local(header).strftime("%Y/%m/%d")
        return (posixpath.join(self.roots(environment, home)[0], day),)

    def file_key(self, header: Header) -> str:
        return f"rollout-{_local(header):%Y-%m-%dT%H-%M-%S}-{header.id}"

    def subagent_of(self, path: str, header: Header | None) -> str | None:
        del path
        if header is None or (header.metadata or {}).get("source") != "subagent":
            return None
        return header.parent_session or ""


def _local(header: Header) -> datetime:
    """Return the start of a thread in local time, as file and folder names contain it."""
    try:
        return datetime.fromisoformat(header.timestamp).astimezone()
    except (ValueError, OverflowError):
        return datetime(1970, 1, 1)  # noqa: DTZ001


class CodexSettings(SettingsFile):
    """``config.toml``, which names the model provider."""

    def settings_file(self, environment: Mapping[str, str], home: str) -> str:
        root = CodexHome().roots(environment, home)[0]
        return posixpath.join(posixpath.dirname(root), "config.toml")

    def session_settings(self, settings: bytes) -> dict[str, str]:
        """Return the model provider: Codex continues a thread only with the provider that it names."""
        import tomllib  # noqa: PLC0415  few sessions are written

        try:
            values = tomllib.loads(settings.decode("utf-8"))
        except ValueError:
            return {}
        profiles, profile = values.get("profiles"), values.get("profile")
        chosen = profiles.get(profile) if isinstance(profiles, dict) and isinstance(profile, str) else None
        named = chosen.get("model_provider") if isinstance(chosen, dict) else None
        named = named or values.get("model_provider")
        return {"model_provider": named if isinstance(named, str) and named else _DEFAULT_PROVIDER}


class ThreadNames(TitleFiles):
    """User-defined thread names, in one file for all rollouts."""

    def titles_near(self, path: str) -> str | None:
        found = HOME_OF.match(path)
        return None if found is None else posixpath.join(found[1], "session_index.jsonl")

    def titles(self, data: bytes) -> Mapping[str, str]:
        return read_names(data)

    def title_line(self, session_id: str, title: str, time: str) -> bytes | None:
        fields = {"id": session_id, "thread_name": title, "updated_at": time}
        return json_codec.dumps(fields, surrogates="replace") + b"\n"


def read_names(index: bytes) -> dict[str, str]:
    """Return thread names from ``session_index.jsonl``; the last line of a thread counts."""
    names: dict[str, str] = {}
    for line in index.split(b"\n"):
        if (fields := json_codec.loads_object(line)) is not None:
            thread, name = fields.get("id"), fields.get("thread_name")
            if isinstance(thread, str) and isinstance(name, str):
                names[thread] = name
    return names
