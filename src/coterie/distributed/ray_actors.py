"""Ray backend: one actor per shard, restarted from its last save if it dies."""

from __future__ import annotations

import atexit
import contextlib
import io
import os
import re
import secrets
import shutil
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from coterie.evaluation.stopping_signals import Stopped
from coterie.types import Json
from coterie.wording import warn

from .shard import Shard

#: A shard that was lost more often ends the run; the same command continues it.
RESTARTS = 20
#: Seconds within which a cluster answers, and between two looks at the progress.
ANSWER, POLL = 10.0, 1.0


class LostShardError(RuntimeError):
    """Error for a shard with a process that died too often."""


def learn_on_ray(
    run: Path, shards: int, every: str, address: str | None, on_progress: Callable[[dict[int, int]], None]
) -> None:
    """Learn all shards of a run, each in a Ray actor; shards are saved at the interval ``every``.

    Parameters
    ----------
    run : Path
        The folder of the run, which all machines of the cluster see under this name.
    shards : int
    every : str
        The interval between saves of a shard.
    address : str or None
        The address of a cluster; by default Ray is started on this machine, and stopped at the end.
    on_progress : callable
        Called once a second with the records learned, by shard.

    Warns
    -----
    UserWarning
        If this function starts Ray on this machine. Ray then listens on all networks.

    Raises
    ------
    ModuleNotFoundError
        If Ray is not installed.
    ConnectionError
        If there is no cluster at the address, or Ray does not start.
    LostShardError
        If the process of a shard died more than 20 times.
    Exception
        The first error of a shard, with its number as a note.
    """
    if address is None:
        _prepare_environment()
    try:
        import ray
    except ModuleNotFoundError:
        raise ModuleNotFoundError("several workers need Ray: pip install 'coterie[distributed]'") from None
    with _connected(ray, shards, address):
        options = {"max_restarts": RESTARTS, "max_task_retries": RESTARTS, "max_concurrency": 2, "num_cpus": 1}
        remote = ray.remote(Shard).options(**options)
        actors: list[Any] = [remote.remote(str(run), shard, every) for shard in range(shards)]
        try:
            _wait(ray, actors, on_progress)
        finally:
            for actor in actors:
                ray.kill(actor)


def _wait(ray: ModuleType, actors: list[Any], on_progress: Callable[[dict[int, int]], None]) -> None:
    learning = {actor.learn.remote(): shard for shard, actor in enumerate(actors)}
    asked: dict[object, int] = {}
    records: dict[int, int] = {}
    while learning:
        done, _ = ray.wait(list(learning), timeout=POLL)
        for call in done:
            shard = learning.pop(call)
            try:
                error = ray.get(call)
            except ray.exceptions.RayActorError as lost:
                raise LostShardError(
                    f"the process of shard {shard} died {RESTARTS + 1} times, perhaps for lack of memory; "
                    "the same command continues from its last save"
                ) from lost
            if error is not None:
                error.add_note(f"in shard {shard}")
                raise error
            ray.kill(actors[shard])  # its CPU is free for a shard that waits
        busy = set(asked.values())
        asked |= {actors[shard].progress.remote(): shard for shard in learning.values() if shard not in busy}
        if asked:
            answered, _ = ray.wait(list(asked), num_returns=len(asked), timeout=0)
            for call in answered:
                shard = asked.pop(call)
                with contextlib.suppress(ray.exceptions.RayActorError):  # it is restarted, or has ended
                    records[shard] = ray.get(call)
        on_progress(records)


@contextlib.contextmanager
def _connected(ray: ModuleType, shards: int, address: str | None) -> Iterator[None]:
    """Connect to the Ray cluster at ``address``, or start Ray on this machine with a private token."""
    if ray.is_initialized():  # the caller's
        yield
        return
    place = re.fullmatch(r"(?:ray://)?([^:/]+):(\d+)", address or "")
    if place is not None:  # Ray itself would try for minutes
        try:
            socket.create_connection((place[1], int(place[2])), ANSWER).close()
        except OSError as error:
            raise ConnectionError(f"nothing answers at {address}: {error}") from None
    with contextlib.ExitStack() as stack:
        quiet: Json = {"log_to_driver": False, "logging_level": "ERROR", "address": address or "local"}
        here = quiet["address"] == "local"
        if here:
            quiet |= {"num_cpus": shards, "include_dashboard": False, "_node_ip_address": "127.0.0.1"}
        try:
            with (
                _restored_signals(),
                contextlib.redirect_stderr(io.StringIO()),
                contextlib.redirect_stdout(io.StringIO()),
            ):
                ray.init(**quiet)
        except Exception as error:  # Ray has no type for it; it gives its own processes 15 to 30 seconds to start
            raise ConnectionError(
                f"Ray does not start: {error} If the machine is overloaded, repeat the command later: it continues"
            ) from error
        stack.callback(ray.shutdown)
        if here:
            needs = "each call needs a token" if _prepare_environment() else "to protect it, set RAY_AUTH_MODE=token"
            warn(f"Ray listens on all networks of this machine while it learns; {needs}")
        yield


@cache
def _prepare_environment() -> bool:
    """Set environment variables for a Ray started by this process: private token, no usage statistics, priority.

    The token is in a temporary folder that only this user can read. Workers have the lowest priority by default, and
    almost stop on a machine that does other work. Ray reads the environment when it is imported: a Ray that the caller
    has imported stays as it is.
    """
    if "ray" not in sys.modules and not any(name.startswith("RAY_AUTH_") for name in os.environ):
        folder = Path(tempfile.mkdtemp(prefix="coterie-ray-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        token = folder / "token"
        token.touch(0o600)
        token.write_text(secrets.token_hex(32))
        os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token)}
    for name, value in (("USAGE_STATS_ENABLED", "0"), ("ENABLE_UV_RUN_RUNTIME_ENV", "0"), ("worker_niceness", "0")):
        os.environ.setdefault(f"RAY_{name}", value)
    return os.environ.get("RAY_AUTH_MODE") == "token"


@contextlib.contextmanager
def _restored_signals() -> Iterator[None]:
    """Context that restores this process's signal handlers, which Ray replaces."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    except SystemExit as error:  # by Ray's handler of SIGTERM
        raise Stopped(signal.SIGTERM) from error
    finally:
        if threading.current_thread() is threading.main_thread():
            for number, handler in before.items():
                signal.signal(number, handler)
