"""The HTTP interface of a service; bodies are JSON, except for model files, metrics and the page."""

from __future__ import annotations

import asyncio
import gzip
import hmac
import os
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Hashable, Iterator, Mapping
from contextlib import suppress
from functools import cache, partial
from http import HTTPStatus
from importlib import resources
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias, TypeVar

import msgspec
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.convertors import PathConvertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from coterie import __version__
from coterie.types import Json

from . import events
from .access import require_same_site
from .engine import Metrics
from .events import Kind, PredictResponse, Record, to_json
from .live_comparison import LISTED
from .service import PURGE, Service, SnapshotCost, resolve
from .service_errors import ServiceError, in_one_line

BUCKETS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1.0)
#: Statuses that mean that the same request may be taken later, and seconds after which a client may ask again.
LATER, RETRY = (429, 503), "1"
#: Up to this many records are predicted, or chosen for, by the event loop itself, which is faster than another thread.
AT_ONCE, CHOSEN_AT_ONCE = 64, 8
ALARMS = ("error", "silence", "snapshot", "folder")
#: Seconds within which a body has to come.
BODY_SECONDS = 30
#: Bytes of a file that are sent at once.
PIECE = 2**18
PAGE_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

Handler: TypeAlias = "Callable[[App, Request], Awaitable[Response]]"
T = TypeVar("T")
Decode = Callable[[bytes | bytearray], list[Record]]
#: A record of each kind of request.
_FORMS: dict[Decode, str] = {
    events.decode_records: '"id": …, "task": …, "x": {…}, "y": …',
    events.decode_offers: '"id": …, "task": …, "x": {…}, "actions": […]',
    events.decode_rewards: '"id": …, "reward": …',
}


class Replies:
    """Transfers results from the writer thread to the event loop. The loop is woken up once for each journal frame."""

    def __init__(self, loop: asyncio.AbstractEventLoop | None) -> None:
        self.loop = loop
        self._ready: deque[tuple[asyncio.Future[Any], object]] = deque()

    def send(self, waiter: asyncio.Future[Any], outcome: object) -> None:
        """Set the result ``outcome`` of the future ``waiter`` in the event loop."""
        self._ready.append((waiter, outcome))
        if len(self._ready) == 1 and self.loop is not None:
            with suppress(RuntimeError):  # the loop has ended, and nobody waits
                self.loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        while self._ready:
            waiter, outcome = self._ready.popleft()
            if not waiter.done():  # a server that ends waits no longer
                resolve(waiter, outcome)


def json_response(value: object, status: int = 200) -> Response:
    """Return a JSON response."""
    headers = {"Retry-After": RETRY} if status in LATER else None
    return Response(to_json(value), status, headers, "application/json")


class Measurements(Collector):
    """Metrics for Prometheus, without labels per task."""

    def __init__(self, service: Service) -> None:
        self.registry, self._service = CollectorRegistry(), service
        counter, histogram = partial(Counter, registry=self.registry), partial(Histogram, registry=self.registry)
        self.records = counter("coterie_records", "Records of answered requests", ["verb"])
        self.seconds = histogram("coterie_request_seconds", "Seconds to answer a request", ["verb"], buckets=BUCKETS)
        self.duplicates = counter("coterie_duplicates", "Repeated labels, whose id was learned before")
        self.unknown = counter("coterie_unknown_ids", "Labels with an id that no waiting record has")
        self.unknown_features = counter(
            "coterie_unknown_features", "Features of predicted records that no learned record had"
        )
        self.refused = counter("coterie_refused", "Refused requests, except for /readyz", ["status"])
        commit = histogram("coterie_commit_seconds", "Seconds to write and learn a frame", buckets=BUCKETS)
        frame = histogram("coterie_commit_records", "Records of a frame", buckets=(1, 4, 16, 64, 256, 1024, 4096))

        def observe_commit(seconds: float, records: int) -> None:
            commit.observe(seconds)
            frame.observe(records)

        service.on_commit = observe_commit
        self.registry.register(self)

    def collect(self) -> Iterator[Metric]:
        """Yield the current values of all metrics."""
        service, engine, alarms = self._service, self._service.engine, self._service.alarms()
        cost = service.snapshot_cost or SnapshotCost()
        values: Metrics = {
            "queue_depth": ("Records that wait to be written", "", service.depth),
            "waiting_labels": ("Records that wait for labels, or choices for rewards", "", len(engine.waiting)),
            "journal_offset": ("Offset of the end of the journal", "", service.journal.end),
            "snapshot_offset": ("Offset of the last snapshot, -1 before the first", "", service.snapshot_offset),
            "snapshot_bytes": ("Bytes of the last snapshot since the start", "", cost.size),
            "snapshot_seconds": ("Seconds of the last snapshot", "", cost.seconds),
            "snapshot_blocked_seconds": ("Seconds of this in which requests waited", "", cost.blocked),
            "tasks": ("Tasks that the model knows", "", len(engine.tasks)),
            "expired": ("Records whose label did not come in time", "", engine.expired),
            "features": ("Names of features in the records learned", "", len(engine.features.seen)),
            "features_stopped": (
                "Features that the last 1,000 learned records lack",
                "",
                len(engine.watch_features()["stopped"]),
            ),
            "alarm": ("1 for an alarm that is raised, else 0", "alarm", {name: name in alarms for name in ALARMS}),
        }
        values |= engine.metrics()
        for name, (text, label, value) in values.items():
            family = GaugeMetricFamily(f"coterie_{name}", text, labels=[label] if label else None)
            for key, number in value.items() if isinstance(value, Mapping) else [("", value)]:
                family.add_metric([key] if label else [], float(number))
            yield family


class App:
    """The request handlers of a service; :func:`make_app` makes the ASGI application.

    Parameters
    ----------
    service : Service
        The service that answers.
    token : str, optional
        The secret of all requests (``Authorization: Bearer …``), except those for health and the page.
    max_body, max_records : int
        The maximum length of a body, and of records in one request.
    hosts : collection of str
        Further allowed values of ``Host`` for a service without a token, in addition to local names and addresses.
    """

    def __init__(
        self,
        service: Service,
        token: str | None = None,
        max_body: int = 2**23,
        max_records: int = 4096,
        hosts: Collection[str] = (),
    ) -> None:
        self.service, self.metrics = service, Measurements(service)
        self._verdicts: dict[str | None, tuple[float, Json]] = {}
        self._token = None if token is None else token.encode()
        self._max_body, self._max_records, self._hosts = max_body, max_records, hosts
        self._replies = Replies(None)
        self.unknown: dict[str, int] = {}
        self.compiling = False

    # -- requests

    async def answer(self, handlers: Mapping[str, Handler], is_open: bool, request: Request) -> Response:
        """Call the handler of a request after checking its token; raise HTTPException if it is refused."""
        self._authorize(request, is_open)
        try:
            response = await handlers[request.method.replace("HEAD", "GET")](self, request)
        except ServiceError as error:
            raise HTTPException(error.status, in_one_line(error)) from None
        except ClientDisconnect:
            raise HTTPException(400, "the body is incomplete") from None
        except asyncio.CancelledError:  # the server ends and waits no longer
            raise HTTPException(503, "the service stopped before it could answer; send the request again") from None
        return response

    def _authorize(self, request: Request, is_open: bool) -> None:
        if self._token is None:
            require_same_site(request.headers, self._hosts)
        elif not is_open:
            scheme, _, token = request.headers.get("authorization", "").partition(" ")
            if scheme.lower() != "bearer" or not hmac.compare_digest(token.encode(), self._token):
                raise HTTPException(401, "the token is missing or wrong; send Authorization: Bearer TOKEN")

    async def refuse(self, request: Request, error: Any) -> Response:
        """Count a rejected request, and return the response to it."""
        path, message = request.url.path, error.detail
        if message == HTTPStatus(error.status_code).phrase:  # there is no such path or method
            message = f"{request.method} {path}: {message}"
        if path != "/readyz":  # load balancers poll it
            self.metrics.refused.labels(error.status_code).inc()
        response = json_response({"error": message}, error.status_code)
        response.headers.update(error.headers or {})
        return response

    async def _records(self, request: Request, decode: Decode) -> list[Record]:
        try:
            async with asyncio.timeout(BODY_SECONDS):
                body = await self._body(request)
        except TimeoutError:
            raise HTTPException(408, f"the body was not complete within {BODY_SECONDS} seconds") from None
        try:
            records = decode(body)
        except msgspec.ValidationError as error:
            form = f'{{"records": [{{{_FORMS[decode]}}}, …]}}'
            raise HTTPException(422, f"{error}; expected {form}") from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            hint = "; JSON has no NaN: send null" if b"NaN" in body else ""
            raise HTTPException(400, f"the body is not JSON: {error}{hint}") from None
        if len(records) > self._max_records:
            raise HTTPException(
                413, f"{len(records)} records are too many; at most {self._max_records} are allowed in one request"
            )
        return records

    async def _body(self, request: Request) -> bytes:
        """Read the body of a request."""
        coding, body = request.headers.get("content-encoding", "identity").lower(), bytearray()
        if coding != "identity":
            raise HTTPException(415, f"Content-Encoding {coding!r} is not supported; send the body as it is")
        too_long = HTTPException(413, f"the body is longer than {self._max_body} bytes")
        if int(request.headers.get("content-length", 0)) > self._max_body:  # it need not come to be refused
            raise too_long
        async for piece in request.stream():
            body += piece
            if len(body) > self._max_body:
                raise too_long
        return bytes(body)

    # -- predicting and learning

    async def predict(self, request: Request) -> Response:
        """Handle /predict: predict records; those with an id wait for their labels."""
        began = time.perf_counter()
        records = await self._records(request, events.decode_records)
        predictions = await self._at_once(len(records) <= AT_ONCE, partial(self.service.predict, records))
        self._note_unknown(records)
        self._count("predict", len(records), began)
        return json_response(PredictResponse(predictions, self.service.engine.offset))

    async def observe(self, request: Request) -> Response:
        """Handle /observe: learn labels; status 200 means that they are on disk and learned."""
        outcome = await self._learn(request, "observe", "observed", events.decode_records)
        self.metrics.duplicates.inc(outcome.duplicate)
        self.metrics.unknown.inc(len(outcome.unknown))
        return json_response(outcome)

    async def choose(self, request: Request) -> Response:
        """Handle /choose: choose actions, which wait for their rewards; status 200 means that they are on disk."""
        return json_response(await self._learn(request, "choose", "chosen", events.decode_offers))

    async def reward(self, request: Request) -> Response:
        """Handle /reward: learn rewards of choices; status 200 means that they are on disk and learned."""
        return json_response(await self._learn(request, "reward", "rewarded", events.decode_rewards))

    async def _learn(self, request: Request, verb: str, kind: Kind, decode: Decode) -> Any:
        """Submit the records of a request as an event of this kind; return the response once they are on disk.

        ``verb`` names the request in metrics, ``kind`` the event in the journal.
        """
        began = time.perf_counter()
        records = await self._records(request, decode)
        outcome = await self._submit(kind, records)
        if verb == "choose":
            self._note_unknown(records)
        self._count(verb, len(records), began)
        return outcome

    async def _submit(self, kind: Kind, records: list[Record]) -> Any:
        """Submit records as an event of this kind; return its result once it is on disk."""
        loop = asyncio.get_running_loop()
        if self._replies.loop is not loop:
            self._replies = Replies(loop)
        waiter = loop.create_future()
        submit = partial(self.service.submit_to, partial(self._replies.send, waiter), kind, records)
        if kind == "chosen":
            await self._at_once(len(records) <= CHOSEN_AT_ONCE, submit)
        else:
            submit()
        return await waiter

    async def _at_once(self, is_small: bool, work: Callable[[], T]) -> T:
        """Call ``work``: in the event loop if it is quick and the model is not locked, else in a thread."""
        lock = self.service.engine.model_lock
        if is_small and lock.acquire(blocking=False):
            try:
                return work()
            finally:
                lock.release()
        return await asyncio.to_thread(work)

    def _note_unknown(self, records: list[Record]) -> None:
        """Count the features of records that no learned record had, and store their names."""
        for record in records:
            for name in self.service.engine.features.unknown(record.x or {}):
                self.metrics.unknown_features.inc()
                self.unknown[name] = self.unknown.pop(name, 0) + 1
                if len(self.unknown) > LISTED:
                    del self.unknown[next(iter(self.unknown))]

    def _count(self, verb: str, records: int, began: float) -> None:
        self.metrics.records.labels(verb).inc(records)
        self.metrics.seconds.labels(verb).observe(time.perf_counter() - began)

    def compile(self) -> None:
        """Compile the functions that requests need, in a thread; the service is ready afterwards."""
        self.compiling = True

        def work() -> None:
            with suppress(ValueError, TypeError):  # raised by a model with a fixed set of tasks or features
                self.service.engine.compile()
            self.compiling = False

        threading.Thread(target=work, name="coterie-compile", daemon=True).start()

    # -- tasks

    async def tasks(self, request: Request) -> Response:
        """Handle /tasks: list known tasks in order of first appearance, by page; `contains` filters by name."""
        first, most = _read_whole(request, "first", 0), min(_read_whole(request, "most", 1000), 10_000)
        known, text = self.service.engine.tasks, request.query_params.get("contains", "").lower()

        def select() -> list[Hashable]:
            named = [task for task in list(known) if text in str(task).lower()] if text else known
            return list(named[first : first + most])

        return json_response({"tasks": await asyncio.to_thread(select), "known": len(known)})

    async def task(self, request: Request) -> Response:
        """Handle /tasks/TASK: records, errors, largest own weights, and nearest tasks."""
        task = await asyncio.to_thread(self._find_task, request)
        return json_response(await asyncio.to_thread(self.service.engine.about, task))

    def _find_task(self, request: Request) -> events.Scalar:
        """Return the task in a request's path, which is plain text, or JSON for other types."""
        task: events.Scalar | None = request.path_params.get("task")
        if task is None:
            text = request.query_params.get("json", "")
            try:
                task = msgspec.json.decode(text, type=events.Scalar)
            except (msgspec.DecodeError, UnicodeEncodeError):
                raise HTTPException(
                    422, f"json must be text, a number or a truth value in JSON, got {text[:40]!r}"
                ) from None
        if self.service.engine.has_task(task):
            return task
        hint = "; for a number or a truth value: /task?json=…" if "task" in request.path_params else ""
        raise HTTPException(404, f"task {task!r} is unknown{hint}")

    async def forget(self, request: Request) -> Response:
        """Handle DELETE /tasks/TASK: forget a task."""
        task = await asyncio.to_thread(self._find_task, request)
        outcome = await self._submit("forgotten", [Record(task=task)])
        gone = f"until a snapshot at this offset or later, which is begun within {PURGE:.0f} seconds"
        return json_response({"forgotten": task, "offset": outcome.offset, "on_disk": gone})

    # -- the page

    async def verdict(self, request: Request) -> Response:
        """Handle /verdict: the verdict on multitask learning."""
        against = request.query_params.get("against")
        try:
            return json_response(await asyncio.to_thread(self._verdict, against))
        except ValueError as error:
            raise HTTPException(422, in_one_line(error)) from None

    def _verdict(self, against: str | None) -> Json:
        """Return the verdict against a baseline. If it is slow to compute, it is cached for some time."""
        until, report = self._verdicts.get(against, (0.0, {}))
        began, engine = time.monotonic(), self.service.engine
        if began < until:
            return report
        report = engine.report(against)
        took = time.monotonic() - began
        self._verdicts[against] = (began + took + max(1.0, 20 * took), report)
        return report

    async def state(self, request: Request) -> Response:
        """Handle /state: the numbers of tasks and waiting records, journal offsets, alarms and features."""
        return json_response(await asyncio.to_thread(self._state))

    def _state(self) -> Json:
        service, engine = self.service, self.service.engine
        return {
            "tasks": len(engine.tasks),
            "waiting": len(engine.waiting),
            "queue": service.depth,
            "offset": engine.offset,
            "snapshot": service.snapshot_offset,
            "snapshot_cost": service.snapshot_cost and service.snapshot_cost._asdict(),
            "at": engine.at,
            "alarms": service.alarms(),
            "features": {"known": len(engine.features.seen), "unknown": self.unknown}
            | {kind: names[:LISTED] for kind, names in engine.watch_features().items()},
            "version": __version__,
        }

    async def page(self, request: Request) -> Response:
        """Return the live HTML page."""
        return _asset(request, "page.html", "text/html", PAGE_HEADERS)

    async def asset(self, request: Request) -> Response:
        """Return a static file of the page."""
        name = request.path_params["name"]
        if name not in assets():
            raise HTTPException(404, f"there is no {name!r}")
        kind = "text/css" if name.endswith(".css") else "text/javascript"
        return _asset(request, name, kind, {"Cache-Control": "max-age=3600", "Vary": "Accept-Encoding"})

    # -- files

    async def snapshot(self, request: Request) -> Response:
        """Handle /snapshot: write a snapshot now."""
        try:
            return json_response({"offset": await asyncio.to_thread(self.service.snapshot)})
        except ServiceError:
            raise
        except Exception as error:  # of any type; the alarm has it, too
            raise HTTPException(503, f"the snapshot could not be written: {in_one_line(error)}") from None

    async def model(self, request: Request) -> Response:
        """Handle /model: return the newest snapshot file."""
        file = await asyncio.to_thread(self._open_snapshot)
        headers = {
            "Content-Disposition": f'attachment; filename="{Path(file.name).name}"',
            "Content-Length": str(os.fstat(file.fileno()).st_size),
        }
        pieces = iter(partial(file.read, PIECE), b"")
        return StreamingResponse(pieces, 200, headers, "application/octet-stream", BackgroundTask(file.close))

    def _open_snapshot(self) -> BinaryIO:
        while snapshots := self.service.snapshots():
            with suppress(FileNotFoundError):  # a newer one has replaced it
                return snapshots[-1].open("rb")
        raise HTTPException(404, "there is no snapshot yet; POST /snapshot writes one")

    # -- the process

    async def prometheus(self, request: Request) -> Response:
        """Handle /metrics: return the metrics for Prometheus."""
        text = await asyncio.to_thread(generate_latest, self.metrics.registry)
        return Response(text, media_type="text/plain; version=0.0.4")

    async def health(self, request: Request) -> Response:
        """Handle /health: check that the process responds and its folder exists."""
        self.service.require_folder()
        return json_response({"status": "ok", "version": __version__})

    async def ready(self, request: Request) -> Response:
        """Handle /ready: check that the journal was replayed and accepts writes, and that code is compiled."""
        self.service.require_folder()
        if self.service.failure is not None:
            raise HTTPException(503, f"the service failed: {self.service.failure}")
        if self.compiling:
            raise HTTPException(503, "code is being compiled; requests wait until it is ready")
        offset = self.service.engine.offset
        return json_response({"status": "ready", "offset": offset, "replayed": self.service.replayed})


@cache
def assets() -> dict[str, tuple[bytes, bytes]]:
    """Return the page and its static files by name, uncompressed and compressed with gzip."""
    from plotly.offline import get_plotlyjs

    own = {name: resources.files("coterie.server").joinpath(name).read_bytes() for name in ("page.html", "live.js")}
    style = resources.files("coterie.evaluation.report").joinpath("style.css").read_bytes()
    files = own | {"style.css": style, "plotly.js": str(get_plotlyjs()).encode()}
    return {name: (content, gzip.compress(content)) for name, content in files.items()}


def _asset(request: Request, name: str, kind: str, headers: dict[str, str]) -> Response:
    """Return the response for a static file."""
    compressed = "gzip" in request.headers.get("accept-encoding", "")
    more = {"Content-Encoding": "gzip"} if compressed else {}
    return Response(assets()[name][compressed], media_type=kind, headers=headers | more)


def _read_whole(request: Request, name: str, default: int) -> int:
    """Parse an integer in the query string of a request, by name."""
    text = request.query_params.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdecimal()) or len(text) > 18:
        raise HTTPException(422, f"{name} must be a whole number of 0 or more, got {text[:40]!r}")
    return int(text)


class TaskConvertor(PathConvertor):
    """Path parameter that is the rest of a path without line breaks, because a task name has none."""

    regex = r"[\s\S]*"


register_url_convertor("task", TaskConvertor())
#: The handlers of each path, by method.
_ENDPOINTS: dict[str, dict[str, Handler]] = {
    "/predict": {"POST": App.predict},
    "/observe": {"POST": App.observe},
    "/choose": {"POST": App.choose},
    "/reward": {"POST": App.reward},
    "/tasks": {"GET": App.tasks},
    "/tasks/{task:task}": {"GET": App.task, "DELETE": App.forget},
    "/task": {"GET": App.task, "DELETE": App.forget},
    "/verdict": {"GET": App.verdict},
    "/state": {"GET": App.state},
    "/snapshot": {"GET": App.model, "POST": App.snapshot},
    "/metrics": {"GET": App.prometheus},
    "/healthz": {"GET": App.health},
    "/readyz": {"GET": App.ready},
    "/": {"GET": App.page},
    "/assets/{name}": {"GET": App.asset},
}
#: The paths that need no token.
_OPEN = ("/healthz", "/readyz", "/", "/assets/{name}")


def make_app(service: Service, **options: Any) -> Starlette:
    """Return the ASGI application of a service; further arguments are passed to :class:`App`."""
    app = App(service, **options)
    routes = [
        Route(path, partial(app.answer, handlers, path in _OPEN), methods=list(handlers))
        for path, handlers in _ENDPOINTS.items()
    ]
    application = Starlette(routes=routes, exception_handlers={HTTPException: app.refuse})
    application.state.app = app
    application.router.redirect_slashes = False  # clients that follow no redirection would have an empty answer
    return application
