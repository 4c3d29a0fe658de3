"""A real Chromium for the page tests: started once, offline, with all errors and requests recorded."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@dataclass
class Page:
    """A page, and what happened on it."""

    page: Any
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    finished: list[str] = field(default_factory=list)
    """The requests that were not blocked."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.page, name)

    def wait(self, expression: str, seconds: float = 10) -> Any:
        """The value of an expression once it is true, on this page or on the next one.

        The page's policy forbids waiting by evaluation in it.
        """
        for _ in range(int(seconds * 50)):
            try:
                # The page that is waited for may not have a document yet.
                if value := self.page.evaluate(f"document.documentElement && ({expression})"):
                    return value
            except Exception as problem:
                if "context was destroyed" not in str(problem):  # by the navigation that is waited for
                    raise
            self.page.wait_for_timeout(20)
        raise AssertionError(f"never true: {expression}")

    def nodes(self) -> int:
        return int(self.page.evaluate("document.querySelectorAll('*').length"))


class Browser:
    """Opens pages in contexts of their own."""

    def __init__(self, chromium: Any) -> None:
        self.chromium = chromium

    @contextmanager
    def open(self, address: str | Path, *, ready: bool = True, **options: Any) -> Iterator[Page]:
        context = self.chromium.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
        page = Page(context.new_page())
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        page.on("console", lambda said: page.errors.append(said.text) if said.type == "error" else None)
        page.on("request", lambda request: page.requests.append(request.url))
        page.on("requestfinished", lambda request: page.finished.append(request.url))
        try:
            page.goto(address.as_uri() if isinstance(address, Path) else address)
            if ready:
                page.wait_for_selector("html[data-ready]")
            yield page
        finally:
            context.close()

    @contextmanager
    def another(self, *arguments: str) -> Iterator[Browser]:
        """Another process of the same browser, with more arguments."""
        started = self.chromium.browser_type.launch(
            executable_path=executable(), args=[*ARGUMENTS, *arguments]
        )
        try:
            yield Browser(started)
        finally:
            started.close()


def executable() -> str | None:
    return os.environ.get("BRANCHLINE_CHROMIUM") or shutil.which("chromium")


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser of this machine; the test is skipped, with the reason, where there is none."""
    path = executable()
    if path is None:
        pytest.skip("chromium is not installed on this machine")
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        try:
            yield Browser(browser)
        finally:
            browser.close()
