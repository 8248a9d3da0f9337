"""Hostile clients, and folders that vanish: requests are answered once or refused, within bounds of memory and time."""

import contextlib
import gzip
import json
import os
import re
import shutil
import socket
import time
import urllib.request
from pathlib import Path

import pytest

from coterie.persistence import hold_folder
from coterie.server.access import HEAD_BYTES, PIPELINED
from coterie.server.app import make_app
from coterie.server.service import Service
from slow import slow
from test_serve import TestClient, make, of_one, port_of, post, serving
from test_serve_damage import contents

HOST = b"Host: localhost\r\n"
HEALTH = b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"
POST = b"POST /observe HTTP/1.1\r\n" + HOST


def posted(task):
    """A whole request to learn a record."""
    body = of_one(task=task)
    return POST + b"Content-Length: %d\r\n\r\n" % len(body) + body


HIDDEN = posted("hidden")


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """A service as its user starts it: its process, and where it listens."""
    with serving(tmp_path_factory.mktemp("attacked"), "--learner", "MultitaskLogistic()") as (process, url):
        assert statuses(talk(port_of(url), posted("first"), posted("M\ufffdller"))) == [200, 200]
        yield process, port_of(url)


#: A request that ends the connection, for which no other answer is 405.
END = b"DELETE /healthz HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n"


def talk(place, *pieces):
    """Send requests, and then one that ends the connection; return all that is answered until then."""
    answer = b""
    with socket.create_connection(place, timeout=60) as connection:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            for piece in (*pieces, END):
                connection.sendall(piece)
        with contextlib.suppress(ConnectionResetError):
            while piece := connection.recv(2**16):
                answer += piece
    return answer


def statuses(answer):
    """The statuses of the answers on a connection, but that of the request that ends it."""
    statuses_seen = [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3}) ", answer)]
    return statuses_seen[:-1] if statuses_seen[-1:] == [405] else statuses_seen


def memory(process):
    """Bytes of memory that a process uses."""
    return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{process.pid}/status").read_text())[1]) * 1024


# -- requests that a proxy could read differently ----------------------------------------------------------------------

CHUNKED = b"Transfer-Encoding: chunked\r\n"
UPGRADE = b"Connection: Upgrade\r\nUpgrade: "
AMBIGUOUS = {
    "length and chunked": POST + b"Content-Length: 4\r\n" + CHUNKED + b"\r\n0\r\n\r\n",
    "chunked and length": POST + CHUNKED + b"Content-Length: 4\r\n\r\n0\r\n\r\n",
    "same length twice": POST + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
    "two lengths": POST + b"Content-Length: 0\r\nContent-Length: 2\r\n\r\n{}",
    "list of lengths": POST + b"Content-Length: 2, 2\r\n\r\n{}",
    "signed length": POST + b"Content-Length: +2\r\n\r\n{}",
    "negative length": POST + b"Content-Length: -1\r\n\r\n",
    "hexadecimal length": POST + b"Content-Length: 0x2\r\n\r\n{}",
    "length beyond 64 bits": POST + b"Content-Length: 18446744073709551618\r\n\r\n{}",
    "space before a colon": POST + b"Content-Length : 2\r\n\r\n{}",
    "unknown coding": POST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "no coding": POST + b"Transfer-Encoding: identity\r\n\r\n",
    "chunked first": POST + b"Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n",
    "two codings": POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "two headers of codings": POST + b"Transfer-Encoding: identity\r\n" + CHUNKED + b"\r\n0\r\n\r\n",
    "chunked twice": POST + CHUNKED + CHUNKED + b"\r\n0\r\n\r\n",
    "vertical tab": POST + b"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n",
    "chunked in HTTP/1.0": b"POST /observe HTTP/1.0\r\n" + HOST + CHUNKED + b"\r\n0\r\n\r\n",
    "folded header": POST + b"X: a\r\n Content-Length: 2\r\n\r\n{}",
    "folded coding": POST + b"Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
    "bare line feeds": POST.replace(b"\r", b"") + b"\n",
    "bare line feed in a head": POST + b"X: a\nContent-Length: 2\r\n\r\n{}",
    "bare carriage return": POST + b"X: a\rContent-Length: 2\r\n\r\n{}",
    "null in a value": POST + b"X: a\0b\r\n\r\n",
    "hexadecimal prefix of a chunk": POST + CHUNKED + b"\r\n0x2\r\n{}\r\n0\r\n\r\n",
    "space behind a chunk's size": POST + CHUNKED + b"\r\n2 \r\n{}\r\n0\r\n\r\n",
    "line feeds in chunks": POST + CHUNKED + b"\r\n2\n{}\n0\n\n",
    "chunk without an end": POST + CHUNKED + b"\r\n2\r\n{}0\r\n\r\n",
    "chunk beyond 64 bits": POST + CHUNKED + b"\r\n10000000000000002\r\n{}\r\n0\r\n\r\n",
    "two hosts": POST + b"Host: elsewhere.example\r\nContent-Length: 0\r\n\r\n",
    "upgrade": POST + UPGRADE + b"h2c\r\n\r\n",
    "upgrade without a body": POST + UPGRADE + b"x\r\nContent-Length: 0\r\n\r\n",
    "upgrade with a body": POST + UPGRADE + b"x\r\nContent-Length: %d\r\n\r\n" % len(HIDDEN),
    "upgrade with chunks": POST + UPGRADE + b"h2c\r\n" + CHUNKED + b"\r\n0\r\n\r\n",
    "upgrade to web sockets": b"GET / HTTP/1.1\r\n" + HOST + UPGRADE + b"websocket\r\nSec-WebSocket-Key: "
    b"AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n",
    "connect": b"CONNECT localhost:80 HTTP/1.1\r\n" + HOST + b"\r\n",
    "two spaces in a line": b"GET /healthz x HTTP/1.1\r\n" + HOST + b"\r\n",
    "fragment": b"DELETE /tasks/first#1 HTTP/1.1\r\n" + HOST + b"\r\n",
    "path in Latin-1": b"DELETE /tasks/M%FCller HTTP/1.1\r\n" + HOST + b"\r\n",
    "query in Latin-1": b"DELETE /task?json=%22M%FCller%22 HTTP/1.1\r\n" + HOST + b"\r\n",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
}


@pytest.mark.parametrize("name", AMBIGUOUS)
def test_an_ambiguous_request_is_refused_once_and_ends_the_connection(service, name):
    _, place = service
    answer = talk(place, AMBIGUOUS[name] + HIDDEN, HIDDEN)
    assert statuses(answer) == [400], answer
    assert b"connection: close\r\n" in answer
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]
    assert b"hidden" not in talk(place, HEALTH.replace(b"healthz", b"tasks"))


def test_a_trailer_is_no_header(service):
    """A proxy that checks headers need not check trailers."""
    _, place = service
    body = of_one(task="trailing")
    chunks = CHUNKED + b"\r\n%x\r\n" % len(body) + body + b"\r\n0\r\n"
    assert statuses(talk(place, POST + chunks + b"Content-Encoding: gzip\r\n\r\n")) == [200]
    assert statuses(talk(place, POST.replace(HOST, b"Host: elsewhere.example\r\n") + chunks + HOST + b"\r\n")) == [421]
    assert statuses(talk(place, POST.replace(HOST, b"") + chunks + HOST + b"\r\n")) == [421]


def test_requests_in_a_row_are_answered_in_their_order(service):
    _, place = service
    unknown = HEALTH.replace(b"healthz", b"unknown")
    assert statuses(talk(place, posted("row") + HEALTH + unknown + HEALTH)) == [200, 200, 404, 200]
    assert statuses(talk(place, posted("row") + HEALTH + b"GARBAGE\r\n\r\n" + HEALTH)) == [200, 200, 400]
    assert statuses(talk(place, posted("row") + POST + CHUNKED + b"\r\n2 \r\n{}\r\n0\r\n\r\n" + HEALTH)) == [200, 400]
    assert statuses(talk(place, HEALTH.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n") + HEALTH)) == [200]


def test_only_some_requests_wait_on_a_connection(service):
    _, place = service
    assert statuses(talk(place, posted("many") + HEALTH * 5000)) == [200] * (PIPELINED + 1) + [400]


# -- heads without an end ----------------------------------------------------------------------------------------------

GET = b"GET /healthz HTTP/1.1\r\n" + HOST
ENDLESS = {
    "URL": (b"GET /", b"a"),
    "name of a header": (GET, b"a"),
    "value of a header": (GET + b"X: ", b"a"),
    "headers": (GET, b"X: a\r\n"),
    "empty headers": (GET, b"a:\r\n"),
    "blank lines": (b"\r\n", b"\r\n"),
    "trailers": (POST + CHUNKED + b"\r\n0\r\n", b"X: a\r\n"),
    "value of a trailer": (POST + CHUNKED + b"\r\n0\r\nX: ", b"a"),
    "extension of a chunk": (POST + CHUNKED + b"\r\n1;", b"a"),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_a_head_without_an_end_is_refused(service, name):
    process, place = service
    begin, more = ENDLESS[name]
    before, longest, sent = memory(process), 0.0, 0
    with socket.create_connection(place, timeout=10) as attack, contextlib.suppress(ConnectionError):
        attack.sendall(begin)
        while sent < 2**25:
            attack.sendall(more * (2**16 // len(more)))
            sent += 2**16
            if sent % 2**20 == 0:
                began = time.monotonic()
                assert statuses(talk(place, HEALTH)) == [200]
                longest = max(longest, time.monotonic() - began)
            attack.settimeout(0.001)
            with contextlib.suppress(TimeoutError):
                if (answer := attack.recv(1000)) is not None:
                    break
            attack.settimeout(10)
    assert sent <= 2**22
    if name != "blank lines":
        assert statuses(answer) == [431], answer
        assert f"longer than {HEAD_BYTES} bytes".encode() in answer
    assert memory(process) - before < 2**23
    assert longest < 20.0


# -- answers that nobody reads -----------------------------------------------------------------------------------------


def test_slow_readers_share_the_bytes_of_a_file(service):
    process, place = service
    ask = HEALTH.replace(b"healthz", b"assets/plotly.js")
    length = len(talk(place, ask))
    assert length > 10**6
    before = memory(process)
    with contextlib.ExitStack() as stack:
        for _ in range(30):
            connection = stack.enter_context(socket.socket())
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.connect(place)
            connection.sendall(ask)
        assert statuses(talk(place, HEALTH)) == [200]
        time.sleep(0.5)
        assert memory(process) - before < 4 * length
    address = f"http://{place[0]}:{place[1]}/assets/plotly.js"
    with urllib.request.urlopen(urllib.request.Request(address, headers={"Accept-Encoding": "gzip"})) as answer:
        packed = answer.read()
    assert len(packed) < length / 2
    with urllib.request.urlopen(address) as answer:
        assert answer.read() == gzip.decompress(packed)


# -- many tasks --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", ["t7", slow(7)], ids=["text", "number"])
def test_a_task_is_looked_up_at_once(tmp_path, number):
    many = 1_000_000
    with Service(tmp_path, make) as service:
        client = TestClient(make_app(service))
        for task in ("ann", 7.5) if isinstance(number, str) else (1, 2):
            post(client, "/observe", {"task": task, "x": {"p": 1.0}, "y": True})
        tasks = service.engine._stream.population.tasks
        tasks.add([f"u{k}" if isinstance(number, str) else k for k in range(10, many)])
        assert client.get("/tasks?most=2").json()["known"] > many - 20
        for ask in (
            lambda: client.get("/tasks/nobody"),
            lambda: client.get("/task?json=-3"),
            lambda: client.delete("/tasks/nobody"),
            lambda: client.get(f"/tasks?first={many - 100}&most=3"),
            lambda: client.post("/predict", json={"records": [{"task": "nobody", "x": {"p": 1.0}}]}),
        ):
            seconds = []
            for _ in range(5):
                began = time.perf_counter()
                assert ask().status_code in (200, 404)
                seconds.append(time.perf_counter() - began)
            assert min(seconds) < 0.1


# -- damage and folders ------------------------------------------------------------------------------------------------


def moved(folder):
    """Move a folder away."""
    folder.rename(folder.with_name("moved"))


def replaced(folder):
    """Move a folder away, and have another service begin in its place."""
    moved(folder)
    folder.mkdir()
    hold_folder(folder).close()


@pytest.mark.parametrize("change", [moved, replaced, shutil.rmtree])
def test_a_service_that_lost_its_folder_says_so_and_takes_nothing(tmp_path, change):
    folder = tmp_path / "state"
    service = Service(folder, make)
    client = TestClient(make_app(service))
    good = {"id": "a", "task": "ann", "x": {"p": 1.0}}
    assert post(client, "/observe", good | {"y": True}).status_code == 200
    change(folder)
    files = contents(folder) if folder.exists() else None
    for answer in (
        client.get("/healthz"),
        client.get("/readyz"),
        post(client, "/observe", good | {"id": "b", "y": True}),
        post(client, "/predict", good | {"id": "c"}),
        client.delete("/tasks/ann"),
        client.post("/snapshot"),
    ):
        assert (answer.status_code, answer.json()["error"].startswith(f"{folder} was moved, deleted")) == (503, True)
    assert 'coterie_alarm{alarm="folder"} 1.0' in client.get("/metrics").text
    assert "was moved, deleted or replaced" in client.get("/state").json()["alarms"]["folder"]
    service._begin_snapshot()
    service.close()
    assert "was moved, deleted or replaced" in str(service.failure)
    assert (contents(folder) if folder.exists() else None) == files
    if change is moved:
        with Service(tmp_path / "moved", make) as again:
            assert (again.engine.tasks[:], again.replayed) == (["ann"], 1)


@pytest.mark.parametrize(
    ("pattern", "change"),
    [("journal*", Path.unlink), ("flushed", Path.unlink), ("journal*", lambda path: os.truncate(path, 0))],
)
def test_a_service_whose_journal_was_deleted_or_cut_acknowledges_nothing(tmp_path, pattern, change):
    service = Service(tmp_path, make)
    client = TestClient(make_app(service))
    record = {"task": "ann", "x": {"p": 1.0}, "y": True}
    assert post(client, "/observe", record).status_code == 200
    for path in tmp_path.glob(pattern):
        change(path)
    assert post(client, "/observe", record).status_code == 503
    assert client.get("/readyz").status_code == 503
    service.close()
    assert "deleted or cut while it was written to" in str(service.failure)


def test_a_service_whose_folder_was_put_back_goes_on(tmp_path):
    folder = tmp_path / "state"
    with Service(folder, make) as service:
        client = TestClient(make_app(service))
        moved(folder)
        assert client.get("/readyz").status_code == 503
        folder.with_name("moved").rename(folder)
        assert client.get("/readyz").status_code == 200
        assert post(client, "/observe", {"task": "ann", "x": {"p": 1.0}, "y": True}).status_code == 200
