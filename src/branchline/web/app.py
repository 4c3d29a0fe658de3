"""The ASGI application: routes and handlers. ``guard`` checks every request before it arrives here."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, nullcontext
from datetime import date
from functools import partial
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Route

from branchline.actions.page_assets import static_files
from branchline.entries import json_codec
from branchline.errors import BranchlineError, SecretsLeft, SessionNotFound
from branchline.library import SessionLibrary
from branchline.tree import ROOT
from branchline.views.text import safe
from branchline.web.changes import CHANGES
from branchline.web.entry import Keys
from branchline.web.guard import Guard
from branchline.web.live import follow
from branchline.web.pages import WEEKS, Pages, compare_page, session_page, shown_name, statistics_page
from branchline.web.session_table import TableRequest, session_fields, session_table
from branchline.web.single_page import PageRequest, findings, single_page
from branchline.web.viewed import StartIndex, ViewedLibrary, ViewedSession

__all__ = ["create_app"]

T = TypeVar("T")
_SECONDS = 30.0
_PAGE_SECONDS = 120.0
_HEADINGS = {404: "Not found", 405: "Not allowed", 503: "Out of time"}
_TYPES = {"js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"}


class _Viewer:
    """The handlers and their shared state."""

    def __init__(self, viewed: ViewedLibrary, keys: Keys, *, writable: bool) -> None:
        self.viewed = viewed
        self.pages = Pages(csrf=keys.csrf, writable=writable)
        self.writable = writable
        self.stop = asyncio.Event()
        self._working: dict[tuple[object, bytes], asyncio.Future[Any]] = {}
        """What is being worked on, by the path and the query of the request."""
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        """The locks of sessions that requests are waiting for."""
        self._static = {**static_files("branchline.views.html"), **static_files("branchline.web")}

    async def work(
        self,
        request: Request,
        call: Callable[..., T],
        *arguments: Any,
        session: str = "",
        seconds: float | None = None,
        **options: Any,
    ) -> T:
        """Run a blocking call in a thread with a timeout; errors become HTTP errors with their message.

        Work goes on after a timeout, and the same request, made again, waits for it. Requests for a session
        take turns, without a thread for each that waits.
        """
        scope = request.scope
        asked = (scope["path"], scope["query_string"]) if request.method == "GET" else (object(), b"")
        task = self._working.get(asked)
        if task is None:

            async def begin() -> T:
                async with self._turns.setdefault(session, asyncio.Lock()) if session else nullcontext():
                    return await run_in_threadpool(call, *arguments, **options)

            task = self._working[asked] = asyncio.ensure_future(begin())
            task.add_done_callback(lambda _done: self._working.pop(asked))
        seconds = _SECONDS if seconds is None else seconds
        done, _waiting = await asyncio.wait({task}, timeout=seconds)
        if not done:
            raise HTTPException(503, f"this takes longer than {seconds:.0f} seconds; try again later")
        try:
            result: T = task.result()
        except SessionNotFound as problem:
            raise HTTPException(404, str(problem)) from None
        except (BranchlineError, OSError, ValueError) as problem:
            raise HTTPException(422, str(problem)) from None
        return result

    # -- pages ----------------------------------------------------------------------------------------

    def html(self, request: Request, name: str, status: int = 200, **values: Any) -> Response:
        """Return a page; its links begin with the path at which this viewer is found."""
        return HTMLResponse(self.pages.render(name, base=request.scope["root_path"], **values), status)

    async def sessions(self, request: Request) -> Response:
        return self.html(request, "sessions")

    async def transcript(self, request: Request) -> Response:
        row = await self.work(request, self.viewed.row, request.path_params["id"])
        fields = session_fields(self.viewed, row)
        body = session_page(row, request.scope["root_path"], fields["id"], writable=self.writable)
        return self.html(request, "session", session=fields, tags=row.tags, body=body)

    async def statistics(self, request: Request) -> Response:
        weeks = _number(request, "weeks", 0)
        if weeks not in (0, *WEEKS):
            raise HTTPException(400, f"weeks is one of {', '.join(map(str, WEEKS))}")
        today = date.today()  # noqa: DTZ011  in the user's time zone
        values = await self.work(request, statistics_page, self.viewed, weeks=weeks, today=today)
        return self.html(request, "statistics", choices=WEEKS, **values)

    async def compare(self, request: Request) -> Response:
        left, right = (request.query_params.get(name, "") for name in ("left", "right"))
        values = await self.work(request, self._compared, left, right)
        return self.html(request, "compare", **values)

    def _compared(self, left: str, right: str) -> dict[str, Any]:
        (one, one_entry), (other, other_entry) = (text.partition(":")[::2] for text in (left, right))
        with self._both(one, other) as (first, second):
            values = compare_page(first, _position(first, one_entry), second, _position(second, other_entry))
        row = self.viewed.row(one)
        return {**values, "session": session_fields(self.viewed, row)}

    @contextmanager
    def _both(self, one: str, other: str) -> Iterator[tuple[ViewedSession, ViewedSession]]:
        with ExitStack() as held:
            opened = {name: held.enter_context(self.viewed.using(name)) for name in sorted({one, other})}
            yield opened[one], opened[other]

    async def static(self, request: Request) -> Response:
        name = request.path_params["name"]
        found, kind = self._static.get(name), _TYPES.get(name.rpartition(".")[2])
        if found is None or kind is None:
            raise HTTPException(404, "no such file")
        return Response(found, media_type=kind)

    # -- data -----------------------------------------------------------------------------------------

    async def table(self, request: Request) -> Response:
        given = request.query_params
        asked = TableRequest(
            words=given.get("q", "")[:500],
            agent=given.get("agent", ""),
            project=given.get("project", ""),
            days=_number(request, "days", 0),
            shape=given.get("shape", ""),
            sort=given.get("sort", "age"),
            reverse=given.get("reverse") == "1",
            offset=_number(request, "offset", 0),
            limit=min(_number(request, "limit", 100), 500),
        )
        return _json(await self.work(request, session_table, self.viewed, asked))

    def skeleton(self, session: ViewedSession, request: Request) -> dict[str, Any]:
        session.refresh()
        start = _number(request, "start", 0)
        return {
            "generation": session.generation,
            "offset": session.offset,
            "skeleton": session.skeleton(start),
        }

    def pieces(self, session: ViewedSession, request: Request) -> dict[str, Any]:
        text = request.query_params.get("at", "")
        try:
            positions = [int(item) for item in text.split(",") if item]
        except ValueError:
            raise HTTPException(400, "at: positions of entries, separated by commas") from None
        try:
            pieces = session.pieces(positions)
        except (ValueError, IndexError) as problem:
            raise HTTPException(400, f"at: {problem}") from None
        return {"generation": session.generation, "pieces": [str(piece) for piece in pieces]}

    def found(self, session: ViewedSession, request: Request) -> dict[str, Any]:
        return {"found": session.find(request.query_params.get("q", "")[:500])}

    async def events(self, request: Request) -> Response:
        known: dict[str, int] = {}
        for one in request.query_params.get("of", "").split(","):
            id, _, offset = one.partition(":")  # noqa: A001
            if not id or not offset.isdecimal() or len(offset) > 18:
                raise HTTPException(400, "of: sessions with the number of bytes known, as ID:BYTES,ID:BYTES")
            known[id] = int(offset)
        return StreamingResponse(follow(self.viewed, known, self.stop), media_type="text/event-stream")

    async def share(self, request: Request) -> Response:
        row = await self.work(request, self.viewed.row, request.path_params["id"])
        fields = session_fields(self.viewed, row)
        return self.html(request, "share", session=fields, called=shown_name(row))

    async def findings(self, request: Request) -> Response:
        asked = await _decoded(request, PageRequest)
        return await self.ask(request, lambda session, _: findings(session, asked))

    async def page(self, request: Request) -> Response:
        asked = await _decoded(request, PageRequest)

        def made() -> bytes | SecretsLeft:
            with self.viewed.using(request.path_params["id"]) as session:
                try:
                    return single_page(session, asked)
                except SecretsLeft as problem:
                    return problem

        data = await self.work(request, made, session=request.path_params["id"], seconds=_PAGE_SECONDS)
        if isinstance(data, SecretsLeft):
            # The page offers them beside the other findings.
            sentence = safe(self.viewed.sentence(str(data)))
            found = [msgspec.to_builtins(one) for one in data.findings]
            return _json({"problem": sentence, "findings": found}, 422)
        return Response(
            data, media_type="application/octet-stream", headers={"content-disposition": "attachment"}
        )

    async def change(self, request: Request) -> Response:
        if not self.writable:
            raise HTTPException(403, "this viewer only reads; `branchline web --write` allows changes")
        change = CHANGES.get(request.path_params["change"])
        if change is None:
            raise HTTPException(404, f"unknown change; known: {', '.join(CHANGES)}")
        given = await _decoded(request, change.body)
        id = request.path_params["id"]  # noqa: A001

        def make() -> dict[str, Any]:
            with self.viewed.using(id) as session:
                return change.make(session, given)

        answer = await self.work(request, make, session=id)
        rows = await self.work(request, self.viewed.rows, fresh=True)
        if file := answer.get("file"):
            answer["page"] = next((self.viewed.id_of(row) for row in rows if row.path == file), None)
        return _json(answer)

    async def ask(self, request: Request, answer: Callable[[ViewedSession, Request], Any]) -> Response:
        """Return what ``answer`` says about a session, as JSON."""

        def ask() -> Response:
            with self.viewed.using(request.path_params["id"]) as session:
                return _json(answer(session, request))

        return await self.work(request, ask, session=request.path_params["id"])


def create_app(
    library: SessionLibrary,
    keys: Keys,
    *,
    port: int,
    writable: bool = False,
    index: StartIndex | None = None,
) -> Guard:
    """Create the viewer of a library, for a server on this port of the loopback address.

    ``index`` starts a process that updates the index of the library.
    """
    viewer = _Viewer(ViewedLibrary(library, index), keys, writable=writable)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> Any:
        yield
        viewer.stop.set()
        await run_in_threadpool(viewer.viewed.close)

    app = Starlette(
        routes=[
            Route("/", viewer.sessions),
            Route("/statistics", viewer.statistics),
            Route("/compare", viewer.compare),
            Route("/s/{id}", viewer.transcript),
            Route("/static/{name}", viewer.static),
            Route("/api/sessions", viewer.table),
            Route("/api/s/{id}/skeleton", partial(viewer.ask, answer=viewer.skeleton)),
            Route("/api/s/{id}/pieces", partial(viewer.ask, answer=viewer.pieces)),
            Route("/api/s/{id}/find", partial(viewer.ask, answer=viewer.found)),
            Route("/api/events", viewer.events),
            Route("/s/{id}/share", viewer.share),
            Route("/api/s/{id}/findings", viewer.findings, methods=["POST"]),
            Route("/api/s/{id}/page", viewer.page, methods=["POST"]),
            Route("/api/s/{id}/{change}", viewer.change, methods=["POST"]),
        ],
        exception_handlers={Exception: _failed, HTTPException: _refused},
        lifespan=lifespan,
    )
    app.state.viewer = viewer
    return Guard(app, keys=keys, port=port)


async def _decoded(request: Request, type_: type[T]) -> T:
    try:
        return msgspec.convert(msgspec.json.decode(await request.body()), type_)
    except msgspec.ValidationError as problem:
        raise HTTPException(422, f"the request cannot be used: {problem}") from None
    except RecursionError:
        raise HTTPException(400, "the request is nested too deeply") from None
    except msgspec.DecodeError as problem:
        raise HTTPException(400, f"the request cannot be read: {problem}") from None


def _json(value: Any, status: int = 200) -> Response:
    return Response(json_codec.dumps(value, surrogates="replace"), status, media_type="application/json")


def _wants_page(request: Request) -> bool:
    path = request.url.path.removeprefix(request.scope["root_path"])
    return not path.startswith("/api/") and "text/html" in request.headers.get("accept", "text/html")


async def _refused(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, HTTPException)
    viewer: _Viewer = request.app.state.viewer
    sentence = safe(viewer.viewed.sentence(problem.detail))
    if not _wants_page(request):
        return _json({"problem": sentence}, problem.status_code)
    heading = _HEADINGS.get(problem.status_code, "This cannot be shown")
    return viewer.html(request, "problem", problem.status_code, heading=heading, sentence=sentence)


async def _failed(request: Request, problem: Exception) -> Response:
    if isinstance(problem, ClientDisconnect):
        return Response(status_code=413)
    return await _refused(request, HTTPException(500, f"the viewer failed: {type(problem).__name__}"))


def _number(request: Request, name: str, default: int) -> int:
    text = request.query_params.get(name)
    if text is None:
        return default
    if not text.isdecimal() or len(text) > 12:
        raise HTTPException(400, f"{name}: a number that is not negative")
    return int(text)


def _position(session: ViewedSession, entry: str) -> int:
    index = session.session.index
    if not entry:
        leaf = session.session.leaf
        return ROOT if leaf is None else index.position(leaf)
    position = index.position(entry)
    newest = index.newest_below(position)
    return position if newest == ROOT else newest
