"""File names made by sync tools: conflict copies, and placeholders for files in the cloud.

Only names that no user or agent would choose are recognized. ``plan 2.jsonl`` and ``plan (1).jsonl`` may be
ordinary sessions, so they stay in the listing.
"""

from __future__ import annotations

import re

__all__ = ["cloud_placeholder", "conflict_copy"]

# Compiled on first use: nearly every listing does without them.
_CONFLICTS = (
    ("Syncthing", r"(?P<of>.+)\.sync-conflict-\d{8}-\d{6}(?:-[A-Z0-9]+)?"),
    ("Seafile", r"(?P<of>.+) \(SFConflict [^()]*\)"),
    ("ownCloud", r"(?P<of>.+)_conflict-\d{8}-\d{6}"),
    ("Resilio Sync", r"(?P<of>.+)\.Conflict(?:\(\d+\))?"),
    ("Dropbox or Nextcloud", r"(?P<of>.+) \([^()]*conflicted copy[^()]*\)(?:\(\d+\))?"),
    ("a synced folder", r"(?P<of>.+) \((?:[Cc]ase )?[Cc]onflict[ \d-]*\)"),
)
_PLACEHOLDERS = (
    ("iCloud", r"\.(?P<of>.+\.(?:jsonl|ndjson))\.icloud"),
    ("Nextcloud", r"(?P<of>.+\.(?:jsonl|ndjson))\.nextcloud"),
    ("ownCloud", r"(?P<of>.+\.(?:jsonl|ndjson))\.owncloud"),
    ("Syncthing", r"[.~]syncthing[.~](?P<of>.+\.(?:jsonl|ndjson))\.tmp"),
    ("Resilio Sync", r"(?P<of>.+\.(?:jsonl|ndjson))\.(?:!sync|bts)"),
    ("Nextcloud", r"\.?(?P<of>.+\.(?:jsonl|ndjson))(?:\.~[0-9a-f]+|\.part|\.filepart)"),
)


def conflict_copy(stem: str) -> str | None:
    """Describe a file name without suffix if it is a conflict copy; None otherwise."""
    if "onflict" not in stem:
        return None
    for program, pattern in _CONFLICTS:
        if (found := re.fullmatch(pattern, stem)) is not None:
            return f"a conflict copy of {found['of']!r} made by {program}"
    return None


def cloud_placeholder(name: str) -> str | None:
    """Describe a file name if it is a placeholder for a session that is not downloaded; None otherwise."""
    if ".jsonl." not in name and ".ndjson." not in name:
        return None
    for program, pattern in _PLACEHOLDERS:
        if (found := re.fullmatch(pattern, name)) is not None:
            return f"a placeholder of {program} for {found['of']!r}, not the session itself"
    return None
