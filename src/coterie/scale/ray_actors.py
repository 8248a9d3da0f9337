"""Ray: an actor for each shard, begun again from its last save if it dies."""

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
from typing import Any

from .shard import Shard

#: A shard that was lost so many times ends the run; the same command goes on with it.
RESTARTS = 20
#: A cluster answers within so many seconds, and progress is asked for as often.
ANSWER, POLL = 10.0, 1.0


class LostShardError(RuntimeError):
    """The process of a shard was lost again and again."""


def learn_on_ray(
    run: Path,
    shards: int,
    every: str,
    address: str | None,
    on_progress: Callable[[dict[int, int]], None],
    warn: Callable[[str], None],
) -> None:
    """Let each shard of a run learn in an actor of its own.

    Parameters
    ----------
    run : Path
        The folder of the run, which all machines of the cluster see under this name.
    shards : int
    every : str
        How often a shard is saved.
    address : str or None
        Of a cluster; without it Ray is started on this machine and stopped in the end.
    on_progress : callable
        Called once a second with the records learned, by shard.
    warn : callable
        Called with a sentence about the ports that are open while Ray runs here.

    Raises
    ------
    ModuleNotFoundError
        If Ray is not installed.
    ConnectionError
        If there is no cluster at the address, or Ray does not start.
    LostShardError
        If the process of a shard was lost more than 20 times.
    Exception
        The first error of a shard, with its number as a note.
    """
    if address is None:
        _prepare_environment()
    try:
        import ray
    except ModuleNotFoundError:
        raise ModuleNotFoundError("several workers need Ray: pip install 'coterie[scale]'") from None
    with _connected(ray, shards, address, warn):
        options = {"max_restarts": RESTARTS, "max_task_retries": RESTARTS, "max_concurrency": 2, "num_cpus": 1}
        actor = ray.remote(Shard).options(**options)
        actors: list[Any] = [actor.remote(str(run), shard, every) for shard in range(shards)]
        try:
            _wait(ray, actors, on_progress)
        finally:
            for each in actors:
                ray.kill(each)


def _wait(ray: Any, actors: list[Any], on_progress: Callable[[dict[int, int]], None]) -> None:
    learning = {actor.learn.remote(): shard for shard, actor in enumerate(actors)}
    asked: dict[Any, int] = {}
    records: dict[int, int] = {}
    while learning:
        done, _ = ray.wait(list(learning), timeout=POLL)
        for call in done:
            shard = learning.pop(call)
            try:
                error = ray.get(call)
            except ray.exceptions.RayActorError as lost:
                raise LostShardError(
                    f"the process of shard {shard} was lost {RESTARTS + 1} times: is there enough memory? "
                    "The same command goes on where it was last saved"
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
                with contextlib.suppress(ray.exceptions.RayActorError):  # it is begun again, or has ended
                    records[shard] = ray.get(call)
        on_progress(records)


@contextlib.contextmanager
def _connected(ray: Any, shards: int, address: str | None, warn: Callable[[str], None]) -> Iterator[None]:
    """Connect to a cluster, or start Ray on this machine with a token that only this user can read."""
    if ray.is_initialized():  # the caller's
        yield
        return
    found = re.fullmatch(r"(?:ray://)?([^:/]+):(\d+)", address or "")
    if found is not None:  # Ray itself would try for minutes
        try:
            socket.create_connection((found[1], int(found[2])), ANSWER).close()
        except OSError as error:
            raise ConnectionError(f"nothing answers at {address}: {error}") from None
    with contextlib.ExitStack() as stack:
        quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR", "address": address or "local"}
        here = quiet["address"] == "local"
        if here:
            quiet |= {"num_cpus": shards, "include_dashboard": False, "_node_ip_address": "127.0.0.1"}
        stack.enter_context(_signals_kept())
        try:
            with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
                ray.init(**quiet)
        except Exception as error:  # Ray has no type for it; it gives its own processes 15 to 30 seconds to start
            raise ConnectionError(
                f"Ray does not start: {error} If the machine is overloaded, repeat the command later: it goes on"
            ) from error
        stack.callback(ray.shutdown)
        if here and (ports := _open_ports()):
            shown = ", ".join(map(str, ports))
            needs = "each call needs a token" if _prepare_environment() else "to protect it, set RAY_AUTH_MODE=token"
            warn(f"Ray listens on all networks of this machine while it learns (ports {shown}); {needs}")
        yield


@cache
def _prepare_environment() -> bool:
    """Set the environment for a Ray that this process starts: a token, no statistics, full priority of workers.

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


def _open_ports() -> list[int]:
    """List the ports below this process that listen on more than the loopback; empty where that cannot be known."""
    with contextlib.suppress(Exception):
        import psutil  # type: ignore[import-untyped]  # Ray brings it

        processes = [psutil.Process(), *psutil.Process().children(recursive=True)]
        listening = (each for process in processes for each in process.net_connections("inet"))
        return sorted(
            {each.laddr.port for each in listening if each.status == "LISTEN" and not each.laddr.ip.startswith("127.")}
        )
    return []


@contextlib.contextmanager
def _signals_kept() -> Iterator[None]:
    """Keep this process's handlers of signals, in whose place Ray puts its own."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            for number, handler in before.items():
                signal.signal(number, handler)
