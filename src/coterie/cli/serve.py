"""``coterie serve``."""

from __future__ import annotations

import os
import re
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coterie import spec
from coterie.persistence import SNAPSHOT

from .failures import UsageError, option, tell
from .options import LearningOptions
from .spreading import OptionSet

if TYPE_CHECKING:
    from coterie.evaluation.interruption import Interval
    from coterie.serve.engine import Engine
    from coterie.serve.service import Service

#: Seconds that requests under way have to end when the service does.
GRACE = 10
_SET = "since the service began: leave it out, or begin a new folder"
_SIZES = {"": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}

Model = Annotated[
    Path | None,
    typer.Argument(
        metavar="MODEL", help="A saved model to start from; without it, a new model that has learned nothing."
    ),
]


@dataclass(frozen=True)
class ServiceOptions(OptionSet):
    """Where a service listens, what it keeps, what it refuses, and when it alarms."""

    data: Path = spec.field(metavar="DIR", help="Where the service keeps everything; made if it is not there.")
    host: str = spec.field(default="127.0.0.1", metavar="ADDRESS", help="Where to listen.")
    port: int = spec.field(
        default=8000, metavar="N", at_least=0, at_most=65535, help="The port; 0 takes one that is free."
    )
    allowed_host: list[str] | None = spec.field(
        default=None,
        metavar="NAME",
        help="Without --token-file, answer requests for this host name, too, as a proxy sends them; else only for "
        "localhost and addresses of this machine for itself. May be repeated.",
    )
    token_file: Path | None = spec.field(
        default=None,
        metavar="FILE",
        help="A file with the secret that requests must carry; without it, the service listens only on this machine.",
    )
    expire: str | None = spec.field(
        default=None,
        metavar="24h",
        help="How long a predicted record waits for its label: seconds, minutes or hours; a day by default.",
    )
    remember: int | None = spec.field(
        default=None,
        metavar="N",
        at_least=1,
        help="Learn each id at most once among the last N ids; a million by default.",
    )
    snapshot: str = spec.field(
        default="5m",
        metavar="N|5m",
        help="Write a snapshot after so many records, or so much time; at a start the records since the last "
        "snapshot are learned again.",
    )
    max_body: str = spec.field(default="8MiB", metavar="8MiB", help="Longer requests are refused.")
    max_records: int = spec.field(
        default=4096, metavar="N", at_least=1, help="More records in one request are refused."
    )
    max_waiting: int = spec.field(
        default=20_000,
        metavar="N",
        at_least=1,
        help="Refuse requests while more records than this wait to be written.",
    )
    no_verdict: bool = spec.field(
        default=False,
        help="Train no baselines beside the model (such as one model per task): half the memory and time, but "
        "no verdict on whether learning together helps.",
    )
    alarm_error: float | None = spec.field(
        default=None, metavar="X", at_least=0, help="Alarm if the error of the last 1,000 records is X or more, as 0.2."
    )
    alarm_silence: str | None = spec.field(
        default=None, metavar="1h", help="Alarm if records are predicted and no label has come for this long."
    )
    accept_loss: bool = spec.field(
        default=False,
        help="Go on although records that were acknowledged are missing or damaged: with what can be read; the rest is "
        "deleted. Without it such a start is refused.",
    )
    labels: str | None = spec.field(
        default=None,
        metavar="yes,no",
        help="The labels that there are; records with others are refused. A word that is JSON is read as that: `1`, "
        "`true`. Without it, the first two labels seen are the two that the model learns, a typing error included.",
    )
    log_refused: Path | None = spec.field(
        default=None,
        metavar="FILE",
        help="Append refused requests to this file as lines of JSON: at most 100 in ten seconds, 300 characters of "
        "each text, two files of 16 MiB.",
    )
    bandit: bool = spec.field(
        default=False,
        help="Choose actions by /choose and learn from rewards by /reward, with the learner that the options say; a "
        "MODEL that is a bandit does so by itself.",
    )
    window: str | None = spec.field(
        default=None,
        metavar="30m",
        help="Of a bandit: learn a choice with 0 if no reward has come for this long; by default nothing is learned.",
    )


def serve(learning: LearningOptions, options: ServiceOptions, model: Model = None) -> None:
    """Predict and learn over HTTP, and lose nothing that was acknowledged.

    A record is predicted by POST /predict, and learned once its label is known by POST /observe, which answers when
    it is on the disk. After a crash the same command goes on as if nothing had happened. The first start in a folder
    sets MODEL or the learner, --bandit, --window, --expire, --remember and --no-verdict for good. All else holds for
    one start, --labels as well. Ctrl-C or SIGTERM ends it with a snapshot. It wants `pip install
    "coterie[serve]"`.

    For example:
      coterie serve --data state/
      coterie serve clicks.coterie --data state/ --port 9000 --token-file secret
      coterie serve --data state/ --regression --snapshot 1h
      coterie serve --data state/ --bandit --window 30m
    """
    try:
        import uvicorn  # noqa: F401 (the extra is whole)

        from coterie.serve.access import is_local
        from coterie.serve.app import make_app
        from coterie.serve.live import Limits
        from coterie.serve.service import Service
    except ImportError as error:
        raise UsageError(f'coterie serve needs more packages ({error.name}): pip install "coterie[serve]"') from None
    host, bandit = options.host, options.bandit
    token = None if options.token_file is None else _token(options.token_file)
    if token is not None and options.allowed_host:
        raise UsageError("--allowed-host is of no use with --token-file: requests that bear the secret name any host")
    if token is None and not is_local(host):
        raise UsageError(f"--host {host} can be reached from elsewhere: give --token-file, a secret that requests bear")
    if model is not None:
        learning.refuse("MODEL")
        if bandit:
            raise UsageError("--bandit begins with a new one: MODEL says what it is")
    every = _every(options.snapshot)
    window, expire = _seconds("--window", options.window), _seconds("--expire", options.expire)
    limits = Limits(options.alarm_error, _seconds("--alarm-silence", options.alarm_silence))
    body = _bytes(options.max_body)
    if options.log_refused is not None:
        options.log_refused.open("ab").close()  # what cannot be written is said now, and not missed later

    declared = None if options.labels is None else [_label(word.strip()) for word in options.labels.split(",")]

    def check(engine: Engine) -> None:
        _require_as_begun(engine, options, expire, window)
        _declare(engine.require_declared, declared)

    given: dict[str, Any] = {
        "waiting": options.max_waiting,
        "every_records": every.records,
        "every_seconds": every.seconds,
        "limits": limits,
        "accept_loss": options.accept_loss,
        "check": check,
    }
    with _Ending() as ending, _bound(host, options.port) as listening:
        begin = partial(_engine, model, learning, options, expire, window)
        service = Service(options.data, begin, **given)
        try:
            _tell_losses(service)
            _declare(service.declare, declared)
            hosts, log, most = [host, *(options.allowed_host or ())], options.log_refused, options.max_records
            made = make_app(service, token=token, max_body=body, max_records=most, hosts=hosts, log=log)
            _answer(service, made, _address(host), listening, ending, _unread(service, model, learning))
        finally:
            service.close()
    if service.failure is not None:
        raise service.failure


class _Ending:
    """The handler of signals: the first ends the server, or the start before there is one; later ones do nothing.

    So however many come, requests under way are answered and the last snapshot is written.
    """

    def __init__(self) -> None:
        self.server: Any = None
        self._came = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> _Ending:
        if threading.current_thread() is threading.main_thread():
            names = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")  # not every system has all
            numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
            self._before = {number: signal.signal(number, self) for number in numbers}
        return self

    def __call__(self, number: int, frame: FrameType | None) -> None:
        from coterie.evaluation.interruption import Stopped

        if self._came:
            return
        self._came = True
        if self.server is None:
            raise Stopped(number)
        self.server.should_exit = True

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():  # a process that ends is not ended once more on its way
            signal.signal(number, signal.SIG_IGN if self._came else handler)


def _tell_losses(service: Service) -> None:
    """Tell what a start found that nobody expects: frames that are missing, or will be, or a clock that was wrong."""
    if service.accepted is not None:
        tell(f"warning: a loss was accepted: {service.accepted}; it goes on from offset {service.engine.offset:,}")
    if service.reset:
        ahead, waiting = service.reset / 3600, len(service.engine.waiting)
        tell(
            f"warning: time is set back, for the last event was {ahead:,.1f} hours ahead of this machine's clock; "
            f"{waiting:,} records wait for their labels, at most --expire from now on"
        )
    overdue = service.engine.overdue(service.clock())
    if overdue:
        late = (service.clock() - service.engine.at) / 3600
        tell(
            f"warning: this machine's clock is {late:,.1f} hours after the last event: {overdue:,} records that wait "
            "for their labels are given up with the next one"
        )


def _unread(service: Service, model: Path | None, learning: LearningOptions) -> str | None:
    """The sentence that names a given MODEL and options of the learner which a folder that exists already ignores."""
    given = [*([] if model is None else [str(model)]), *map(option, learning.given)]
    if service.new or not given:
        return None
    return (
        f"{service.folder} goes on with its own model: {', '.join(given)} is read by the first start in a folder only"
    )


def _label(word: str) -> Any:
    import msgspec

    try:
        return msgspec.json.decode(word, type=str | int | float | bool)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return word


def _declare(declare: Callable[[Sequence[Any]], None], labels: Sequence[Any] | None) -> None:
    if labels is None:
        return
    try:
        declare(labels)
    except ValueError as error:
        raise UsageError(f"--labels: {error}") from None


def _bound(host: str, port: int) -> socket.socket:
    """Bind a socket, before the folder is opened, so that an address in use changes nothing; it does not listen yet."""
    bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        if os.name == "posix":
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if ":" in host:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        bound.bind((host, port))
    except OSError as error:  # which knows no name of what it failed at
        bound.close()
        why = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
        raise OSError(error.errno, why, f"{_address(host)}:{port}") from None
    return bound


def _address(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _answer(
    service: Service, app: Any, address: str, listening: socket.socket, ending: _Ending, unread: str | None
) -> None:
    """Answer requests until a signal comes, or the service fails."""
    import uvicorn

    from coterie.serve.access import Connection

    class Server(uvicorn.Server):
        """A server that leaves signals alone."""

        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield

    settings = uvicorn.Config(  # its warnings tell of requests only, which are counted and logged elsewhere
        app, http=Connection, ws="none", log_level="error", access_log=False, timeout_graceful_shutdown=GRACE
    )
    ending.server = server = Server(settings)
    service.on_failure = lambda error: setattr(server, "should_exit", True)
    listening.listen(2048)
    known, offset = len(service.engine.tasks), service.engine.offset
    tell(
        f"{service.folder}: {known:,} tasks, offset {offset:,}, {service.replayed:,} frames learned again; "
        f"listening on http://{address}:{listening.getsockname()[1]}"
    )
    if unread is not None:
        tell(unread)
    app.state.app.compile()
    server.run(sockets=[listening])


def _seconds(option: str, given: str | None) -> float | None:
    from coterie.evaluation.interruption import Interval
    from coterie.inputs.errors import FieldError

    if given is None:
        return None
    with suppress(FieldError):
        if (seconds := Interval.from_text(given).seconds) is not None:
            return seconds
    raise UsageError(f"{option} is {given!r}; expected seconds, minutes or hours, as 30s, 5m or 24h")


def _every(given: str) -> Interval:
    from coterie.evaluation.interruption import Interval
    from coterie.inputs.errors import FieldError

    try:
        return Interval.from_text(given)
    except FieldError as error:
        raise UsageError(error.worded(lambda field: "--snapshot")) from None


def _require_as_begun(engine: Engine, options: ServiceOptions, expire: float | None, window: float | None) -> None:
    """Refuse options that contradict those with which the service first began."""
    if options.bandit and "chosen" not in engine.kinds:
        raise UsageError("--bandit comes too late: the service has learned labels since it began")
    if window is not None and window != getattr(engine, "window", None):
        raise UsageError(f"--window is another one, or none, {_SET}")
    if expire is not None and expire != engine.expire:
        raise UsageError(f"--expire is {engine.expire:.15g}s {_SET}")
    if options.remember is not None and options.remember != engine.remember:
        raise UsageError(f"--remember is {engine.remember:.15g} {_SET}")
    if options.no_verdict and engine.live is not None:
        raise UsageError("--no-verdict comes too late: the service has compared since it began")


def _engine(
    model: Path | None, learning: LearningOptions, options: ServiceOptions, expire: float | None, window: float | None
) -> Engine:
    import coterie as ct
    from coterie.serve.choosing import BanditEngine
    from coterie.serve.engine import Engine

    from .models import load_any

    if options.bandit:
        made: Any = ct.Bandit(learning.expression().make() if learning.given else None)
    else:
        made = learning.expression().make() if model is None else load_any(model)
    given = (made, options.remember or 1_000_000, expire or 86_400.0, not options.no_verdict)
    if isinstance(made, ct.Bandit):
        try:
            return BanditEngine(*given, window)
        except (ValueError, TypeError) as error:
            raise UsageError(f"--{'window' if window else 'bandit'}: {error}") from None
    if window is not None:
        raise UsageError("--window is of use where a bandit chooses: give --bandit")
    if isinstance(made, Engine):
        raise UsageError(f"{model} {SNAPSHOT}; a folder with a copy of the file begins with it, without MODEL")
    if not made._learns_streams:
        raise UsageError(
            f"{model} holds a {type(made).__name__}, which does not learn record by record, with one label each"
        )
    return Engine(*given)


def _token(path: Path) -> str:
    token = path.read_text().strip()
    if not token or not token.isascii() or len(token.split()) != 1:
        raise UsageError(f"--token-file {path} must hold one word of ASCII characters")
    return token


def _bytes(text: str) -> int:
    found = re.fullmatch(r"(\d{1,12})(|KiB|MiB|GiB)", text)
    if found is None or int(found[1]) == 0:
        raise UsageError(f"--max-body is {text!r}; expected bytes, as 8388608 or 8MiB")
    return int(found[1]) * _SIZES[found[2]]
