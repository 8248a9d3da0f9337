"""`coterie serve` beside what the disk, an empty HTTP handler, and a dictionary of River models behind HTTP allow.

    python -m bench.serve [--quick] [--folder DIR]

Everything runs on one machine: the server in a process of its own, the clients in this one, which keep connections open and
write requests that were made beforehand. Records have twenty named numbers. Single requests are timed at the client; p50 and p99
are in milliseconds. The folder, a new one below the current folder, is where the journal lies: its disk is the floor.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import pickle
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from bench.harness import Row, show
from coterie.server.journal import Journal

FEATURES, TASKS = 20, 100


def bodies(n: int, records: int = 1, predicted: bool = False, seed: int = 0) -> list[bytes]:
    """Bodies of requests."""
    draw, made = random.Random(seed), []
    for _ in range(n):
        held = []
        for _ in range(records):
            x = {f"feature{j}": round(draw.gauss(0, 1), 3) for j in range(FEATURES)}
            record: dict[str, Any] = {"task": f"u{draw.randrange(TASKS)}", "x": x}
            held.append(record if predicted else record | {"y": sum(x.values()) > 0})
        made.append(json.dumps({"records": held}).encode())
    return made


class Answered(NamedTuple):
    """Requests a second, and how long each took."""

    rate: float
    seconds: list[float]

    def quantile(self, q: float) -> float:
        return 1e3 * sorted(self.seconds)[min(int(q * len(self.seconds)), len(self.seconds) - 1)]


async def client(port: int, path: str, requests: list[bytes], seconds: list[float]) -> None:
    """Send requests one after the other over one connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for body in requests:
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        began = time.perf_counter()
        writer.write(head + body)
        answer = await reader.readuntil(b"\r\n\r\n")
        length = next(line for line in answer.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        await reader.readexactly(int(length.split(b":")[1]))
        seconds.append(time.perf_counter() - began)
        if b" 200 " not in answer[:20]:
            raise RuntimeError(answer.decode())
    writer.close()


def ask(port: int, path: str, requests: list[bytes], clients: int) -> Answered:
    """Send requests by so many clients side by side."""
    seconds: list[float] = []

    async def all_of_them() -> None:
        await asyncio.gather(*(client(port, path, requests[k::clients], seconds) for k in range(clients)))

    began = time.perf_counter()
    asyncio.run(all_of_them())
    return Answered(len(requests) / (time.perf_counter() - began), seconds)


@contextmanager
def serving(*command: str) -> Iterator[tuple[int, int]]:
    """A server on a free port: its port and its process number."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, "-m", *command, "--port", str(port)], stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 120
        while time.monotonic() < until:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                time.sleep(0.1)
        yield port, process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(120)


def cpu_of(pid: int, loop_only: bool = False) -> float:
    """CPU seconds of a process so far, or of its first thread, which has the event loop."""
    own = f"/proc/{pid}/task/{pid}/stat" if loop_only else f"/proc/{pid}/stat"
    fields = Path(own).read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def a_second(work: Callable[[], object], n: int) -> float:
    began = time.perf_counter()
    for _ in range(n):
        work()
    return n / (time.perf_counter() - began)


def disk(folder: Path, n: int) -> tuple[float, float, float]:
    """Flushed writes a second of one record: by the disk alone, by the journal, and by the journal with 64 waiting."""
    payload = b"x" * 600
    with tempfile.TemporaryFile(dir=folder) as file:

        def bare() -> None:
            os.write(file.fileno(), payload)
            os.fdatasync(file.fileno())

        floor = a_second(bare, n)
    with tempfile.TemporaryDirectory(dir=folder) as made:
        journal = Journal(Path(made)).begin()

        def write(records: int) -> None:
            journal.append(payload * records)
            journal.flush()

        return floor, a_second(lambda: write(1), n), 64 * a_second(lambda: write(64), n)


def rows(quick: bool, folder: Path) -> Iterator[Row]:
    scale = 1 if quick else 10
    floor, one, many = disk(folder, 100 * scale)
    yield rated("journal, 1 record waiting, over fdatasync alone", 0.6, one, floor)
    yield rated("journal, 64 records waiting, over fdatasync alone", 15, many, floor)
    single, large = bodies(400 * scale), bodies(2 * scale, 1024, seed=1)
    asked = bodies(400 * scale, predicted=True, seed=2)
    with serving("bench.serve", "--empty") as (port, pid):
        ask(port, "/observe", single[:200], 4)
        before = cpu_of(pid)
        empty = ask(port, "/observe", single, 64)
        cpu_empty = (cpu_of(pid) - before) / len(single)
        empty_one = ask(port, "/observe", single[: 100 * scale], 1)
    with tempfile.TemporaryDirectory(dir=folder) as made, serving("coterie", "serve", "--data", made) as (port, pid):
        for path, requests in (("/observe", single[:200]), ("/observe", large[:1]), ("/predict", asked[:200])):
            ask(port, path, requests, 4)
        alone = ask(port, "/observe", single[: 100 * scale], 1)
        yield rated("observe, 1 client, over fdatasync alone", 0.15, alone.rate, floor)
        before, before_loop = cpu_of(pid), cpu_of(pid, loop_only=True)
        together = ask(port, "/observe", single, 64)
        cpu_single, cpu_loop = (
            (after - first) / len(single)
            for after, first in ((cpu_of(pid), before), (cpu_of(pid, loop_only=True), before_loop))
        )
        yield rated("observe, 64 clients, over an empty handler", 0.55, together.rate, empty.rate)
        told = [f"{1e6 * each:.3g} µs" for each in (cpu_single, cpu_loop, cpu_single - cpu_loop, cpu_empty)]
        yield Row("observe, 64 clients: CPU a request; peer: an empty handler", "–", told[0], told[3])
        yield Row("of these the event loop; peer: an empty handler", "–", told[1], told[3])
        yield Row("of these the thread that learns and writes", "–", told[2])
        before = cpu_of(pid)
        block = ask(port, "/observe", large, 1)
        cpu_block = (cpu_of(pid) - before) / (1024 * len(large))
        shown = f"{1e6 * cpu_block:.3g} µs", f"{1e6 * cpu_single:.3g} µs"
        ratio = cpu_block / cpu_single
        yield Row(
            "CPU a record of 1,024 a request, over one a request", "≤ 0.1", *shown, f"{ratio:.3g}", reached=ratio <= 0.1
        )
        yield Row("observe, 1,024 a request: records a second", "–", f"{1024 * block.rate:,.0f}")
        quiet = ask(port, "/predict", asked, 1)
        p99 = quiet.quantile(0.99)
        yield Row(
            "predict, 1 client, p99", "≤ 1 ms", f"{p99:.3g} ms", f"{empty_one.quantile(0.99):.3g} ms", reached=p99 <= 1
        )
        busy = while_observing(port, asked, single)
        ratio = busy.quantile(0.99) / p99
        what = "predict, 1 client, p99 while 16 others observe, over alone"
        yield Row(what, "≤ 3", f"{busy.quantile(0.99):.3g} ms", f"{p99:.3g} ms", f"{ratio:.3g}", reached=ratio <= 3)
        for name, found in (
            ("observe, 1 client", alone),
            ("observe, 64 clients", together),
            ("predict, 1 client", quiet),
        ):
            tails = f"p50 {found.quantile(0.5):.3g}, p99 {found.quantile(0.99):.3g}, longest {1e3 * max(found.seconds):.3g} ms"
            yield Row(f"{name}: requests a second; {tails}", "–", f"{found.rate:,.0f}")
    with serving("bench.serve", "--river") as (port, _):
        ask(port, "/observe", single[:200], 4)
        river = ask(port, "/observe", single, 64)
        yield Row(
            "observe, 64 clients: requests a second; peer: River's logistic regression a task, in memory, no journal",
            "–",
            f"{together.rate:,.0f}",
            f"{river.rate:,.0f}",
            f"{together.rate / river.rate:.3g}",
        )


def while_observing(port: int, asked: list[bytes], labels: list[bytes]) -> Answered:
    """Predictions of one client while sixteen others send labels."""
    seconds: list[float] = []

    async def all_of_them() -> None:
        others = [asyncio.create_task(client(port, "/observe", labels[k::16], [])) for k in range(16)]
        one = asyncio.create_task(client(port, "/predict", asked, seconds))
        await asyncio.wait([one, asyncio.gather(*others)], return_when=asyncio.FIRST_COMPLETED)
        one.cancel()
        await asyncio.gather(one, *others, return_exceptions=True)

    asyncio.run(all_of_them())
    return Answered(0.0, seconds or [float("nan")])


def rated(what: str, target: float, ours: float, floor: float) -> Row:
    ratio = ours / floor
    return Row(what, f"≥ {target:g}", f"{ours:,.0f} /s", f"{floor:,.0f} /s", f"{ratio:.3g}", reached=ratio >= target)


# -- what is served beside -----------------------------------------------------------------------------------------------


def empty_app() -> Any:
    from starlette.applications import Starlette
    from starlette.responses import Response
    from starlette.routing import Route

    async def nothing(request: Any) -> Any:
        await request.body()
        return Response(b"{}", media_type="application/json")

    return Starlette(routes=[Route("/observe", nothing, methods=["POST"])])


def river_app(keep: str) -> Any:
    """Predict and learn by a model a task; all of it is pickled at the end."""
    from river import linear_model, preprocessing
    from starlette.applications import Starlette
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    models: Any = defaultdict(lambda: preprocessing.StandardScaler() | linear_model.LogisticRegression())

    async def observe(request: Any) -> Any:
        told = []
        for record in (await request.json())["records"]:
            model = models[record["task"]]
            told.append(model.predict_one(record["x"]))
            model.learn_one(record["x"], record["y"])
        return JSONResponse({"predictions": told})

    @contextmanager
    def ending(app: Any) -> Iterator[None]:
        yield
        Path(keep).write_bytes(pickle.dumps(dict(models)))

    from contextlib import asynccontextmanager

    @asynccontextmanager
    async def lifespan(app: Any) -> Any:
        with ending(app):
            yield

    return Starlette(routes=[Route("/observe", observe, methods=["POST"])], lifespan=lifespan)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes: to see that it runs")
    parser.add_argument("--folder", type=Path, default=Path(), help="where the journal lies")
    parser.add_argument("--empty", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--river", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.empty or given.river:
        import uvicorn

        app = empty_app() if given.empty else river_app(os.devnull)
        uvicorn.run(app, port=given.port, log_level="error", access_log=False)
        return
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        show(rows(given.quick, Path(folder)))


if __name__ == "__main__":
    main()
