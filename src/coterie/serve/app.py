"""A service over HTTP: requests and answers are JSON, but for the model's file, metrics and the page."""

from __future__ import annotations

import asyncio
import copy
import gzip
import hmac
import re
import threading
import time
import zlib
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from contextlib import suppress
from functools import cache, partial
from http import HTTPStatus
from importlib import resources
from itertools import islice
from os import PathLike
from typing import Any, NamedTuple, TypeVar, get_args
from urllib.parse import quote

import msgspec
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from coterie import __version__

from . import events
from .access import why_refused
from .choosing import BanditEngine
from .events import Choices, Observed, PredictResponse, Refused, RefusedError, Rewarded, decode_records, to_json
from .live import LISTED
from .refusal_log import RefusalLog
from .refusals import in_one_line
from .service import PURGE, NotTakenError, Service, SnapshotCost

BUCKETS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1.0)
#: Statuses that mean that the same request may be taken later, and seconds after which a client may ask again.
LATER, RETRY = (429, 503), "1"
#: Up to so many records are predicted, or chosen for, by the event loop itself, which is less work than to change
#: threads.
AT_ONCE, CHOSEN_AT_ONCE = 64, 8
#: What is counted and timed.
VERBS = ("predict", "observe", "choose", "reward")

#: Seconds within which a body has to come.
BODY_SECONDS = 30
PAGE_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

BEHIND = "the body is no gzip: something comes behind its end"

T = TypeVar("T")
Handler = Callable[[Request], Awaitable[Response]]
Decode = Callable[[bytes | bytearray], list[events.Record]]
#: A record as requests have it, and the names of its fields.
_FORMS: dict[Decode, tuple[str, str]] = {
    decode_records: ('"task": …, "x": {…}', "id, task, x and y"),
    events.decode_offers: ('"id": …, "task": …, "x": {…}, "actions": […]', "id, task, x and actions"),
    events.decode_rewards: ('"id": …, "reward": …', "id and reward"),
}


class Refusal(Exception):  # noqa: N818
    """An answer other than 200."""

    def __init__(self, status: int, error: str) -> None:
        super().__init__(error)
        self.status = status


def json(value: Any, status: int = 200) -> Response:
    """An answer in JSON."""
    headers = {"Retry-After": RETRY} if status in LATER else None
    return Response(to_json(value), status, headers, "application/json")


class Outcomes:
    """Outcomes on their way from the thread that writes to the event loop, which is woken once for those of a frame."""

    def __init__(self, loop: asyncio.AbstractEventLoop | None) -> None:
        self.loop = loop
        self._come: deque[tuple[asyncio.Future[Any], Callable[[Any], None], Any]] = deque()

    def put(self, asked: asyncio.Future[Any], tell: Callable[[Any], None], outcome: Any) -> None:
        """Have the event loop tell who asked."""
        self._come.append((asked, tell, outcome))
        if len(self._come) == 1 and self.loop is not None:
            with suppress(RuntimeError):  # the loop has ended, and nobody waits
                self.loop.call_soon_threadsafe(self._tell)

    def _tell(self) -> None:
        while self._come:
            asked, tell, outcome = self._come.popleft()
            if not asked.done():  # a server that ends waits no longer
                tell(outcome)


class Answer(NamedTuple):
    """What the thread that writes tells the outcome of a request to: a future of the event loop."""

    asked: asyncio.Future[Any]
    way: Outcomes

    def set_result(self, outcome: Any) -> None:
        """Tell the outcome."""
        self.way.put(self.asked, self.asked.set_result, outcome)

    def set_exception(self, error: BaseException) -> None:
        """Tell that there is none."""
        self.way.put(self.asked, self.asked.set_exception, error)


class Measurements:
    """The metrics that Prometheus reads; none has one value for each task."""

    def __init__(self, service: Service) -> None:
        self.registry = CollectorRegistry()
        given: dict[str, Any] = {"registry": self.registry}
        self.records = Counter("coterie_records", "Records in requests that were answered", ["verb"], **given)
        self.seconds = Histogram(
            "coterie_request_seconds", "Seconds a request took", ["verb"], buckets=BUCKETS, **given
        )
        self.duplicates = Counter("coterie_duplicates", "Labels of ids that were learned before", **given)
        self.unknown_features = Counter(
            "coterie_unknown_features", "Features of predicted records that no learned record had", **given
        )
        self.refused = Counter("coterie_refused", "Requests that were refused, but for /readyz", ["status"], **given)
        self.unknown = Counter("coterie_unknown_ids", "Labels of ids that nothing was known of", **given)
        self.of_verb = {verb: (self.records.labels(verb), self.seconds.labels(verb)) for verb in VERBS}
        engine, journal = service.engine, service.journal

        def cost() -> SnapshotCost:
            return service.snapshot_cost or SnapshotCost(0, 0.0, 0.0)

        for name, text, value in (
            ("queue_depth", "Records that wait to be written", lambda: service.depth),
            (
                "waiting_labels",
                "Records that wait for their labels, or choices for their rewards",
                lambda: len(engine.waiting),
            ),
            ("journal_offset", "Offset behind the last frame", lambda: journal.end),
            ("snapshot_offset", "Offset of the last snapshot, -1 without", lambda: service.snapshot_offset),
            ("snapshot_bytes", "Bytes of the last snapshot since the start", lambda: cost().size),
            ("snapshot_seconds", "Seconds that the last snapshot took", lambda: cost().seconds),
            ("snapshot_blocked_seconds", "Seconds of these in which all waited", lambda: cost().blocked),
            ("tasks", "Tasks known", lambda: len(engine.tasks)),
            ("expired", "Records that were given up without a label", lambda: engine.expired),
            ("features", "Names of features in the records learned", lambda: len(engine.features.seen)),
            ("features_stopped", "Names that none of the last 1,000 records had", lambda: len(engine.stopped)),
        ):
            Gauge(f"coterie_{name}", text, **given).set_function(value)
        self.registry.register(_Judged(service))
        if isinstance(engine, BanditEngine):
            self.registry.register(_Valued(engine))
        commit = Histogram("coterie_commit_seconds", "Seconds a frame took", buckets=BUCKETS, **given)
        frame = Histogram(
            "coterie_commit_records", "Records of a frame", buckets=(1, 4, 16, 64, 256, 1024, 4096), **given
        )

        def committed(seconds: float, records: int) -> None:
            commit.observe(seconds)
            frame.observe(records)

        service.on_commit = committed


class _Judged(Collector):
    """The errors of the model and of its baselines, and the alarms, as they are when Prometheus asks."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def collect(self) -> Iterator[Metric]:
        engine = self._service.engine
        errors = GaugeMetricFamily("coterie_error_ratio", "Error over all records, by learner", labels=["learner"])
        with engine.lock:
            predictions = engine.live.errors if engine.live is not None else {}
        for learner, error in predictions.items():
            errors.add_metric([learner], error)
        yield errors
        alarms = GaugeMetricFamily("coterie_alarm", "Whether there is an alarm", labels=["alarm"])
        wrong = self._service.alarms()
        for name in ("error", "drift", "silence", "snapshot", "folder"):
            alarms.add_metric([name], float(name in wrong))
        yield alarms


class _Valued(Collector):
    """What choices have brought, and what policies are worth, as it is when Prometheus asks."""

    def __init__(self, engine: BanditEngine) -> None:
        self._engine = engine

    def collect(self) -> Iterator[Metric]:
        with self._engine.lock:
            counts = copy.copy(self._engine.counts)
            policies = {} if self._engine.live is None else self._engine.live.predictions(None)["policies"]
        value = GaugeMetricFamily("coterie_value", "Mean reward, of choices and of policies by DR*", labels=["policy"])
        value.add_metric(["choices"], counts.value)
        for policy, predictions in policies.items():
            value.add_metric([policy], predictions["value"])
        yield value
        yield GaugeMetricFamily("coterie_choices", "Choices made", value=counts.choices)
        share = counts.exploration
        yield GaugeMetricFamily("coterie_exploration_ratio", "Share of choices not of the best score", value=share)


class App:
    """The handlers; :func:`make_app` makes an application of them.

    Parameters
    ----------
    service : Service
        What answers.
    token : str, optional
        A secret that requests have to bear (``Authorization: Bearer …``), all but those for health.
    max_body, max_records : int
        Longer bodies, and more records in one request, are refused.
    hosts : collection of str
        Names and addresses, besides those of the machine for itself, by which a service without a token may be asked.
    log : str or Path, optional
        A file to which refused requests are appended, see :class:`coterie.serve.refusal_log.RefusalLog`.
    """

    def __init__(
        self,
        service: Service,
        token: str | None = None,
        max_body: int = 2**23,
        max_records: int = 4096,
        hosts: Collection[str] = (),
        log: str | PathLike[str] | None = None,
    ) -> None:
        self.service, self.metrics = service, Measurements(service)
        self._said: dict[str | None, tuple[float, dict[str, Any]]] = {}
        self._token = None if token is None else f"Bearer {token}".encode()
        self._max_body, self._max_records, self._hosts = max_body, max_records, hosts
        self._log = None if log is None else RefusalLog(log)
        self._outcomes = Outcomes(None)
        self.unknown: dict[str, int] = {}
        self.compiling = False

    # -- requests

    def logged(self, handler: Handler) -> Handler:
        """A handler whose refusals are counted and logged, but for `/readyz`, which is asked again and again."""

        async def answer(request: Request) -> Response:
            began = time.perf_counter()
            made = await handler(request)
            if made.status_code >= 400 and request.url.path != "/readyz":
                error, seconds = msgspec.json.decode(made.body)["error"], time.perf_counter() - began
                self.note_refused(made.status_code, error, request.client, request.method, request.url.path, seconds)
            return made

        return answer

    def note_refused(
        self,
        status: int,
        error: str,
        client: tuple[str, int] | None,
        method: str = "",
        path: str = "",
        seconds: float = 0.0,
    ) -> None:
        """Count a refused request, and log it."""
        self.metrics.refused.labels(status).inc()
        if self._log is not None:
            host = None if client is None else client[0]
            self._log.write(
                client=host, method=method, path=path, status=status, seconds=round(seconds, 6), error=error
            )

    def unrouted(self) -> Handler:
        """The handler of a request for a path or a method that does not exist."""

        async def answer(request: Request) -> Response:
            error = request.scope["coterie.error"]
            made = json(Refused(f"{request.method} {request.url.path}: {error.detail}"), error.status_code)
            made.headers.update(error.headers or {})
            return made

        return self.logged(answer)

    def guarded(self, handler: Handler, open_to_all: bool = False) -> Handler:
        """A handler that answers refusals with their status, and accepts only requests with the token."""

        async def answer(request: Request) -> Response:
            given = request.headers.get("authorization", "").encode()
            if self._token is None and (refused := why_refused(request.headers, self._hosts)) is not None:
                return json(Refused(refused[1]), refused[0])
            if self._token is not None and not open_to_all and not hmac.compare_digest(given, self._token):
                return json(
                    Refused("the request bears no token, or a wrong one: send Authorization: Bearer TOKEN"), 401
                )
            try:
                return await handler(request)
            except (Refusal, NotTakenError) as error:
                return json(Refused(str(error)), error.status)
            except ClientDisconnect:
                return json(Refused("the body was cut off"), 400)
            except asyncio.CancelledError:  # the server ends and waits no longer
                return json(Refused("the service ends before this was answered: send it again"), 503)

        return answer

    async def _records(self, request: Request, decode: Decode = decode_records) -> list[events.Record]:
        try:
            async with asyncio.timeout(BODY_SECONDS):
                body = await self._body(request)
        except TimeoutError:
            raise Refusal(408, f"the body has not come within {BODY_SECONDS} seconds") from None
        try:
            records = decode(body)
        except msgspec.ValidationError as error:
            raise Refusal(422, f"{error}{_expected(str(error), decode)}") from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            hint = "; JSON has no NaN: send null" if b"NaN" in body else ""
            raise Refusal(400, f"the body is no JSON: {error}{hint}") from None
        if len(records) > self._max_records:
            raise Refusal(413, f"{len(records)} records are more than the {self._max_records} of one request")
        return records

    async def _body(self, request: Request) -> bytearray:
        """The body, unpacked."""
        body, packed = bytearray(), request.headers.get("content-encoding", "identity").lower()
        if packed not in ("identity", "gzip"):
            raise Refusal(415, f"the body is {packed}-encoded: gzip or nothing is understood")
        unpacking = zlib.decompressobj(wbits=31) if packed == "gzip" else None
        received, longest = 0, self._max_body + self._max_body // 64 + 1024  # what cannot be compressed grows a little
        if int(request.headers.get("content-length", 0)) > longest:  # it need not come to be refused
            raise Refusal(413, f"the body is longer than {self._max_body} bytes")
        async for piece in request.stream():
            received += len(piece)
            if unpacking is not None and unpacking.eof and piece:
                raise Refusal(400, BEHIND)
            try:  # one byte more than is allowed is enough to know
                more = self._max_body + 1 - len(body)
                body += piece if unpacking is None else unpacking.decompress(piece, max(more, 1))
            except zlib.error as error:
                raise Refusal(400, f"the body is no gzip: {error}") from None
            if unpacking is not None and unpacking.unused_data:
                raise Refusal(400, BEHIND)
            if len(body) > self._max_body or received > longest:
                raise Refusal(413, f"the body is longer than {self._max_body} bytes")
        if unpacking is not None and not unpacking.eof:
            raise Refusal(400, "the body is no gzip: it ends too early")
        return body

    # -- predicting and learning

    async def predict(self, request: Request) -> Response:
        """Answer ``POST /predict``."""
        began = time.perf_counter()
        records = await self._records(request)
        try:
            predictions = await self._at_once(len(records) <= AT_ONCE, partial(self.service.predict, records))
        except (ValueError, TypeError) as error:
            raise _refusal(error) from None
        self._note_unknown(records)
        self._count("predict", len(records), began)
        return json(PredictResponse(predictions, self.service.engine.offset))

    def _note_unknown(self, records: list[events.Record]) -> None:
        """Count the features that no learned record had, and keep the names that came last."""
        for record in records:
            for name in self.service.engine.features.unknown(record.x or {}):
                self.metrics.unknown_features.inc()
                self.unknown[name] = self.unknown.pop(name, 0) + 1
                if len(self.unknown) > LISTED:
                    del self.unknown[next(iter(self.unknown))]

    def compile(self) -> None:
        """Compile what requests need, in a thread; the service is ready after it."""
        self.compiling = True

        def work() -> None:
            try:
                with suppress(ValueError, TypeError):  # of a model that knows its tasks or features beforehand
                    self.service.engine.compile()
            finally:
                self.compiling = False

        threading.Thread(target=work, name="coterie-compile", daemon=True).start()

    async def _at_once(self, few: bool, work: Callable[[], T]) -> T:
        """What work gives; not by the event loop where it is much, or waits until the model has learned a block."""
        lock = self.service.engine.model_lock
        if few and lock.acquire(blocking=False):
            try:
                return work()
            finally:
                lock.release()
        return await asyncio.to_thread(work)

    async def observe(self, request: Request) -> Response:
        """Answer ``POST /observe``, once what it says is on the disk and learned."""
        _, outcome = await self._learned(request, "observe", "observed", decode_records)
        self.metrics.duplicates.inc(outcome.duplicate)
        self.metrics.unknown.inc(len(outcome.unknown))
        return json(outcome)

    async def choose(self, request: Request) -> Response:
        """Answer ``POST /choose``, once what was chosen is on the disk."""
        records, predictions = await self._learned(request, "choose", "chosen", events.decode_offers)
        self._note_unknown(records)
        return json(predictions)

    async def reward(self, request: Request) -> Response:
        """Answer ``POST /reward``, once what it says is on the disk and learned."""
        _, predictions = await self._learned(request, "reward", "rewarded", events.decode_rewards)
        return json(predictions)

    async def _learned(self, request: Request, verb: str, kind: str, decode: Decode) -> tuple[list[events.Record], Any]:
        """The records of a request, and the outcome of the event that they are, once it is on the disk."""
        began = time.perf_counter()
        records = await self._records(request, decode)
        predictions = await self._applied(kind, records)
        self._count(verb, len(records), began)
        return records, predictions

    async def _applied(self, kind: str, records: list[events.Record]) -> Any:
        loop = asyncio.get_running_loop()
        if self._outcomes.loop is not loop:
            self._outcomes = Outcomes(loop)
        predictions = loop.create_future()
        submit = partial(self.service.submit_to, Answer(predictions, self._outcomes), kind, records)
        try:
            if kind == "chosen":
                await self._at_once(len(records) <= CHOSEN_AT_ONCE, submit)
            else:
                submit()
            outcome = await predictions
        except ValueError as error:
            raise _refusal(error) from None
        if isinstance(outcome, Refused):
            raise Refusal(outcome.status, outcome.error)
        return outcome

    def _count(self, verb: str, records: int, began: float) -> None:
        counted, seconds = self.metrics.of_verb[verb]
        counted.inc(records)
        seconds.observe(time.perf_counter() - began)

    # -- tasks

    async def tasks(self, request: Request) -> Response:
        """Answer ``GET /tasks``: the tasks known, in order of first appearance, a page at a time.

        ``contains`` leaves those whose label has that text.
        """
        first, most = _whole(request, "first", 0), min(_whole(request, "most", 1000), 10_000)
        known, text = self.service.engine.tasks, request.query_params.get("contains", "").lower()
        if text:
            chosen = await asyncio.to_thread(
                lambda: list(islice((task for task in list(known) if text in str(task).lower()), first, first + most))
            )
        else:
            chosen = list(known[first : first + most])
        return json({"tasks": chosen, "known": len(known)})

    async def task(self, request: Request) -> Response:
        """Answer ``GET /tasks/{task}`` and ``GET /task?json=…``."""
        task = await asyncio.to_thread(self._named, request)
        return json(await asyncio.to_thread(self.service.engine.about, task))

    def _named(self, request: Request) -> Any:
        """The task that a request names: text by its path, any other by its form in JSON."""
        given = request.query_params.get("json", "")
        if "task" in request.path_params:
            said = request.path_params["task"]
        else:
            try:
                said = msgspec.json.decode(given, type=events.Scalar)
            except (msgspec.DecodeError, UnicodeEncodeError):
                raise Refusal(
                    422, f"json must be text, a number or a truth value in JSON, got {given[:40]!r}"
                ) from None
        has_task = self.service.engine.has_task
        if has_task(said):
            return said
        alike = next(filter(has_task, _spelled_alike(said)), None)
        hint = "" if alike is None else f"; there is {alike!r}: /task?json={quote(to_json(alike))}"
        raise Refusal(404, f"task {said!r} is not known{hint}")

    async def forget(self, request: Request) -> Response:
        """Answer ``DELETE /tasks/{task}`` and ``DELETE /task?json=…``."""
        task = await asyncio.to_thread(self._named, request)
        outcome = await self._applied("forgotten", [events.Record(task=task)])
        gone = f"until a snapshot at this offset or later, which is begun within {PURGE:.0f} seconds"
        predictions = {"forgotten": task, "offset": outcome.offset, "on_disk": gone}
        return json(predictions)

    # -- whether learning together helps

    async def verdict(self, request: Request) -> Response:
        """Answer ``GET /verdict``."""
        against = request.query_params.get("against")
        try:
            return json(await asyncio.to_thread(self._verdict, against))
        except ValueError as error:
            raise Refusal(422, in_one_line(error)) from None

    def _verdict(self, against: str | None) -> dict[str, Any]:
        """The verdict on learning together; one that takes long to compute is repeated for a while."""
        said = self._said.get(against)
        if said is not None and time.monotonic() < said[0]:
            return said[1]
        engine, began = self.service.engine, time.monotonic()
        if engine.live is None:
            raise ValueError("nothing is compared: the service has --no-verdict, or a model of several views")
        with engine.lock:
            live = engine.live.as_it_is()
        predictions = live.predictions(against)
        took = time.monotonic() - began
        self._said[against] = (began + took + max(1.0, 20 * took), predictions)
        return predictions

    async def state(self, request: Request) -> Response:
        """Answer ``GET /state``: what the page shows beside the verdict."""
        return json(await asyncio.to_thread(self._state))

    def _state(self) -> dict[str, Any]:
        service, engine = self.service, self.service.engine
        return {
            "tasks": len(engine.tasks),
            "waiting": len(engine.waiting),
            "queue": service.depth,
            "offset": engine.offset,
            "identity": service.identity,
            "snapshot": service.snapshot_offset,
            "snapshot_cost": service.snapshot_cost and service.snapshot_cost._asdict(),
            "at": engine.at,
            "alarms": service.alarms(),
            "features": {
                "known": len(engine.features.seen),
                "unknown": self.unknown,
                "new": engine.new[:LISTED],
                "stopped": engine.stopped[:LISTED],
            },
            "version": __version__,
        }

    async def page(self, request: Request) -> Response:
        """Answer ``GET /``: the live page, which asks for what it shows."""
        return _asset(request, "page.html", "text/html", PAGE_HEADERS)

    async def asset(self, request: Request) -> Response:
        """Answer ``GET /assets/…``."""
        name = request.path_params["name"]
        if name not in assets():
            raise Refusal(404, f"there is no {name!r}")
        kind = "text/css" if name.endswith(".css") else "text/javascript"
        return _asset(request, name, kind, {"Cache-Control": "max-age=3600", "Vary": "Accept-Encoding"})

    # -- files

    async def snapshot(self, request: Request) -> Response:
        """Answer ``POST /snapshot``."""
        try:
            return json({"offset": await asyncio.to_thread(self.service.snapshot)})
        except NotTakenError:
            raise
        except Exception as error:  # whatever it is, the alarm says it, too
            raise Refusal(503, f"the snapshot could not be written: {in_one_line(error)}") from None

    async def model(self, request: Request) -> Response:
        """Answer ``GET /snapshot``: the file of the newest."""
        found = self.service.snapshots()
        if not found:
            raise Refusal(404, "there is no snapshot yet: POST /snapshot writes one")
        return FileResponse(found[-1], filename=found[-1].name)

    # -- the state of the process

    async def prometheus(self, request: Request) -> Response:
        """Answer ``GET /metrics``."""
        predictions = await asyncio.to_thread(generate_latest, self.metrics.registry)
        return Response(predictions, media_type="text/plain; version=0.0.4")

    async def health(self, request: Request) -> Response:
        """Answer ``GET /healthz``: the process answers, and has its folder."""
        self.service.require_folder()
        return json({"status": "ok", "version": __version__})

    async def ready(self, request: Request) -> Response:
        """Answer ``GET /readyz``: the journal was replayed, and takes what is written."""
        self.service.require_folder()
        if self.service.failure is not None:
            raise Refusal(503, f"the service failed: {self.service.failure}")
        if self.compiling:
            raise Refusal(503, "code is being compiled: requests are answered, and the first ones wait for it")
        predictions = {"offset": self.service.engine.offset, "replayed": self.service.replayed}
        return json({"status": "ready", "identity": self.service.identity} | predictions)

    async def openapi(self, request: Request) -> Response:
        """Answer ``GET /openapi.json``."""
        return json(describe())


@cache
def assets() -> dict[str, tuple[bytes, bytes]]:
    """Return the page and the files that it fetches by name, each as it is and compressed by gzip."""
    from plotly.offline import get_plotlyjs

    own = {name: resources.files("coterie.serve").joinpath(name).read_bytes() for name in ("page.html", "live.js")}
    style = resources.files("coterie.report").joinpath("style.css").read_bytes()
    files = own | {"style.css": style, "plotly.js": str(get_plotlyjs()).encode()}
    return {name: (content, gzip.compress(content)) for name, content in files.items()}


def _asset(request: Request, name: str, kind: str, headers: dict[str, str]) -> Response:
    """Answer with a file; all answers share the same bytes."""
    compressed = "gzip" in request.headers.get("accept-encoding", "")
    more = {"Content-Encoding": "gzip"} if compressed else {}
    return Response(assets()[name][compressed], media_type=kind, headers=headers | more)


def _spelled_alike(task: Any) -> Iterator[Any]:
    """Yield values of other types with the same text as a task."""
    for convert in (str, int, float, {"True": True, "False": False}.get):
        with suppress(ValueError, OverflowError):
            value: Any = convert(task)
            if value is not None and type(value) is not type(task) and str(value) == str(task):
                yield value


def _expected(error: str, decode: Decode) -> str:
    """The form of a request, for one that has another, by the message that says so."""
    form, fields = _FORMS[decode]
    if " - at " not in error:  # of a record in it
        return f'; expected {{"records": [{{{form}}}, …]}}'
    return f"; a record has {fields}" if "unknown field" in error else ""


def _refusal(error: Exception) -> Refusal:
    status = error.refused.status if isinstance(error, RefusedError) else 422
    return Refusal(status, in_one_line(error))


def _whole(request: Request, name: str, default: int) -> int:
    given = request.query_params.get(name)
    if given is None:
        return default
    if not given.isdecimal() or len(given) > 18:
        raise Refusal(422, f"{name} must be a whole number from 0 on, got {given[:40]!r}")
    return int(given)


class Endpoint(NamedTuple):
    """A path and a method, the handler that answers, and its statuses besides 401, 403, 421 and 503."""

    verb: str
    path: str
    handler: str
    summary: str
    predictions: Any  # a struct, dict for any object, or a media type
    errors: tuple[int, ...] = ()
    query: Mapping[str, Any] = {}
    asked: Any = None
    open_to_all: bool = False


_BODY = (400, 408, 413, 415, 422)
_WHOLE: dict[str, Any] = {"type": "integer", "minimum": 0, "maximum": 10**18 - 1}
_STRING: dict[str, Any] = {"type": "string"}
_PAGE = {"first": _WHOLE, "most": _WHOLE, "contains": _STRING}
_BYTES, _TEXT, _HTML = "application/octet-stream", "text/plain", "text/html"
ENDPOINTS = (
    Endpoint(
        "POST",
        "/predict",
        "predict",
        "Predict records; those with an id wait for their labels",
        PredictResponse,
        (*_BODY, 404, 429),
        asked=events.Request,
    ),
    Endpoint(
        "POST",
        "/observe",
        "observe",
        "Learn labels: 200 means durable and learned",
        Observed,
        (*_BODY, 404, 409, 429),
        asked=events.Request,
    ),
    Endpoint(
        "POST",
        "/choose",
        "choose",
        "Choose actions; each choice waits for its reward: 200 means durable",
        Choices,
        (*_BODY, 404, 409, 429),
        asked=events.Offers | events.Offer,
    ),
    Endpoint(
        "POST",
        "/reward",
        "reward",
        "Learn what choices have brought: 200 means durable and learned",
        Rewarded,
        (*_BODY, 404, 409, 429),
        asked=events.Rewards | events.Reward,
    ),
    Endpoint("GET", "/tasks", "tasks", "The tasks known", dict, (422,), _PAGE),
    Endpoint("GET", "/tasks/{task:path}", "task", "What is known of a task", dict, (404,)),
    Endpoint("DELETE", "/tasks/{task:path}", "forget", "Forget a task", dict, (404, 409, 422, 429)),
    Endpoint("GET", "/task", "task", "What is known of a task, named in JSON", dict, (404, 422), {"json": _STRING}),
    Endpoint(
        "DELETE", "/task", "forget", "Forget a task, named in JSON", dict, (404, 409, 422, 429), {"json": _STRING}
    ),
    Endpoint("GET", "/verdict", "verdict", "Whether learning together helps", dict, (422,), {"against": _STRING}),
    Endpoint("GET", "/state", "state", "Tasks, what waits, offsets, alarms", dict),
    Endpoint("POST", "/snapshot", "snapshot", "Write a snapshot now", dict, (429,)),
    Endpoint("GET", "/snapshot", "model", "The file of the newest snapshot", _BYTES, (404,)),
    Endpoint("GET", "/metrics", "prometheus", "For Prometheus", _TEXT),
    Endpoint("GET", "/openapi.json", "openapi", "This description", dict),
    Endpoint("GET", "/healthz", "health", "Whether the process answers", dict, open_to_all=True),
    Endpoint("GET", "/readyz", "ready", "Whether it takes what is written", dict, open_to_all=True),
    Endpoint("GET", "/", "page", "Whether learning together helps, as a page", _HTML, open_to_all=True),
    Endpoint("GET", "/assets/{name}", "asset", "What the page fetches", "text/*", (404,), open_to_all=True),
)


@cache
def describe() -> dict[str, Any]:
    """The OpenAPI description, with the schemas of the types that are decoded and encoded."""
    bodies = (events.Request, events.Offers, events.Offer, events.Rewards, events.Reward)
    structs = (*bodies, PredictResponse, Observed, Choices, Rewarded, Refused)
    references, schemas = msgspec.json.schema_components(structs, ref_template="#/components/schemas/{name}")
    schema_of: dict[Any, Any] = {dict: {"type": "object"}, **dict(zip(structs, references, strict=True))}

    def body(of: Any) -> dict[str, Any]:
        if isinstance(of, str):
            return {"content": {of: {"schema": _STRING}}}
        schema = {"anyOf": [schema_of[each] for each in get_args(of)]} if get_args(of) else schema_of[of]
        return {"content": {"application/json": {"schema": schema}}}

    def described(status: int) -> dict[str, Any]:
        predictions = {"description": HTTPStatus(status).phrase} | body(Refused)
        return predictions | ({"headers": {"Retry-After": {"schema": {"type": "integer"}}}} if status in LATER else {})

    paths: dict[str, Any] = {}
    for each in ENDPOINTS:
        path = each.path.replace(":path", "")
        errors = sorted({403, 421, 503, *(() if each.open_to_all else (401,)), *each.errors})
        parameters = [
            {"name": name, "in": "path", "required": True, "schema": _STRING} for name in re.findall(r"{(\w+)}", path)
        ]
        parameters += [{"name": name, "in": "query", "schema": schema} for name, schema in each.query.items()]
        made = paths.setdefault(path, {})[each.verb.lower()] = {
            "summary": each.summary,
            "parameters": parameters,
            "responses": {"200": {"description": "OK"} | body(each.predictions)}
            | {str(code): described(code) for code in errors},
        }
        if each.asked is not None:
            made["requestBody"] = {"required": True} | body(each.asked)
    info = {"title": "coterie", "version": __version__}
    return {"openapi": "3.1.0", "info": info, "paths": paths, "components": {"schemas": schemas}}


def make_app(service: Service, **given: Any) -> Starlette:
    """The application of a service; further arguments are those of :class:`App`."""
    app = App(service, **given)
    unrouted = app.unrouted()

    async def refuse(request: Request, error: Any) -> Response:
        request.scope["coterie.error"] = error
        return await unrouted(request)

    made = Starlette(
        routes=[
            Route(each.path, app.logged(app.guarded(getattr(app, each.handler), each.open_to_all)), methods=[each.verb])
            for each in ENDPOINTS
        ],
        exception_handlers={HTTPException: refuse},
    )
    made.state.app = app
    made.router.redirect_slashes = False  # clients that follow no redirection would have an empty answer
    return made
