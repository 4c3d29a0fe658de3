"""`make docs` builds a website in which every link leads somewhere and that asks nothing of anywhere."""

from __future__ import annotations

import importlib.util
import json
import posixpath
from html.parser import HTMLParser
from pathlib import Path

import pytest

from support import ROOT


class Links(HTMLParser):
    """The anchors of a page, where its links lead, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.targets: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if values.get("id"):
            self.ids.append(str(values["id"]))
        if tag == "a":
            self.targets.append(str(values["href"]))
        loaded = values.get("src") or (values.get("href") if tag == "link" else None)
        if loaded:
            self.loaded.append(loaded)


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    target = tmp_path_factory.mktemp("site")
    spec = importlib.util.spec_from_file_location("build_docs", ROOT / "scripts" / "build_docs.py")
    build_docs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build_docs)
    build_docs.build(target)
    return target


@pytest.fixture(scope="module")
def pages(site) -> dict[str, Links]:
    found = sorted(site.rglob("*.html"))
    return {page.relative_to(site).as_posix(): Links(page.read_text(encoding="utf-8")) for page in found}


def test_every_page_of_the_documentation_is_in_the_navigation(site, pages):
    written = {path.relative_to(ROOT / "docs").as_posix().lower() for path in (ROOT / "docs").rglob("*.md")}

    for name in sorted(written):
        address = name.removesuffix(".md") + ".html"
        assert address in pages, f"docs/{name} is in no section of NAVIGATION in scripts/build_docs.py"
        assert address in pages["index.html"].targets


def test_every_link_and_anchor_leads_somewhere(site, pages):
    for address, page in pages.items():
        assert len(page.ids) == len(set(page.ids)), f"{address} has an anchor twice"
        for target in [*page.targets, *page.loaded]:
            if target.startswith(("https:", "http:", "mailto:")):
                continue
            path, _, anchor = target.partition("#")
            place = posixpath.normpath(posixpath.join(posixpath.dirname(address), path)) if path else address
            assert (site / place).is_file(), f"{address} links to {target}"
            assert not anchor or anchor in pages[place].ids, f"{address} links to {target}: no such anchor"


def test_nothing_is_loaded_from_elsewhere(site, pages):
    for address, page in pages.items():
        assert not [each for each in page.loaded if ":" in each or each.startswith("//")], address
    for name in ("site.css", "site.js"):
        text = (site / name).read_text(encoding="utf-8")
        assert not [word for word in ("http", "url(", "@import", "fetch(") if word in text]


def test_the_search_finds_sections_by_their_words(site, pages):
    text = (site / "search.js").read_text(encoding="utf-8")
    parts = json.loads(text.removeprefix("window.branchlineDocs = ").rstrip(";\n"))

    found = [part for part in parts if "graft" in part["title"].lower()]

    assert found[0]["address"] == "guides/tree-operations.html#graft-copy-a-turn-elsewhere"
    for part in parts:
        path, _, anchor = part["address"].partition("#")
        assert not anchor or anchor in pages[path].ids


def test_the_manual_page_is_built_with_it(site):
    assert (site / "branchline.1").read_text(encoding="utf-8").startswith(".TH BRANCHLINE 1")
