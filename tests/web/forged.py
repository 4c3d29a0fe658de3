"""Exported pages with other words than those that were exported."""

from __future__ import annotations

import base64
import gzip
import hashlib
import re

PLACES = [
    "piece", "skeleton", "first part", "title", "provenance", "packed provenance", "without script", "style", "script",
    "more elements", "text behind", "no digest", "between",
]  # fmt: skip
"""What can be changed in a page without changing the lines of its session."""


def chunk(page: str, number: int = 0) -> tuple[str, bytes]:
    found = re.search(rf'id="chunk-{number}">([^<]*)<', page)
    assert found is not None
    return found[1], gzip.decompress(base64.b64decode(found[1]))


def sealed(page: str) -> str:
    """The page with the digest that it should have: nothing but its other checks can refuse it."""
    before, mark, _old = page.rpartition('<script type="text/plain" id="digest">')
    return f"{before}{mark}{hashlib.sha256(before.encode()).hexdigest()}</script>\n</body></html>\n"


def packed(content: bytes) -> str:
    return base64.b64encode(gzip.compress(content)).decode()


def forged(page: str, place: str, word: str = "start") -> str:
    """The page with other words in one place, such as FORGED for ``word``; the session's lines are unchanged."""
    match place:
        case "piece":
            element, content = chunk(page)
            frames, at = [], 0
            while at < len(content):
                end = content.index(b"\n", at) + 1
                lines, line, piece = map(int, content[at:end].split())
                markup = content[end + lines : end + lines + piece].replace(word.encode(), b"FORGED")
                frames.append(
                    b"%d %d %d\n" % (lines, line, len(markup)) + content[end : end + lines] + markup
                )
                at = end + lines + piece
            changed = b"".join(frames)
            assert changed != content
            return page.replace(element, packed(changed))
        case "skeleton":
            found = re.search('id="skeleton">([^<]*)<', page)
            assert found is not None
            columns = gzip.decompress(base64.b64decode(found[1]))
            assert word.encode() in columns
            return page.replace(found[1], packed(columns.replace(word.encode(), b"FORGED")))
        case "first part":
            return re.sub(f"(<article.*?){word}", r"\1FORGED", page, count=1, flags=re.DOTALL)
        case "title":
            return re.sub("<h1>[^<]*</h1>", "<h1>Wire 1,000,000</h1>", page)
        case "provenance":
            return page.replace("<dt>Replaced</dt><dd>", "<dt>Replaced</dt><dd>FORGED ", 1)
        case "packed provenance":
            return page.replace('"title":"', '"title":"FORGED ', 1)
        case "without script":
            return page.replace('<pre class="as-markdown">', '<pre class="as-markdown">FORGED ', 1)
        case "style":
            return page.replace("/* -- tokens -- */", "body::before { content: 'FORGED' }", 1)
        case "script":
            return page.replace("// Light, dark, or as the system says", "alert(1); // ", 1)
        case "more elements":
            return page.replace("</body>", "<p>FORGED</p></body>")
        case "text behind":
            return page.replace("</body>", "FORGED</body>")
        case "no digest":
            return re.sub('<script type="text/plain" id="digest">[^<]*</script>', "", page)
        case _:
            return page.replace(
                '<script type="application/json" id="chunks">',
                '<p>FORGED</p>\n<script type="application/json" id="chunks">',
            )
