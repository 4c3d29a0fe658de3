"""How a browser gets into a viewer: a key that is posted once, and a cookie that only this viewer receives.

A viewer has a random name. Browsers that resolve names below ``localhost`` themselves show it as a host,
``http://NAME.localhost:PORT/``; for all others it is the first part of every path at the loopback address.
Both limit the cookie to this viewer, because browsers send the cookies of a host to all of its ports.

The key is the name and a one-time token. It is typed or clicked as the fragment of the printed address, which
browsers do not send, or read from a private file; in both cases a page posts it. So it is never part of a
command line, which all users of the machine can read, nor of an address in a request or in the history.
"""

from __future__ import annotations

import hmac
import os
import secrets
import shutil
import tempfile
from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment

__all__ = ["EntryFile", "Keys", "entry_page", "entry_policy"]


class Keys:
    """The secrets of one run: the name of the viewer, the one-time token, the cookie, and the CSRF token."""

    def __init__(self) -> None:
        self.name = secrets.token_hex(10)
        self.token: str | None = None
        self.cookie = secrets.token_urlsafe(32)
        self.csrf = secrets.token_urlsafe(32)
        self.renew()

    @property
    def key(self) -> str:
        """What lets one browser in."""
        return f"{self.name}.{self.token}"

    def renew(self) -> None:
        """Replace the one-time token."""
        self.token = secrets.token_urlsafe(32)

    def enter(self, key: str) -> bool:
        """Return whether this is the key, and invalidate it."""
        if self.token is None or not hmac.compare_digest(self.key.encode(), key.encode()):
            return False
        self.token = None
        return True

    def knows_name(self, key: str) -> bool:
        """Return whether a key, possibly a used one, has the name of this viewer."""
        return hmac.compare_digest(self.name.encode(), key.partition(".")[0].encode())


class EntryFile:
    """A page in a private directory that posts the key: other users see its path, but cannot read it."""

    def __init__(self, keys: Keys, port: int) -> None:
        self._directory = tempfile.mkdtemp(prefix="branchline-")  # with mode 0700
        self.path = os.path.join(self._directory, "open.html")
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(entry_page(f"http://127.0.0.1:{port}/enter", keys.key))

    @property
    def address(self) -> str:
        return Path(self.path).as_uri()

    def delete(self) -> None:
        """Remove the file and its directory."""
        shutil.rmtree(self._directory, ignore_errors=True)


def entry_page(action: str = "/enter", key: str = "") -> str:
    """Return the page that posts a key; without one it takes the fragment of its own address."""
    source = (files("branchline.web") / "templates" / "enter.html").read_text(encoding="utf-8")
    return Environment(autoescape=True).from_string(source).render(action=action, key=key, script=_script())


def entry_policy(port: int) -> str:
    """Return the content security policy of the page that posts the key."""
    digest = b64encode(sha256(_script().encode()).digest()).decode()
    own = "http://*.localhost" if port == 80 else f"http://*.localhost:{port}"
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; connect-src {own}; form-action 'self' {own}; "
        "base-uri 'none'; frame-ancestors 'none'"
    )


@cache
def _script() -> str:
    return (files("branchline.web") / "static" / "enter.js").read_text(encoding="utf-8")
