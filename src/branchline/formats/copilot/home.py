"""Where Copilot CLI stores its sessions, and the file that holds a session's title."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence

from branchline.entries import Header, json_codec
from branchline.formats.protocol import CompanionFile, FormatHome, SessionFacts

__all__ = ["CopilotHome", "WorkspaceFile"]


class CopilotHome(FormatHome):
    """A folder for each session below ``session-state``, shared by all projects."""

    def roots(self, environment: Mapping[str, str], home: str) -> list[str]:
        base = environment.get("COPILOT_HOME") or posixpath.join(home, ".copilot")
        return [posixpath.join(base, "session-state")]

    def new_directories(self, header: Header, environment: Mapping[str, str], home: str) -> Sequence[str]:
        return [posixpath.join(self.roots(environment, home)[0], header.id)]

    def file_key(self, header: Header) -> str:
        del header
        return "events"


class WorkspaceFile(CompanionFile):
    """``workspace.yaml``: flat lines of ``key: value``."""

    def companion(self, path: str) -> str | None:
        return posixpath.join(posixpath.dirname(path), "workspace.yaml")

    def facts(self, data: bytes) -> SessionFacts:
        fields = flat_yaml(data.decode("utf-8", "replace"))
        return SessionFacts(title=fields.get("name") or None, cwd=fields.get("cwd") or None)

    def content_for(self, header: Header, title: str) -> bytes:
        """Return a file with the title; without it, Copilot CLI names the session after the next prompt."""
        fields = {
            "id": header.id,
            "cwd": header.cwd,
            "name": title,
            "user_named": True,
            "summary_count": 0,
            "fork_count": 0,
            "created_at": header.timestamp,
            "updated_at": header.timestamp,
        }
        # JSON values are YAML values, and the quotes keep titles such as "yes" or "a: b" what they are.
        return b"".join(b"%b: %b\n" % (name.encode(), json_codec.dumps(fields[name])) for name in fields)


def flat_yaml(text: str) -> dict[str, str]:
    """Return the values of a YAML mapping without nesting, as text; other YAML is skipped."""
    found: dict[str, str] = {}
    lines = text.split("\n")
    for number, line in enumerate(lines):
        key, colon, value = line.partition(":")
        if not colon or not key or key[0] in " \t#-\"'" or (value and value[0] not in " \t\r"):
            continue
        value = value.strip()
        if value[:1] in ("|", ">"):
            block = []
            for following in lines[number + 1 :]:
                if following.strip() and not following.startswith((" ", "\t")):
                    break
                block.append(following.strip())
            value = ("\n" if value[0] == "|" else " ").join(block).strip()
        elif value.startswith('"'):
            value = _double_quoted(value)
        elif value.startswith("'") and value.endswith("'") and len(value) > 1:
            value = value[1:-1].replace("''", "'")
        elif value in ("null", "~"):
            value = ""
        found[key.strip()] = value
    return found


def _double_quoted(value: str) -> str:
    try:
        loaded = json_codec.loads(value.encode("utf-8", "surrogatepass"))
    except ValueError:
        return value.strip('"')
    return loaded if isinstance(loaded, str) else value
