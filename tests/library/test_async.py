"""The async twins: same answers, and the event loop keeps ticking."""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys
import time

import pytest

from branchline import SessionLibrary
from branchline.errors import SessionNotFound
from branchline.stores import FilesStore
from library.kit import clock, empty, fill, talk

TWINS = [name for name in dir(SessionLibrary) if inspect.iscoroutinefunction(getattr(SessionLibrary, name))]


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
        ("alist", (True,)),
        ("alatest", ()),
        ("afind", ("ID",)),
        ("adescribe", ("ID",)),
        ("aforest", ()),
        ("adrafts", ()),
        ("aopen", ("ID",)),
        ("arename", ("ID", "title")),
        ("arename_file", ("ID", "new")),
        ("aremove", ("ID",)),
        ("atrash", ()),
        ("arestore", ()),
        ("aprune", ()),
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
        answer = await getattr(library, name)(*(session_id if each == "ID" else each for each in arguments))
        running = False
        counted = ticks
        await ticking
        if name == "aopen":
            answer.close()
        return counted

    assert asyncio.run(act()) >= 5


@pytest.mark.parity("IND-15")
def test_every_verb_that_waits_has_a_twin_with_the_same_signature():
    assert (
        sorted(
            [
                "adiscover",
                "alist",
                "alatest",
                "afind",
                "adescribe",
                "aforest",
                "adrafts",
                "aopen",
                "arename",
                "arename_file",
                "aremove",
                "atrash",
                "arestore",
                "aprune",
            ]
        )
        == TWINS
    )
    for name in TWINS:
        twin, verb = getattr(SessionLibrary, name), getattr(SessionLibrary, name[1:])
        assert inspect.signature(twin) == inspect.signature(verb)


def test_the_twins_answer_as_the_verbs_do(place):
    library = fill(place, 3)
    empty(place, 8).close()

    async def act():
        listing = await library.alist(deep=True)
        assert listing.rows == library.list(deep=True).rows
        assert await library.afind(listing[0].id) == library.find(listing[0].id)
        assert await library.adescribe(listing[0].id) == library.describe(listing[0].id)
        assert (await library.alatest()) == library.latest()
        assert [item.row for item in await library.aforest()] == [item.row for item in library.forest()]
        assert await library.aprune() == library.prune()
        assert await library.adrafts() == []
        session = await library.aopen(listing[1].key)
        assert session.id == listing[1].id
        session.close()
        await library.arename(listing[1].key, "title")
        assert library.find("title").key == listing[1].key
        assert await library.arename_file(listing[1].key, "new") == library.path_of("new")
        assert await library.aremove("new") is True
        assert [item.key for item in await library.atrash()] == ["new"]
        assert await library.arestore() == "new"
        with pytest.raises(SessionNotFound):
            await library.afind("absent")

    asyncio.run(act())


def test_progress_is_told_from_a_worker_thread(place):
    library = fill(place, 3)
    calls = []

    asyncio.run(library.alist(deep=True, progress=lambda *call: calls.append(call[:2])))

    assert calls == [(1, 3), (2, 3), (3, 3)]


def test_who_never_waits_does_not_load_an_event_loop():
    code = (
        "import sys, branchline, branchline.library\n"
        "heavy = {'asyncio', 'click', 'rich', 'platformdirs', 'pytest', 'sqlite3', 'concurrent.futures'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )

    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert found.stdout.strip() == "[]"
