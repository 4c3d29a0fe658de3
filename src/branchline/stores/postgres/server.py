"""Server addresses: the driver's connection string, branchline's own parameters, and a display name."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit, urlunsplit

from branchline.errors import InvalidId

__all__ = ["Server", "parse_address"]

_OWN = frozenset({"tenant", "store", "pooler", "follow"})


class Server(NamedTuple):
    """A database and a store in it."""

    dsn: str
    """The connection string for the driver."""
    name: str
    """The display name: the address without its password."""
    tenant: str = ""
    store: str = "main"
    pooler: bool = False
    """Whether a pooler may use another connection for each transaction."""
    follow: bool = True
    """Whether a follower may listen for notifications; it polls otherwise."""


def _joined(parts: SplitResult) -> str:
    """An address from its parts; without a host it keeps its two slashes, as in ``postgresql:///work``."""
    text = urlunsplit(parts)
    return text if parts.netloc else text.replace(f"{parts.scheme}:", f"{parts.scheme}://", 1)


def parse_address(address: str) -> Server:
    """Parse an address with branchline's ``tenant=``, ``store=``, ``pooler=`` and ``follow=`` parameters.

    Raises InvalidId if it is malformed, ``pooler`` or ``follow`` is invalid, ``tenant`` is empty, or one of
    them is given twice.
    """
    try:
        parts = urlsplit(address)
    except ValueError as problem:
        # Not the address itself, which may hold a password.
        raise InvalidId(f"the address of the PostgreSQL server is malformed: {problem}") from None
    query = parse_qsl(parts.query, keep_blank_values=True)
    given = [pair for pair in query if pair[0] in _OWN]
    own = dict(given)
    if len(own) < len(given) or own.get("tenant") == "":
        # Which one is meant decides whose sessions are read.
        what = "tenant= is empty" if own.get("tenant") == "" else "an option is given twice"
        raise InvalidId(f"the address of the PostgreSQL server is malformed: {what}")
    for name, allowed in (("pooler", ("", "session", "transaction")), ("follow", ("", "listen", "poll"))):
        if own.get(name, "") not in allowed:
            raise InvalidId(
                f"the address of the PostgreSQL server is malformed: {name}={own[name]} is not one of "
                f"{', '.join(allowed[1:])}"
            )
    dsn = _joined(parts._replace(query=urlencode([pair for pair in query if pair[0] not in _OWN])))
    user, at, place = parts.netloc.rpartition("@")
    shown = [(name, value) for name, value in query if name != "password"]
    netloc = f"{user.partition(':')[0]}{at}{place}"
    name = _joined(parts._replace(netloc=netloc, query=urlencode(shown, safe="/"), fragment=""))
    pooler = own.get("pooler") == "transaction"
    return Server(
        dsn=dsn,
        name=name,
        tenant=own.get("tenant", ""),
        store=own.get("store") or "main",
        pooler=pooler,
        follow=own.get("follow") != "poll" and not pooler,
    )
