"""Names that programs which sync folders give to files: conflict copies, and stand-ins for files elsewhere.

Only names that no person and no agent would choose are recognised. «plan 2.jsonl» and «plan (1).jsonl» may be
somebody's own sessions, so they stay in the listing.
"""

from __future__ import annotations

import re

__all__ = ["cloud_placeholder", "conflict_copy"]

# Plain texts: nearly every listing does without them, so none is compiled before it is needed.
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
    """What a file name without its ending is, if it names a conflict copy."""
    if "onflict" not in stem:
        return None
    for program, pattern in _CONFLICTS:
        if (found := re.fullmatch(pattern, stem)) is not None:
            return f"a conflict copy of {found['of']!r} made by {program}"
    return None


def cloud_placeholder(name: str) -> str | None:
    """What a file name is, if it stands for a session that lies elsewhere or is still on its way."""
    if ".jsonl." not in name and ".ndjson." not in name:
        return None
    for program, pattern in _PLACEHOLDERS:
        if (found := re.fullmatch(pattern, name)) is not None:
            return f"a placeholder of {program} for {found['of']!r}, not the session itself"
    return None
