"""A session in which every field tries to inject code, for the page tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def write_session(path: Path, entries: list[dict[str, Any]]) -> Path:
    lines: list[dict[str, Any]] = [
        {
            "type": "session",
            "version": 3,
            "id": path.stem,
            "timestamp": "2026-01-01T00:00:00.000Z",
            "cwd": "/",
        }
    ]
    for number, entry in enumerate(entries, 1):
        common = {"id": f"e{number}", "parentId": f"e{number - 1}" if number > 1 else None}
        lines.append({**common, "timestamp": f"2026-01-01T{number // 3600 % 24:02d}:00:00.000Z", **entry})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def message(role: str, text: str, **more: Any) -> dict[str, Any]:
    return {"type": "message", "message": {"role": role, "content": [{"type": "text", "text": text}], **more}}


RUN = "globalThis.pwned=1;document.title='pwned'"
VECTORS = [
    f"<script>{RUN}</script>",
    f'<img src=x onerror="{RUN}">',
    f'<svg onload="{RUN}"></svg>',
    f'"><img src=x onerror="{RUN}">',
    f'\'><svg/onload="{RUN}">',
    f"</script><script>{RUN}</script>",
    f"</style><script>{RUN}</script>",
    f"</noscript><script>{RUN}</script>",
    '<iframe srcdoc="<script>parent.pwned=1</script>"></iframe>',
    f'<a href="javascript:{RUN}" id=pwn>x</a>',
    f"[x](javascript:{RUN.replace(';', '%3B')})",
    f'<details open ontoggle="{RUN}">x</details>',
    "<link rel=stylesheet href=https://evil.invalid/x.css>",
    "<style>@import 'https://evil.invalid/x.css'; body{background:url(https://evil.invalid/y.png)}</style>",
    "<img src=https://evil.invalid/z.png>",
    "![x](https://evil.invalid/m.png)",
    "<object data=https://evil.invalid/o></object><embed src=https://evil.invalid/e>",
    "<form action=https://evil.invalid><button id=send>x</button></form>",
    "<base href=https://evil.invalid/>",
    '<meta http-equiv="refresh" content="0; url=https://evil.invalid/gone">',
    f'<math><mtext><table><mglyph><style><img src=x onerror="{RUN}"></style></mglyph></table></mtext></math>',
]


def hostile_entries() -> list[dict[str, Any]]:
    """Twenty-one vectors in prompts, answers, thoughts, tool names, arguments, results, models and labels: more than 60 fields."""
    entries: list[dict[str, Any]] = []
    for number, vector in enumerate(VECTORS):
        call = {
            "type": "toolCall",
            "id": f"c{number}",
            "name": f"bash{vector}",
            "arguments": {vector: vector, "command": vector},
        }
        content = [{"type": "thinking", "thinking": vector}, {"type": "text", "text": vector}, call]
        entries.append(message("user", vector))
        entries.append(
            {
                "type": "message",
                "message": {
                    "role": "assistant",
                    "content": content,
                    "model": vector,
                    "stopReason": "error",
                    "errorMessage": vector,
                },
            }
        )
        entries.append(message("toolResult", vector, toolCallId=f"c{number}", toolName=vector))
    entries.append({"type": "session_info", "name": VECTORS[0]})
    entries.append({"type": "label", "targetId": "e1", "label": VECTORS[1]})
    entries.append({"type": "custom_message", "customType": VECTORS[1], "content": VECTORS[2]})
    entries.append({"type": "compaction", "summary": "".join(VECTORS)})
    return entries


def hostile_session(path: Path) -> Path:
    return write_session(path, hostile_entries())
