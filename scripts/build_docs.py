"""Build the documentation website: `make docs` writes it to build/docs, without network access.

The pages are README.md, docs/ and the project's own pages, with navigation, a search that runs in the browser,
and a light and a dark theme. The manual page branchline.1 is written next to them.
"""

from __future__ import annotations

import argparse
import html
import json
import os
import posixpath
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup
from pygments import highlight
from pygments.formatters.html import HtmlFormatter
from pygments.lexers import get_lexer_by_name

from branchline.cli.app import cli
from branchline.cli.man_page import man_page

ROOT = Path(__file__).resolve().parents[1]
_SITE = Path(__file__).resolve().parent / "docs_site"
_DECISIONS = "docs/decisions/"

NAVIGATION: dict[str, tuple[str, ...]] = {
    "Start": (
        "README.md",
        "docs/guides/existing-sessions.md",
        "docs/installation.md",
        "docs/tutorial.md",
        "docs/cheat-sheet.md",
        "docs/troubleshooting.md",
        "docs/privacy.md",
        "docs/why.md",
        "docs/glossary.md",
    ),
    "Use": (
        "docs/guides/terminal.md",
        "docs/guides/search.md",
        "docs/guides/statistics.md",
        "docs/guides/web.md",
        "docs/guides/discovery.md",
        "docs/guides/converting.md",
        "docs/guides/tree-operations.md",
        "docs/guides/sharing.md",
        "docs/guides/redaction.md",
        "docs/guides/chat.md",
        "docs/guides/models.md",
        "docs/guides/mcp.md",
        "docs/guides/scripting.md",
    ),
    "Build": ("docs/guides/sdk-cookbook.md", "docs/guides/agent-loop.md", "docs/guides/*"),
    "Look up": ("docs/reference/*", "docs/reliability.md", "docs/differences.md", "docs/parity.md"),
    "Coming from": ("docs/coming-from/index.md", "docs/coming-from/*"),
    "Formats": ("docs/formats/index.md", "docs/formats/writing-a-format.md", "docs/formats/*"),
    "Project": ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "docs/skills/*/*"),
    "Decisions": ("docs/decisions/*",),
}
"""The sections of the navigation; a pattern matches the pages that no earlier section has."""


class Heading(NamedTuple):
    """A heading of a page and its anchor."""

    level: int
    text: str
    anchor: str


class Page(NamedTuple):
    """A page: its source, its target and its tokens."""

    source: str
    address: str
    title: str
    tokens: list[Token]
    headings: list[Heading]


class Section(NamedTuple):
    """A group of pages in the navigation."""

    name: str
    pages: list[Page]
    is_open: bool = False


def sources(root: Path) -> dict[str, list[str]]:
    """Return the pages of each section, by their paths below ``root``."""
    known: set[str] = set()
    found: dict[str, list[str]] = {}
    for name, patterns in NAVIGATION.items():
        pages: list[str] = []
        for pattern in patterns:
            paths = sorted(path.relative_to(root).as_posix() for path in root.glob(pattern))
            pages += [path for path in paths if path.endswith(".md") and path not in known]
            known.update(paths)
        found[name] = pages
    return found


def address_of(source: str) -> str:
    """Return the path of a page below the target."""
    if source == "README.md":
        return "index.html"
    return source.removeprefix("docs/").removesuffix(".md").lower() + ".html"


def slug(text: str, taken: set[str]) -> str:
    """Return the anchor of a heading, as code hosts generate it."""
    base = re.sub(r"[^\w\- ]", "", text.lower()).strip().replace(" ", "-")
    anchor, number = base, 0
    while anchor in taken:
        number += 1
        anchor = f"{base}-{number}"
    taken.add(anchor)
    return anchor


def read_page(root: Path, source: str, markdown: MarkdownIt) -> Page:
    text = (root / source).read_text(encoding="utf-8")
    text = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL)
    tokens = markdown.parse(text)
    headings = list(_headings(tokens))
    title = next((heading.text for heading in headings if heading.level == 1), posixpath.basename(source))
    return Page(source, address_of(source), title, tokens, headings)


def _headings(tokens: Sequence[Token]) -> Iterator[Heading]:
    taken: set[str] = set()
    for number, token in enumerate(tokens):
        if token.type == "heading_open":
            text = "".join(part.content for part in tokens[number + 1].children or ())
            anchor = slug(text, taken)
            token.attrSet("id", anchor)
            yield Heading(int(token.tag[1]), text, anchor)


class Links:
    """Converts links between source files to links between pages, and collects embedded files."""

    def __init__(self, root: Path, pages: Iterable[Page]) -> None:
        self._root = root
        self._addresses = {page.source: page.address for page in pages}
        self.files: set[str] = set()

    def resolve(self, page: Page, target: str) -> str:
        """Return the target relative to the built page. Raises ValueError if it does not exist."""
        path, mark, anchor = target.partition("#")
        if re.match(r"[a-z][a-z0-9+.-]*:", target) or not path:
            return target
        place = posixpath.normpath(posixpath.join(posixpath.dirname(page.source), path))
        if f"{place}/" == _DECISIONS:
            place = next(source for source in self._addresses if source.startswith(_DECISIONS))
        address = self._addresses.get(place)
        if address is None:
            if not (self._root / place).is_file():
                raise ValueError(f"{page.source} links to {target}, which does not exist")
            address = place.removeprefix("docs/")
            self.files.add(place)
        return posixpath.relpath(address, posixpath.dirname(page.address) or ".") + mark + anchor


def _highlighted(code: str, language: str, _attributes: str) -> str:
    if language in ("", "text"):
        return html.escape(code)
    lexer = get_lexer_by_name({"py": "python", "sh": "bash"}.get(language, language))
    return highlight(code, lexer, HtmlFormatter(nowrap=True))


def _renderer() -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"html": False, "highlight": _highlighted}).enable("table")

    def heading_close(
        renderer: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any
    ) -> str:
        del renderer, options, env
        level = tokens[index].tag
        anchor = tokens[index - 2].attrGet("id")
        link = f'<a class="anchor" href="#{anchor}" aria-label="Link to this section">#</a>'
        return f"{link if level != 'h1' else ''}</{level}>\n"

    markdown.add_render_rule("heading_close", heading_close)
    return markdown


def _parts(page: Page) -> Iterator[dict[str, str]]:
    """Yield the page and each of its sections for the search index."""
    title, address, words = page.title, page.address, list[str]()
    headings = iter(page.headings)
    for number, token in enumerate(page.tokens):
        if token.type == "heading_open":
            heading = next(headings)
            if heading.level > 1:
                yield {"title": title, "address": address, "text": " ".join(words)}
                title, address, words = (
                    f"{page.title}: {heading.text}",
                    f"{page.address}#{heading.anchor}",
                    [],
                )
        elif token.type == "inline" and page.tokens[number - 1].type != "heading_open":
            words.append("".join(part.content or " " for part in token.children or ()))
        elif token.type == "fence":
            words.append(" ".join(token.content.split()))
    yield {"title": title, "address": address, "text": " ".join(words)}


def _styles() -> str:
    """Return the style sheet with the code colours of both themes."""
    light = HtmlFormatter(style="default").get_style_defs("pre")
    dark = HtmlFormatter(style="github-dark").get_style_defs(':root[data-theme="dark"] pre')
    system = HtmlFormatter(style="github-dark").get_style_defs(':root:not([data-theme="light"]) pre')
    tokens = "\n".join([light, dark, f"@media (prefers-color-scheme: dark) {{\n{system}\n}}"])
    wanted = [line for line in tokens.splitlines() if "linenos" not in line and "line-height" not in line]
    no_ground = re.sub(r"background(?:-color)?: [^;}]+;?", "", "\n".join(wanted))
    return (_SITE / "site.css").read_text(encoding="utf-8") + no_ground + "\n"


def build(target: Path, root: Path = ROOT) -> list[Page]:
    """Write the website, and return its pages."""
    markdown = _renderer()
    listed = {
        name: [read_page(root, source, markdown) for source in paths] for name, paths in sources(root).items()
    }
    pages = [page for section in listed.values() for page in section]
    links = Links(root, pages)
    template = Environment(
        loader=FileSystemLoader(_SITE), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    ).get_template("page.html")
    shutil.rmtree(target, ignore_errors=True)
    for number, page in enumerate(pages):
        for token in page.tokens:
            for part in token.children or ():
                name = {"link_open": "href", "image": "src"}.get(part.type)
                if name is not None:
                    part.attrSet(name, links.resolve(page, str(part.attrGet(name))))
        depth = page.address.count("/")
        written = template.render(
            title=page.title,
            address=page.address,
            root="../" * depth,
            body=Markup(markdown.renderer.render(page.tokens, markdown.options, {})),  # noqa: S704  escaped by the renderer
            sections=[Section(name, some, page in some) for name, some in listed.items()],
            headings=[heading for heading in page.headings if heading.level == 2],
            previous=pages[number - 1] if number else None,
            next=pages[number + 1] if number + 1 < len(pages) else None,
        )
        _write(target / page.address, written)
    for source in links.files:
        place = target / source.removeprefix("docs/")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / source, place)
    _write(target / "site.css", _styles())
    shutil.copyfile(_SITE / "site.js", target / "site.js")
    index = [part for page in pages for part in _parts(page)]
    _write(target / "search.js", f"window.branchlineDocs = {json.dumps(index, ensure_ascii=False)};\n")
    _write(target / "branchline.1", man_page(cli))
    return pages


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", type=Path, nargs="?", default=ROOT / "build" / "docs")
    target = parser.parse_args().target
    pages = build(target)
    sys.stdout.write(f"{len(pages)} pages; open {os.path.relpath(target / 'index.html')}\n")


if __name__ == "__main__":
    main()
