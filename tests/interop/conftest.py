"""The real programs as fixtures; a test that needs one is skipped, with the reason, where it cannot be had."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from interop import peers


def _or_skip(provide: Callable[[], peers.Peer]) -> peers.Peer:
    try:
        return provide()
    except peers.PeerMissing as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="session", params=[peers.pi_073, peers.pi_150], ids=["pi-0.73.1", "pi-1.5.0"])
def pi(request: pytest.FixtureRequest) -> peers.Peer:
    """Both versions, one after the other."""
    return _or_skip(request.param)


@pytest.fixture(scope="session")
def newest_pi() -> peers.Peer:
    return _or_skip(peers.pi_150)


@pytest.fixture(scope="session")
def oh_my_pi() -> peers.Peer:
    return _or_skip(peers.oh_my_pi)


@pytest.fixture
def zot() -> Iterator[peers.GoPeer]:
    """A zot process of its own for every test: it holds the session that it created."""
    yield from _process(peers.zot)


@pytest.fixture(scope="session")
def piglet() -> Iterator[peers.GoPeer]:
    yield from _process(peers.piglet)


def _process(provide: Callable[[], peers.GoPeer]) -> Iterator[peers.GoPeer]:
    try:
        process = provide()
    except peers.PeerMissing as missing:
        pytest.skip(str(missing))
    with process:
        yield process
