"""``coterie serve``."""

from __future__ import annotations

import os
import re
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, dataclass
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from coterie.evaluation.stopping_signals import SaveInterval, Stop, Stopped

from .failures import UsageError, option_name, print_message
from .options import LearningOptions, OptionSet, option, parse_duration, refuse_options

if TYPE_CHECKING:
    import uvicorn
    from starlette.applications import Starlette

    from coterie.server.engine import Engine
    from coterie.server.events import Scalar
    from coterie.server.service import Service
    from coterie.types import Estimator

#: Seconds that open requests have to end when the service does.
GRACE = 10
_FIXED = "since the first start of the service: leave it out, or begin a new folder"

Model = Annotated[
    Path | None, typer.Argument(metavar="MODEL", help="A saved model to start from; without it, a new model.")
]


def parse_size(text: str) -> int:
    """Parse a number of bytes, such as 8388608 or 8MiB."""
    match = re.fullmatch(r"0*([1-9]\d{0,11})(|KiB|MiB|GiB)", text, re.ASCII)
    if match is None:
        raise typer.BadParameter(f"{text!r} is not a size; expected bytes, such as 8388608 or 8MiB")
    return int(match[1]) << 10 * ["", "KiB", "MiB", "GiB"].index(match[2])


def parse_host(text: str) -> str:
    """Parse the name or the address of a host, without a port.

    >>> parse_host("models.example.com"), parse_host("fe80::1")
    ('models.example.com', 'fe80::1')
    """
    if re.fullmatch(r"[\w-]+(\.[\w-]+)*|[0-9a-f.]*(:[0-9a-f.]*){2,7}", text, re.ASCII | re.IGNORECASE) is None:
        raise typer.BadParameter(f"{text!r} is not a host name; pass the name alone, such as models.example.com")
    return text


@dataclass(frozen=True, kw_only=True)
class ServiceOptions(OptionSet):
    """Options of ``serve``: address, storage, limits and alarms."""

    data: Path = option("DIR", "The folder of the service; created if it does not exist.", MISSING)
    host: str = option("ADDRESS", "The address to listen on.", "127.0.0.1")
    port: int = option("N", "The port; 0 for a free one.", 8000, min=0, max=65535)
    allowed_host: list[str] | None = option(
        "NAME",
        "Without --token-file, answer requests for this host name, too, as a proxy sends them; by default only for "
        "localhost and addresses of this machine. May be repeated.",
        parser=parse_host,
    )
    token_file: Path | None = option(
        "FILE", "A file with the secret that requests must carry; without it, the service listens only on this machine."
    )
    expire: float | None = option(
        "24h",
        "The time that a predicted record waits for its label, in seconds, minutes or hours; a day by default.",
        parser=parse_duration,
    )
    remember: int | None = option("N", "Learn each id at most once among the last N ids; a million by default.", min=1)
    snapshot: str = option(
        "N|5m",
        "Write a snapshot after N records, or after a time; a start learns the records since the last snapshot again.",
        "5m",
    )
    max_body: int = option("8MiB", "Refuse requests with longer bodies.", "8MiB", parser=parse_size)
    max_records: int = option("N", "Refuse requests with more records.", 4096, min=1)
    max_waiting: int = option("N", "Refuse requests while more than N records wait to be written.", 20_000, min=1)
    no_verdict: bool = option(
        None,
        "Train no baselines (such as one model per task): half the memory and time, but no verdict on learning "
        "together.",
        False,
    )
    alarm_error: float | None = option(
        "X", "Alarm if the error of the last 1,000 records is X or more, such as 0.2.", min=0
    )
    alarm_silence: float | None = option(
        "1h", "Alarm if records are predicted and no label has come for this time.", parser=parse_duration
    )
    accept_loss: bool = option(
        None,
        "Start although acknowledged records are missing or damaged: continue with those that can be read, and delete "
        "the rest. Without this option such a start is refused.",
        False,
    )
    labels: str | None = option(
        "yes,no",
        "The possible labels; records with others are refused. A word that is JSON is read as JSON: `1`, `true`. "
        "Without it, the model learns the first two labels that come, even if one of them is a typing error.",
    )
    bandit: bool = option(
        None,
        "Choose actions by /choose and learn from rewards by /reward, with the learner of the options; a MODEL that is "
        "a bandit does so without this option.",
        False,
    )
    window: float | None = option(
        "30m",
        "For a bandit: learn a choice with reward 0 if no reward has come for this time; by default nothing is "
        "learned.",
        parser=parse_duration,
    )


def serve(learning: LearningOptions, options: ServiceOptions, model: Model = None) -> None:
    """Predict and learn over HTTP, without loss of acknowledged records.

    POST /predict predicts a record. POST /observe learns it once its label is known, and answers when the label is on
    the disk. After a crash the same command continues as if nothing had happened. The first start in a folder fixes
    MODEL or the learner, --bandit, --window, --expire, --remember and --no-verdict. All other options hold for one
    start, --labels as well. Ctrl-C or SIGTERM ends the service with a snapshot. It needs `pip install
    "coterie[serve]"`.

    For example:

        coterie serve --data state/
        coterie serve clicks.coterie --data state/ --port 9000 --token-file secret
        coterie serve --data state/ --regression --snapshot 1h
        coterie serve --data state/ --bandit --window 30m
    """
    try:
        import uvicorn  # noqa: F401 (the extra is complete)

        from coterie.server.access import is_local
        from coterie.server.app import make_app
        from coterie.server.live_comparison import Limits
        from coterie.server.service import Service
    except ImportError as error:
        raise UsageError(f'coterie serve needs more packages ({error.name}): pip install "coterie[serve]"') from None
    host = options.host
    token = None if options.token_file is None else _read_token(options.token_file)
    if token is not None and options.allowed_host:
        raise UsageError("--allowed-host has no effect with --token-file; leave it out")
    if token is None and not is_local(host):
        raise UsageError(f"--host {host} is reachable from other machines; pass --token-file")
    if model is not None:
        refuse_options(learning.given, "with MODEL: the model continues as it is")
        refuse_options({"bandit": options.bandit}, "with MODEL, which decides that")
    snapshot = SaveInterval.from_text(options.snapshot, "snapshot")
    labels = None if options.labels is None else [_parse_label(word.strip()) for word in options.labels.split(",")]

    def check(engine: Engine) -> None:
        _require_same_options(engine, options)
        _declare(engine.require_declared, labels)

    handler = _SignalHandler()
    with handler, _bind_socket(host, options.port) as listening:
        service = Service(
            options.data,
            partial(_make_engine, model, learning, options),
            waiting=options.max_waiting,
            every_records=snapshot.records,
            every_seconds=snapshot.seconds,
            limits=Limits(options.alarm_error, options.alarm_silence),
            accept_loss=options.accept_loss,
            check=check,
        )
        try:
            _print_losses(service)
            _declare(service.declare, labels)
            app = make_app(
                service,
                token=token,
                max_body=options.max_body,
                max_records=options.max_records,
                hosts=[host, *(options.allowed_host or ())],
            )
            _run_server(
                service, app, _quote_address(host), listening, handler, _describe_ignored(service, model, learning)
            )
        finally:
            service.close()
    if service.failure is not None:
        raise service.failure


class _SignalHandler(Stop):
    """Signal handler: the first signal stops the server (or its start), later ones are ignored.

    Running requests are answered and the last snapshot is written.
    """

    server: uvicorn.Server | None = None

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.asked is not None:
            return
        self.asked = number
        if self.server is None:
            raise Stopped(number)
        self.server.should_exit = True

    def __exit__(self, *error: object) -> None:
        for number, handler in self._handlers.items():  # a process that ends is not ended again on its way
            signal.signal(number, handler if self.asked is None else signal.SIG_IGN)


def _print_losses(service: Service) -> None:
    """Print warnings at the start: lost journal frames, or a wrong clock."""
    if service.accepted is not None:
        offset = service.engine.offset
        print_message(f"warning: a loss was accepted: {service.accepted}; it continues from offset {offset:,}")
    if service.lacks_journal:
        print_message(
            f"warning: {service.folder} has a snapshot and no journal: it continues from offset "
            f"{service.engine.offset:,}, and records acknowledged after that snapshot are lost, if there were any"
        )
    if service.reset:
        print_message(
            f"warning: time is set back, because the last event was {service.reset / 3600:,.1f} hours ahead of this "
            f"machine's clock; {len(service.engine.waiting):,} records wait for their labels, at most --expire from now"
        )
    overdue = service.engine.overdue(service.clock())
    if overdue:
        late = (service.clock() - service.engine.at) / 3600
        print_message(
            f"warning: this machine's clock is {late:,.1f} hours after the last event: {overdue:,} records that wait "
            "for their labels are given up with the next one"
        )


def _describe_ignored(service: Service, model: Path | None, learning: LearningOptions) -> str | None:
    """Return a message on options (model, learner) that are ignored because the folder already has a model."""
    ignored = [*([] if model is None else [str(model)]), *map(option_name, learning.given)]
    if service.new or not ignored:
        return None
    words = ", ".join(ignored)
    return f"{service.folder} continues its own model: {words} is read by the first start in a folder only"


def _parse_label(word: str) -> Scalar:
    import msgspec

    try:
        return msgspec.json.decode(word, type=str | int | float | bool)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return word


def _declare(declare: Callable[[Sequence[Scalar]], None], labels: Sequence[Scalar] | None) -> None:
    if labels is not None:
        try:
            declare(labels)
        except ValueError as error:
            raise UsageError(f"--labels: {error}") from None


def _bind_socket(host: str, port: int) -> socket.socket:
    """Bind a socket without listening yet, so that an error occurs before the folder is opened."""
    bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        if os.name == "posix":
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if ":" in host:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        bound.bind((host, port))
    except OSError as error:  # without the name of the address
        bound.close()
        text = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
        raise OSError(error.errno, text, f"{_quote_address(host)}:{port}") from None
    return bound


def _quote_address(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _run_server(
    service: Service, app: Starlette, address: str, listening: socket.socket, handler: _SignalHandler, note: str | None
) -> None:
    """Serve requests until a signal arrives or the service fails."""
    import uvicorn

    from coterie.server.access import Connection

    class Server(uvicorn.Server):
        """An HTTP server without signal handlers."""

        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield

    settings = uvicorn.Config(  # its warnings are about requests only, which are counted and logged elsewhere
        app, http=Connection, ws="none", log_level="error", access_log=False, timeout_graceful_shutdown=GRACE
    )
    handler.server = server = Server(settings)
    service.on_failure = lambda error: setattr(server, "should_exit", True)
    listening.listen(2048)
    engine = service.engine
    print_message(
        f"{service.folder}: {len(engine.tasks):,} tasks, offset {engine.offset:,}, {service.replayed:,} frames learned "
        f"again; listening on http://{address}:{listening.getsockname()[1]}"
    )
    if note is not None:
        print_message(note)
    app.state.app.compile()
    server.run(sockets=[listening])


def _require_same_options(engine: Engine, options: ServiceOptions) -> None:
    """Raise UsageError for options that contradict those of the first start in the folder."""
    if options.bandit and "chosen" not in engine.kinds:
        raise UsageError("--bandit is not supported: the service in this folder learns labels; begin a new folder")
    if options.window is not None and options.window != getattr(engine, "window", None):
        raise UsageError(f"--window differs from the value used {_FIXED}")
    if options.expire is not None and options.expire != engine.expire:
        raise UsageError(f"--expire is {engine.expire:.15g}s {_FIXED}")
    if options.remember is not None and options.remember != engine.remember:
        raise UsageError(f"--remember is {engine.remember:.15g} {_FIXED}")
    if options.no_verdict and engine.live is not None:
        raise UsageError("--no-verdict is not supported: the service in this folder has baselines; begin a new folder")


def _make_engine(path: Path | None, learning: LearningOptions, options: ServiceOptions) -> Engine:
    import coterie as ct
    from coterie.persistence import SNAPSHOT
    from coterie.server.bandit_engine import BanditEngine
    from coterie.server.engine import Engine

    from .models import load_any

    if options.bandit:
        model: Estimator = ct.Bandit(learning.parse_learner().make() if learning.given else None)
    else:
        model = learning.parse_learner().make() if path is None else load_any(path)
    settings = (model, options.remember or 1_000_000, options.expire or 86_400.0)
    if isinstance(model, ct.Bandit):
        try:
            return BanditEngine(*settings, options.window)
        except (ValueError, TypeError) as error:
            raise UsageError(f"--{'window' if options.window else 'bandit'}: {error}") from None
    if options.window is not None:
        raise UsageError("--window requires --bandit")
    if isinstance(model, Engine):
        raise UsageError(f"{path} {SNAPSHOT}; to start from it, copy it into a new folder and leave out MODEL")
    if not model._learns_streams:
        raise UsageError(
            f"{path} contains a {type(model).__name__}; expected an online model with one label per record"
        )
    return Engine(*settings, not options.no_verdict)


def _read_token(path: Path) -> str:
    token = path.read_text(encoding="ascii", errors="replace").strip()  # a replaced character is not ASCII
    if not token or not token.isascii() or len(token.split()) != 1:
        raise UsageError(f"--token-file {path} must contain one word of ASCII characters")
    return token
