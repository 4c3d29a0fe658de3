"""The async adapter of a library: same answers, and the event loop keeps ticking."""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys
import time

import pytest

from branchline import SessionLibrary
from branchline.errors import SessionNotFound
from branchline.library import AsyncSessionLibrary
from branchline.stores import FilesStore
from library.kit import clock, empty, fill, talk

VERBS = [
    name
    for name in dir(AsyncSessionLibrary)
    if inspect.iscoroutinefunction(getattr(AsyncSessionLibrary, name))
]


class Slow(FilesStore):
    """A store on a disk that takes its time."""

    def scan(self):
        time.sleep(0.1)
        return super().scan()

    def trashed(self):
        time.sleep(0.1)
        return super().trashed()

    def drafts(self):
        time.sleep(0.1)
        return super().drafts()

    def stat(self, key):
        time.sleep(0.1)
        return super().stat(key)


@pytest.mark.parity("IND-15")
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("list", (True,)),
        ("latest", ()),
        ("find", ("ID",)),
        ("describe", ("ID",)),
        ("forest", ()),
        ("drafts", ()),
        ("open", ("ID",)),
        ("set_title", ("ID", "title")),
        ("rename", ("ID", "new")),
        ("remove", ("ID",)),
        ("trash", ()),
        ("restore", ()),
        ("prune", ()),
    ],
)
def test_the_event_loop_keeps_ticking(place, name, arguments):
    fill(place, 2)
    talk(place, 7).close()
    library = SessionLibrary(Slow(place), clock=clock(9))
    session_id = SessionLibrary(place).list()[0].id
    SessionLibrary(place).remove(SessionLibrary(place).list()[1].id)

    async def act():
        ticks, running = 0, True

        async def tick():
            nonlocal ticks
            while running:
                await asyncio.sleep(0.002)
                ticks += 1

        ticking = asyncio.create_task(tick())
        await asyncio.sleep(0)
        answer = await getattr(AsyncSessionLibrary(library), name)(
            *(session_id if each == "ID" else each for each in arguments)
        )
        running = False
        counted = ticks
        await ticking
        if name == "open":
            answer.close()
        return counted

    assert asyncio.run(act()) >= 5


@pytest.mark.parity("IND-15")
def test_every_verb_that_waits_is_there_with_the_same_signature():
    no_disk = {"everywhere", "for_cwd", "iter_rows", "prior_turns", "stored", "tree"}
    verbs = {
        name
        for name in dir(SessionLibrary)
        if not name.startswith("_") and callable(getattr(SessionLibrary, name))
    }

    assert set(VERBS) == verbs - no_disk
    for name in VERBS:
        waiting, verb = getattr(AsyncSessionLibrary, name), getattr(SessionLibrary, name)
        assert inspect.signature(waiting) == inspect.signature(verb)


def test_the_coroutines_answer_as_the_verbs_do(place):
    library = fill(place, 3)
    waiting = AsyncSessionLibrary(library)
    empty(place, 8).close()

    async def act():
        listing = await waiting.list(deep=True)
        assert listing.rows == library.list(deep=True).rows
        assert await waiting.find(listing[0].id) == library.find(listing[0].id)
        assert await waiting.describe(listing[0].id) == library.describe(listing[0].id)
        assert (await waiting.latest()) == library.latest()
        assert [item.row for item in await waiting.forest()] == [item.row for item in library.forest()]
        assert await waiting.prune() == library.prune()
        assert await waiting.drafts() == []
        session = await waiting.open(listing[1].key)
        assert session.id == listing[1].id
        session.close()
        await waiting.set_title(listing[1].key, "title")
        assert library.find("title").key == listing[1].key
        assert await waiting.rename(listing[1].key, "new") == library.path_of("new")
        assert await waiting.remove("new") is True
        assert [item.key for item in await waiting.trash()] == ["new"]
        assert await waiting.restore() == "new"
        with pytest.raises(SessionNotFound):
            await waiting.find("absent")

    asyncio.run(act())


def test_progress_is_told_from_a_worker_thread(place):
    library = fill(place, 3)
    calls = []

    asyncio.run(AsyncSessionLibrary(library).list(deep=True, progress=lambda *call: calls.append(call[:2])))

    assert calls == [(1, 3), (2, 3), (3, 3)]


def test_who_never_waits_does_not_load_an_event_loop():
    code = (
        "import sys, branchline, branchline.library\n"
        "heavy = {'asyncio', 'click', 'rich', 'platformdirs', 'pytest', 'sqlite3', 'concurrent.futures'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )

    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert found.stdout.strip() == "[]"
